//! How long a phase took by itself: what was spent on git and on the gateway meanwhile is counted
//! there.

use std::time::{Duration, Instant};

use super::{Outcome, Subject};

/// A phase that has begun.
pub(super) struct Lap {
    started: Instant,
    elsewhere: Duration,
}

impl Lap {
    pub(super) fn begin(subject: &Subject<'_>, outcome: &Outcome) -> Self {
        Self { started: Instant::now(), elsewhere: elsewhere(subject, outcome) }
    }

    pub(super) fn end(self, subject: &Subject<'_>, outcome: &Outcome) -> Duration {
        let others = elsewhere(subject, outcome).saturating_sub(self.elsewhere);
        self.started.elapsed().saturating_sub(others)
    }
}

fn elsewhere(subject: &Subject<'_>, outcome: &Outcome) -> Duration {
    subject.source.spent() + outcome.durations.gateway
}
