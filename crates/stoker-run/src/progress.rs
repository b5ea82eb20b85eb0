//! What a run is doing right now: the CLI draws it, the agent logs it.

use stoker_api::word::{Commit, SafeUrl};
use stoker_sync::lock;

/// Receives the phases of a run as they begin. A phase may begin more than once.
pub trait Progress {
    /// A phase begins.
    fn phase(&self, phase: Phase<'_>);
}

/// A phase of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase<'a> {
    /// Locking and opening the data directory.
    Opening,
    /// Waiting for another run on the same data directory.
    WaitingForLock {
        /// The run that holds the lock, as it calls itself.
        holder: &'a lock::Holder,
    },
    /// Comparing the commit with the live files.
    Comparing,
    /// Fetching a commit.
    Fetching {
        /// The commit.
        commit: &'a Commit,
        /// The repository.
        remote: &'a SafeUrl,
    },
    /// Asking the gateway whether it is ready.
    AskingGateway,
    /// Writing new files beside their destinations.
    Writing {
        /// How many changes the run makes.
        changes: usize,
    },
    /// Renaming and deleting.
    Applying,
    /// Waiting for the gateway's scan.
    Scanning,
}

/// Ignores every phase.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn phase(&self, _: Phase<'_>) {}
}
