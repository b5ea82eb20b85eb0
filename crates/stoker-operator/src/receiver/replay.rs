//! Deliveries that were taken: the same signature for the same GatewaySync within a day.
//!
//! The memory is this replica's and is bounded: the oldest deliveries are forgotten first.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::writer::Target;

const REMEMBERED_FOR: Duration = Duration::from_hours(24);
const MOST: usize = 20_000;

/// The deliveries that were taken.
#[derive(Debug, Default)]
pub(super) struct Replays(Mutex<Memory>);

#[derive(Debug, Default)]
struct Memory {
    seen: HashMap<Seen, Instant>,
    order: VecDeque<Seen>,
}

/// What a delivery is recognised by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Seen([u8; 16]);

impl Seen {
    /// Returns what a delivery with this signature is recognised by.
    pub(super) fn of(target: &Target, signature: &[u8]) -> Self {
        let mut hash = Sha256::new();
        for part in [target.namespace.as_bytes(), target.name.as_bytes(), signature] {
            hash.update(part);
            hash.update([0]);
        }
        let mut id = [0; 16];
        id.copy_from_slice(&hash.finalize()[..16]);
        Self(id)
    }
}

impl Replays {
    /// Says whether a delivery was taken within the last day.
    pub(super) fn knows(&self, delivery: Seen) -> bool {
        self.knows_at(delivery, Instant::now())
    }

    /// Remembers a delivery.
    pub(super) fn remember(&self, delivery: Seen) {
        self.remember_at(delivery, Instant::now());
    }

    fn knows_at(&self, delivery: Seen, now: Instant) -> bool {
        let memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = memory.seen.get(&delivery);
        seen.is_some_and(|at| now.duration_since(*at) < REMEMBERED_FOR)
    }

    fn remember_at(&self, delivery: Seen, now: Instant) {
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.seen.insert(delivery, now).is_none() {
            memory.order.push_back(delivery);
        }
        if memory.order.len() > MOST
            && let Some(oldest) = memory.order.pop_front()
        {
            memory.seen.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(namespace: &str, signature: u32) -> Seen {
        let target = Target { namespace: namespace.to_owned(), name: "plant".to_owned() };
        Seen::of(&target, &signature.to_be_bytes())
    }

    #[test]
    fn a_delivery_is_remembered_for_a_day_and_per_gatewaysync() {
        let replays = Replays::default();
        let now = Instant::now();
        assert!(!replays.knows_at(delivery("a", 1), now));
        replays.remember_at(delivery("a", 1), now);
        assert!(replays.knows_at(delivery("a", 1), now));
        assert!(!replays.knows_at(delivery("b", 1), now));
        assert!(!replays.knows_at(delivery("a", 1), now + REMEMBERED_FOR));
    }

    #[test]
    fn memory_is_bounded_and_forgets_the_oldest() {
        let replays = Replays::default();
        let now = Instant::now();
        let most = u32::try_from(MOST).unwrap();
        for number in 0..=most {
            replays.remember_at(delivery("a", number), now);
        }
        assert_eq!(replays.0.lock().unwrap().seen.len(), MOST);
        assert!(!replays.knows_at(delivery("a", 0), now));
        assert!(replays.knows_at(delivery("a", most), now));
    }
}
