//! The scan lock of one half: held by a name, gone by itself.

use std::time::{Duration, Instant};

use crate::options::Relock;

#[derive(Debug, Default)]
pub(crate) struct Lock {
    held: Option<Hold>,
}

#[derive(Debug, Clone)]
pub(crate) struct Hold {
    pub(crate) by: String,
    pub(crate) until: Instant,
}

impl Lock {
    /// Returns who holds it at `now`, if anybody.
    pub(crate) fn holder(&self, now: Instant) -> Option<&Hold> {
        self.held.as_ref().filter(|hold| hold.until > now)
    }

    /// Takes it unless somebody has it; returns whether it is taken.
    pub(crate) fn take(&mut self, hold: Hold, now: Instant, relock: Relock) -> bool {
        let is_free = match self.holder(now) {
            None => true,
            Some(holder) => holder.by == hold.by && relock == Relock::Extends,
        };
        if is_free {
            self.held = Some(hold);
        }
        is_free
    }

    /// Takes it from whoever has it.
    pub(crate) fn seize(&mut self, hold: Hold) {
        self.held = Some(hold);
    }

    pub(crate) fn release(&mut self) {
        self.held = None;
    }
}

impl Hold {
    pub(crate) fn new(by: &str, now: Instant, hold: Duration) -> Self {
        Self { by: by.to_owned(), until: now + hold }
    }
}
