//! What the handle in the test and the proxy's own thread share.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::journal::Journal;
use super::rule::Rules;

/// How long a change of the front door may take to be in force.
const DOOR_DEADLINE: Duration = Duration::from_secs(10);

/// Rules, journal and the state of the front door.
#[derive(Debug)]
pub(super) struct Shared {
    book: Mutex<Book>,
    changed: watch::Sender<()>,
    reach: watch::Sender<Reach>,
    door: Mutex<Door>,
    door_moved: Condvar,
}

/// What is decided and what was seen, under one lock: they change together.
#[derive(Debug, Default)]
pub(super) struct Book {
    pub(super) rules: Rules,
    pub(super) journal: Journal,
}

/// Whether clients can reach the server at all. Counted, as outages may overlap.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reach {
    pub(super) outages: u32,
    pub(super) partitions: u32,
}

/// What the accept loop does at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Door {
    /// Connections are accepted.
    Open,
    /// Connections are refused.
    Shut,
    /// Connections are neither accepted nor refused.
    Frozen,
    /// The proxy is gone; an outage that outlives it ends in peace.
    Gone,
}

impl Reach {
    pub(super) fn door(self) -> Door {
        match self {
            Self { outages: 0, partitions: 0 } => Door::Open,
            Self { outages: 0, partitions: _ } => Door::Frozen,
            Self { outages: _, partitions: _ } => Door::Shut,
        }
    }
}

impl Shared {
    pub(super) fn new() -> Self {
        Self {
            book: Mutex::default(),
            changed: watch::Sender::new(()),
            reach: watch::Sender::new(Reach::default()),
            door: Mutex::new(Door::Shut),
            door_moved: Condvar::new(),
        }
    }

    /// Changes or reads the book, and wakes whoever waits for a change in it.
    pub(super) fn with<T>(&self, change: impl FnOnce(&mut Book) -> T) -> T {
        let result = change(&mut self.book());
        self.changed.send_replace(());
        result
    }

    /// Reads the book.
    pub(super) fn read<T>(&self, read: impl FnOnce(&Book) -> T) -> T {
        read(&self.book())
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        unpoisoned(self.book.lock())
    }

    /// Waits until the book is as wanted.
    pub(super) async fn until(&self, holds: impl Fn(&Book) -> bool) {
        let mut changed = self.changed.subscribe();
        while !self.read(&holds) {
            if changed.changed().await.is_err() {
                return;
            }
        }
    }

    pub(super) fn reach(&self) -> watch::Receiver<Reach> {
        self.reach.subscribe()
    }

    /// Changes who can reach the server, and returns when new connections meet the new state.
    pub(super) fn set_reach(&self, change: impl FnOnce(&mut Reach)) {
        self.reach.send_modify(change);
        let door = unpoisoned(self.door.lock());
        let wrong = |door: &mut Door| *door != Door::Gone && *door != self.reach.borrow().door();
        let waited = self.door_moved.wait_timeout_while(door, DOOR_DEADLINE, wrong);
        let (_door, waited) = unpoisoned(waited);
        assert!(!waited.timed_out(), "the fault proxy's accept loop does not answer");
    }

    /// Changes who can reach the server without waiting; for the proxy's own thread.
    pub(super) fn set_reach_soon(&self, change: impl FnOnce(&mut Reach)) {
        self.reach.send_modify(change);
    }

    pub(super) fn door_is(&self, door: Door) {
        *unpoisoned(self.door.lock()) = door;
        self.door_moved.notify_all();
    }

    /// Waits while the network is silent.
    pub(super) async fn passable(&self) {
        let mut reach = self.reach();
        // An error means that the proxy itself is gone, and with it every caller of this.
        if reach.wait_for(|reach| reach.partitions == 0).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    pub(super) fn is_away(&self) -> bool {
        self.reach.borrow().outages > 0
    }
}

/// A test that panics while it holds a lock must not hide its own message behind ours.
fn unpoisoned<T>(locked: Result<T, PoisonError<T>>) -> T {
    locked.unwrap_or_else(PoisonError::into_inner)
}
