//! One long-lived `git cat-file` that answers for trees, sizes and contents.
//!
//! Questions are sent one batch ahead, so that git never waits for us, and never more than fit into
//! the pipe to it: we would wait for git to read them, and git for us to read its answers.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::ops::ControlFlow;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread;

use rustix::pipe::{PIPE_BUF, fcntl_getpipe_size, fcntl_setpipe_size};
use stoker_sync::source::ObjectId;

use super::Error;
use crate::cancel::Cancel;
use crate::command::{in_repository, local};
use crate::diagnosis::{Fault, of_process};
use crate::process::{self, guard};

/// The longest question, and what follows the last one of a batch.
const QUESTION: usize = "contents \n".len() + 40;
const FLUSH: &[u8] = b"flush\n";
const BUFFER: usize = 256 * 1024;
const PIPE: usize = 1024 * 1024;

/// A running `git cat-file`.
#[derive(Debug)]
pub(super) struct Objects {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// The header that is being read.
    line: Vec<u8>,
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
        Ok(Self { child, questions, answers, line: Vec::new(), cancel: cancel.clone() })
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
            content.read_to_end(&mut bytes).map_err(|_| Error::Read { source: Fault::Store })?;
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
            let length = match &header {
                Header::Found { size, .. } if verb == "contents" => *size,
                Header::Found { .. } | Header::Missing => 0,
            };
            let has_content = verb == "contents" && header != Header::Missing;
            let mut bytes = self.answers.by_ref().take(length);
            let flow = receive(index, header, &mut bytes)?;
            if flow.is_break() {
                return Ok(flow);
            }
            let rest = io::copy(&mut bytes, &mut io::sink());
            self.check(rest)?;
            if has_content {
                let mut newline = [0];
                let read = self.answers.read_exact(&mut newline);
                self.check(read)?;
            }
        }
        Ok(ControlFlow::Continue(()))
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
            (Some(kind), Some(size)) => kind_of(kind)
                .zip(size.parse().ok())
                .map(|(kind, size)| Header::Found { kind, size }),
            _ => None,
        };
        header.ok_or_else(|| self.silence())
    }

    fn check<T>(&self, done: io::Result<T>) -> Result<T, Error> {
        done.map_err(|_| self.silence())
    }

    /// A broken pipe, or no answer, means that git died: cancelled by us, or of a store that it could
    /// not read.
    fn silence(&self) -> Error {
        if self.cancel.is_cancelled() {
            Error::Cancelled
        } else {
            Error::Read { source: Fault::Store }
        }
    }
}

fn kind_of(word: &str) -> Option<ObjectKind> {
    match word {
        "commit" => Some(ObjectKind::Commit),
        "tree" => Some(ObjectKind::Tree),
        "blob" => Some(ObjectKind::Blob),
        "tag" => Some(ObjectKind::Tag),
        _ => None,
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
