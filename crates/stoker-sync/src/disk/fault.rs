//! Injects faults for tests: every call that changes the disk passes here first.

use super::Dir;
use crate::path::RelPath;

/// The calls that change the disk, or make changes durable. A new one is a new crash point:
/// `apply/tests/power_loss.rs` must know what it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallKind {
    Chmod,
    Chown,
    Create,
    Fsync,
    Mkdir,
    Overwrite,
    Rename,
    Rmdir,
    Syncfs,
    Unlink,
    Write,
}

#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(test), expect(dead_code, reason = "only tests read it"))]
pub(crate) struct Call<'a> {
    pub(crate) kind: CallKind,
    pub(crate) dir: &'a RelPath,
    pub(crate) name: &'a [u8],
    /// The directory and the name that something is renamed to.
    pub(crate) to: Option<(&'a RelPath, &'a [u8])>,
    /// What is written; of a new file, its mode.
    pub(crate) bytes: &'a [u8],
}

impl<'a> Call<'a> {
    pub(super) fn to(self, dir: &'a Dir, name: &'a [u8]) -> Self {
        Self { to: Some((dir.path(), name)), ..self }
    }
}

#[cfg(not(test))]
#[expect(clippy::unnecessary_wraps, reason = "under test it can fail")]
pub(crate) fn step(_call: Call<'_>) -> rustix::io::Result<()> {
    Ok(())
}

#[cfg(test)]
pub(crate) use script::*;

#[cfg(test)]
mod script {
    use std::cell::RefCell;

    use rustix::io::{Errno, Result};

    use super::{Call, CallKind};
    use crate::path::RelPath;

    /// What happens to the steps of this thread.
    #[derive(Debug, Clone, Copy)]
    pub(crate) enum Fault {
        /// From this step on nothing reaches the disk any more: the process is dead.
        Crash { at: usize },
        /// This one step fails.
        Once { at: usize, errno: Errno },
    }

    #[derive(Debug, Clone)]
    pub(crate) struct RecordedCall {
        pub(crate) kind: CallKind,
        pub(crate) path: RelPath,
        pub(crate) to: Option<RelPath>,
        pub(crate) bytes: Vec<u8>,
    }

    #[derive(Debug, Default)]
    struct Script {
        is_on: bool,
        fault: Option<Fault>,
        steps: Vec<RecordedCall>,
    }

    thread_local! { static SCRIPT: RefCell<Script> = RefCell::default(); }

    /// Runs `act` under a fault and returns its value with the steps that were tried.
    pub(crate) fn under<T>(
        fault: Option<Fault>,
        act: impl FnOnce() -> T,
    ) -> (T, Vec<RecordedCall>) {
        SCRIPT.replace(Script { is_on: true, fault, steps: Vec::new() });
        let value = act();
        (value, SCRIPT.take().steps)
    }

    /// Returns whether a test counts the steps of this thread.
    pub(crate) fn is_on() -> bool {
        SCRIPT.with_borrow(|script| script.is_on)
    }

    /// Counts a step and lets it pass, or not.
    pub(crate) fn step(call: Call<'_>) -> Result<()> {
        SCRIPT.with_borrow_mut(|script| {
            let now = script.steps.len();
            script.steps.push(RecordedCall {
                kind: call.kind,
                path: call.dir.join(call.name),
                to: call.to.map(|(dir, name)| dir.join(name)),
                bytes: call.bytes.to_vec(),
            });
            match script.fault {
                Some(Fault::Crash { at }) if now >= at => Err(Errno::CANCELED),
                Some(Fault::Once { at, errno }) if now == at => Err(errno),
                _ => Ok(()),
            }
        })
    }
}
