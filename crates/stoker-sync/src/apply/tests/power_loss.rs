//! Power loss (A3): the calls of a run are replayed on a model of a disk that may lose or reorder
//! whatever was not synced, and what is left is given to the next start.
//!
//! The model is more forgetful than file systems are: a file's name is durable only after a sync of
//! its directory, its bytes only after a sync of the file, and every call in flight may be the only
//! one that is lost, or the only one that is not. A rename is not torn into losing both names.

use std::collections::BTreeMap;

use super::{commits, expected, prepared, run, wanted};
use crate::disk::fault::{self, CallKind, RecordedCall};
use crate::path::{file_name, parent};
use crate::request::DriftCheck;
use crate::testing::{Live, Scratch, Snapshot, checking, sync};

type Inode = usize;
type Place = (Inode, Vec<u8>);

/// A change to the disk, by inode.
#[derive(Debug, Clone)]
enum Change {
    Link { at: Place, inode: Inode },
    Unlink { at: Place },
    Rename { from: Place, to: Place, inode: Inode },
    Data { inode: Inode, bytes: Vec<u8> },
    Mode { inode: Inode },
}

/// A disk: names, and what they point to. Inode 0 is the data root.
#[derive(Debug, Clone, Default)]
struct Disk {
    names: BTreeMap<Place, Inode>,
    /// The bytes of files; directories have none.
    files: BTreeMap<Inode, (Vec<u8>, bool)>,
    inodes: Inode,
}

impl Disk {
    fn load(scratch: &Scratch) -> Self {
        let mut disk = Self { inodes: 1, ..Self::default() };
        for (path, live) in scratch.everything("data") {
            let at = disk.place(&path).unwrap();
            let inode = disk.new_inode();
            disk.names.insert(at, inode);
            if let Live::File { content, is_executable } = live {
                disk.files.insert(inode, (content, is_executable));
            }
        }
        disk
    }

    fn store(&self, scratch: &Scratch) {
        scratch.make_dir("data");
        self.store_dir(0, b"data", scratch);
    }

    fn store_dir(&self, dir: Inode, path: &[u8], scratch: &Scratch) {
        for ((_, name), inode) in self.names.iter().filter(|((at, _), _)| *at == dir) {
            let path = [path, b"/", name].concat();
            if let Some((bytes, is_executable)) = self.files.get(inode) {
                scratch.write(&path, bytes);
                scratch.chmod(&path, if *is_executable { 0o755 } else { 0o644 });
            } else {
                scratch.make_dir(&path);
                self.store_dir(*inode, &path, scratch);
            }
        }
    }

    fn new_inode(&mut self) -> Inode {
        self.inodes += 1;
        self.inodes
    }

    fn inode(&self, path: &[u8]) -> Option<Inode> {
        if path.is_empty() { Some(0) } else { self.names.get(&self.place(path)?).copied() }
    }

    fn place(&self, path: &[u8]) -> Option<Place> {
        Some((self.inode(parent(path))?, file_name(path).to_vec()))
    }

    fn is_empty_dir(&self, inode: Inode) -> bool {
        !self.files.contains_key(&inode) && !self.names.keys().any(|(dir, _)| *dir == inode)
    }

    /// Says what a call changes, as long as it succeeds.
    fn translate(&mut self, step: &RecordedCall) -> Option<Change> {
        let path = step.path.as_bytes();
        match step.kind {
            CallKind::Create | CallKind::Mkdir => {
                let at = self.place(path).filter(|at| !self.names.contains_key(at))?;
                let inode = self.new_inode();
                if step.kind == CallKind::Create {
                    let is_executable = step.bytes.last().is_some_and(|mode| mode & 0o100 != 0);
                    self.files.insert(inode, (Vec::new(), is_executable));
                }
                Some(Change::Link { at, inode })
            }
            CallKind::Write | CallKind::Overwrite => {
                let inode = self.inode(path)?;
                let before = if step.kind == CallKind::Write {
                    self.files[&inode].0.clone()
                } else {
                    Vec::new()
                };
                Some(Change::Data { inode, bytes: [before, step.bytes.clone()].concat() })
            }
            CallKind::Chmod => self.inode(path).map(|inode| Change::Mode { inode }),
            CallKind::Unlink => {
                let is_file = self.files.contains_key(&self.inode(path)?);
                self.place(path).filter(|_| is_file).map(|at| Change::Unlink { at })
            }
            CallKind::Rmdir => {
                let is_empty = self.is_empty_dir(self.inode(path)?);
                self.place(path).filter(|_| is_empty).map(|at| Change::Unlink { at })
            }
            CallKind::Rename => {
                let (from, to) = (self.place(path)?, self.place(step.to.as_ref()?)?);
                let inode = self.inode(path)?;
                Some(Change::Rename { from, to, inode })
            }
            // The model has no owners, and `Log::record` makes changes durable.
            CallKind::Chown | CallKind::Fsync | CallKind::Syncfs => None,
        }
    }

    fn apply(&mut self, change: &Change) {
        match change {
            Change::Link { at, inode } => {
                self.names.insert(at.clone(), *inode);
            }
            Change::Unlink { at } => {
                self.names.remove(at);
            }
            Change::Rename { from, to, inode } => {
                if self.names.get(from) == Some(inode) {
                    self.names.remove(from);
                }
                self.names.insert(to.clone(), *inode);
            }
            Change::Data { inode, bytes } => {
                if let Some(file) = self.files.get_mut(inode) {
                    file.0.clone_from(bytes);
                }
            }
            Change::Mode { inode } => {
                if let Some(file) = self.files.get_mut(inode) {
                    file.1 = true;
                }
            }
        }
    }
}

/// What a run did, and when each change became durable.
struct Log {
    before: Disk,
    /// The step, the change, and the first step after which it is durable.
    changes: Vec<(usize, Change, Option<usize>)>,
    steps: usize,
}

impl Log {
    fn record(before: Disk, steps: &[RecordedCall]) -> Self {
        let mut disk = before.clone();
        let mut changes: Vec<(usize, Change, Option<usize>)> = Vec::new();
        let mut blank = before;
        for (at, step) in steps.iter().enumerate() {
            let synced = disk.inode(&step.path);
            for (_, change, durable) in
                changes.iter_mut().filter(|(_, _, durable)| durable.is_none())
            {
                let is_covered = match (step.kind, &*change) {
                    (CallKind::Syncfs, _) => true,
                    (CallKind::Fsync, Change::Data { inode, .. } | Change::Mode { inode }) => {
                        synced == Some(*inode)
                    }
                    (CallKind::Fsync, Change::Link { at, .. } | Change::Unlink { at }) => {
                        synced == Some(at.0)
                    }
                    (CallKind::Fsync, Change::Rename { to, .. }) => synced == Some(to.0),
                    _ => false,
                };
                if is_covered {
                    *durable = Some(at);
                }
            }
            if let Some(change) = disk.translate(step) {
                disk.apply(&change);
                changes.push((at, change, None));
            }
        }
        // Files that the run makes exist from the start, without a name and without bytes.
        blank.inodes = disk.inodes;
        for (inode, (_, is_executable)) in &disk.files {
            blank.files.entry(*inode).or_insert_with(|| (Vec::new(), *is_executable));
        }
        Self { before: blank, changes, steps: steps.len() }
    }

    /// The disk after a loss of power at a step, with these changes in flight.
    fn after(&self, at: usize, survives: impl Fn(usize) -> bool) -> Disk {
        let mut disk = self.before.clone();
        let mut in_flight = 0;
        for (_, change, durable) in self.changes.iter().filter(|(step, _, _)| *step < at) {
            let is_durable = durable.is_some_and(|durable| durable < at);
            if is_durable || survives(in_flight) {
                disk.apply(change);
            }
            in_flight += usize::from(!is_durable);
        }
        disk
    }

    fn in_flight(&self, at: usize) -> usize {
        let began = self.changes.iter().filter(|(step, _, _)| *step < at);
        began.filter(|(_, _, durable)| durable.is_none_or(|durable| durable >= at)).count()
    }
}

fn files_only(mut snapshot: Snapshot) -> Snapshot {
    snapshot.retain(|path, live| *live != Live::Dir && !path.starts_with(b".s"));
    snapshot
}

#[test]
fn a_loss_of_power_at_any_step_leaves_the_old_or_the_new_tree() {
    let (old_commit, new_commit) = commits();
    for from in [Some(&old_commit), None] {
        let scratch = prepared(from);
        let (before, old) = (Disk::load(&scratch), files_only(scratch.snapshot("data")));
        let new = files_only(expected(&new_commit));
        let (done, steps) = fault::under(None, || run(&scratch, &new_commit));
        done.unwrap();
        let log = Log::record(before, &steps);
        for at in 0..=log.steps {
            let count = log.in_flight(at);
            let mut disks = vec![log.after(at, |_| true), log.after(at, |_| false)];
            for one in 0..count {
                disks.push(log.after(at, |other| other == one));
                disks.push(log.after(at, |other| other != one));
            }
            for disk in disks {
                let left = Scratch::new();
                disk.store(&left);
                drop(left.try_engine().unwrap_or_else(|error| panic!("at {at}: {error:?}")));
                let live = files_only(left.snapshot("data"));
                let calls = || steps.iter().map(|step| (step.kind, &step.path)).collect::<Vec<_>>();
                assert!(live == new || live == old, "at {at} of {:?}: {live:?}", calls());
                assert!(at < log.steps || live == new, "what was reported must be there");
                let check = checking(wanted(&new_commit), DriftCheck::Content);
                let report = sync(&left, &new_commit, &check).unwrap();
                assert!(report.drift.is_empty(), "at {at}: {:?}", report.drift);
                assert_eq!(files_only(left.snapshot("data")), new, "at {at}");
            }
        }
    }
}
