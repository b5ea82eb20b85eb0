//! For many files: one thread reads them from the source, another writes them.
//!
//! The queue between the two is bounded: a few batches of small files, or pieces of a large one.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::{BUFFER, Error, Run, fill};
use crate::manifest::record::FileStamp;

/// Fewer files than this are written as they come.
pub(super) const WORTH_A_THREAD: usize = 2_000;
/// How many batches, or pieces of a large file, wait to be written.
const WAITING: usize = 16;
/// A batch is full when it has this many files or bytes.
const MOST_FILES: usize = 64;

struct QueuedFile {
    index: usize,
    size: u64,
    content: QueuedContent,
}

enum QueuedContent {
    Whole(Vec<u8>),
    Pieces(Receiver<io::Result<Vec<u8>>>),
}

pub(super) struct WriterQueue {
    sender: SyncSender<Vec<QueuedFile>>,
    batch: Vec<QueuedFile>,
    bytes: usize,
}

/// The thread that writes has failed, and will say why.
pub(super) struct Stopped;

/// Writes what `give` puts into the queue on a thread of its own; returns the stamps of the files.
pub(super) fn write_on_thread(
    mut run: Run<'_>,
    give: impl FnOnce(&mut WriterQueue) -> Result<(), Error>,
) -> Result<Vec<FileStamp>, Error> {
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel(WAITING);
        let writer = scope.spawn(move || {
            for file in receiver.into_iter().flatten() {
                run.receive(file)?;
            }
            Ok(run.stamps)
        });
        let mut queue = WriterQueue { sender, batch: Vec::new(), bytes: 0 };
        let given = give(&mut queue);
        // A writer that failed has dropped its end: then the last batch is lost, which is fine.
        drop(queue.flush());
        drop(queue);
        let written = writer.join().expect("writing does not panic");
        given.and(written)
    })
}

impl WriterQueue {
    pub(super) fn push(
        &mut self,
        index: usize,
        size: u64,
        content: &mut dyn Read,
    ) -> Result<io::Result<()>, Stopped> {
        if size <= BUFFER as u64 {
            let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(BUFFER));
            if let Err(error) = content.read_to_end(&mut bytes) {
                return Ok(Err(error));
            }
            self.bytes += bytes.len();
            self.batch.push(QueuedFile { index, size, content: QueuedContent::Whole(bytes) });
            let is_full = self.batch.len() >= MOST_FILES || self.bytes >= BUFFER;
            return if is_full { self.flush().map(Ok) } else { Ok(Ok(())) };
        }
        let (pieces, receiver) = sync_channel(WAITING);
        self.batch.push(QueuedFile { index, size, content: QueuedContent::Pieces(receiver) });
        self.flush()?;
        loop {
            let mut piece = vec![0; BUFFER];
            let filled = fill(content, &mut piece);
            let is_last = !matches!(filled, Ok(filled) if filled == BUFFER);
            piece.truncate(*filled.as_ref().unwrap_or(&0));
            pieces.send(filled.map(|_| piece)).map_err(|_| Stopped)?;
            if is_last {
                return Ok(Ok(()));
            }
        }
    }

    fn flush(&mut self) -> Result<(), Stopped> {
        self.bytes = 0;
        self.sender.send(std::mem::take(&mut self.batch)).map_err(|_| Stopped)
    }
}

impl Run<'_> {
    fn receive(&mut self, QueuedFile { index, size, content }: QueuedFile) -> Result<(), Error> {
        match content {
            QueuedContent::Whole(bytes) => self.store(index, size, &mut bytes.as_slice()),
            QueuedContent::Pieces(pieces) => {
                self.store(index, size, &mut Pieces { next: pieces, at_hand: Vec::new(), read: 0 })
            }
        }
    }
}

struct Pieces {
    next: Receiver<io::Result<Vec<u8>>>,
    at_hand: Vec<u8>,
    read: usize,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.read == self.at_hand.len() {
            let Ok(piece) = self.next.recv() else { return Ok(0) };
            self.at_hand = piece?;
            self.read = 0;
            if self.at_hand.is_empty() {
                return Ok(0);
            }
        }
        let count = (&self.at_hand[self.read..]).read(buffer)?;
        self.read += count;
        Ok(count)
    }
}
