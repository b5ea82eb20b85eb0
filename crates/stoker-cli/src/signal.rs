//! SIGINT and SIGTERM: the run is asked to end, and ends when its transaction is finished or undone.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use stoker_sync::Cancel;

use crate::failure::{Blame, Failure};

/// What was asked for from outside, if anything.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interruption {
    /// Looked at by every long loop.
    pub(crate) cancel: Cancel,
    signal: Arc<AtomicI32>,
}

impl Interruption {
    /// Begins to listen.
    pub(crate) fn listen() -> Self {
        let interruption = Self::default();
        let heard = interruption.clone();
        if let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) {
            thread::spawn(move || {
                for signal in signals.forever() {
                    heard.signal.store(signal, Ordering::Relaxed);
                    heard.cancel.cancel();
                }
            });
        }
        interruption
    }

    /// What a failure is called once the run was asked to end: whatever broke off with it says so in
    /// words of its own. That files are half in place is news even then.
    pub(crate) fn judge(&self, failure: Failure) -> Failure {
        let is_other = failure.blame == Blame::Usage || failure.reason == "ApplyFailed";
        if is_other || !self.cancel.is_cancelled() {
            return failure;
        }
        let is_told = failure.reason == "Cancelled";
        let message = if is_told { failure.message } else { "the run was cancelled".to_owned() };
        let hint = "what had begun was finished or undone; run the same command again";
        Failure { reason: "Cancelled".to_owned(), message, ..failure }.hint(hint)
    }

    /// The exit code that says which signal ended the run.
    pub(crate) fn exit_code(&self) -> Option<u8> {
        match self.signal.load(Ordering::Relaxed) {
            0 => None,
            signal => u8::try_from(128 + signal).ok(),
        }
    }
}
