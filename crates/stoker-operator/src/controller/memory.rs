//! What the controller remembers of a GatewaySync between two passes. Nothing here is needed to be
//! right: a controller that starts anew decides the same.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use stoker_core::backoff::Backoff;
use stoker_core::reconcile::LastSync;
use tokio::time::Instant;

use super::bucket::Bucket;
use super::cache::{Key, Undecodable};
use super::credential::{PushSecret, Remembered};
use super::remote::RemoteKey;
use super::token::HandedToken;

const RETRY: Backoff = Backoff { first: Duration::from_millis(500), most: Duration::from_secs(30) };

/// The memories of all GatewaySyncs.
#[derive(Debug, Default)]
pub(crate) struct Memories(Mutex<HashMap<Key, Memory>>);

/// What is remembered of one GatewaySync.
#[derive(Debug)]
pub(crate) struct Memory {
    /// Passes that failed in a row.
    pub(crate) failures: u32,
    /// Permission to write its status.
    pub(crate) bucket: Bucket,
    /// The request that was seen last.
    pub(crate) asked: Option<Asked>,
    /// The refs that the last pass wanted, with their repository, and since when; none before the
    /// first pass.
    pub(crate) wanted: Option<BTreeMap<String, Option<Instant>>>,
    /// When the newest push event was sent, as the last pass saw it; the earliest time there is,
    /// where there was no push event.
    pub(crate) push_event: Option<Timestamp>,
    /// When its host key was last to be forgotten.
    pub(crate) forgotten: Option<Instant>,
    /// What is kept of its credentials.
    pub(crate) credentials: Option<Remembered>,
    /// What is known of its secret of push events.
    pub(crate) push_secret: Option<PushSecret>,
    /// The token that was last handed to its agents.
    pub(crate) token: Option<HandedToken>,
    /// Pods that are gone and have a report, and since when.
    pub(crate) gone: BTreeMap<String, Instant>,
    /// When its deletion was first seen.
    pub(crate) ending: Option<Instant>,
    /// The remotes that it asks.
    pub(crate) remotes: Vec<RemoteKey>,
    /// The commit of which it was last told that all gateways have it.
    pub(crate) completed: Option<String>,
    /// What the audit trail has of gateways that the status has no room for; none before the first
    /// pass.
    pub(crate) unlisted: Option<Arc<BTreeMap<String, LastSync>>>,
    /// Why it can't be read, as its status says.
    pub(crate) undecodable: Option<Undecodable>,
}

/// A request to ask the remote at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    /// What the annotations said.
    pub(crate) mark: String,
    /// When the controller saw it first; none if that was at its start.
    pub(crate) at: Option<Instant>,
}

impl Memories {
    /// Reads or changes the memory of one GatewaySync.
    pub(crate) fn with<T>(&self, key: &Key, change: impl FnOnce(&mut Memory) -> T) -> T {
        let mut memories = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(memories.entry(key.clone()).or_insert_with(Memory::new))
    }

    /// Forgets one GatewaySync.
    pub(crate) fn forget(&self, key: &Key) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// Forgets all.
    pub(crate) fn forget_all(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Memory {
    fn new() -> Self {
        Self {
            failures: 0,
            bucket: Bucket::full(Instant::now()),
            asked: None,
            wanted: None,
            push_event: None,
            forgotten: None,
            credentials: None,
            push_secret: None,
            remotes: Vec::new(),
            token: None,
            gone: BTreeMap::new(),
            ending: None,
            completed: None,
            unlisted: None,
            undecodable: None,
        }
    }

    /// Counts a failed pass, and returns how long to wait.
    pub(crate) fn failed(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        RETRY.delay(self.failures, fastrand::f64())
    }

    /// Returns when the last request was seen.
    pub(crate) fn asked_at(&self) -> Option<Instant> {
        self.asked.as_ref().and_then(|asked| asked.at)
    }

    /// Takes note of a request, and returns when the controller saw it first.
    ///
    /// What is there at the start is old: the remote is asked then anyway.
    pub(crate) fn note(&mut self, mark: String) -> Option<Instant> {
        match &self.asked {
            Some(asked) if asked.mark == mark => asked.at,
            known => {
                let at = known.is_some().then(Instant::now);
                self.asked = Some(Asked { mark, at });
                at
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_request_that_is_new_since_the_start_asks_the_remote() {
        let mut memory = Memory::new();
        assert_eq!(memory.note("one".into()), None);
        assert_eq!(memory.note("one".into()), None);
        let at = memory.note("two".into());
        assert!(at.is_some());
        assert_eq!(memory.note("two".into()), at);
    }
}
