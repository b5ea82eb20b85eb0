//! Spans of time as users write them: `60s`, `5m`, `1h30m`.

use std::fmt::{self, Debug, Display, Formatter};
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::limit;

/// A span of time: numbers with the units `h`, `m`, `s` and `ms`, as in `1h30m` or `1.5s`; or `0`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Interval(Duration);

/// Why a text is no interval.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IntervalError {
    /// The text is not made of numbers with units.
    #[error(
        "{0:?} is not an interval: write numbers with units, such as \"60s\", \"5m\", \"1h30m\""
    )]
    Malformed(Box<str>),
    /// The interval is shorter than intervals may be.
    #[error("{0} is too short: the shortest interval is {least} s", least = limit::INTERVAL_SECONDS)]
    Short(Interval),
}

impl Interval {
    /// The shortest interval that a user may ask for.
    pub const SHORTEST: Self = Self(Duration::from_secs(limit::INTERVAL_SECONDS as u64));

    /// Returns an interval of whole seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// Returns the interval as the standard library's type.
    pub const fn as_duration(self) -> Duration {
        self.0
    }

    /// Parses an interval of any length, zero included.
    pub fn parse(text: &str) -> Result<Self, IntervalError> {
        let malformed = || IntervalError::Malformed(text.chars().take(limit::INTERVAL).collect());
        if text.is_empty() || text.chars().count() > limit::INTERVAL {
            return Err(malformed());
        }
        let mut rest = if text == "0" { "" } else { text };
        let mut total = Duration::ZERO;
        while !rest.is_empty() {
            let (part, remainder) = take_part(rest).ok_or_else(malformed)?;
            total += part;
            rest = remainder;
        }
        Ok(Self(total))
    }

    /// Parses an interval that is long enough to repeat something by.
    pub fn parse_repeating(text: &str) -> Result<Self, IntervalError> {
        let interval = Self::parse(text)?;
        if interval < Self::SHORTEST { Err(IntervalError::Short(interval)) } else { Ok(interval) }
    }
}

/// Takes one number with its unit off the front: at most five digits before the point, nine after.
///
/// The bounds keep the sum of what fits into the longest text far from any overflow.
fn take_part(text: &str) -> Option<(Duration, &str)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(text);
    if !(1..=5).contains(&whole) {
        return None;
    }
    let mut number = whole;
    if text[whole..].starts_with('.') {
        let fraction = digits(&text[whole + 1..]);
        if !(1..=9).contains(&fraction) {
            return None;
        }
        number += 1 + fraction;
    }
    let units =
        [("ms", 1_000_000), ("h", 3_600_000_000_000), ("m", 60_000_000_000), ("s", 1_000_000_000)];
    let rest = &text[number..];
    let (unit, nanos) = units.into_iter().find(|(unit, _)| rest.starts_with(unit))?;
    Some((scale(&text[..whole], text[..number].get(whole + 1..), nanos)?, &rest[unit.len()..]))
}

fn scale(whole: &str, fraction: Option<&str>, nanos: u64) -> Option<Duration> {
    let mut total = whole.parse::<u64>().ok()? * nanos;
    if let Some(fraction) = fraction {
        let parts = u128::from(fraction.parse::<u64>().ok()?) * u128::from(nanos);
        let divisor = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
        total += u64::try_from(parts / divisor).ok()?;
    }
    Some(Duration::from_nanos(total))
}

impl From<Duration> for Interval {
    fn from(duration: Duration) -> Self {
        Self(duration)
    }
}

impl FromStr for Interval {
    type Err = IntervalError;

    fn from_str(text: &str) -> Result<Self, IntervalError> {
        Self::parse(text)
    }
}

impl Display for Interval {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let (seconds, millis) = (self.0.as_secs(), self.0.subsec_millis());
        if seconds == 0 && millis > 0 {
            return write!(formatter, "{millis}ms");
        }
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        if hours > 0 {
            write!(formatter, "{hours}h")?;
        }
        if minutes > 0 {
            write!(formatter, "{minutes}m")?;
        }
        match (seconds % 60, millis) {
            (0, 0) if seconds > 0 => Ok(()),
            (rest, 0) => write!(formatter, "{rest}s"),
            (rest, millis) => {
                let fraction = format!("{millis:03}");
                write!(formatter, "{rest}.{}s", fraction.trim_end_matches('0'))
            }
        }
    }
}

impl Debug for Interval {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "\"{self}\"")
    }
}

impl Serialize for Interval {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Interval {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}
