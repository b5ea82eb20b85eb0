//! Taking steps on the live tree, each of them repeatable.

use std::collections::BTreeSet;

use rustix::io::Errno;

use crate::disk::{Dir, DiskError, Nature};
use crate::journal::{self, Group, Step};
use crate::name::{STAGING_DIR, TEMPORARY_PREFIX};
use crate::path::{self, RelPath};

/// Up to so many directories are made durable one by one; beyond, the volume is synced once.
const FEW: usize = 16;

/// How often a file is moved to a directory that somebody keeps removing.
const PATIENCE: usize = 20;

type Done = Result<(), DiskError>;

/// Whether the steps of a journal may have been taken before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    /// Everything is still to be done.
    First,
    /// What is not staged any more has been placed.
    Again,
}

/// What waits to be placed.
pub(super) struct Staged {
    pass: Pass,
    /// It is there as long as the journal is: if it is not, nobody knows what was done.
    dir: Result<Dir, DiskError>,
}

/// Takes steps and remembers what they touched.
pub(super) struct Stepper<'a> {
    root: &'a Dir,
    staged: &'a Staged,
    open: Option<Dir>,
    touched: BTreeSet<RelPath>,
    failed: Vec<DiskError>,
}

impl Staged {
    pub(super) fn open(root: &Dir, pass: Pass) -> Self {
        Self { pass, dir: root.open(STAGING_DIR.as_bytes()) }
    }

    /// Returns where something waits to be placed; `None` if that was done.
    fn find(&self, name: &[u8], to: &RelPath) -> Result<Option<&Dir>, DiskError> {
        let dir = self.dir.as_ref().map_err(|error| error.of_other(to))?;
        match self.pass {
            Pass::First => dir.look_there(name).map(Some).map_err(|error| error.of_other(to)),
            Pass::Again => dir.look(name),
        }
        .map(|look| look.map(|_| dir))
    }
}

impl<'a> Stepper<'a> {
    /// Begins on the live tree.
    pub(super) fn new(root: &'a Dir, staged: &'a Staged) -> Self {
        Self { root, staged, open: None, touched: BTreeSet::new(), failed: Vec::new() }
    }

    /// Takes the steps of one directory. After a failure the rest of them is left: a resource is
    /// changed as a whole or seen to be unchanged.
    pub(super) fn take(&mut self, group: &Group) {
        for (at, step) in group.iter().enumerate() {
            if let Err(error) = self.step(step) {
                // The step itself is among them: what failed may be only a part of it.
                let undone = group[at..].iter().map(|step| error.of_other(step.path()));
                let undone: Vec<DiskError> =
                    undone.filter(|other| other.path() != error.path()).collect();
                self.failed.push(error);
                self.failed.extend(undone);
                return;
            }
        }
    }

    /// Makes what was touched durable, and returns the failures.
    pub(super) fn finish(self) -> Result<Vec<DiskError>, DiskError> {
        if self.touched.len() > FEW {
            self.root.sync_volume()?;
            return Ok(self.failed);
        }
        for path in &self.touched {
            match self.root.open(path) {
                Ok(dir) => dir.sync()?,
                // Removed by a later step, or replaced by somebody: its parent is touched, too.
                Err(error) if error.is_absence() || error.is(Errno::LOOP) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.failed)
    }

    fn step(&mut self, step: &Step) -> Done {
        match step {
            Step::Place { staged, to } => self.place(&journal::staged_file(*staged), to),
            Step::Graft { staged, to } => self.graft(&journal::staged_dir(*staged), to),
            Step::Delete { path } => self.delete(path),
            Step::Clear { path } => self.clear(path),
            Step::Mode { path, is_executable } => self.chmod(path, *is_executable),
            Step::RemoveDir { path } => {
                self.remove_dir(path);
                Ok(())
            }
        }
    }

    fn place(&mut self, staged: &[u8], to: &RelPath) -> Done {
        self.touch(&to.parent());
        let Some(staging) = self.staged.find(staged, to)? else { return Ok(()) };
        let mut moved = Ok(());
        for _ in 0..PATIENCE {
            let dir = self.make_way(&to.parent())?;
            moved = move_file(staging, staged, dir, path::file_name(to));
            // Somebody removed the directory between the two: the open one is of no use any more.
            if !is_gone(&moved) {
                break;
            }
            self.open = None;
        }
        moved
    }

    fn graft(&mut self, staged: &[u8], to: &RelPath) -> Done {
        self.touch(&to.parent());
        let Some(staging) = self.staged.find(staged, to)? else { return Ok(()) };
        let parent = self.make_way(&to.parent())?;
        let name = path::file_name(to);
        match staging.rename_new(staged, parent, name) {
            // Somebody made the directory meanwhile, or it is on another volume: move what is in it.
            Err(error) if is_occupied(&error) => {
                let mut merged = Vec::new();
                merge(&staging.open(staged)?, parent, name, &mut merged)?;
                self.touched.extend(merged);
                staging.remove_tree(staged)?;
            }
            done => done?,
        }
        Ok(())
    }

    fn delete(&mut self, path: &RelPath) -> Done {
        let parent = path.parent();
        let done = match self.open(&parent) {
            Ok(dir) => dir.unlink(path::file_name(path)),
            Err(error) => Err(error),
        };
        match done {
            // Gone already, or something else by now: that is drift, and not ours to delete.
            Err(error) if error.is_absence() || error.is(Errno::ISDIR) => Ok(()),
            Err(error) => Err(error),
            Ok(()) => {
                self.touch(&parent);
                Ok(())
            }
        }
    }

    fn clear(&mut self, path: &RelPath) -> Done {
        self.open = None;
        let parent = match self.root.open(path::parent(path)) {
            Err(error) if error.is_absence() => return Ok(()),
            parent => parent?,
        };
        let name = path::file_name(path);
        if parent.look(name)?.is_none_or(|look| look.nature != Nature::Dir) {
            return Ok(());
        }
        self.touch(&path.parent());
        remove_empty(&parent, name)
    }

    fn chmod(&mut self, path: &RelPath, is_executable: bool) -> Done {
        let mode = if is_executable { 0o755 } else { 0o644 };
        match self.open(&path.parent()).and_then(|dir| dir.chmod(path::file_name(path), mode)) {
            Err(error) if error.is_absence() => Ok(()),
            done => done,
        }
    }

    /// Not empty, gone, or held by somebody: an empty directory is not worth a failed run.
    fn remove_dir(&mut self, path: &RelPath) {
        self.open = None;
        let parent = path.parent();
        let removed = self.root.open(&parent).and_then(|dir| dir.remove_dir(path::file_name(path)));
        if removed.is_ok() {
            self.touch(&parent);
        }
    }

    fn touch(&mut self, directory: &RelPath) {
        if !self.touched.contains(directory) {
            self.touched.insert(directory.clone());
        }
    }

    fn open(&mut self, directory: &RelPath) -> Result<&Dir, DiskError> {
        let dir = match self.open.take() {
            Some(dir) if dir.path() == directory => dir,
            _ => self.root.open(directory)?,
        };
        Ok(self.open.insert(dir))
    }

    /// Opens a directory, and makes it again if somebody removed it meanwhile (A8).
    fn make_way(&mut self, directory: &RelPath) -> Result<&Dir, DiskError> {
        if self.open(directory).is_err_and(|error| error.is(Errno::NOENT)) {
            self.open = None;
            let mut dir = self.root.open(b"")?;
            for component in directory.components() {
                dir = match dir.open(component) {
                    Err(error) if error.is(Errno::NOENT) => {
                        self.touched.insert(dir.path().clone());
                        dir.make_dir(component, 0o755)?
                    }
                    opened => opened?,
                };
            }
        }
        self.open(directory)
    }
}

fn is_gone(done: &Done) -> bool {
    done.as_ref().is_err_and(|error| error.is(Errno::NOENT))
}

fn is_occupied(error: &DiskError) -> bool {
    [Errno::EXIST, Errno::NOTEMPTY, Errno::XDEV].iter().any(|errno| error.is(*errno))
}

/// Moves a file to its place, through a copy where that is on another volume.
fn move_file(from: &Dir, staged: &[u8], to: &Dir, name: &[u8]) -> Done {
    match from.rename(staged, to, name) {
        Err(error) if error.is(Errno::XDEV) => {}
        done => return done,
    }
    let temporary = [TEMPORARY_PREFIX, name].concat();
    let temporary = &temporary[..temporary.len().min(255)];
    to.remove_tree(temporary)?;
    let look = from.look(staged)?;
    let mode = look.map_or(0o644, |look| look.mode);
    let mut copy = to.create(temporary, mode)?;
    from.copy(staged, to, (temporary, &mut copy))?;
    to.correct_file_mode(temporary, &copy, mode)?;
    to.sync_file(temporary, &copy)?;
    to.rename(temporary, to, name)?;
    from.unlink(staged)
}

/// Moves what is in a staged directory into a live one, file by file.
fn merge(from: &Dir, parent: &Dir, name: &[u8], touched: &mut Vec<RelPath>) -> Done {
    let to = match parent.open(name) {
        Err(error) if error.is(Errno::NOENT) => parent.make_dir(name, 0o755)?,
        opened => opened?,
    };
    touched.push(to.path().clone());
    for entry in from.list()? {
        if entry.nature == Nature::Dir {
            merge(&from.open(&entry.name)?, &to, &entry.name, touched)?;
        } else {
            move_file(from, &entry.name, &to, &entry.name)?;
        }
    }
    Ok(())
}

/// Removes a directory and the empty directories in it; a file in it stops this.
fn remove_empty(parent: &Dir, name: &[u8]) -> Done {
    let dir = parent.open(name)?;
    for entry in dir.list()? {
        if entry.nature == Nature::Dir {
            remove_empty(&dir, &entry.name)?;
        }
    }
    parent.remove_dir(name)
}
