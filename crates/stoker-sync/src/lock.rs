//! One run at a time on a data directory (A7).
//!
//! A run that writes nothing leaves the lock file as it is; one that writes names itself in it.

use std::fs::File;
use std::time::Duration;

use crate::cancel::{Cancel, Cancelled};
use crate::disk::{Dir, DiskError, Modes};
pub use crate::file_lock::Holder;
use crate::file_lock::{FileLock, Refused};

const NAME: &[u8] = b"lock";
const MODE: u32 = 0o600;
/// A file that is made to see what mode it gets.
const PROBE: &[u8] = b"mode";
/// A holder says no more than this.
const MOST_WORDS: u64 = 1024;

/// The lock of a data directory, held.
#[derive(Debug)]
pub(crate) struct Lock {
    lock: FileLock,
    is_signed: bool,
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
        let open = || state.open_or_create(NAME, MODE);
        let taken = FileLock::take(open, |file| is_current(state, file), timeout, cancel);
        match taken {
            Ok(lock) => Ok(Self { lock, is_signed: false }),
            Err(Refused::Open(source)) => Err(Error::Disk { source }),
            Err(Refused::Held { file, waited }) => {
                Err(Error::Held { holder: holder(state, &file), waited })
            }
            Err(Refused::Unsupported(source)) => Err(Error::Unsupported { source }),
            Err(Refused::Cancelled) => Err(Error::Cancelled(Cancelled)),
        }
    }

    /// Writes down who holds the lock. Runs that write do this, for those that wait.
    pub(crate) fn sign(&mut self, state: &Dir) -> Result<(), DiskError> {
        state.overwrite(NAME, &mut self.lock.file, Holder::own_words().as_bytes())?;
        self.is_signed = true;
        Ok(())
    }

    /// Returns whose word the permission bits on the volume are: the lock file is ours alone, if
    /// anything here can be.
    pub(crate) fn modes(&self, state: &Dir) -> Result<Modes, DiskError> {
        match state.look_at_file(NAME, &self.lock.file)?.modes_shown() {
            Modes::Kept => Ok(Modes::Kept),
            Modes::Fixed => {
                let look = state.correct_file_mode(NAME, &self.lock.file, MODE)?;
                let user = rustix::process::geteuid().as_raw();
                // The mode of a file that somebody else has made is not ours to change anywhere.
                if look.may_be_chmoded_by(user) { Ok(look.modes_shown()) } else { probe(state) }
            }
        }
    }

    /// Returns whether the lock file is still the one that is locked.
    pub(crate) fn is_held(&self, state: &Dir) -> bool {
        is_current(state, &self.lock.file)
    }

    /// Removes the words of a holder that is no more.
    pub(crate) fn clean(&mut self, state: &Dir) -> Result<(), DiskError> {
        let is_blank = state.look_at_file(NAME, &self.lock.file)?.stat.size == 0;
        if is_blank || self.is_signed {
            return Ok(());
        }
        state.overwrite(NAME, &mut self.lock.file, b"")
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
            drop(self.lock.file.set_len(0));
        }
    }
}

/// By its own words, or else by the kernel's.
fn holder(state: &Dir, file: &File) -> Holder {
    let words = state.read(NAME, MOST_WORDS).unwrap_or_default();
    Holder::parse(&words).unwrap_or_else(|| {
        let look = state.look_at_file(NAME, file);
        look.map(|look| Holder::by_kernel(look.stat.inode)).unwrap_or_default()
    })
}

fn is_current(state: &Dir, file: &File) -> bool {
    let own = state.look_at_file(NAME, file).map(|look| look.stat.inode);
    let named = state.look(NAME).map(|look| look.map(|look| look.stat.inode));
    matches!((own, named), (Ok(own), Ok(Some(named))) if own == named)
}

#[cfg(test)]
mod tests;
