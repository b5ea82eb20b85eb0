//! Checks the live files that a run is about to change.
//!
//! It reads the disk and decides nothing. Content is read only if size and time are not enough.

use std::collections::HashMap;

use crate::cancel::Cancel;
use crate::compose::Case;
use crate::disk::{Dir, DiskError, FileType, Stat};
use crate::drift;
use crate::manifest::record::FileRecord;
use crate::path::{self, RelPath};
use crate::reserved::{self, Reserved};
use crate::source::ObjectId;

/// What is at a place where a file should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FoundFile {
    Nothing,
    /// The file that the last sync left there.
    Intact(Stat),
    /// A file with the very bytes that are wanted.
    Wanted(Stat),
    /// A file with other bytes, or one that can't be read.
    Other(Stat),
    /// A link, a pipe or the like.
    Odd,
    /// A directory, with the files and links in it, all the way down.
    Dir(Vec<RelPath>),
}

/// What is at a place where a directory should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FoundDir {
    Present,
    /// Nothing, from this path on.
    Missing {
        from: RelPath,
    },
    /// Something that is not a directory.
    Blocked {
        at: RelPath,
        file_type: FileType,
    },
}

/// Looks at places, one directory after the other.
#[derive(Debug)]
pub(crate) struct Survey<'a> {
    root: &'a Dir,
    cancel: &'a Cancel,
    found_dirs: HashMap<RelPath, FoundDir>,
    open: Option<Dir>,
    /// The last path that was found to be missing.
    missing: Option<RelPath>,
}

impl<'a> Survey<'a> {
    /// Begins a survey of the data directory. What is found after it was cancelled means nothing.
    pub(crate) fn new(root: &'a Dir, cancel: &'a Cancel) -> Self {
        Self { root, cancel, found_dirs: HashMap::new(), open: None, missing: None }
    }

    /// Returns what is at a place where a directory should be.
    pub(crate) fn site(&mut self, directory: &RelPath) -> Result<FoundDir, DiskError> {
        if let Some(site) = self.found_dirs.get(directory) {
            return Ok(site.clone());
        }
        // Where there is no directory there is nothing below it, either.
        if let Some(from) = self.missing.as_ref().filter(|from| path::within(directory, from)) {
            return Ok(FoundDir::Missing { from: from.clone() });
        }
        let site = match self.root.open(directory) {
            Ok(dir) => {
                self.open = Some(dir);
                FoundDir::Present
            }
            Err(error) => self.explain(directory, error)?,
        };
        if let FoundDir::Missing { from } = &site {
            self.missing = Some(from.clone());
        }
        self.found_dirs.insert(directory.clone(), site.clone());
        Ok(site)
    }

    /// Finds out what is in the way of a directory that could not be opened.
    fn explain(&self, directory: &RelPath, error: DiskError) -> Result<FoundDir, DiskError> {
        let mut way = RelPath::root();
        for component in directory.components() {
            let parent = match self.root.open(&way) {
                // What vanishes meanwhile is missing.
                Err(error) if error.is_absence() => return Ok(FoundDir::Missing { from: way }),
                parent => parent?,
            };
            way.push(component);
            match parent.stat(component)? {
                None => return Ok(FoundDir::Missing { from: way }),
                Some(Stat { file_type: FileType::Dir, .. }) => {}
                Some(Stat { file_type, .. }) => {
                    return Ok(FoundDir::Blocked { at: way, file_type });
                }
            }
        }
        Err(error)
    }

    /// Returns what is at a place where a file with these bytes should be.
    pub(crate) fn file(
        &mut self,
        path: &RelPath,
        record: Option<&FileRecord>,
        wanted: ObjectId,
    ) -> Result<FoundFile, DiskError> {
        let directory = path.parent();
        if self.site(&directory)? != FoundDir::Present {
            return Ok(FoundFile::Nothing);
        }
        let cancel = self.cancel;
        let dir = match self.open(&directory) {
            Err(error) if error.is_absence() => return Ok(FoundFile::Nothing),
            dir => dir?,
        };
        let name = path::file_name(path);
        let Some(stat) = dir.stat(name)? else { return Ok(FoundFile::Nothing) };
        match stat.file_type {
            FileType::File => Ok(classify(dir, record, name, stat, wanted, cancel)),
            FileType::Dir => match dir.open(name).and_then(|dir| files_in(&dir)) {
                Err(error) if error.is_absence() => Ok(FoundFile::Nothing),
                files => Ok(FoundFile::Dir(files?)),
            },
            FileType::Link | FileType::Special => Ok(FoundFile::Odd),
        }
    }

    fn open(&mut self, directory: &RelPath) -> Result<&Dir, DiskError> {
        let is_open = self.open.as_ref().is_some_and(|dir| dir.path() == directory);
        let dir = match self.open.take() {
            Some(dir) if is_open => dir,
            _ => self.root.open(directory)?,
        };
        Ok(self.open.insert(dir))
    }
}

fn classify(
    dir: &Dir,
    record: Option<&FileRecord>,
    name: &[u8],
    stat: Stat,
    wanted: ObjectId,
    cancel: &Cancel,
) -> FoundFile {
    // What its owner can't read can't be opened to set its mode either: its bytes will have to do.
    let is_known = |record: &&FileRecord| record.stamp == stat.stamp && stat.is_readable();
    if let Some(record) = record.filter(is_known) {
        return if record.placed == wanted {
            FoundFile::Wanted(stat)
        } else {
            FoundFile::Intact(stat)
        };
    }
    // Another size means other content, without reading it.
    if record.is_some_and(|record| {
        !record.is_unknown() && record.placed == wanted && record.stamp.size != stat.stamp.size
    }) {
        return FoundFile::Other(stat);
    }
    match drift::content_id(dir, name, cancel) {
        Ok(id) if id == wanted => FoundFile::Wanted(stat),
        // Copied or restored: another inode or time, and the bytes that the last sync left.
        Ok(id) if record.is_some_and(|record| record.placed == id) => FoundFile::Intact(stat),
        // What can't be read is replaced by what can.
        Ok(_) | Err(_) => FoundFile::Other(stat),
    }
}

/// Returns every file and link below a directory, and what is the gateway's own, be it empty.
fn files_in(dir: &Dir) -> Result<Vec<RelPath>, DiskError> {
    let mut files = Vec::new();
    for entry in dir.list()? {
        let path = dir.path().join(&entry.name);
        let is_kept = match reserved::reserved_for(&path, Case::Ignored) {
            Some(Reserved::Identity | Reserved::RuntimeCache | Reserved::Repository) => true,
            Some(Reserved::Local) => reserved::is_local_root(&path, Case::Ignored),
            Some(Reserved::Stoker) | None => false,
        };
        if entry.file_type == FileType::Dir && !is_kept {
            files.extend(files_in(&dir.open(&entry.name)?)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}
