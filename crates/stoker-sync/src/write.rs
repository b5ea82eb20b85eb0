//! New files, written where nobody looks, hashed on the way, and durable before anything is renamed.
//!
//! They wait in the staging directory on the data volume: a file under a number, a directory that
//! is not live yet as a whole, with its final names inside. The live tree is not touched here;
//! whatever goes wrong is undone by removing the staging directory.

mod stage;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::Read;
use std::ops::ControlFlow;

pub(crate) use stage::Stage;

use crate::cancel::{Cancel, Cancelled};
use crate::disk::{Dir, DiskError};
use crate::hash::BlobHash;
use crate::manifest::record::{DirChange, Seal, Stat};
use crate::manipulate::{self, Workshop};
use crate::path::RelPath;
use crate::plan::{Put, Work};
use crate::source::{self, ObjectId, Source};
use crate::space;

/// Up to so many files are made durable one by one; beyond, the volume is synced once.
const FEW: usize = 16;
/// How much of a file is in memory at a time.
const BUFFER: usize = 128 * 1024;
/// Git LFS pointers are shorter than this, and begin with those words.
pub(crate) const LFS_SIZE: u64 = 1024;
pub(crate) const LFS_BEGINNING: &[u8] = b"version https://git-lfs.github.com/spec/";

/// Why nothing was written. The live tree is as it was.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no room.
    #[error("there is no room for the new files")]
    Space {
        /// How much is missing.
        source: space::Error,
    },
    /// A file could not be written.
    #[error("failed to write new files")]
    Disk {
        /// What the system said.
        source: DiskError,
    },
    /// The source failed.
    #[error("failed to read the changed files")]
    Read {
        /// What it said.
        source: source::Error,
    },
    /// The stream of a file broke off.
    #[error("failed to read the content of {path:?}")]
    Stream {
        /// The destination.
        path: RelPath,
        /// What the system said.
        source: std::io::Error,
    },
    /// The bytes are not those that the commit names.
    #[error("the content of {path:?} is not blob {wanted}, but {found}")]
    Corrupt {
        /// The destination.
        path: RelPath,
        /// What the commit says.
        wanted: ObjectId,
        /// What arrived.
        found: ObjectId,
    },
    /// The file is a stand-in for one that git does not hold.
    #[error("{path:?} is a Git LFS pointer, not the file itself; exclude it or commit the file")]
    LfsPointer {
        /// The destination.
        path: RelPath,
    },
    /// A file could not be made from its blob.
    #[error("failed to make {path:?}")]
    Make {
        /// The destination.
        path: RelPath,
        /// What is wrong.
        source: manipulate::Error,
    },
    /// The last run of this engine broke off after it had begun to change files.
    #[error("the last run has to be finished first: open the data directory again")]
    Unfinished,
    /// The run was asked to end.
    #[error(transparent)]
    Cancelled(Cancelled),
}

/// What writing goes by.
pub(crate) struct Writing<'a> {
    pub(crate) root: &'a Dir,
    pub(crate) workshop: &'a Workshop<'a>,
    pub(crate) cancel: &'a Cancel,
}

impl Writing<'_> {
    /// Writes the new files of a plan and makes them durable; returns how many bytes they have.
    ///
    /// The records of the files get their looks. On failure nothing is left.
    pub(crate) fn run(&self, work: &mut Work, source: &mut dyn Source) -> Result<u64, Error> {
        if work.puts.is_empty() {
            return Ok(0);
        }
        let sizes = work.puts.iter().map(|put| put.size);
        space::check(self.root, sizes).map_err(|source| Error::Space { source })?;
        let written = self.write_all(work, source);
        if written.is_err() {
            // Best effort: what stays is removed by the next run before it does anything else.
            drop(Stage::remove(self.root));
        }
        written
    }

    fn write_all(&self, work: &mut Work, source: &mut dyn Source) -> Result<u64, Error> {
        let disk = |source| Error::Disk { source };
        let mut stage = Stage::make(self.root, &work.grafts).map_err(disk)?;
        let blobs: Vec<ObjectId> = work.puts.iter().map(|put| put.blob).collect();
        let mut run = Run {
            writing: self,
            stage: &mut stage,
            puts: &work.puts,
            buffer: vec![0; BUFFER],
            sync_each: blobs.len() <= FEW,
            stats: Vec::with_capacity(blobs.len()),
        };
        let mut failure = None;
        let read =
            source.read(&blobs, &mut |index, size, content| match run.take(index, size, content) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failure = Some(error);
                    ControlFlow::Break(())
                }
            });
        if let Some(error) = failure {
            return Err(error);
        }
        read.map_err(Error::reading)?;
        let Run { stats, sync_each, .. } = run;
        if stats.len() != blobs.len() {
            let id = blobs[stats.len()];
            return Err(Error::Read { source: source::Error::Missing { id } });
        }
        if sync_each { stage.sync_dirs(self.root) } else { stage.sync_volume() }.map_err(disk)?;
        let bytes = stats.iter().map(|stat| stat.size).sum();
        remember(work, &stats);
        seal(work, &stage.seals().map_err(disk)?);
        Ok(bytes)
    }
}

/// The writing of one batch.
struct Run<'a> {
    writing: &'a Writing<'a>,
    stage: &'a mut Stage,
    puts: &'a [Put],
    buffer: Vec<u8>,
    sync_each: bool,
    stats: Vec<Stat>,
}

impl Run<'_> {
    /// Writes the file that comes next.
    fn take(&mut self, index: usize, size: u64, content: &mut dyn Read) -> Result<(), Error> {
        self.writing.cancel.check().map_err(Error::Cancelled)?;
        let put = &self.puts[index];
        if put.recipe.is_some() {
            let bytes = self.make(put, size, content)?;
            return self.store(index, bytes.len() as u64, &mut bytes.as_slice());
        }
        self.store(index, size, content)
    }

    fn make(&self, put: &Put, size: u64, content: &mut dyn Read) -> Result<Vec<u8>, Error> {
        let path = || put.path.clone();
        let mut blob = Vec::with_capacity(usize::try_from(size).unwrap_or_default().min(BUFFER));
        content.read_to_end(&mut blob).map_err(|source| Error::Stream { path: path(), source })?;
        let recipe = put.recipe.as_ref();
        let made = recipe.map(|recipe| self.writing.workshop.make(recipe, &put.path, &blob));
        match made {
            Some(made) => {
                made.map(|made| made.bytes).map_err(|source| Error::Make { path: path(), source })
            }
            None => Ok(blob),
        }
    }

    /// Streams one file to its place in the stage, and checks that it is what the plan says.
    fn store(&mut self, index: usize, size: u64, content: &mut dyn Read) -> Result<(), Error> {
        let disk = |source| Error::Disk { source };
        let put = &self.puts[index];
        let (dir, name) = self.stage.place(index as u64, &put.path).map_err(disk)?;
        let mode = if put.is_executable { 0o755 } else { 0o644 };
        let mut file = dir.create(&name, mode).map_err(disk)?;
        let mut hash = BlobHash::new(size);
        let mut is_first = true;
        loop {
            let filled = fill(content, &mut self.buffer)
                .map_err(|source| Error::Stream { path: put.path.clone(), source })?;
            let bytes = &self.buffer[..filled];
            if is_first && size < LFS_SIZE && bytes.starts_with(LFS_BEGINNING) {
                return Err(Error::LfsPointer { path: put.path.clone() });
            }
            is_first = false;
            hash.update(bytes);
            if filled > 0 {
                dir.write(&name, &mut file, bytes).map_err(disk)?;
            }
            if filled < self.buffer.len() {
                break;
            }
        }
        let found = hash.finish();
        if found != put.placed {
            return Err(Error::Corrupt { path: put.path.clone(), wanted: put.placed, found });
        }
        let look = dir.correct_file_mode(&name, &file, mode).map_err(disk)?;
        if self.sync_each {
            dir.sync_file(&name, &file).map_err(disk)?;
        }
        self.stats.push(look.stat);
        Ok(())
    }
}

/// Reads until the buffer is full or nothing comes any more.
fn fill(content: &mut dyn Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match content.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Puts the looks of the new files into their records.
fn remember(work: &mut Work, stats: &[Stat]) {
    for (put, stat) in work.puts.iter().zip(stats) {
        let (patch, record) = put.slot;
        if let DirChange::Known { upserts, .. } = &mut work.patches[patch].change {
            upserts[record].stat = *stat;
        }
    }
}

/// Puts the looks of new directories into their records.
fn seal(work: &mut Work, seals: &BTreeMap<RelPath, Seal>) {
    for patch in work.patches.iter_mut().filter(|_| !seals.is_empty()) {
        if let DirChange::Known { seal, .. } = &mut patch.change {
            *seal = seals.get(&patch.path).copied();
        }
    }
}

impl Error {
    fn reading(source: source::Error) -> Self {
        match source {
            source::Error::Cancelled => Self::Cancelled(Cancelled),
            source => Self::Read { source },
        }
    }
}
