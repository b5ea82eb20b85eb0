//! SIGINT and SIGTERM: the run is asked to end, and ends when its transaction is finished or undone.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use stoker_sync::Cancel;

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

    /// The exit code that says which signal ended the run.
    pub(crate) fn exit_code(&self) -> Option<u8> {
        match self.signal.load(Ordering::Relaxed) {
            0 => None,
            signal => u8::try_from(128 + signal).ok(),
        }
    }
}
