//! SIGINT, SIGTERM and SIGHUP cancel the run. It ends when its transaction is finished or undone.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use stoker_api::condition::Reason;
use stoker_run::Cancel;

use crate::failure::{Blame, Failure};

/// What was asked for from outside, if anything.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interruption {
    /// Looked at by every long loop.
    pub(crate) cancel: Cancel,
    signal: Arc<AtomicI32>,
}

impl Interruption {
    pub(crate) fn listen() -> Self {
        let interruption = Self::default();
        let heard = interruption.clone();
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let hangup = (!is_ignored(SIGHUP, &status)).then_some(SIGHUP);
        if let Ok(mut signals) = Signals::new([SIGINT, SIGTERM].into_iter().chain(hangup)) {
            thread::spawn(move || {
                for signal in signals.forever() {
                    heard.signal.store(signal, Ordering::Relaxed);
                    heard.cancel.cancel();
                }
            });
        }
        interruption
    }

    /// What a failure is called once the run was asked to end: whatever broke off with it says so
    /// in its own words. That only some files are in place is reported even then.
    pub(crate) fn judge(&self, failure: Failure) -> Failure {
        let is_other = failure.blame == Blame::Usage || failure.reason == Reason::ApplyFailed;
        if is_other || !self.cancel.is_cancelled() {
            return failure;
        }
        let is_told = failure.reason == Reason::Cancelled;
        let message = if is_told { failure.message } else { "the run was cancelled".to_owned() };
        let hint = failure.hint.filter(|_| is_told).unwrap_or_else(|| {
            "what had begun was finished or undone; run the same command again".to_owned()
        });
        Failure { reason: Reason::Cancelled, message, hint: Some(hint), ..failure }
    }

    /// The exit code that says which signal ended the run.
    pub(crate) fn exit_code(&self) -> Option<u8> {
        match self.signal.load(Ordering::Relaxed) {
            0 => None,
            signal => u8::try_from(128 + signal).ok(),
        }
    }
}

/// Whether a signal is ignored, by the words of `/proc/self/status`. Who was started by `nohup` is
/// to outlive its terminal.
fn is_ignored(signal: i32, status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nohup_ignores_stays_ignored() {
        assert!(is_ignored(SIGHUP, "Name:\tstoker\nSigIgn:\t0000000000001001\nSigCgt:\t0\n"));
        assert!(!is_ignored(SIGHUP, "SigBlk:\t0000000000000001\nSigIgn:\t0000000000001000\n"));
        assert!(!is_ignored(SIGHUP, ""));
    }
}
