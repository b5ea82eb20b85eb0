//! Counts failed authentications per source.
//!
//! Only failures are limited: a sender that knows the secret is never refused. An IPv6 source is
//! its /64 network: one host has as many addresses as it likes.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

const WINDOW: Duration = Duration::from_mins(1);
/// Sources that are remembered. Beyond that, those whose minute is over are forgotten, and all
/// others count as one.
const SOURCES: usize = 10_000;
/// The least time between two searches for sources whose minute is over.
const SWEEP: Duration = Duration::from_secs(1);

/// Counts failures.
#[derive(Debug)]
pub(super) struct FailureLimit {
    most: u32,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    sources: HashMap<IpAddr, Window>,
    swept: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    since: Instant,
    failures: u32,
}

impl FailureLimit {
    pub(super) fn new(most: u32) -> Self {
        Self { most, state: Mutex::default() }
    }

    /// Counts a failure. Returns how long the source is to wait, where it had too many.
    pub(super) fn fail(&self, source: IpAddr, now: Instant) -> Option<Duration> {
        if self.most == 0 {
            return None;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let window = state.window(network(source), now);
        if now.duration_since(window.since) >= WINDOW {
            *window = Window { since: now, failures: 0 };
        }
        window.failures = window.failures.saturating_add(1);
        let rest = WINDOW.saturating_sub(now.duration_since(window.since));
        (window.failures > self.most).then_some(rest)
    }
}

impl State {
    fn window(&mut self, source: IpAddr, now: Instant) -> &mut Window {
        let is_full = self.sources.len() >= SOURCES && !self.sources.contains_key(&source);
        let is_swept = self.swept.is_some_and(|at| now.duration_since(at) < SWEEP);
        if is_full && !is_swept {
            self.sources.retain(|_, window| now.duration_since(window.since) < WINDOW);
            self.swept = Some(now);
        }
        let is_full = is_full && self.sources.len() >= SOURCES;
        let source = if is_full { IpAddr::V6(Ipv6Addr::UNSPECIFIED) } else { source };
        self.sources.entry(source).or_insert(Window { since: now, failures: 0 })
    }
}

/// Returns the network that a source stands for.
fn network(source: IpAddr) -> IpAddr {
    match source.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        address @ IpAddr::V4(_) => address,
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
    fn a_host_can_not_escape_by_its_other_addresses() {
        let limit = FailureLimit::new(1);
        let now = Instant::now();
        assert_eq!(limit.fail("2001:db8::1".parse().unwrap(), now), None);
        assert_eq!(limit.fail("2001:db8::2".parse().unwrap(), now), Some(WINDOW));
        assert_eq!(limit.fail("2001:db8:0:1::1".parse().unwrap(), now), None);
        assert_eq!(FailureLimit::new(0).fail("2001:db8::2".parse().unwrap(), now), None);
    }

    #[test]
    fn memory_is_bounded() {
        let limit = FailureLimit::new(1);
        let now = Instant::now();
        for number in 0..u32::try_from(SOURCES).unwrap() + 100 {
            limit.fail(IpAddr::from(number.to_be_bytes()), now);
        }
        assert!(limit.state.lock().unwrap().sources.len() <= SOURCES + 1);
        // Those that can't be told apart are limited together, and have their place when others go.
        assert!(limit.fail(IpAddr::from([255; 4]), now).is_some());
        assert_eq!(limit.fail(IpAddr::from([255; 4]), now + WINDOW), None);
    }
}
