//! A place for tests to cut the power: every call that changes the disk passes here first.

#[cfg(not(test))]
/// Lets every step pass.
#[expect(clippy::unnecessary_wraps, reason = "under test it can fail")]
pub(crate) fn step(_call: &'static str) -> rustix::io::Result<()> {
    Ok(())
}

#[cfg(test)]
pub(crate) use script::*;

#[cfg(test)]
mod script {
    use std::cell::RefCell;

    use rustix::io::{Errno, Result};

    /// What happens to the steps of this thread.
    #[derive(Debug, Clone, Copy)]
    pub(crate) enum Fault {
        /// From this step on nothing reaches the disk any more: the process is dead.
        Crash { at: usize },
        /// This one step fails.
        Once { at: usize, errno: Errno },
    }

    #[derive(Debug, Default)]
    struct Script {
        fault: Option<Fault>,
        steps: Vec<&'static str>,
    }

    thread_local! { static SCRIPT: RefCell<Script> = RefCell::default(); }

    /// Runs `act` under a fault and returns its value with the steps that were tried.
    pub(crate) fn under<T>(
        fault: Option<Fault>,
        act: impl FnOnce() -> T,
    ) -> (T, Vec<&'static str>) {
        SCRIPT.replace(Script { fault, steps: Vec::new() });
        let value = act();
        (value, SCRIPT.take().steps)
    }

    /// Counts a step and lets it pass, or not.
    pub(crate) fn step(call: &'static str) -> Result<()> {
        SCRIPT.with_borrow_mut(|script| {
            let now = script.steps.len();
            script.steps.push(call);
            match script.fault {
                Some(Fault::Crash { at }) if now >= at => Err(Errno::CANCELED),
                Some(Fault::Once { at, errno }) if now == at => Err(errno),
                _ => Ok(()),
            }
        })
    }
}
