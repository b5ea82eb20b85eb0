//! Finds what differs on disk from what the last sync left there.
//!
//! Every managed file is checked by stat (size, time, inode, mode), or by content on request. Every
//! owned directory is listed for foreign files, unless its stamp shows that no entry was added or
//! removed. This module only finds; `plan.rs` decides, and knows which edits of `resource.json` the
//! gateway makes by itself.

mod dir_cursor;
pub(crate) mod parallel;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::Read;

use dir_cursor::DirCursor;

use crate::cancel::{Cancel, Cancelled};
use crate::compose::Case;
use crate::disk::{Dir, DirEntry, DiskError, FileType, Stat};
use crate::hash::BlobHash;
use crate::manifest::record::FileRecord;
use crate::manifest::{DirRecord, Manifest};
use crate::ownership::Ownership;
use crate::path::RelPath;
use crate::report::Listed;
use crate::request::DriftCheck;
use crate::reserved;
use crate::source::ObjectId;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    /// Managed files whose stat changed, or that are gone.
    pub(crate) suspects: BTreeSet<RelPath>,
    /// Foreign entries of owned directories, at any depth; directories are not listed.
    pub(crate) foreign: BTreeMap<RelPath, FileType>,
}

/// Why the check failed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("failed to check the live files")]
    Read { source: DiskError },
    #[error(transparent)]
    Cancelled(Cancelled),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Inspection<'a> {
    pub(crate) root: &'a Dir,
    pub(crate) manifest: &'a Manifest,
    pub(crate) ownership: &'a Ownership<'a>,
    pub(crate) check: DriftCheck,
    pub(crate) cancel: &'a Cancel,
}

impl Findings {
    pub(crate) fn is_clean(&self, ownership: &Ownership<'_>) -> bool {
        self.suspects.is_empty() && !self.foreign.keys().any(|path| ownership.prunes(path))
    }

    /// Returns the foreign files that are orphans, the first of them by name.
    pub(crate) fn pruned(&self, ownership: &Ownership<'_>, most: usize) -> Listed {
        let pruned: Vec<_> = self.foreign.keys().filter(|path| ownership.prunes(path)).collect();
        Listed::first(pruned.into_iter(), most)
    }
}

impl Inspection<'_> {
    /// Checks a directory from the one above it: most have few files, and to open each would cost
    /// more than to stat its files.
    fn check_dir(
        &self,
        cursor: &mut DirCursor<'_>,
        path: &[u8],
        record: &DirRecord,
        out: &mut Findings,
    ) -> Result<(), Error> {
        let fail = |source| Error::Read { source };
        let Some(seen) = cursor.enter(path).map_err(fail)? else {
            // Gone, or something else in its place: none of its files is as it was.
            suspect_all(path, record, out);
            return Ok(());
        };
        for file in &record.files {
            let seen = cursor.stat(&file.name).map_err(fail)?;
            if !seen.is_some_and(|seen| self.is_intact(path, file, &seen)) {
                out.suspects.insert(RelPath::from_clean(path).join(&file.name));
            }
        }
        let is_unchanged = record.stamp == Some(seen.dir_stamp());
        if is_unchanged || !self.ownership.prunes_in(path) {
            return Ok(());
        }
        match self.root.open(path) {
            Ok(dir) => self.find_foreign(&dir, record, out),
            // Removed meanwhile: nothing is in it.
            Err(error) if error.is_absence() => Ok(()),
            Err(error) => Err(fail(error)),
        }
    }

    fn is_intact(&self, path: &[u8], file: &FileRecord, seen: &Stat) -> bool {
        is_as_recorded(file, seen)
            && (self.check != DriftCheck::Content
                || self.content_of(path, file) == Some(file.placed))
    }

    fn content_of(&self, path: &[u8], file: &FileRecord) -> Option<ObjectId> {
        content_id(&self.root.open(path).ok()?, &file.name, self.cancel).ok()
    }

    fn find_foreign(&self, dir: &Dir, record: &DirRecord, out: &mut Findings) -> Result<(), Error> {
        let entries = match dir.list() {
            // Removed meanwhile: nothing is in it.
            Err(error) if error.is_absence() => Vec::new(),
            entries => entries.map_err(|source| Error::Read { source })?,
        };
        let other_spellings = self.spellings(dir.path(), record);
        for entry in entries {
            let path = dir.path().join(&entry.name);
            let is_known = match entry.file_type {
                FileType::Dir => {
                    self.manifest.key(&path).is_some() || self.ownership.is_root(&path)
                }
                _ => record.file(&entry.name).is_some(),
            };
            if !is_known && !other_spellings.contains(&reserved::fold(&entry.name)) {
                self.add_foreign(dir, &entry, out)?;
            }
        }
        Ok(())
    }

    /// Returns the folded names of what we know in a directory, on a volume that ignores case: it
    /// may list them in another case.
    fn spellings(&self, path: &RelPath, record: &DirRecord) -> HashSet<String> {
        if self.ownership.case() == Case::Matters {
            return HashSet::new();
        }
        let dirs = self.manifest.children_beside(path, &BTreeSet::new());
        let roots = self.ownership.roots_in(path);
        let files = record.files.iter().map(|file| &*file.name);
        files.chain(dirs.iter().map(|name| &**name)).chain(roots).map(reserved::fold).collect()
    }

    fn add_foreign(&self, parent: &Dir, entry: &DirEntry, out: &mut Findings) -> Result<(), Error> {
        let path = parent.path().join(&entry.name);
        if entry.file_type != FileType::Dir {
            out.foreign.insert(path, entry.file_type);
            return Ok(());
        }
        if self.ownership.spares_all_below(&path) {
            return Ok(());
        }
        match parent.open(&entry.name) {
            Ok(dir) => self.find_foreign(&dir, &DirRecord::default(), out),
            Err(error) if error.is_out_of_reach() => Ok(()),
            Err(source) => Err(Error::Read { source }),
        }
    }

    /// Lists the foreign files of one directory and below.
    pub(crate) fn foreign_within(&self, path: &RelPath) -> Result<Findings, Error> {
        let mut findings = Findings::default();
        match self.root.open(path) {
            Ok(dir) => {
                let record = self.manifest.dir(path).unwrap_or_default();
                self.find_foreign(&dir, &record, &mut findings)?;
            }
            Err(error) if error.is_out_of_reach() => {}
            Err(source) => return Err(Error::Read { source }),
        }
        Ok(findings)
    }
}

/// Returns whether the stat of a file is that of the last sync.
pub(crate) fn is_as_recorded(file: &FileRecord, seen: &Stat) -> bool {
    seen.file_type == FileType::File
        && seen.stamp == file.stamp
        && seen.is_mode_of(file.is_executable)
}

/// Returns the id of a live file's bytes. A run that is to end does not read on: the file may have
/// become very large.
pub(crate) fn content_id(dir: &Dir, name: &[u8], cancel: &Cancel) -> Result<ObjectId, DiskError> {
    let mut file = dir.open_file(name)?;
    let size = dir.stat_file(name, &file)?.stamp.size;
    let mut hash = BlobHash::new(size);
    let mut buffer = vec![0; usize::try_from(size).unwrap_or(usize::MAX).clamp(1, 128 * 1024)];
    loop {
        let read = dir.checked_read(name, file.read(&mut buffer))?;
        if read == 0 {
            return Ok(hash.finish());
        }
        hash.update(&buffer[..read]);
        if cancel.is_cancelled() {
            return Err(dir.interrupted(name));
        }
    }
}

fn suspect_all(path: &[u8], record: &DirRecord, out: &mut Findings) {
    let dir = RelPath::from_clean(path);
    out.suspects.extend(record.files.iter().map(|file| dir.join(&file.name)));
}
