//! `stoker watch`: syncs continuously.

use std::collections::HashSet;
use std::net::{AddrParseError, SocketAddr};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use stoker_api::condition::Reason;
use stoker_api::gatewaysync::Polling;
use stoker_api::warning::WarningCode;
use stoker_api::word::Interval;
use stoker_run::DriftCheck;

use super::sync;
use crate::arguments::interval;
use crate::cli::Context;
use crate::explain::Mode;
use crate::failure::Failure;
use crate::job::Job;
use crate::run_document::{RunDocument, Status};
use crate::trigger::{Trigger, Woken};

/// How often all managed files are checked while the commit is the same.
const DRIFT_PERIOD: Duration = Duration::from_mins(10);

const EXAMPLE: &str = "\
Example:
  stoker watch -f gatewaysync.yaml --data /usr/local/bin/ignition/data --listen 127.0.0.1:7000
  curl -X POST http://127.0.0.1:7000/sync";

/// Keep a data directory at the state of a ref, until Ctrl-C
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Arguments {
    /// How often to ask the repository, at least 5s; a little earlier or later each time [default:
    /// spec.polling.interval of the file, else 60s]
    #[arg(long, value_name = "TIME", value_parser = interval)]
    interval: Option<Duration>,
    /// Serve POST /sync on this address: sync at once (port 0 takes a free one and prints it)
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    listen: Option<SocketAddr>,
    #[command(flatten)]
    sync: sync::Arguments,
}

/// How often two processes may replace each other's files.
const MOST_FLIPS: u32 = 2;

/// What is remembered from one run to the next.
#[derive(Debug, Default)]
struct Memory {
    /// When all files were last checked.
    drift_checked: Option<Instant>,
    /// Whether all files were due for a check, and a new commit came instead. If every run
    /// applies one, the check would never happen.
    is_check_owed: bool,
    /// How often in a row it failed.
    failures: u32,
    /// The warnings of the last run, so that each is printed once.
    warned: HashSet<String>,
    /// How often another process had brought another source since the last run.
    flips: u32,
    /// The state that was printed last, so that each is printed once.
    printed: Option<(Status, Option<String>)>,
}

/// An address with its port; of names, the one that every machine has for itself.
fn address(text: &str) -> Result<SocketAddr, AddrParseError> {
    match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}").parse(),
        None => text.parse(),
    }
}

pub(crate) fn run(arguments: &Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let mut job = arguments.sync.job()?;
    let interval = arguments.pace(&job)?;
    let wanted = job.target.run.drift_check;
    let trigger = Trigger::new();
    if let Some(address) = arguments.listen {
        let name = job.origin.wanted.name();
        let taken =
            trigger.listen(address).map_err(|failure| failure.about(Some(name.as_str())))?;
        context.console.announce(&format!("listening on http://{taken}/sync"));
    }
    let (name, url) = (job.origin.wanted.name(), job.origin.access.remote());
    context.console.invite(&format!("watching {name} of {url}, Ctrl-C ends"));
    let mut memory = Memory::default();
    loop {
        job.target.run.drift_check = memory.drift_check(wanted, Instant::now());
        let mut document = sync::once(&job, Mode::Sync, context);
        // What was finished is printed, though a signal came. A run that the signal cancelled is not
        // printed.
        let is_broken_off =
            document.status == Status::Failed && context.interruption.cancel.is_cancelled();
        if memory.take(&mut document, job.target.run.drift_check, Instant::now()) && !is_broken_off
        {
            context.console.document(&document);
        }
        if document.status != Status::Failed {
            // It was confirmed for one run only.
            job.target.run.deletion = None;
        }
        if memory.flips >= MOST_FLIPS {
            return Err(flipping(&document));
        }
        match trigger.wait(memory.pause(interval, fastrand::f64()), &context.interruption.cancel) {
            Woken::Cancelled => return Ok(ExitCode::SUCCESS),
            Woken::Request => context.console.detail("sync requested"),
            Woken::Time => {}
        }
    }
}

/// Two processes that watch different refs would replace each other's files for ever.
fn flipping(document: &RunDocument) -> Failure {
    let other = document.warnings.iter().find(|warned| warned.code == WarningCode::OtherSource);
    let other = other.map(|warned| warned.message.clone()).unwrap_or_default();
    let message = format!("another process keeps replacing the files of this one: {other}");
    Failure::because(Reason::OtherSource, message)
        .hint("end one of the two, or give each a data directory of its own with --data")
}

impl Arguments {
    /// How often to poll the repository; never if only requests should start a sync.
    fn pace(&self, job: &Job) -> Result<Option<Duration>, Failure> {
        let Polling { enabled, interval } = &job.polling;
        if self.interval.is_some() {
            return Ok(self.interval);
        }
        if *enabled == Some(false) {
            if self.listen.is_some() {
                return Ok(None);
            }
            let message = "the file turns polling off (spec.polling.enabled), so nothing would \
                           start another sync";
            return Err(Failure::usage(message)
                .hint("add --listen 127.0.0.1:7000 and ask there, or poll with --interval 60s"));
        }
        let interval = interval.as_deref().and_then(|text| Interval::parse(text).ok());
        Ok(Some(interval.unwrap_or(Polling::DEFAULT_INTERVAL).as_duration()))
    }
}

impl Memory {
    /// Drift is checked less often than the ref: listing refs is cheap, stat of all files is not.
    fn drift_check(&self, wanted: DriftCheck, now: Instant) -> DriftCheck {
        match self.drift_checked {
            Some(checked) if now - checked < DRIFT_PERIOD => DriftCheck::Touched,
            _ => wanted,
        }
    }

    /// Records the result of a run, and returns whether it is new.
    fn take(&mut self, document: &mut RunDocument, check: DriftCheck, now: Instant) -> bool {
        let is_warned = document.compare_warnings(&mut self.warned);
        if self.printed.is_some() && document.has_other_source() {
            self.flips += 1;
        }
        let is_failed = document.status == Status::Failed;
        self.failures = if is_failed { self.failures + 1 } else { 0 };
        // A run that applied another commit checked only what it touched.
        let is_same_commit = document.previous_commit == document.commit;
        let is_first = document.previous_commit.is_none();
        let is_full = !is_failed && check != DriftCheck::Touched;
        if is_full && (is_same_commit || is_first) {
            self.drift_checked = Some(now);
        }
        // A dry run never changes the applied commit.
        let is_applied = document.status == Status::Synced && !is_same_commit;
        self.is_check_owed = is_applied && check == DriftCheck::Stat && !is_first;
        let error = document.error.as_ref().map(|failure| failure.message.clone());
        let state = Some((document.status, error));
        let is_new = document.status == Status::Synced || self.printed != state || is_warned;
        self.printed = state;
        is_new
    }

    /// The interval, ± 10 % by a chance from 0 to 1, so that a thousand watchers spread; after
    /// failures shorter ones that grow to it; none before a check that is owed.
    fn pause(&self, interval: Option<Duration>, chance: f64) -> Duration {
        if self.is_check_owed {
            return Duration::ZERO;
        }
        let retry = (self.failures > 0).then(|| Duration::from_secs(1 << self.failures.min(6)));
        match interval.into_iter().chain(retry).min() {
            Some(pause) => pause.mul_f64(0.9 + 0.2 * chance),
            None => Duration::MAX,
        }
    }
}

#[cfg(test)]
mod tests;
