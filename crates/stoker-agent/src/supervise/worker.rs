//! The worker as its supervisor sees it: a child that is started again when it ends.

use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::args::Options;
use crate::link::Message;

/// The pause before the worker is started again, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A worker that lived so long was well.
const SETTLED: Duration = Duration::from_mins(1);
/// A worker whose loop is silent for so long hangs. It sends a beat every 15 s, also while a sync
/// runs.
const SILENCE: Duration = Duration::from_mins(2);
/// The longest line that is kept.
const LINE: usize = 1024;

pub(super) struct Worker {
    options: Options,
    running: Option<Running>,
    pause: Duration,
    /// When it is started next.
    next: Option<Instant>,
}

struct Running {
    pid: Pid,
    output: ChildStdout,
    line: Vec<u8>,
    started: Instant,
    heard: Instant,
    /// Whether it was asked to end.
    is_told: bool,
}

impl Worker {
    pub(super) fn new(options: Options) -> Self {
        Self { options, running: None, pause: FIRST_PAUSE, next: None }
    }

    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Starts it where it is due, and kills it where it hangs.
    pub(super) fn tend(&mut self, now: Instant, age: Duration) {
        match &mut self.running {
            Some(running) if now >= running.heard + SILENCE => {
                super::warn(&format!("the worker was silent for {} s: killed", SILENCE.as_secs()));
                kill_process(running.pid, Signal::KILL).ok();
                running.heard = now;
            }
            None if self.next.is_none_or(|next| now >= next) => self.start(now, age),
            Some(_) | None => {}
        }
    }

    fn start(&mut self, now: Instant, age: Duration) {
        match spawn(&self.options, age) {
            Ok((pid, output)) => {
                let (line, is_told) = (Vec::new(), false);
                self.running =
                    Some(Running { pid, output, line, started: now, heard: now, is_told });
                self.next = None;
            }
            Err(error) => {
                super::warn(&format!("failed to start the worker: {error}"));
                self.delay(now);
            }
        }
    }

    fn delay(&mut self, now: Instant) {
        self.next = Some(now + self.pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    /// Takes note of a child that has ended.
    pub(super) fn note_end(&mut self, pid: Pid, status: i32, now: Instant) {
        let Some(ended) = self.running.take_if(|running| running.pid == pid) else { return };
        if ended.is_told {
            return;
        }
        if now - ended.started >= SETTLED {
            self.pause = FIRST_PAUSE;
        }
        let after = self.pause.as_millis();
        super::warn(&format!("the worker ended (status {status:#x}): starts again in {after} ms"));
        self.delay(now);
    }

    /// Asks it to end, once.
    pub(super) fn end(&mut self) {
        if let Some(running) = self.running.as_mut().filter(|running| !running.is_told) {
            running.is_told = true;
            kill_process(running.pid, Signal::TERM).ok();
        }
    }

    /// Returns when there is something to do about it.
    pub(super) fn due(&self) -> Option<Instant> {
        self.running.as_ref().map_or(self.next, |running| Some(running.heard + SILENCE))
    }

    pub(super) fn output(&self) -> Option<&ChildStdout> {
        self.running.as_ref().map(|running| &running.output)
    }

    /// Reads what it has said.
    pub(super) fn messages(&mut self) -> Vec<Message> {
        let mut messages = Vec::new();
        let Some(running) = &mut self.running else { return messages };
        let mut chunk = [0; 512];
        while let Some(read) = running.output.read(&mut chunk).ok().filter(|read| *read > 0) {
            running.heard = Instant::now();
            for byte in &chunk[..read] {
                match byte {
                    b'\n' => {
                        messages.extend(Message::parse(&String::from_utf8_lossy(&running.line)));
                        running.line.clear();
                    }
                    byte if running.line.len() < LINE => running.line.push(*byte),
                    _ => {}
                }
            }
        }
        messages
    }
}

fn spawn(options: &Options, age: Duration) -> io::Result<(Pid, ChildStdout)> {
    // Not by name: an upgrade may have put another program there.
    let mut command = Command::new("/proc/self/exe");
    command.arg0("stoker-agent").arg("worker");
    command.arg("--store-limit").arg(options.store_limit.to_string());
    command.arg("--pod-info").arg(&options.pod_info);
    command.arg("--age-ms").arg(age.as_millis().to_string());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    rustix::io::ioctl_fionbio(&output, true)?;
    // The handle goes: every child is reaped in one place, by its number.
    Ok((Pid::from_child(&child), output))
}
