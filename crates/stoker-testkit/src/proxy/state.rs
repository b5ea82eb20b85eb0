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
    /// How many outages there are at the moment: they may overlap.
    outages: watch::Sender<u32>,
    door: Mutex<Door>,
    door_moved: Condvar,
}

/// What is decided and what was seen, under one lock: they change together.
#[derive(Debug, Default)]
pub(super) struct Book {
    pub(super) rules: Rules,
    pub(super) journal: Journal,
}

/// What the accept loop does at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Door {
    /// Connections are accepted.
    Open,
    /// Connections are refused.
    Shut,
    /// The proxy is gone; an outage that outlives it ends in peace.
    Gone,
}

impl Shared {
    pub(super) fn new() -> Self {
        Self {
            book: Mutex::default(),
            changed: watch::Sender::new(()),
            outages: watch::Sender::new(0),
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

    pub(super) fn outages(&self) -> watch::Receiver<u32> {
        self.outages.subscribe()
    }

    /// Changes how many outages there are, and returns when new connections meet the new state.
    pub(super) fn set_outages(&self, change: impl FnOnce(&mut u32)) {
        self.outages.send_modify(change);
        let door = unpoisoned(self.door.lock());
        let is_wrong = |door: &mut Door| match door {
            Door::Open => self.is_away(),
            Door::Shut => !self.is_away(),
            Door::Gone => false,
        };
        let waited = self.door_moved.wait_timeout_while(door, DOOR_DEADLINE, is_wrong);
        let (_door, waited) = unpoisoned(waited);
        assert!(!waited.timed_out(), "the fault proxy's accept loop does not answer");
    }

    pub(super) fn door_is(&self, door: Door) {
        *unpoisoned(self.door.lock()) = door;
        self.door_moved.notify_all();
    }

    pub(super) fn is_away(&self) -> bool {
        *self.outages.borrow() > 0
    }
}

/// A test that panics while it holds a lock must not hide its own message behind ours.
fn unpoisoned<T>(locked: Result<T, PoisonError<T>>) -> T {
    locked.unwrap_or_else(PoisonError::into_inner)
}
