//! Writes new files to the staging directory, hashes them on the way, and makes them durable before
//! anything is renamed.
//!
//! Staging is on the data volume: each file under a number, each new directory as a whole with its
//! final names inside. The live tree is not touched here; an error is undone by removing the
//! staging directory.

mod error;
mod stage;
#[cfg(test)]
mod tests;
mod writer_thread;

use std::collections::BTreeMap;
use std::io::Read;
use std::ops::ControlFlow;

pub use error::Error;
pub(crate) use stage::Stage;
use writer_thread::{Stopped, WriterQueue};

use crate::cancel::{Cancel, Cancelled};
use crate::disk::Dir;
use crate::hash::BlobHash;
use crate::lfs;
use crate::manifest::record::{DirChange, DirStamp, FileStamp};
use crate::manipulate::{Transform, Transformer};
use crate::path::RelPath;
use crate::plan::{Put, Work};
use crate::source::{self, ObjectId, Source};
use crate::space;

/// Up to so many files are made durable one by one; beyond, the volume is synced once.
const FEW: usize = 16;
/// How much of a file is in memory at a time.
const BUFFER: usize = 128 * 1024;

pub(crate) struct Writing<'a> {
    pub(crate) root: &'a Dir,
    pub(crate) transformer: &'a Transformer<'a>,
    pub(crate) cancel: &'a Cancel,
}

impl Writing<'_> {
    /// Writes the new files of a plan and makes them durable; returns how many bytes they have.
    ///
    /// The records of the files get their stamps. On failure nothing is left.
    pub(crate) fn run(&self, work: &mut Work, source: &mut dyn Source) -> Result<u64, Error> {
        if work.puts.is_empty() {
            return Ok(0);
        }
        space::check(self.root, work).map_err(|source| Error::Space { source })?;
        let written = self.write_all(work, source);
        if written.is_err() {
            // Best effort: what stays is removed by the next run before it does anything else.
            drop(Stage::remove(self.root));
        }
        written
    }

    fn write_all(&self, work: &mut Work, source: &mut dyn Source) -> Result<u64, Error> {
        let disk = |source| Error::Disk { source };
        let mut stage = Stage::make(self.root, &work.new_dirs).map_err(disk)?;
        let sync_each = work.puts.len() <= FEW;
        let stamps = Vec::with_capacity(work.puts.len());
        let buffer = vec![0; BUFFER];
        let (puts, cancel) = (&work.puts, self.cancel);
        let mut run = Run { stage: &mut stage, puts, buffer, sync_each, stamps, cancel };
        let stamps = if work.puts.len() < writer_thread::WORTH_A_THREAD {
            self.read_all(&work.puts, source, |index, size, content| {
                run.store(index, size, content)
            })?;
            run.stamps
        } else {
            writer_thread::write_on_thread(run, |queue| self.queue_all(&work.puts, source, queue))?
        };
        if let Some(put) = work.puts.get(stamps.len()) {
            return Err(Error::Read { source: source::Error::Missing { id: put.blob } });
        }
        if sync_each { stage.sync_dirs(self.root) } else { stage.sync_volume() }.map_err(disk)?;
        let bytes = stamps.iter().map(|stamp| stamp.size).sum();
        remember_files(work, &stamps);
        remember_dirs(work, &stage.dir_stamps().map_err(disk)?);
        Ok(bytes)
    }

    fn queue_all(
        &self,
        puts: &[Put],
        source: &mut dyn Source,
        queue: &mut WriterQueue,
    ) -> Result<(), Error> {
        let mut is_stopped = false;
        let read = self.read_all(puts, source, |index, size, content| {
            let passed = queue.push(index, size, content).map_err(|Stopped| {
                is_stopped = true;
                Error::Cancelled(Cancelled)
            })?;
            passed.map_err(|source| stream(&puts[index], source))
        });
        // The thread that writes says why.
        if is_stopped { Ok(()) } else { read }
    }

    /// Reads the blobs, applies their transforms, and passes each file to `take`.
    fn read_all(
        &self,
        puts: &[Put],
        source: &mut dyn Source,
        mut take: impl FnMut(usize, u64, &mut dyn Read) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let blobs: Vec<ObjectId> = puts.iter().map(|put| put.blob).collect();
        let mut failure = None;
        let read = source.read(&blobs, &mut |index, size, content| {
            let taken = self.cancel.check().map_err(Error::Cancelled).and_then(|()| {
                match &puts[index].transform {
                    Some(transform) => {
                        let bytes = self.transform(&puts[index], transform, size, content)?;
                        take(index, bytes.len() as u64, &mut bytes.as_slice())
                    }
                    None => take(index, size, content),
                }
            });
            match taken {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failure = Some(error);
                    ControlFlow::Break(())
                }
            }
        });
        match (failure, read) {
            // The source knows best why its bytes broke off.
            (None | Some(Error::Stream { .. }), Err(source)) => Err(Error::reading(source)),
            (Some(error), _) => Err(error),
            (None, Ok(())) => Ok(()),
        }
    }

    fn transform(
        &self,
        put: &Put,
        transform: &Transform,
        size: u64,
        content: &mut dyn Read,
    ) -> Result<Vec<u8>, Error> {
        let mut blob = Vec::with_capacity(usize::try_from(size).unwrap_or_default().min(BUFFER));
        content.read_to_end(&mut blob).map_err(|source| stream(put, source))?;
        let made = self.transformer.apply(transform, &put.path, &blob);
        made.map(|made| made.bytes)
            .map_err(|source| Error::Transform { path: put.path.clone(), source })
    }
}

fn stream(put: &Put, source: std::io::Error) -> Error {
    Error::Stream { path: put.path.clone(), source }
}

struct Run<'a> {
    stage: &'a mut Stage,
    puts: &'a [Put],
    buffer: Vec<u8>,
    sync_each: bool,
    stamps: Vec<FileStamp>,
    cancel: &'a Cancel,
}

impl Run<'_> {
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
            self.cancel.check().map_err(Error::Cancelled)?;
            let filled = fill(content, &mut self.buffer).map_err(|source| stream(put, source))?;
            let bytes = &self.buffer[..filled];
            if is_first && lfs::is_pointer(bytes) {
                return Err(Error::LfsPointers { paths: vec![put.path.clone()] });
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
        let stat = dir.correct_file_mode(&name, &file, mode).map_err(disk)?;
        if self.sync_each {
            dir.sync_file(&name, &file).map_err(disk)?;
        }
        self.stamps.push(stat.stamp);
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

fn remember_files(work: &mut Work, stamps: &[FileStamp]) {
    for (put, stamp) in work.puts.iter().zip(stamps) {
        let (patch, record) = put.slot;
        if let DirChange::Known { upserts, .. } = &mut work.patches[patch].change {
            upserts[record].stamp = *stamp;
        }
    }
}

fn remember_dirs(work: &mut Work, stamps: &BTreeMap<RelPath, DirStamp>) {
    for patch in work.patches.iter_mut().filter(|_| !stamps.is_empty()) {
        if let DirChange::Known { stamp, .. } = &mut patch.change {
            *stamp = stamps.get(&patch.path).copied().or(*stamp);
        }
    }
}
