//! What the worker remembers of its runs.

use std::time::Instant;

use stoker_api::condition::Reason;
use stoker_run::Retry;

use crate::decide::Kind;
use crate::goal::Goal;

/// What the worker remembers of its runs.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// The last goal whose files are all in place.
    pub(crate) applied: Option<Goal>,
    /// The last run, if it failed.
    pub(crate) failure: Option<Failure>,
    /// The scan that the gateway still owes.
    pub(crate) scan: Option<OwedScan>,
    /// When all managed files were last checked.
    pub(crate) checked: Option<Instant>,
    /// Whether all managed files are to be checked now: a gateway that was commissioned meanwhile
    /// may have replaced some.
    pub(crate) is_check_owed: bool,
}

/// A run that failed.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) goal: Goal,
    pub(crate) kind: Kind,
    /// When it ended.
    pub(crate) at: Instant,
    /// How often in a row runs for this goal have failed.
    pub(crate) count: u32,
    pub(crate) retry: Retry,
    pub(crate) reason: Reason,
    pub(crate) message: String,
    /// Whether the way to the commit failed, not what was done with it.
    pub(crate) is_source: bool,
}

/// A scan that the gateway owes because it did not answer, or was not ready.
#[derive(Debug, Clone)]
pub(crate) struct OwedScan {
    /// Since when.
    pub(crate) since: Instant,
    /// When it was last tried.
    pub(crate) at: Instant,
    /// How often it was tried.
    pub(crate) count: usize,
    pub(crate) reason: Reason,
    pub(crate) message: String,
}
