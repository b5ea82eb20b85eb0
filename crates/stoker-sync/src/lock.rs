//! The lock of a data directory: one run at a time (A7).
//!
//! A run that writes nothing leaves the lock file unchanged. A run that writes puts its name into
//! it.

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

#[derive(Debug)]
pub(crate) struct Lock {
    lock: FileLock,
    has_holder: bool,
}

/// Why the lock could not be had.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("another run holds the data directory ({holder}); waited {} s", .waited.as_secs())]
    Held { holder: Holder, waited: Duration },
    #[error("the volume of the data directory does not support locks")]
    Unsupported { source: std::io::Error },
    #[error("failed to use the lock file")]
    Disk { source: DiskError },
    #[error(transparent)]
    Cancelled(Cancelled),
}

impl Lock {
    /// Takes the lock, waiting for it at most so long.
    pub(crate) fn take(state: &Dir, timeout: Duration, cancel: &Cancel) -> Result<Self, Error> {
        let open = || state.open_or_create(NAME, MODE);
        let taken = FileLock::take(open, |file| is_current(state, file), timeout, cancel);
        match taken {
            Ok(lock) => Ok(Self { lock, has_holder: false }),
            Err(Refused::Open(source)) => Err(Error::Disk { source }),
            Err(Refused::Held { file, waited }) => {
                Err(Error::Held { holder: holder(state, &file), waited })
            }
            Err(Refused::Unsupported(source)) => Err(Error::Unsupported { source }),
            Err(Refused::Cancelled) => Err(Error::Cancelled(Cancelled)),
        }
    }

    /// Writes down who holds the lock. Runs that write do this, for those that wait.
    pub(crate) fn write_holder(&mut self, state: &Dir) -> Result<(), DiskError> {
        state.overwrite(NAME, &mut self.lock.file, Holder::own_line().as_bytes())?;
        self.has_holder = true;
        Ok(())
    }

    /// Returns whether the volume keeps permission bits: those of the lock file are known.
    pub(crate) fn modes(&self, state: &Dir) -> Result<Modes, DiskError> {
        match state.stat_file(NAME, &self.lock.file)?.modes_shown() {
            Modes::Kept => Ok(Modes::Kept),
            Modes::Fixed => {
                let stat = state.correct_file_mode(NAME, &self.lock.file, MODE)?;
                let user = rustix::process::geteuid().as_raw();
                // The mode of a file that another user made is not changed.
                if stat.may_be_chmoded_by(user) { Ok(stat.modes_shown()) } else { probe(state) }
            }
        }
    }

    /// Returns whether the lock file is still the one that is locked.
    pub(crate) fn is_held(&self, state: &Dir) -> bool {
        is_current(state, &self.lock.file)
    }

    /// Removes the name of a holder that has ended.
    pub(crate) fn clean(&mut self, state: &Dir) -> Result<(), DiskError> {
        let is_blank = state.stat_file(NAME, &self.lock.file)?.stamp.size == 0;
        if is_blank || self.has_holder {
            return Ok(());
        }
        state.overwrite(NAME, &mut self.lock.file, b"")
    }
}

/// Makes a file to see whether it keeps its permission bits.
fn probe(state: &Dir) -> Result<Modes, DiskError> {
    state.remove_tree(PROBE)?;
    let file = state.create(PROBE, MODE)?;
    let stat = state.correct_file_mode(PROBE, &file, MODE)?;
    state.unlink(PROBE)?;
    Ok(stat.modes_shown())
}

/// Guesses whether the volume keeps permission bits, without changing anything.
pub(crate) fn modes_seen(state: &Dir) -> Result<Modes, DiskError> {
    let stat = state.stat(NAME)?;
    Ok(stat.map_or(Modes::Kept, |stat| stat.modes_shown()))
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.has_holder {
            // A name that stays would only make the next message less true.
            drop(self.lock.file.set_len(0));
        }
    }
}

/// Returns who holds the lock: what the lock file says, or else what the kernel says.
fn holder(state: &Dir, file: &File) -> Holder {
    let words = state.read(NAME, MOST_WORDS).unwrap_or_default();
    Holder::parse(&words).unwrap_or_else(|| {
        let stat = state.stat_file(NAME, file);
        stat.map(|stat| Holder::by_kernel(stat.stamp.inode)).unwrap_or_default()
    })
}

fn is_current(state: &Dir, file: &File) -> bool {
    let own = state.stat_file(NAME, file).map(|stat| stat.stamp.inode);
    let named = state.stat(NAME).map(|stat| stat.map(|stat| stat.stamp.inode));
    matches!((own, named), (Ok(own), Ok(Some(named))) if own == named)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::testing::{Commit, Scratch, request, sync};
    use crate::{Engine, OpenError, Opened, Options, Request, Written};

    fn commit() -> (Commit, Request) {
        let commit = Commit::of([("p/a", "1")]);
        let request = request(&commit, ["p:projects"]);
        (commit, request)
    }

    /// Writes what a commit brings.
    fn write<'e>(engine: &'e mut Engine, (commit, wanted): &(Commit, Request)) -> Written<'e> {
        let (mut source, cancel) = (commit.clone(), Cancel::default());
        let plan = engine.plan(&mut source, wanted, &cancel).unwrap();
        engine.write(plan, &mut source, &cancel).unwrap()
    }

    // F24: what the first has staged is not touched by the second.
    #[test]
    fn a_second_run_waits_and_then_says_who_holds_the_directory() {
        let (scratch, commit) = (Scratch::new(), commit());
        let mut engine = scratch.engine();
        let written = write(&mut engine, &commit);
        let options = Options { lock_timeout: Duration::from_millis(30), ..scratch.options() };
        let refused =
            Engine::open(&options, &Cancel::default()).and_then(Opened::finish).unwrap_err();
        let OpenError::Lock { source: Error::Held { holder, waited } } = refused else {
            panic!("{refused:?}")
        };
        assert!(waited >= Duration::from_millis(30));
        assert!(holder.to_string().contains(&format!("pid {}", std::process::id())), "{holder}");
        written.apply(&mut || {}).unwrap();
        assert_eq!(scratch.read("data/projects/a"), "1");
        drop(engine);
        sync(&scratch, &commit.0, &commit.1).unwrap();
    }

    #[test]
    fn the_words_of_a_dead_holder_do_not_outlive_the_next_start() {
        let scratch = Scratch::new();
        drop(scratch.engine());
        scratch.write("data/.stoker/lock", "pid 1 on elsewhere since 0\n");
        let engine = scratch.engine();
        assert_eq!(scratch.read("data/.stoker/lock"), "");
        drop(engine);
    }

    #[test]
    fn a_run_that_lost_the_lock_changes_nothing_and_leaves_the_other_alone() {
        let (scratch, commit) = (Scratch::new(), commit());
        let mut first = scratch.engine();
        let written = write(&mut first, &commit);
        scratch.remove("data/.stoker/lock");
        let mut second = scratch.engine();
        let other = write(&mut second, &commit);
        let lost = written.apply(&mut || {}).unwrap_err();
        assert!(matches!(lost, crate::apply::Error::LockLost), "{lost:?}");
        assert!(!scratch.exists("data/projects"));
        other.apply(&mut || {}).unwrap();
        assert_eq!(scratch.read("data/projects/a"), "1");
        assert!(!scratch.exists("data/.sync-staging"));
    }

    #[test]
    fn waiting_ends_when_the_run_is_cancelled() {
        let scratch = Scratch::new();
        let _engine = scratch.engine();
        let cancel = Cancel::default();
        cancel.cancel();
        let options = Options { lock_timeout: Duration::from_hours(1), ..scratch.options() };
        let refused = Engine::open(&options, &cancel).and_then(Opened::finish).unwrap_err();
        assert!(matches!(refused, OpenError::Lock { source: Error::Cancelled(_) }), "{refused:?}");
    }

    #[test]
    fn a_holder_that_has_not_signed_is_known_to_the_kernel() {
        let scratch = Scratch::new();
        let _engine = scratch.engine();
        assert_eq!(scratch.read("data/.stoker/lock"), "", "it has nothing to write");
        let refused = scratch.try_engine().unwrap_err();
        let OpenError::Lock { source: Error::Held { holder, .. } } = refused else {
            panic!("{refused:?}")
        };
        assert!(holder.to_string().contains(&format!("pid {}", std::process::id())), "{holder}");
    }
}
