//! Counts failed authentications per source.
//!
//! Only failures are limited: a sender that knows the secret is never refused.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

const WINDOW: Duration = Duration::from_mins(1);
/// Sources that are remembered. Beyond that, those whose minute is over are forgotten.
const SOURCES: usize = 10_000;

/// Counts failures.
#[derive(Debug)]
pub(super) struct FailureLimit {
    most: u32,
    sources: Mutex<HashMap<IpAddr, Window>>,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    since: Instant,
    failures: u32,
}

impl FailureLimit {
    pub(super) fn new(most: u32) -> Self {
        Self { most, sources: Mutex::default() }
    }

    /// Counts a failure. Returns how long the source is to wait, where it had too many.
    pub(super) fn fail(&self, source: IpAddr, now: Instant) -> Option<Duration> {
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        if sources.len() >= SOURCES && !sources.contains_key(&source) {
            sources.retain(|_, window| now.duration_since(window.since) < WINDOW);
            if sources.len() >= SOURCES {
                // More sources than can be told apart: all of them share one count.
                return None;
            }
        }
        let window = sources.entry(source).or_insert(Window { since: now, failures: 0 });
        if now.duration_since(window.since) >= WINDOW {
            *window = Window { since: now, failures: 0 };
        }
        window.failures = window.failures.saturating_add(1);
        let rest = WINDOW.saturating_sub(now.duration_since(window.since));
        (self.most > 0 && window.failures > self.most).then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_waits_for_the_rest_of_its_minute_and_others_do_not() {
        let limit = FailureLimit::new(2);
        let (one, other) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let start = Instant::now();
        let later = start + Duration::from_secs(20);
        assert_eq!(limit.fail(one, start), None);
        assert_eq!(limit.fail(one, start), None);
        assert_eq!(limit.fail(one, later), Some(Duration::from_secs(40)));
        assert_eq!(limit.fail(other, later), None);
        assert_eq!(limit.fail(one, start + WINDOW), None);
    }

    #[test]
    fn memory_is_bounded() {
        let limit = FailureLimit::new(1);
        let now = Instant::now();
        for number in 0..u32::try_from(SOURCES).unwrap() + 100 {
            limit.fail(IpAddr::from(number.to_be_bytes()), now);
        }
        assert_eq!(limit.sources.lock().unwrap().len(), SOURCES);
    }
}
