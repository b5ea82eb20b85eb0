#![expect(clippy::disallowed_methods, reason = "disk edge: waits for a lock, and says since when")]
//! One run at a time on a data directory (A7).
//!
//! The lock belongs to the open file, so it ends with its process, however that ends; no clock is
//! asked whether it still counts. The file also names its holder, for people. A run that writes
//! nothing leaves it as it is.

use std::fmt;
use std::fs::File;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::cancel::{Cancel, Cancelled};
use crate::disk::{Dir, DiskError, Modes};
use crate::path::Quoted;

const NAME: &[u8] = b"lock";
const MODE: u32 = 0o600;
/// A file that is made to see what mode it gets.
const PROBE: &[u8] = b"mode";
/// A holder says no more than this.
const MOST_WORDS: u64 = 1024;
/// How often a waiting run tries again.
const PATIENCE: Duration = Duration::from_millis(20);

/// The lock of a data directory, held.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    is_signed: bool,
}

/// Who holds a lock, by their own words or else by the kernel's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Holder {
    /// The process, if it is known.
    pub pid: Option<u32>,
    /// The host that the process runs on.
    pub host: Option<String>,
    /// Since when.
    pub since: Option<Timestamp>,
}

/// Why the lock could not be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Somebody else has it.
    #[error("another run holds the data directory ({holder}); waited {} s", .waited.as_secs())]
    Held {
        /// Who.
        holder: Holder,
        /// How long we waited.
        waited: Duration,
    },
    /// The volume has no locks.
    #[error("the volume of the data directory does not support locks")]
    Unsupported {
        /// What the system said.
        source: std::io::Error,
    },
    /// The lock file could not be used.
    #[error("failed to use the lock file")]
    Disk {
        /// What the system said.
        source: DiskError,
    },
    /// The run was asked to end.
    #[error(transparent)]
    Cancelled(Cancelled),
}

impl Lock {
    /// Takes the lock, waiting for it at most so long.
    pub(crate) fn take(state: &Dir, timeout: Duration, cancel: &Cancel) -> Result<Self, Error> {
        let begin = Instant::now();
        loop {
            cancel.check().map_err(Error::Cancelled)?;
            let file = state.open_or_create(NAME, MODE).map_err(|source| Error::Disk { source })?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                // Somebody may have replaced the file while we opened it: then ours locks nothing.
                Ok(()) if is_current(state, &file) => return Ok(Self { file, is_signed: false }),
                Err(Errno::INTR) => {}
                Ok(()) | Err(Errno::WOULDBLOCK) if begin.elapsed() >= timeout => {
                    let holder = Holder::find(state, &file);
                    return Err(Error::Held { holder, waited: begin.elapsed() });
                }
                Ok(()) | Err(Errno::WOULDBLOCK) => thread::sleep(PATIENCE),
                Err(errno) => return Err(Error::Unsupported { source: errno.into() }),
            }
        }
    }

    /// Writes down who holds the lock. Runs that write do this, for those that wait.
    pub(crate) fn sign(&mut self, state: &Dir) -> Result<(), DiskError> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let holder = format!("pid {} on {} since {since}\n", std::process::id(), host());
        state.overwrite(NAME, &mut self.file, holder.as_bytes())?;
        self.is_signed = true;
        Ok(())
    }

    /// Returns whose word the permission bits on the volume are: the lock file is ours alone, if
    /// anything here can be.
    pub(crate) fn modes(&self, state: &Dir) -> Result<Modes, DiskError> {
        match state.look_at_file(NAME, &self.file)?.modes_shown() {
            Modes::Kept => Ok(Modes::Kept),
            Modes::Fixed => {
                let look = state.correct_file_mode(NAME, &self.file, MODE)?;
                let user = rustix::process::geteuid().as_raw();
                // The mode of a file that somebody else has made is not ours to change anywhere.
                if look.may_be_chmoded_by(user) { Ok(look.modes_shown()) } else { probe(state) }
            }
        }
    }

    /// Returns whether the lock file is still the one that is locked.
    pub(crate) fn is_held(&self, state: &Dir) -> bool {
        is_current(state, &self.file)
    }

    /// Removes the words of a holder that is no more.
    pub(crate) fn clean(&mut self, state: &Dir) -> Result<(), DiskError> {
        let is_blank = state.look_at_file(NAME, &self.file)?.stat.size == 0;
        if is_blank || self.is_signed {
            return Ok(());
        }
        state.overwrite(NAME, &mut self.file, b"")
    }
}

/// Asks a file that is ours for certain.
fn probe(state: &Dir) -> Result<Modes, DiskError> {
    state.remove_tree(PROBE)?;
    let file = state.create(PROBE, MODE)?;
    let look = state.correct_file_mode(PROBE, &file, MODE)?;
    state.unlink(PROBE)?;
    Ok(look.modes_shown())
}

/// Returns whose word the permission bits on the volume seem to be, to somebody who changes nothing.
pub(crate) fn modes_seen(state: &Dir) -> Result<Modes, DiskError> {
    let look = state.look(NAME)?;
    Ok(look.map_or(Modes::Kept, |look| look.modes_shown()))
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.is_signed {
            // A name that stays would only make the next message less true.
            drop(self.file.set_len(0));
        }
        // Closing is not enough: a child of another thread has the file, too, until it is executed.
        flock(&self.file, FlockOperation::Unlock).ok();
    }
}

impl Holder {
    fn find(state: &Dir, file: &File) -> Self {
        let words = state.read(NAME, MOST_WORDS).unwrap_or_default();
        Self::parse(&words).unwrap_or_else(|| {
            let inode = state.look_at_file(NAME, file).map(|look| look.stat.inode);
            let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
            let pid = inode.ok().and_then(|inode| pid_in(&locks, inode));
            Self { pid, host: pid.map(|_| host()), since: None }
        })
    }

    /// Reads what [`Lock::sign`] wrote: `pid 7 on host since 1794803368`.
    fn parse(words: &[u8]) -> Option<Self> {
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

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(pid) = self.pid else { return f.write_str("it has not signed") };
        write!(f, "pid {pid}")?;
        self.host.iter().try_for_each(|host| write!(f, " on {host}"))?;
        self.since.iter().try_for_each(|since| write!(f, " since {since}"))
    }
}

fn is_current(state: &Dir, file: &File) -> bool {
    let own = state.look_at_file(NAME, file).map(|look| look.stat.inode);
    let named = state.look(NAME).map(|look| look.map(|look| look.stat.inode));
    matches!((own, named), (Ok(own), Ok(Some(named))) if own == named)
}

#[cfg(test)]
mod tests;
