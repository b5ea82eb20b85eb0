//! How long to wait before the next attempt.

use std::time::Duration;

/// Delays that double from `first` to `most`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The delay after the first failure.
    pub first: Duration,
    /// The longest delay.
    pub most: Duration,
}

impl Backoff {
    /// Returns the delay after so many failures in a row; `chance` in `0.0..1.0` takes off up to a
    /// fifth, so that many who failed together do not return together.
    pub fn delay(&self, failures: u32, chance: f64) -> Duration {
        let doubled = 2_u32.saturating_pow(failures.saturating_sub(1).min(30));
        let delay = self.first.saturating_mul(doubled).min(self.most);
        delay.mul_f64(1.0 - chance.clamp(0.0, 1.0) / 5.0)
    }
}

/// Returns an interval with up to a tenth more or less, so that pollers spread over time.
pub fn jittered(interval: Duration, chance: f64) -> Duration {
    interval.mul_f64(0.9 + chance.clamp(0.0, 1.0) / 5.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_longest_and_never_pass_it() {
        let backoff = Backoff { first: Duration::from_secs(1), most: Duration::from_secs(30) };
        let seconds = |failures| backoff.delay(failures, 0.0).as_secs();
        assert_eq!([1, 2, 3, 5, 6, 60, u32::MAX].map(seconds), [1, 2, 4, 16, 30, 30, 30]);
        assert_eq!(backoff.delay(1, 1.0), Duration::from_millis(800));
    }

    #[test]
    fn jitter_stays_within_a_tenth() {
        let minute = Duration::from_mins(1);
        assert_eq!(jittered(minute, 0.0), Duration::from_secs(54));
        assert_eq!(jittered(minute, 1.0), Duration::from_secs(66));
    }
}
