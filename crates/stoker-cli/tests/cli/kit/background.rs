//! Commands that go on: how they are ended, and what they print meanwhile.

use std::io::{BufRead as _, BufReader};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rustix::process::{Pid, Signal};
use stoker_testkit::process::Guarded;
use stoker_testkit::wait::eventually;

use super::world::{ENDED, Run};

/// Sends a signal to a command that listens to it, and returns how it ended.
pub(crate) fn end(mut child: Guarded, signal: Signal) -> Run {
    let asked = Instant::now();
    child.signal(signal).unwrap();
    eventually("it ends", || child.try_wait().unwrap().is_some());
    assert!(asked.elapsed() < ENDED, "it took {:?} to end", asked.elapsed());
    Run::of(child.output().unwrap())
}

/// What a command says on standard error while it runs.
pub(crate) struct Heard(pub(crate) Arc<Mutex<String>>);

impl Heard {
    pub(crate) fn of(child: &mut Guarded) -> Self {
        let heard = Arc::new(Mutex::new(String::new()));
        let (lines, into) =
            (BufReader::new(child.take_stderr().unwrap()).lines(), Arc::clone(&heard));
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                *into.lock().unwrap() += &(line + "\n");
            }
        });
        Self(heard)
    }

    pub(crate) fn count(&self, words: &str) -> usize {
        self.0.lock().unwrap().matches(words).count()
    }
}

/// Whether a process holds the lock of a data directory, or waits for it.
pub(crate) fn has_lock_open(process: Pid) -> bool {
    let files = format!("/proc/{}/fd", process.as_raw_nonzero());
    let files = std::fs::read_dir(files).into_iter().flatten().flatten();
    let mut targets = files.filter_map(|file| std::fs::read_link(file.path()).ok());
    targets.any(|target| target.ends_with("data/.stoker/lock"))
}
