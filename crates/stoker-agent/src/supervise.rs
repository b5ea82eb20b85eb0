//! The container's first process: answers the probes and keeps a worker running.
//!
//! # Promises
//! It never exits by itself. A worker that dies, is killed or stops answering is started again in
//! the same container, so that the gateway's pod stays ready. Orphans of the worker are reaped.
//! SIGTERM goes on to the worker, and the supervisor ends when the worker has ended.
//!
//! It is one thread around `poll`: without a runtime it takes less than a megabyte of its own.

mod probe;
mod worker;

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, WaitOptions, getpid, set_child_subreaper, wait};
use signal_hook::consts::{SIGCHLD, SIGINT, SIGTERM};

use crate::args::{self, Options};
use crate::link::Message;
use probe::{Probe, Startup};
use worker::Worker;

/// The longest that the loop sleeps.
const IDLE: Duration = Duration::from_mins(1);

/// A gateway does not wait for workers that die before they have said anything, whatever the
/// deadline is: a worker that lives says something every 15 s.
const SPEECHLESS: Duration = Duration::from_mins(1);

/// Supervises until SIGTERM.
pub(crate) fn run(options: &Options) -> ExitCode {
    match Supervisor::new(options.clone(), args::health_port(&args::variable)) {
        Ok(mut supervisor) => supervisor.attend(),
        Err(error) => args::refuse(&error),
    }
}

/// Logs as the worker does, without its libraries.
fn log(level: &str, message: &str, port: Option<u16>) {
    let timestamp = jiff::Timestamp::now().to_string();
    let target = "stoker_agent::supervise";
    let line = serde_json::json!({
        "timestamp": timestamp, "level": level, "message": message, "port": port, "target": target,
    });
    writeln!(std::io::stderr(), "{line}").ok();
}

fn warn(message: &str) {
    log("WARN", message, None);
}

struct Supervisor {
    signals: UnixStream,
    is_ending: Arc<AtomicBool>,
    probe: Probe,
    worker: Worker,
    started: Instant,
    /// When a worker last said something.
    heard: Instant,
}

impl Supervisor {
    fn new(options: Options, port: u16) -> std::io::Result<Self> {
        let (signals, sender) = UnixStream::pair()?;
        signals.set_nonblocking(true)?;
        let is_ending = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGINT] {
            signal_hook::flag::register(signal, Arc::clone(&is_ending))?;
        }
        for signal in [SIGTERM, SIGINT, SIGCHLD] {
            signal_hook::low_level::pipe::register(signal, sender.try_clone()?)?;
        }
        // With a shared pid namespace another process is pid 1, and would get git's orphans.
        set_child_subreaper(Some(getpid()))?;
        let started = Instant::now();
        let (probe, worker) = (Probe::new(port), Worker::new(options));
        Ok(Self { signals, is_ending, probe, worker, started, heard: started })
    }

    fn attend(&mut self) -> ExitCode {
        loop {
            let now = Instant::now();
            self.reap(now);
            if self.is_ending.load(Ordering::Relaxed) {
                if !self.worker.is_running() {
                    return ExitCode::SUCCESS;
                }
                self.worker.end();
            } else {
                self.worker.tend(now, now - self.started);
            }
            if now >= self.heard + SPEECHLESS && self.probe.startup != Startup::Passed {
                warn("no worker lived long enough to say anything: the gateway may start");
                self.probe.startup = Startup::Passed;
            }
            self.sleep(now);
            self.listen();
            self.probe.serve(Instant::now());
        }
    }

    fn listen(&mut self) {
        for message in self.worker.messages() {
            self.heard = Instant::now();
            match message {
                Message::Beat => {}
                Message::Started => self.probe.startup = Startup::Passed,
                Message::Waiting(reason) => {
                    if let Startup::Waiting(shown) = &mut self.probe.startup {
                        *shown = reason;
                    }
                }
            }
        }
    }

    /// Takes note of every child that has ended, orphans included.
    fn reap(&mut self, now: Instant) {
        let mut drained = [0; 64];
        while matches!(self.signals.read(&mut drained), Ok(read) if read > 0) {}
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            self.note_end(pid, status.as_raw(), now);
        }
    }

    fn note_end(&mut self, pid: Pid, status: i32, now: Instant) {
        // What it said before it died still counts.
        self.listen();
        self.worker.note_end(pid, status, now);
    }

    /// Sleeps until something happens or is due.
    fn sleep(&self, now: Instant) {
        let due = [self.worker.due(), self.probe.due(now), Some(self.heard + SPEECHLESS)];
        // What has passed is dealt with already.
        let due = due.into_iter().flatten().filter(|due| *due > now).min();
        let pause = due.map_or(IDLE, |due| (due - now).min(IDLE)) + Duration::from_millis(1);
        let timeout = Timespec::try_from(pause).ok();
        let mut watched = vec![PollFd::new(&self.signals, PollFlags::IN)];
        watched.extend(self.worker.output().map(|output| PollFd::new(output, PollFlags::IN)));
        watched.extend(
            self.probe.sockets().map(|socket| PollFd::from_borrowed_fd(socket, PollFlags::IN)),
        );
        // Interrupted by a signal or not: the loop looks at everything.
        poll(&mut watched, timeout.as_ref()).ok();
    }
}
