//! Deliveries that were seen: the same signature for the same GatewaySync within a day.
//!
//! The memory is this replica's and is bounded: the oldest deliveries are forgotten first.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

const REMEMBERED_FOR: Duration = Duration::from_hours(24);
const MOST: usize = 20_000;

/// The deliveries that were seen.
#[derive(Debug, Default)]
pub(super) struct Replays(Mutex<Memory>);

#[derive(Debug, Default)]
struct Memory {
    seen: HashMap<[u8; 16], Instant>,
    order: VecDeque<[u8; 16]>,
}

impl Replays {
    /// Remembers a delivery, and says whether it was seen before.
    pub(super) fn is_repeated(&self, namespace: &str, name: &str, signature: &[u8]) -> bool {
        self.see(namespace, name, signature, Instant::now())
    }

    fn see(&self, namespace: &str, name: &str, signature: &[u8], now: Instant) -> bool {
        let mut hash = Sha256::new();
        for part in [namespace.as_bytes(), name.as_bytes(), signature] {
            hash.update(part);
            hash.update([0]);
        }
        let mut id = [0; 16];
        id.copy_from_slice(&hash.finalize()[..16]);
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = memory.seen.insert(id, now);
        if before.is_none() {
            memory.order.push_back(id);
        }
        if memory.order.len() > MOST
            && let Some(oldest) = memory.order.pop_front()
        {
            memory.seen.remove(&oldest);
        }
        before.is_some_and(|at| now.duration_since(at) < REMEMBERED_FOR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_is_remembered_for_a_day_and_per_gatewaysync() {
        let replays = Replays::default();
        let now = Instant::now();
        assert!(!replays.see("a", "plant", b"1", now));
        assert!(replays.see("a", "plant", b"1", now));
        assert!(!replays.see("b", "plant", b"1", now));
        assert!(!replays.see("a", "plant", b"1", now + REMEMBERED_FOR));
    }

    #[test]
    fn memory_is_bounded_and_forgets_the_oldest() {
        let replays = Replays::default();
        let now = Instant::now();
        for number in 0..=(MOST as u32) {
            replays.see("a", "plant", &number.to_be_bytes(), now);
        }
        assert_eq!(replays.0.lock().unwrap().seen.len(), MOST);
        assert!(!replays.see("a", "plant", &0_u32.to_be_bytes(), now));
    }
}
