//! The scan lock: while Stoker holds it the gateway does not scan, so that it never reads half a
//! change.
//!
//! There is no release request: a scan of the same half ends the lock, or its hold time does.

use std::time::{Duration, Instant};

use serde_json::json;
use stoker_sync::{Half, Halves};

use crate::error::Error;
use crate::gateway::Gateway;
use crate::scan::Pace;

/// How long the gateway itself waits for the lock before it returns 408.
const ACQUIRE: Duration = Duration::from_secs(5);

/// How much later than the deadline a response may come.
const SLACK: Duration = Duration::from_secs(1);

/// How long it may take to let locks go: little enough for a run that was asked to end.
const RELEASE: Duration = Duration::from_secs(3);

/// What became of the wish for a lock.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Lock {
    /// It is ours, for a time.
    Held(Held),
    /// This gateway has none (404): go on without, and warn.
    NotOffered,
    /// No half changed.
    NotNeeded,
}

/// Locks that are ours until their time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    halves: Halves,
    /// Before the request that brought the first of them: the gateway's own count began later.
    since: Instant,
    hold: Duration,
}

/// Why a lock was not given, and those that were given before it.
#[derive(Debug)]
pub struct Refusal {
    /// Why.
    pub error: Error,
    /// What is ours nevertheless: to be let go by [`Gateway::release`], or to run out.
    pub held: Option<Held>,
}

enum Grant {
    /// When the request was sent.
    Given(Instant),
    NotOffered,
    /// Ask again: this is what we say if it stays so.
    Busy(Error),
}

impl Held {
    /// Returns the halves that are locked.
    pub fn halves(self) -> Halves {
        self.halves
    }

    /// Returns how long the locks last at least.
    pub fn left(self) -> Duration {
        self.hold.saturating_sub(self.since.elapsed())
    }

    /// Returns whether it is time to stop between two resources and [`Gateway::renew`].
    pub fn is_short(self) -> bool {
        self.left() < self.hold / 3
    }
}

impl Gateway {
    /// Takes the scan lock of these halves, asking again while another client has it, as long as the
    /// limits allow.
    ///
    /// On an error nothing must be renamed.
    pub fn lock(&self, halves: Halves) -> Result<Lock, Refusal> {
        if halves.is_none() {
            return Ok(Lock::NotNeeded);
        }
        self.take(halves, self.limits.gateway)
    }

    /// Takes locks again whose time is nearly over. Between two resources only: they may have to
    /// run out first.
    pub fn renew(&self, held: Held) -> Result<Lock, Error> {
        // A gateway may refuse even the holder until the old hold is over.
        let timeout = self.limits.gateway.max(held.left() + ACQUIRE);
        self.take(held.halves, timeout).map_err(|refusal| refusal.error)
    }

    /// Lets locks go under which nothing was changed: asks for a scan of their halves, and does not
    /// wait for its end.
    ///
    /// Best effort and brief, for a run that was cancelled, too: what is not let go runs out. A
    /// lock whose time is over is left alone, because by now it may be another client's.
    pub fn release(&self, held: Held) {
        if held.left().is_zero() {
            return;
        }
        let deadline = Instant::now() + RELEASE;
        for half in held.halves.iter() {
            let left = deadline.saturating_duration_since(Instant::now());
            drop(self.client.post_even_if_cancelled(&format!("/data/api/v1/scan/{half}"), left));
        }
    }

    fn take(&self, halves: Halves, timeout: Duration) -> Result<Lock, Refusal> {
        let deadline = Instant::now() + timeout;
        let mut held: Option<Held> = None;
        for half in halves.iter() {
            match self.take_half(half, deadline) {
                Ok(Grant::Given(since)) => held = Some(self.with(held, half, since)),
                Ok(Grant::NotOffered) => {}
                Ok(Grant::Busy(error)) | Err(error) => return Err(Refusal { error, held }),
            }
        }
        Ok(held.map_or(Lock::NotOffered, Lock::Held))
    }

    /// Adds a lock to those that were taken before: the oldest is over first.
    fn with(&self, held: Option<Held>, half: Half, since: Instant) -> Held {
        let first = Held { halves: Halves::NONE, since, hold: self.limits.hold };
        let held = held.unwrap_or(first);
        Held { halves: held.halves.with(half), ..held }
    }

    fn take_half(&self, half: Half, deadline: Instant) -> Result<Grant, Error> {
        let started = Instant::now();
        let mut pace = Pace::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.ask_for_lock(half, left, started)? {
                Grant::Busy(error) if left.is_zero() => return Ok(Grant::Busy(error)),
                Grant::Busy(_) => self.client.pause(pace.next().min(left))?,
                settled @ (Grant::Given(_) | Grant::NotOffered) => return Ok(settled),
            }
        }
    }

    fn ask_for_lock(&self, half: Half, left: Duration, started: Instant) -> Result<Grant, Error> {
        let acquire = left.min(ACQUIRE);
        let body = json!({
            "acquireTimeout": acquire.as_secs(),
            "holdTimeout": self.limits.hold.as_secs().max(1),
        });
        let path = format!("/data/api/v1/scan-lock/{half}");
        // The gateway takes its whole time before it says no, and that no is to be heard.
        let within = (self.limits.call + acquire).min(left + SLACK);
        let since = Instant::now();
        let answer = self.client.post_json(&path, &body, within)?;
        let waited = started.elapsed();
        match answer.status {
            404 => return Ok(Grant::NotOffered),
            408 => return Ok(Grant::Busy(Error::LockTimedOut { half, waited })),
            409 => return Ok(Grant::Busy(Error::LockHeld { half, waited })),
            _ => {}
        }
        match answer.successful() {
            Ok(_) => Ok(Grant::Given(since)),
            Err(error @ (Error::Starting { .. } | Error::TooManyRequests { .. })) => {
                Ok(Grant::Busy(error))
            }
            Err(error) => Err(error),
        }
    }
}
