//! Runs the steps of a journal on the live tree. Every step can be repeated.

use std::collections::HashSet;

use rustix::io::Errno;

use super::case_rename::rename_case;
use super::dirty_dirs::DirtyDirs;
use super::move_file::{Copied, DirMerge, move_file};
use crate::disk::{Dir, DiskError, FileType};
use crate::journal::{self, Group, Step};
use crate::path::{self, RelPath};
use crate::reserved::STAGING_DIR;

/// How often a file is moved to a directory that another process keeps removing.
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

pub(super) struct Staged {
    pass: Pass,
    /// It is there as long as the journal is: without it, what was done is unknown.
    dir: Result<Dir, DiskError>,
}

pub(crate) struct Undone<'s> {
    pub(crate) step: &'s Step,
    /// What stopped it; its path may lie within that of the step, or above it.
    pub(crate) error: DiskError,
}

pub(super) struct Stepper<'a, 's> {
    root: &'a Dir,
    staged: &'a Staged,
    open: Option<Dir>,
    dirty: DirtyDirs,
    copied: Vec<Copied>,
    merged: HashSet<RelPath>,
    undone: Vec<Undone<'s>>,
}

pub(super) struct Taken<'s> {
    pub(super) copied: Vec<Copied>,
    /// Files of directories that could be moved in part only.
    pub(super) merged: HashSet<RelPath>,
    pub(super) undone: Vec<Undone<'s>>,
}

impl Staged {
    pub(super) fn open(root: &Dir, pass: Pass) -> Self {
        Self { pass, dir: root.open(STAGING_DIR.as_bytes()) }
    }

    /// Returns where something waits to be placed; `None` if that was done.
    fn find(&self, name: &[u8], to: &RelPath) -> Result<Option<&Dir>, DiskError> {
        let dir = self.dir.as_ref().map_err(|error| error.of_other(to))?;
        match self.pass {
            Pass::First => dir.stat_present(name).map(Some).map_err(|error| error.of_other(to)),
            Pass::Again => dir.stat(name),
        }
        .map(|stat| stat.map(|_| dir))
    }
}

impl<'a, 's> Stepper<'a, 's> {
    pub(super) fn new(root: &'a Dir, staged: &'a Staged) -> Self {
        Self {
            root,
            staged,
            open: None,
            dirty: DirtyDirs::default(),
            copied: Vec::new(),
            merged: HashSet::new(),
            undone: Vec::new(),
        }
    }

    /// Takes the steps of one directory. After a failure the rest of them is left: a resource is
    /// changed as a whole or seen to be unchanged.
    pub(super) fn take(&mut self, group: &'s Group) {
        for (at, step) in group.iter().enumerate() {
            if let Err(error) = self.step(step) {
                let rest = group[at + 1..].iter();
                let rest = rest.map(|step| Undone { step, error: error.of_other(step.path()) });
                let rest: Vec<Undone<'_>> = rest.collect();
                self.undone.push(Undone { step, error });
                self.undone.extend(rest);
                return;
            }
        }
    }

    /// Makes what was touched durable.
    pub(super) fn finish(self) -> Result<Taken<'s>, DiskError> {
        self.dirty.sync(self.root)?;
        Ok(Taken { copied: self.copied, merged: self.merged, undone: self.undone })
    }

    fn step(&mut self, step: &Step) -> Done {
        match step {
            Step::Place { staged, to } => self.place(&journal::staged_file(*staged), to),
            Step::PlaceDir { staged, to } => self.place_dir(&journal::staged_dir(*staged), to),
            Step::Delete { path, .. } => self.delete(path),
            Step::Clear { path } => self.clear(path),
            Step::Mode { path, is_executable } => self.chmod(path, *is_executable),
            Step::RemoveDir { path } => {
                self.remove_dir(path);
                Ok(())
            }
            Step::RenameCase { path } => {
                self.open = None;
                if let Ok(parent) = self.root.open(path::parent(path)) {
                    rename_case(&parent, path::file_name(path));
                    self.dirty.add_open(&parent);
                }
                Ok(())
            }
        }
    }

    fn place(&mut self, staged: &[u8], to: &RelPath) -> Done {
        self.dirty.add(&to.parent());
        let Some(staging) = self.staged.find(staged, to)? else {
            // A killed run has placed it, on whatever volume that is, and it may not be durable.
            self.open(&to.parent()).ok();
            return Ok(());
        };
        let mut moved = Ok(None);
        for _ in 0..PATIENCE {
            let dir = self.make_way(&to.parent())?;
            moved = move_file(staging, staged, dir, path::file_name(to));
            // Somebody removed the directory between the two: the open one is of no use any more.
            if !is_gone(&moved) {
                break;
            }
            self.open = None;
        }
        self.copied.extend(moved?);
        Ok(())
    }

    fn place_dir(&mut self, staged: &[u8], to: &RelPath) -> Done {
        self.dirty.add(&to.parent());
        let Some(staging) = self.staged.find(staged, to)? else {
            // A killed run has placed it, on whatever volume that is, and it may not be durable.
            self.open(&to.parent()).ok();
            return Ok(());
        };
        let parent = self.make_way(&to.parent())?;
        let name = path::file_name(to);
        match staging.rename_new(staged, parent, name) {
            // Somebody made the directory meanwhile, or it is on another volume: move what is in
            // it.
            Err(error) if is_occupied(&error) => {
                let mut merged = DirMerge::default();
                let done = merged.merge(&staging.open(staged)?, parent, name);
                self.dirty.append(merged.dirty);
                self.copied.extend(merged.copied);
                self.merged.extend(merged.files);
                done?;
                staging.remove_tree(staged)?;
            }
            done => done?,
        }
        Ok(())
    }

    fn delete(&mut self, path: &RelPath) -> Done {
        let parent = path.parent();
        let done = match self.open(&parent) {
            // Also if it was already done: a killed run may not have made it durable.
            Ok(dir) => {
                let done = dir.unlink(path::file_name(path));
                self.dirty.add(&parent);
                done
            }
            Err(error) => Err(error),
        };
        match done {
            // Gone already, or something else by now: that is drift, and not ours to delete.
            Err(error) if error.is_absence() || is_other(&error) => Ok(()),
            done => done,
        }
    }

    fn clear(&mut self, path: &RelPath) -> Done {
        self.open = None;
        let parent = match self.root.open(path::parent(path)) {
            Err(error) if error.is_absence() => return Ok(()),
            parent => parent?,
        };
        self.dirty.add_open(&parent);
        let name = path::file_name(path);
        if parent.stat(name)?.is_none_or(|stat| stat.file_type != FileType::Dir) {
            return Ok(());
        }
        remove_empty(&parent, name)
    }

    fn chmod(&mut self, path: &RelPath, is_executable: bool) -> Done {
        let mode = if is_executable { 0o755 } else { 0o644 };
        match self.open(&path.parent()).and_then(|dir| dir.chmod(path::file_name(path), mode)) {
            Err(error) if error.is_absence() => Ok(()),
            done => done,
        }
    }

    /// Not empty, gone, or in use: an empty directory does not fail a run.
    fn remove_dir(&mut self, path: &RelPath) {
        self.open = None;
        if let Ok(parent) = self.root.open(path::parent(path)) {
            parent.remove_dir(path::file_name(path)).ok();
            self.dirty.add_open(&parent);
        }
    }

    fn open(&mut self, directory: &RelPath) -> Result<&Dir, DiskError> {
        let dir = match self.open.take() {
            Some(dir) if dir.path() == directory => dir,
            _ => {
                let dir = self.root.open(directory)?;
                self.dirty.note_volume(&dir);
                dir
            }
        };
        Ok(self.open.insert(dir))
    }

    /// Opens a directory, and creates it again if another process removed it (A8).
    fn make_way(&mut self, directory: &RelPath) -> Result<&Dir, DiskError> {
        if self.open(directory).is_err_and(|error| error.is(Errno::NOENT)) {
            self.open = None;
            let mut dir = self.root.open(b"")?;
            for component in directory.components() {
                dir = match dir.open(component) {
                    Err(error) if error.is(Errno::NOENT) => {
                        self.dirty.add_open(&dir);
                        dir.make_dir(component, 0o755)?
                    }
                    opened => opened?,
                };
            }
        }
        self.open(directory)
    }
}

/// A directory instead of a file, or a link instead of a directory.
fn is_other(error: &DiskError) -> bool {
    error.is(Errno::ISDIR) || error.is(Errno::LOOP)
}

fn is_gone<T>(done: &Result<T, DiskError>) -> bool {
    done.as_ref().is_err_and(|error| error.is(Errno::NOENT))
}

fn is_occupied(error: &DiskError) -> bool {
    [Errno::EXIST, Errno::NOTEMPTY, Errno::XDEV].iter().any(|errno| error.is(*errno))
}

/// Removes a directory and the empty directories in it; a file in it stops this.
fn remove_empty(parent: &Dir, name: &[u8]) -> Done {
    let dir = parent.open(name)?;
    for entry in dir.list()? {
        if entry.file_type == FileType::Dir {
            remove_empty(&dir, &entry.name)?;
        }
    }
    parent.remove_dir(name)
}
