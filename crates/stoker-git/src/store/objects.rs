//! One long-lived `git cat-file` that answers for trees, sizes and contents.
//!
//! Questions are sent one batch ahead, so that git never waits for us, and never more than fit into
//! the pipe to it: we would wait for git to read them, and git for us to read its answers.
//!
//! What is handed out has the id that was asked for, whatever has become of the disk.

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

/// The longest question, and what follows the last one of a batch.
const QUESTION: usize = "contents \n".len() + 40;
const FLUSH: &[u8] = b"flush\n";
const BUFFER: usize = 256 * 1024;
const PIPE: usize = 1024 * 1024;
/// An object up to this size is checked before it is handed out: nearly every file.
const SMALL: usize = 1024 * 1024;

/// A running `git cat-file`.
#[derive(Debug)]
pub(super) struct Objects {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// The header that is being read.
    line: Vec<u8>,
    /// The small object that is being read, with its end of line.
    small: Box<[u8]>,
    cancel: Cancel,
}

/// What git says about an object before its bytes.
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

/// What git is about to send, and which answer it is.
struct Object {
    index: usize,
    id: ObjectId,
    kind: ObjectKind,
    size: u64,
}

/// Receives one object: its place in the question, what it is, and its bytes.
pub(super) type Receiver<'a> =
    dyn FnMut(usize, Header, &mut dyn Read) -> Result<ControlFlow<()>, Error> + 'a;

impl Objects {
    /// Starts git on a repository.
    pub(super) fn start(repository: &Path, cancel: &Cancel) -> Result<Self, Error> {
        let mut command = in_repository(local(), repository);
        command.args(["cat-file", "--batch-command", "--buffer"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let failed = |source| Error::Read { source: of_process(process::Error::Start { source }) };
        let mut child = command.process_group(0).spawn().map_err(failed)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (questions, answers) = pipes.expect("both pipes were asked for");
        // Fewer, longer turns between git and us. An ordinary user may be at the limit: no matter.
        fcntl_setpipe_size(&answers, PIPE).unwrap_or_default();
        let watched = guard::Watched::of(&child).map_err(failed)?;
        let flag = cancel.clone();
        // A read can't be interrupted, but it ends when git does.
        thread::spawn(move || watched.end_when(&|| flag.is_cancelled()));
        let answers = BufReader::with_capacity(BUFFER, answers);
        let (line, small) = (Vec::new(), vec![0; SMALL + 1].into());
        Ok(Self { child, questions, answers, line, small, cancel: cancel.clone() })
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

    /// Returns the bytes of each object as `read` understands them.
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

    /// Hands each object to `receive`, in the order of the question.
    ///
    /// After a break or an error git may still be talking: the value must not be used again.
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
            // Git has read a batch to its end before it answers: the pipe is empty now.
            let next = (index % size == 0).then(|| batches.next()).flatten();
            if let Some(batch) = next {
                self.send(verb, batch)?;
            }
            let flow = match header {
                Header::Found { kind, size } if verb == "contents" => {
                    let object = Object { index, id: *id, kind, size };
                    self.hand_out(&object, receive)?
                }
                header => receive(index, header, &mut io::empty())?,
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Hands out the bytes after a header, and reads the end of line that follows them.
    fn hand_out(
        &mut self,
        &Object { index, id, kind, size }: &Object,
        receive: &mut Receiver<'_>,
    ) -> Result<ControlFlow<()>, Error> {
        let header = Header::Found { kind, size };
        if let Some(length) = usize::try_from(size).ok().filter(|length| *length <= SMALL) {
            let read = self.answers.read_exact(&mut self.small[..=length]);
            self.check(read)?;
            let mut bytes = &self.small[..length];
            if id_of(kind, bytes) != id {
                return Err(Error::Damaged { id });
            }
            return receive(index, header, &mut bytes);
        }
        let mut content = Content::new(&mut self.answers, (kind, size), id);
        let received = receive(index, header, &mut content);
        let goes_on = matches!(received, Ok(ControlFlow::Continue(())));
        if content.has_wrong_id() {
            return Err(self.unless_cancelled(Error::Torn { id }));
        }
        if content.has_failed() || goes_on && !content.skip() {
            return Err(self.early_end(Error::Torn { id }));
        }
        if goes_on {
            let read = self.answers.read_exact(&mut [0]);
            self.check(read)?;
        }
        received
    }

    /// How many questions fit into the pipe: 64 KiB for most, one page for who has many pipes.
    fn batch_size(&self) -> usize {
        let pipe = fcntl_getpipe_size(&self.questions).unwrap_or(PIPE_BUF);
        (pipe.saturating_sub(FLUSH.len()) / QUESTION).max(1)
    }

    fn send(&mut self, verb: &str, ids: &[ObjectId]) -> Result<(), Error> {
        let mut text = Vec::with_capacity(ids.len() * QUESTION + FLUSH.len());
        for id in ids {
            text.extend_from_slice(verb.as_bytes());
            text.push(b' ');
            text.extend_from_slice(&id.to_hex());
            text.push(b'\n');
        }
        text.extend_from_slice(FLUSH);
        let sent = self.questions.write_all(&text);
        self.check(sent)
    }

    /// Reads `<id> missing` or `<id> <type> <size>`.
    fn header(&mut self, id: &ObjectId) -> Result<Header, Error> {
        self.line.clear();
        let read = self.answers.by_ref().take(256).read_until(b'\n', &mut self.line);
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

    /// Git has closed its pipes: it died of a store that it could not read, unless somebody ended
    /// it, such as a kernel that is out of memory.
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
        // It only reads, so there is nothing to tidy up and no reason to wait.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[cfg(test)]
mod tests;
