//! One long-lived `git cat-file` process that serves trees, sizes and contents.
//!
//! Requests are sent one batch ahead, so that git never waits for us. A batch is never larger than
//! the pipe to git: otherwise we would wait for git to read it, and git for us to read its
//! responses.
//!
//! The bytes of every object are checked against its id, because git does not check whether they
//! changed on the disk.

mod content;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::ops::ControlFlow;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread;

use rustix::pipe::{PIPE_BUF, fcntl_getpipe_size, fcntl_setpipe_size};
use rustix::process::Signal;
use stoker_sync::source::ObjectId;

use super::Error;
use crate::Cancel;
use crate::command::{in_repository, local};
use crate::diagnosis::{Fault, of_process};
use crate::process::{self, guard};
use content::{Content, id_of};

/// The length of the longest request, and what follows the last one of a batch.
const REQUEST: usize = "contents \n".len() + 40;
const FLUSH: &[u8] = b"flush\n";
const BUFFER: usize = 256 * 1024;
const PIPE: usize = 1024 * 1024;
/// An object up to this size is checked before any of it is returned: nearly every file.
const SMALL: usize = 1024 * 1024;

/// A running `git cat-file`.
#[derive(Debug)]
pub(super) struct Objects {
    child: Child,
    requests: ChildStdin,
    responses: BufReader<ChildStdout>,
    /// The header that is being read.
    line: Vec<u8>,
    /// The small object that is being read, with its end of line.
    small: Box<[u8]>,
    cancel: Cancel,
}

/// What git sends before the bytes of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Header {
    Missing,
    Found { kind: ObjectKind, size: u64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectKind {
    Commit,
    Tree,
    Blob,
    Tag,
}

struct Object {
    index: usize,
    id: ObjectId,
    kind: ObjectKind,
    size: u64,
}

/// Receives one object: its place in the request, its header and its bytes.
pub(super) type Receiver<'a> =
    dyn FnMut(usize, Header, &mut dyn Read) -> Result<ControlFlow<()>, Error> + 'a;

impl Objects {
    pub(super) fn start(repository: &Path, cancel: &Cancel) -> Result<Self, Error> {
        let mut command = in_repository(local(), repository);
        command.args(["cat-file", "--batch-command", "--buffer"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let failed = |source| Error::Read { source: of_process(process::Error::Start { source }) };
        let mut child = command.process_group(0).spawn().map_err(failed)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (requests, responses) = pipes.expect("both pipes were configured");
        // A larger pipe means fewer switches between git and us. This may fail for a user with many
        // pipes, which does no harm.
        fcntl_setpipe_size(&responses, PIPE).unwrap_or_default();
        let watched = guard::Watched::of(&child).map_err(failed)?;
        let flag = cancel.clone();
        // A read can't be interrupted, but it ends when git does.
        thread::spawn(move || watched.end_when(&|| flag.is_cancelled()));
        let responses = BufReader::with_capacity(BUFFER, responses);
        let (line, small) = (Vec::new(), vec![0; SMALL + 1].into());
        Ok(Self { child, requests, responses, line, small, cancel: cancel.clone() })
    }

    /// Returns what each object is, without its bytes.
    pub(super) fn info(&mut self, ids: &[ObjectId]) -> Result<Vec<Header>, Error> {
        let mut headers = Vec::with_capacity(ids.len());
        let asked = self.ask("info", ids, &mut |_, header, _| {
            headers.push(header);
            Ok(ControlFlow::Continue(()))
        });
        asked.map(|_| headers)
    }

    /// Returns what `read` makes of the bytes of each object.
    pub(super) fn whole<T>(
        &mut self,
        ids: &[ObjectId],
        limit: u64,
        read: impl Fn(ObjectKind, &[u8]) -> T,
    ) -> Result<Vec<T>, Error> {
        let mut results = Vec::with_capacity(ids.len());
        let mut bytes = Vec::new();
        let asked = self.ask("contents", ids, &mut |index, header, content| {
            let id = ids[index];
            let (kind, size) = match header {
                Header::Found { kind, size } => (kind, size),
                Header::Missing => return Err(Error::Missing { id }),
            };
            if size > limit {
                return Err(Error::TreeTooLarge { id, limit });
            }
            bytes.clear();
            content.read_to_end(&mut bytes).map_err(|_| Error::Torn { id })?;
            results.push(read(kind, &bytes));
            Ok(ControlFlow::Continue(()))
        });
        asked.map(|_| results)
    }

    /// Passes each object to `receive`, in the order of the request.
    ///
    /// After a break or an error git may still be sending: `self` must not be used again.
    pub(super) fn contents(
        &mut self,
        ids: &[ObjectId],
        receive: &mut Receiver<'_>,
    ) -> Result<ControlFlow<()>, Error> {
        self.ask("contents", ids, receive)
    }

    fn ask(
        &mut self,
        verb: &str,
        ids: &[ObjectId],
        receive: &mut Receiver<'_>,
    ) -> Result<ControlFlow<()>, Error> {
        let size = self.batch_size();
        let mut batches = ids.chunks(size);
        if let Some(first) = batches.next() {
            self.send(verb, first)?;
        }
        for (index, id) in ids.iter().enumerate() {
            let header = self.header(id)?;
            // Git reads a whole batch before it responds: the pipe is empty now.
            let next = (index % size == 0).then(|| batches.next()).flatten();
            if let Some(batch) = next {
                self.send(verb, batch)?;
            }
            let flow = match header {
                Header::Found { kind, size } if verb == "contents" => {
                    let object = Object { index, id: *id, kind, size };
                    self.pass_on(&object, receive)?
                }
                header => receive(index, header, &mut io::empty())?,
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Passes on the bytes after a header, and reads the end of line that follows them.
    fn pass_on(
        &mut self,
        &Object { index, id, kind, size }: &Object,
        receive: &mut Receiver<'_>,
    ) -> Result<ControlFlow<()>, Error> {
        let header = Header::Found { kind, size };
        if let Some(length) = usize::try_from(size).ok().filter(|length| *length <= SMALL) {
            let read = self.responses.read_exact(&mut self.small[..=length]);
            self.check(read)?;
            let mut bytes = &self.small[..length];
            if id_of(kind, bytes) != id {
                return Err(Error::Damaged { id });
            }
            return receive(index, header, &mut bytes);
        }
        let mut content = Content::new(&mut self.responses, kind, size, id);
        let received = receive(index, header, &mut content);
        let goes_on = matches!(received, Ok(ControlFlow::Continue(())));
        if content.has_wrong_id() {
            return Err(self.unless_cancelled(Error::Torn { id }));
        }
        if content.has_failed() || goes_on && !content.skip() {
            return Err(self.early_end(Error::Torn { id }));
        }
        if goes_on {
            let read = self.responses.read_exact(&mut [0]);
            self.check(read)?;
        }
        received
    }

    /// Returns how many requests fit into the pipe: it has 64 KiB, or one page for a user with many
    /// pipes.
    fn batch_size(&self) -> usize {
        let pipe = fcntl_getpipe_size(&self.requests).unwrap_or(PIPE_BUF);
        (pipe.saturating_sub(FLUSH.len()) / REQUEST).max(1)
    }

    fn send(&mut self, verb: &str, ids: &[ObjectId]) -> Result<(), Error> {
        let mut text = Vec::with_capacity(ids.len() * REQUEST + FLUSH.len());
        for id in ids {
            text.extend_from_slice(verb.as_bytes());
            text.push(b' ');
            text.extend_from_slice(&id.to_hex());
            text.push(b'\n');
        }
        text.extend_from_slice(FLUSH);
        let sent = self.requests.write_all(&text);
        self.check(sent)
    }

    /// Reads `<id> missing` or `<id> <type> <size>`.
    fn header(&mut self, id: &ObjectId) -> Result<Header, Error> {
        self.line.clear();
        let read = self.responses.by_ref().take(256).read_until(b'\n', &mut self.line);
        self.check(read)?;
        let rest = self.line.strip_prefix(&id.to_hex()).and_then(|rest| rest.strip_prefix(b" "));
        let text = rest.and_then(|rest| str::from_utf8(rest).ok()).unwrap_or_default();
        let mut words = text.split_ascii_whitespace();
        let header = match (words.next(), words.next()) {
            (Some("missing"), None) => Some(Header::Missing),
            (Some(kind), Some(size)) => ObjectKind::parse(kind)
                .zip(size.parse().ok())
                .map(|(kind, size)| Header::Found { kind, size }),
            _ => None,
        };
        let unreadable = Error::Read { source: Fault::Store };
        match header {
            Some(header) => Ok(header),
            None if self.line.is_empty() => Err(self.early_end(unreadable)),
            None => Err(self.unless_cancelled(unreadable)),
        }
    }

    fn check<T>(&mut self, done: io::Result<T>) -> Result<T, Error> {
        done.map_err(|_| self.early_end(Error::Read { source: Fault::Store }))
    }

    /// Returns the error for a git that closed its pipes: it could not read the store, unless it
    /// was killed, for example because the machine ran out of memory.
    fn early_end(&mut self, error: Error) -> Error {
        let signal = self.child.wait().ok().and_then(|status| status.signal());
        let is_killed = [Signal::KILL, Signal::TERM].iter().any(|s| signal == Some(s.as_raw()));
        let killed = || Error::Read { source: Fault::Other { detail: "it was killed".into() } };
        self.unless_cancelled(if is_killed { killed() } else { error })
    }

    fn unless_cancelled(&self, error: Error) -> Error {
        if self.cancel.is_cancelled() { Error::Cancelled } else { error }
    }
}

impl ObjectKind {
    const ALL: [Self; 4] = [Self::Commit, Self::Tree, Self::Blob, Self::Tag];

    fn word(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Blob => "blob",
            Self::Tag => "tag",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        // It only reads, so it has nothing to clean up.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[cfg(test)]
mod tests;
