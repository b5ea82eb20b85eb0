//! Runs one git command to its end, whatever happens.
//!
//! # Promises
//!
//! A command has its own process group. When its time is up, when it is cancelled, and when it is
//! over, the whole group ends: no helper of git outlives the operation. What git says is read into
//! bounded buffers, so that a hostile server can't fill our memory.

pub(crate) mod guard;
pub(crate) mod proc;

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::Cancel;
use crate::limits::{Limits, Pace, Progress, Verdict};

/// What git writes to stderr that is kept: the beginning and the end.
const STDERR_HALF: usize = 8 * 1024;
/// How often a running command is checked; its exit is noticed at once.
const TICK: Duration = Duration::from_millis(50);
/// How often its progress is checked, which reads a dozen files.
const LOOK: Duration = Duration::from_millis(500);
/// Time to tidy up between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(500);

pub(crate) struct Job<'a> {
    pub(crate) command: Command,
    pub(crate) input: Vec<u8>,
    pub(crate) max_output: usize,
    pub(crate) limits: Limits,
    pub(crate) cancel: &'a Cancel,
    /// How many bytes have arrived, and how many may; a command without it ends at its timeout.
    pub(crate) arrived: Option<(&'a dyn Fn() -> u64, u64)>,
}

impl<'a> Job<'a> {
    /// A command that reads nothing and ends at its timeout.
    pub(crate) fn new(
        command: Command,
        max_output: usize,
        limits: Limits,
        cancel: &'a Cancel,
    ) -> Self {
        Self { command, input: Vec::new(), max_output, limits, cancel, arrived: None }
    }
}

#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("failed to start git")]
    Start { source: io::Error },
    #[error("failed to talk to git")]
    Pipe { source: io::Error },
    #[error("no end after {} s", after.as_secs())]
    TimedOut { after: Duration },
    #[error("less than 1 kB/s for 10 s")]
    Stalled,
    #[error("cancelled")]
    Cancelled,
    #[error("more than {limit} bytes came")]
    TooMuch { limit: u64 },
}

/// Runs the command; a status other than zero is not an error here.
pub(crate) fn run(mut job: Job<'_>) -> Result<Output, Error> {
    let stdin = if job.input.is_empty() { Stdio::null() } else { Stdio::piped() };
    let command = job.command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.process_group(0).spawn().map_err(|source| Error::Start { source })?;
    let input = std::mem::take(&mut job.input);
    let writer = child.stdin.take().map(|mut pipe| {
        // A command that dies early stops reading; its status says why, not our broken pipe.
        thread::spawn(move || drop(pipe.write_all(&input)))
    });
    let stdout = child.stdout.take().map(|pipe| {
        let limit = job.max_output;
        thread::spawn(move || read_whole(pipe, limit))
    });
    let stderr = child.stderr.take().map(|pipe| thread::spawn(move || read_edges(pipe)));
    let ended = attend(&mut child, &job);
    let stdout = stdout.map_or(Ok(Some(Vec::new())), join);
    let stderr = stderr.map_or(Ok(String::new()), join);
    if let Some(writer) = writer {
        writer.join().expect("the writer does not panic");
    }
    let status = ended?;
    let limit = job.max_output;
    let stdout = stdout.map_err(|source| Error::Pipe { source })?;
    let stderr = stderr.map_err(|source| Error::Pipe { source })?;
    Ok(Output { status, stdout: stdout.ok_or(Error::TooMuch { limit: limit as u64 })?, stderr })
}

fn join<T>(thread: thread::JoinHandle<T>) -> T {
    thread.join().expect("readers of pipes do not panic")
}

/// Waits for the end, or brings it about.
fn attend(child: &mut Child, job: &Job<'_>) -> Result<ExitStatus, Error> {
    let started = Instant::now();
    let mut pace = Pace::start(job.limits, started);
    // A shorter timeout is checked more often.
    let period = LOOK.min(job.limits.timeout / 8);
    let mut next_look = started + period;
    let verdict = loop {
        match guard::exited(child, TICK) {
            Ok(true) => break Ok(()),
            Ok(false) => {}
            Err(source) => break Err(Error::Pipe { source }),
        }
        if job.cancel.is_cancelled() {
            break Err(Error::Cancelled);
        }
        let now = Instant::now();
        if job.arrived.is_some() && now < next_look {
            continue;
        }
        next_look = now + period;
        let progress = job.arrived.map(|(arrived, limit)| (progress(child, arrived), limit));
        if let Some((_, limit)) = progress.filter(|(progress, limit)| progress.bytes > *limit) {
            break Err(Error::TooMuch { limit });
        }
        let progress = progress.map(|(progress, _)| progress);
        match pace.judge(now, progress) {
            Verdict::GoOn => {}
            Verdict::TimedOut => break Err(Error::TimedOut { after: job.limits.timeout }),
            Verdict::Stalled => break Err(Error::Stalled),
        }
    };
    let status = guard::end_group(child, GRACE).map_err(|source| Error::Pipe { source });
    verdict.and(status)
}

fn progress(child: &Child, arrived: &dyn Fn() -> u64) -> Progress {
    Progress { bytes: arrived(), processor: proc::working_time(child.id()) }
}

/// Reads up to `limit` bytes; `None` if there are more. The rest is drained so that git can end.
fn read_whole(mut pipe: impl Read, limit: usize) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    pipe.by_ref().take(limit as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > limit {
        io::copy(&mut pipe, &mut io::sink())?;
        return Ok(None);
    }
    Ok(Some(bytes))
}

/// Reads everything and keeps the beginning and the end, where git says what went wrong.
fn read_edges(mut pipe: impl Read) -> io::Result<String> {
    let mut head = Vec::new();
    pipe.by_ref().take(STDERR_HALF as u64).read_to_end(&mut head)?;
    let mut tail = VecDeque::<u8>::new();
    let mut chunk = [0; 4096];
    loop {
        let count = pipe.read(&mut chunk)?;
        if count == 0 {
            break;
        }
        tail.extend(&chunk[..count]);
        tail.drain(..tail.len().saturating_sub(STDERR_HALF));
    }
    head.extend(tail);
    Ok(String::from_utf8_lossy(&head).into_owned())
}

#[cfg(test)]
mod tests;
