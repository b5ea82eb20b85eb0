//! How the places look that a run is about to touch.
//!
//! Reads the disk and decides nothing. Content is only read where size and time can't answer.

use std::collections::HashMap;

use crate::cancel::Cancel;
use crate::compose::Case;
use crate::disk::{Dir, DiskError, Look, Nature};
use crate::drift;
use crate::manifest::record::FileRecord;
use crate::name::{self, Keeper};
use crate::path::{self, RelPath};
use crate::source::ObjectId;

/// What is at a place where a file should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing.
    Nothing,
    /// The file that the last sync left there.
    Intact(Look),
    /// A file with the very bytes that are wanted.
    Wanted(Look),
    /// A file with other bytes, or one that can't be read.
    Other(Look),
    /// A link, a pipe or the like.
    Odd,
    /// A directory, with the files and links in it, all the way down.
    Dir(Vec<RelPath>),
}

/// What is at a place where a directory should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Site {
    /// The directory.
    Present,
    /// Nothing, from this path on.
    Missing { from: RelPath },
    /// Something that is no directory.
    Blocked { at: RelPath, nature: Nature },
}

/// Looks at places, one directory after the other.
#[derive(Debug)]
pub(crate) struct Survey<'a> {
    root: &'a Dir,
    cancel: &'a Cancel,
    sites: HashMap<RelPath, Site>,
    open: Option<Dir>,
    /// The last path that was found to be missing.
    missing: Option<RelPath>,
}

impl<'a> Survey<'a> {
    /// Begins a survey of the data directory. What is found after it was cancelled means nothing.
    pub(crate) fn new(root: &'a Dir, cancel: &'a Cancel) -> Self {
        Self { root, cancel, sites: HashMap::new(), open: None, missing: None }
    }

    /// Returns what is at a place where a directory should be.
    pub(crate) fn site(&mut self, directory: &RelPath) -> Result<Site, DiskError> {
        if let Some(site) = self.sites.get(directory) {
            return Ok(site.clone());
        }
        // Where there is no directory there is nothing below it, either.
        if let Some(from) = self.missing.as_ref().filter(|from| path::within(directory, from)) {
            return Ok(Site::Missing { from: from.clone() });
        }
        let site = match self.root.open(directory) {
            Ok(dir) => {
                self.open = Some(dir);
                Site::Present
            }
            Err(error) => self.explain(directory, error)?,
        };
        if let Site::Missing { from } = &site {
            self.missing = Some(from.clone());
        }
        self.sites.insert(directory.clone(), site.clone());
        Ok(site)
    }

    /// Finds out what is in the way of a directory that could not be opened.
    fn explain(&self, directory: &RelPath, error: DiskError) -> Result<Site, DiskError> {
        let mut way = RelPath::root();
        for component in directory.components() {
            let parent = match self.root.open(&way) {
                // What vanishes while we look is missing.
                Err(error) if error.is_absence() => return Ok(Site::Missing { from: way }),
                parent => parent?,
            };
            way.push(component);
            match parent.look(component)? {
                None => return Ok(Site::Missing { from: way }),
                Some(Look { nature: Nature::Dir, .. }) => {}
                Some(Look { nature, .. }) => return Ok(Site::Blocked { at: way, nature }),
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
    ) -> Result<Found, DiskError> {
        let directory = path.parent();
        if self.site(&directory)? != Site::Present {
            return Ok(Found::Nothing);
        }
        let cancel = self.cancel;
        let dir = match self.open(&directory) {
            Err(error) if error.is_absence() => return Ok(Found::Nothing),
            dir => dir?,
        };
        let name = path::file_name(path);
        let Some(look) = dir.look(name)? else { return Ok(Found::Nothing) };
        match look.nature {
            Nature::File => Ok(classify(dir, record, (name, look, wanted), cancel)),
            Nature::Dir => match dir.open(name).and_then(|dir| files_in(&dir)) {
                Err(error) if error.is_absence() => Ok(Found::Nothing),
                files => Ok(Found::Dir(files?)),
            },
            Nature::Link | Nature::Special => Ok(Found::Odd),
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
    (name, look, wanted): (&[u8], Look, ObjectId),
    cancel: &Cancel,
) -> Found {
    // What its owner can't read can't be opened to set its mode either: its bytes will have to do.
    let is_known = |record: &&FileRecord| record.stat == look.stat && look.is_readable();
    if let Some(record) = record.filter(is_known) {
        return if record.placed == wanted { Found::Wanted(look) } else { Found::Intact(look) };
    }
    // Of another size it is other content, without a look at each byte.
    if record.is_some_and(|record| {
        !record.is_unknown() && record.placed == wanted && record.stat.size != look.stat.size
    }) {
        return Found::Other(look);
    }
    match drift::content_id(dir, name, cancel) {
        Ok(id) if id == wanted => Found::Wanted(look),
        // Copied or restored: another inode or time, and the bytes that the last sync left.
        Ok(id) if record.is_some_and(|record| record.placed == id) => Found::Intact(look),
        // What can't be read is replaced by what can.
        Ok(_) | Err(_) => Found::Other(look),
    }
}

/// Returns every file and link below a directory, and what is the gateway's own, be it empty.
fn files_in(dir: &Dir) -> Result<Vec<RelPath>, DiskError> {
    let mut files = Vec::new();
    for entry in dir.list()? {
        let path = dir.path().join(&entry.name);
        let is_kept = match name::keeper(&path, Case::Ignored) {
            Some(Keeper::Identity | Keeper::RuntimeCache | Keeper::Repository) => true,
            Some(Keeper::Local) => name::is_local_root(&path, Case::Ignored),
            Some(Keeper::Stoker) | None => false,
        };
        if entry.nature == Nature::Dir && !is_kept {
            files.extend(files_in(&dir.open(&entry.name)?)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}
