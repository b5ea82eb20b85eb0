//! A clock that stands still until a test moves it.
//!
//! Stoker's decisions take the time as an argument; its programs take a function that tells it.
//! This clock is such a function's source: `let clock = FakeClock::at("2026-01-31T12:00:00Z");`
//! then `move || clock.wall()`. It moves nothing else: sleeps and timers of the runtime go on in
//! real time.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};

/// Wall time and monotonic time, moved by hand. Clones are the same clock.
#[derive(Clone, Debug)]
pub struct FakeClock(Arc<Mutex<Hands>>);

#[derive(Debug)]
struct Hands {
    wall: Timestamp,
    monotonic: Instant,
}

impl FakeClock {
    /// Starts a clock at a moment as RFC 3339 writes it.
    pub fn at(wall: &str) -> Self {
        let wall = wall.parse().expect("the test names a moment such as 2026-01-31T12:00:00Z");
        Self(Arc::new(Mutex::new(Hands { wall, monotonic: Instant::now() })))
    }

    /// Returns the time of day, which may jump.
    pub fn wall(&self) -> Timestamp {
        self.with(|hands| hands.wall)
    }

    /// Returns the time that only ever goes forward.
    pub fn monotonic(&self) -> Instant {
        self.with(|hands| hands.monotonic)
    }

    /// Lets time pass, for both hands.
    pub fn advance(&self, time: Duration) {
        self.with(|hands| {
            hands.wall += SignedDuration::try_from(time).expect("a test ends before the ages do");
            hands.monotonic += time;
        });
    }

    /// Sets the time of day, as an administrator or a time server would; forward or back.
    pub fn jump(&self, by: SignedDuration) {
        self.with(|hands| hands.wall += by);
    }

    fn with<T>(&self, move_hands: impl FnOnce(&mut Hands) -> T) -> T {
        move_hands(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stands_still_until_it_is_moved() {
        let clock = FakeClock::at("2026-01-31T12:00:00Z");
        assert_eq!((clock.wall(), clock.monotonic()), (clock.wall(), clock.monotonic()));
    }

    #[test]
    fn time_passes_for_both_hands_and_for_every_clone() {
        let clock = FakeClock::at("2026-01-31T23:59:59Z");
        let (other, start) = (clock.clone(), clock.monotonic());
        clock.advance(Duration::from_secs(2));
        assert_eq!(other.wall().to_string(), "2026-02-01T00:00:01Z");
        assert_eq!(other.monotonic() - start, Duration::from_secs(2));
    }

    #[test]
    fn a_jump_moves_the_wall_clock_alone() {
        let clock = FakeClock::at("2026-01-31T12:00:00Z");
        let start = clock.monotonic();
        clock.jump(SignedDuration::from_hours(-24));
        assert_eq!(clock.wall().to_string(), "2026-01-30T12:00:00Z");
        assert_eq!(clock.monotonic(), start);
    }
}
