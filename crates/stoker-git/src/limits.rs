//! How long git may take.

use std::time::{Duration, Instant};

/// The bounds of one git operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The wall clock that an operation has without further questions: `git.timeout`, `--timeout`.
    pub timeout: Duration,
    /// The wall clock that a transfer has, even if it makes progress all the time.
    pub total: Duration,
    /// The most bytes of a list of refs that are read; four times as many of a list of commits.
    pub listing: usize,
}

/// Decides whether a transfer that is past its timeout still earns its time.
///
/// Within `timeout` anything goes: a server may need a while before its first byte. After that each
/// window has to bring bytes, or work on the bytes that came.
#[derive(Debug)]
pub(crate) struct Pace {
    limits: Limits,
    started: Instant,
    mark: (Instant, Progress),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Progress {
    pub(crate) bytes: u64,
    /// Processor time that was spent on what arrived.
    pub(crate) processor: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    GoOn,
    TimedOut,
    Stalled,
}

/// A slower transfer is taken for a dead one: 1 kB/s over 10 s.
const WINDOW: Duration = Duration::from_secs(10);
const BYTES_PER_MILLISECOND: u128 = 1;
/// Indexing a big pack brings no bytes, but burns processor time: at least one part in so many.
const PROCESSOR_SHARE: u32 = 20;

impl Default for Limits {
    fn default() -> Self {
        Self::within(Duration::from_secs(30))
    }
}

impl Limits {
    /// About 700,000 refs. More is not a repository that anyone deploys from.
    const LISTING: usize = 64 * 1024 * 1024;

    /// Returns the limits of operations with the given timeout.
    pub fn within(timeout: Duration) -> Self {
        let total = timeout.max(Duration::from_mins(30));
        Self { timeout, total, listing: Self::LISTING }
    }
}

impl Pace {
    pub(crate) fn start(limits: Limits, now: Instant) -> Self {
        Self { limits, started: now, mark: (now, Progress::default()) }
    }

    /// Judges an operation that has come as far as `progress`; `None` can't prolong its time.
    pub(crate) fn judge(&mut self, now: Instant, progress: Option<Progress>) -> Verdict {
        let elapsed = now - self.started;
        let Some(progress) = progress else {
            return if elapsed < self.limits.timeout { Verdict::GoOn } else { Verdict::TimedOut };
        };
        let (marked, before) = self.mark;
        // A shorter timeout is checked more often.
        let window = WINDOW.min(self.limits.timeout);
        let bytes = progress.bytes.saturating_sub(before.bytes);
        let processor = progress.processor.saturating_sub(before.processor);
        let earned = u128::from(bytes) >= BYTES_PER_MILLISECOND * window.as_millis()
            || processor >= window / PROCESSOR_SHARE;
        if earned {
            self.mark = (now, progress);
        }
        if elapsed >= self.limits.total {
            return Verdict::TimedOut;
        }
        let idle = now - marked >= window && !earned;
        match elapsed >= self.limits.timeout && idle {
            true if progress.bytes == 0 => Verdict::TimedOut,
            true => Verdict::Stalled,
            false => Verdict::GoOn,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        Limits { total: Duration::from_mins(10), ..Limits::default() }
    }

    fn bytes(bytes: u64) -> Progress {
        Progress { bytes, processor: Duration::ZERO }
    }

    /// Judges once a second until the operation is ended; returns that second.
    fn ends_at(progress: impl Fn(u64) -> Option<Progress>) -> (u64, Verdict) {
        let start = Instant::now();
        let mut pace = Pace::start(limits(), start);
        (0..10_000)
            .map(|second| {
                (second, pace.judge(start + Duration::from_secs(second), progress(second)))
            })
            .find(|(_, verdict)| *verdict != Verdict::GoOn)
            .unwrap()
    }

    #[test]
    fn an_operation_ends_at_its_timeout_ten_seconds_after_its_last_byte_or_at_the_total() {
        type Course = fn(u64) -> Option<Progress>;
        let cases: [(&str, Course, _); 5] = [
            ("can't show progress", |_| None, (30, Verdict::TimedOut)),
            ("silent", |_| Some(bytes(0)), (30, Verdict::TimedOut)),
            ("drip", |second| Some(bytes(second)), (30, Verdict::Stalled)),
            ("stall", |second| Some(bytes(second.min(45) * 5_000)), (54, Verdict::Stalled)),
            ("steady", |second| Some(bytes(second * 1_100)), (600, Verdict::TimedOut)),
        ];
        for (name, progress, end) in cases {
            assert_eq!(ends_at(progress), end, "{name}");
        }
    }

    #[test]
    fn indexing_counts_as_progress() {
        let work = |second: u64| {
            Some(Progress {
                bytes: 1_000_000,
                processor: Duration::from_millis(200 * second.min(100)),
            })
        };
        let (second, verdict) = ends_at(work);
        assert_eq!(verdict, Verdict::Stalled);
        assert!((107..=110).contains(&second), "{second}");
    }
}
