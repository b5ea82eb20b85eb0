//! How often the status of one GatewaySync may be written.

use std::time::Duration;

use tokio::time::Instant;

const SIZE: f64 = 3.0;
const PER_SECOND: f64 = 1.0;

/// A bucket of three tokens that gets one more each second: first changes are written at once, a
/// flood of reports is written once a second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bucket {
    tokens: f64,
    at: Instant,
}

impl Bucket {
    /// Returns a full bucket.
    pub(crate) fn full(now: Instant) -> Self {
        Self { tokens: SIZE, at: now }
    }

    /// Takes a token, or says how long it takes until there is one.
    pub(crate) fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let elapsed = now.saturating_duration_since(self.at).as_secs_f64();
        self.tokens = (self.tokens + elapsed * PER_SECOND).min(SIZE);
        self.at = now;
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return Ok(());
        }
        Err(Duration::from_secs_f64((1.0 - self.tokens) / PER_SECOND))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_are_taken_at_once_and_then_one_each_second() {
        let start = Instant::now();
        let mut bucket = Bucket::full(start);
        assert!((0..3).all(|_| bucket.take(start).is_ok()));
        let wait = bucket.take(start).unwrap_err();
        assert!(wait > Duration::from_millis(990) && wait <= Duration::from_secs(1), "{wait:?}");
        assert!(bucket.take(start + Duration::from_secs(1)).is_ok());
        assert!(bucket.take(start + Duration::from_secs(1)).is_err());
        let later = start + Duration::from_secs(100);
        assert!((0..3).all(|_| bucket.take(later).is_ok()));
        assert!(bucket.take(later).is_err());
    }
}
