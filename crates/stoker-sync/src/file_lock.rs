#![expect(clippy::disallowed_methods, reason = "lock edge: waits for a lock, and reads its holder")]
//! A lock on a file: one holder at a time, across processes.
//!
//! The lock belongs to the open file, so it ends with its process, however that ends; no clock is
//! asked whether it still counts. The file also names its holder, for people. Both the data
//! directory and the object store are locked by it.

use std::fmt;
use std::fs::File;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::cancel::Cancel;
use crate::path::Quoted;

const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// A file that is locked until this is dropped.
#[derive(Debug)]
pub struct FileLock {
    /// The file.
    pub file: File,
}

/// Why a lock was not taken.
#[derive(Debug)]
pub enum Refused<E> {
    /// The file could not be opened.
    Open(E),
    /// Another process holds it.
    Held {
        /// The file, to find its holder.
        file: File,
        /// How long we waited.
        waited: Duration,
    },
    /// The volume has no locks.
    Unsupported(std::io::Error),
    /// The wait was cancelled.
    Cancelled,
}

/// Who holds a lock, by its own words or else by the kernel's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Holder {
    /// The process, if it is known.
    pub pid: Option<u32>,
    /// The host that the process runs on.
    pub host: Option<String>,
    /// Since when.
    pub since: Option<Timestamp>,
}

impl FileLock {
    /// Locks the file that `open` opens, and waits so long for another holder.
    ///
    /// `is_current` says whether the file is still the one with that name: a lock on a file that
    /// was replaced meanwhile locks nothing, so then it is opened again.
    pub fn take<E>(
        mut open: impl FnMut() -> Result<File, E>,
        is_current: impl Fn(&File) -> bool,
        timeout: Duration,
        cancel: &Cancel,
    ) -> Result<Self, Refused<E>> {
        let begin = Instant::now();
        loop {
            if cancel.is_cancelled() {
                return Err(Refused::Cancelled);
            }
            let file = open().map_err(Refused::Open)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if is_current(&file) => return Ok(Self { file }),
                Err(Errno::INTR) => {}
                Ok(()) | Err(Errno::WOULDBLOCK) if begin.elapsed() >= timeout => {
                    return Err(Refused::Held { file, waited: begin.elapsed() });
                }
                Ok(()) | Err(Errno::WOULDBLOCK) => thread::sleep(RETRY_INTERVAL),
                Err(errno) => return Err(Refused::Unsupported(errno.into())),
            }
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Closing is not enough: a child of another thread has the file, too, until it is executed.
        flock(&self.file, FlockOperation::Unlock).ok();
    }
}

impl Holder {
    /// Returns the line by which this process names itself in a lock file.
    pub fn own_line() -> String {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        format!("pid {} on {} since {since}\n", std::process::id(), host())
    }

    /// Reads such a line: `pid 7 on host since 1794803368`.
    pub fn parse(words: &[u8]) -> Option<Self> {
        let words = str::from_utf8(words).ok()?.trim();
        let (pid, rest) = words.strip_prefix("pid ")?.split_once(" on ")?;
        let (host, since) = rest.split_once(" since ").unwrap_or((rest, ""));
        let seconds = since.parse().ok();
        Some(Self {
            pid: Some(pid.parse().ok()?),
            host: Some(Quoted(host.as_bytes()).to_string()),
            since: seconds.and_then(|seconds| Timestamp::from_second(seconds).ok()),
        })
    }

    /// Asks the kernel who has the lock on the file with this inode.
    pub fn by_kernel(inode: u64) -> Self {
        let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
        let pid = pid_in(&locks, inode);
        Self { pid, host: pid.map(|_| host()), since: None }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(pid) = self.pid else { return f.write_str("it has not signed") };
        write!(f, "pid {pid}")?;
        self.host.iter().try_for_each(|host| write!(f, " on {host}"))?;
        self.since.iter().try_for_each(|since| write!(f, " since {since}"))
    }
}

/// The process that has the only lock of its kind on a file of this number, if there is one in our
/// own process namespace: `1: FLOCK  ADVISORY  WRITE 4711 00:1d:815 0 EOF`.
fn pid_in(locks: &str, inode: u64) -> Option<u32> {
    let holder = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, "FLOCK", _, "WRITE", pid, place, ..] = words[..] else { return None };
        let is_it = place.rsplit(':').next()?.parse() == Ok(inode);
        pid.parse().ok().filter(|pid| is_it && *pid > 0)
    };
    let mut holders = locks.lines().filter_map(holder);
    let first = holders.next();
    // A file of another volume may have the same number.
    first.filter(|_| holders.next().is_none())
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_dropped_is_free_though_a_child_still_has_its_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let take =
            || FileLock::take(|| file.reopen(), |_| true, Duration::ZERO, &Cancel::default());
        let lock = take().unwrap();
        let _inherited = lock.file.try_clone().unwrap();
        take().unwrap_err();
        drop(lock);
        take().unwrap();
    }

    #[test]
    fn a_holder_is_read_as_it_was_written() {
        let own = Holder::parse(Holder::own_line().as_bytes()).unwrap();
        assert_eq!(own.pid, Some(std::process::id()));
        assert!(own.since.is_some());
        let told = Holder::parse(b"pid 7 on host since 1794803368\n").unwrap().to_string();
        assert_eq!(told, "pid 7 on host since 2026-11-16T04:29:28Z");
        assert_eq!(Holder::parse(b"pid 7 on host").unwrap().to_string(), "pid 7 on host");
        for odd in ["", "pid x on host", "a", "since 1"] {
            assert_eq!(Holder::parse(odd.as_bytes()), None, "{odd}");
        }
        assert_eq!(Holder::default().to_string(), "it has not signed");
    }

    #[test]
    fn the_holder_is_found_among_the_locks_of_a_machine() {
        let locks = "1: POSIX  ADVISORY  WRITE 10 00:1d:815 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 11 00:1d:815 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 12 00:1d:815 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 0 00:1d:816 0 EOF\n\
                     4: FLOCK  ADVISORY  WRITE 13 00:1d:817 0 EOF\n\
                     5: FLOCK  ADVISORY  WRITE 14 00:2d:817 0 EOF\n";
        assert_eq!(pid_in(locks, 815), Some(11));
        for unknown in [816, 817, 818] {
            assert_eq!(pid_in(locks, unknown), None);
        }
    }
}
