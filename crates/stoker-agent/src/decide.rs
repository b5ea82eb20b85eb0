//! What is to be done next: a pure function of the goal and the history.

use std::time::{Duration, Instant};

use stoker_ignition::retry_after;
use stoker_run::Retry;

use crate::goal::Goal;
use crate::history::{Failure, History};

/// How often all managed files are checked though nothing changed.
pub(crate) const CHECK_PERIOD: Duration = Duration::from_mins(10);

/// Pauses before attempts at a run that failed for a reason that may pass; then every sync period.
const RETRIES: [Duration; 5] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(10),
    Duration::from_secs(20),
];

/// What a run does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Brings the files to the goal.
    Sync,
    /// The same, and checks all managed files.
    Check,
    /// Only makes up for owed scans.
    Scan,
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Start a run.
    Run(Kind),
    /// Cancel the run that is under way: it serves an older goal.
    Cancel,
    /// Cancel the run that is under way, if it has not begun to put files in place: there is nothing
    /// to sync any more.
    Undo,
    /// Wait, at most until then.
    Wait { until: Option<Instant> },
}

/// What the decision goes by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts<'a> {
    /// What the gateway is to have; none while there is nothing to sync.
    pub(crate) goal: Option<&'a Goal>,
    pub(crate) history: &'a History,
    /// The goal of the run that is under way.
    pub(crate) running: Option<&'a Goal>,
    /// The longest pause between two attempts.
    pub(crate) period: Duration,
    pub(crate) now: Instant,
}

/// Decides what is to be done next.
pub(crate) fn decide(facts: &Facts<'_>) -> Step {
    let Facts { goal, history, running, period, now } = *facts;
    let wait = Step::Wait { until: None };
    let Some(goal) = goal else { return running.map_or(wait, |_| Step::Undo) };
    if let Some(running) = running {
        return if running == goal { wait } else { Step::Cancel };
    }
    let check = history.checked.map_or(now, |checked| checked + CHECK_PERIOD);
    if let Some(failure) = history.failure.as_ref().filter(|failure| failure.goal == *goal) {
        let again = failure.at + pause(failure, period);
        // A scan that fails does not keep files from being checked.
        let is_check = failure.kind == Kind::Scan && check <= again;
        return if is_check { at(check, Kind::Check, now) } else { at(again, failure.kind, now) };
    }
    if history.applied.as_ref() != Some(goal) {
        return Step::Run(kind_for(goal, history));
    }
    if history.is_check_owed {
        return Step::Run(Kind::Check);
    }
    let scan = history.scan.as_ref().map(|scan| scan.at + retry_after(scan.count, period));
    match scan {
        Some(scan) if scan <= check => at(scan, Kind::Scan, now),
        _ => at(check, Kind::Check, now),
    }
}

/// A first run and one that a person asked for check all files.
fn kind_for(goal: &Goal, history: &History) -> Kind {
    let is_asked = history.applied.as_ref().is_none_or(|applied| {
        applied.requested_at != goal.requested_at && applied.commit == goal.commit
    });
    if is_asked || history.checked.is_none() { Kind::Check } else { Kind::Sync }
}

fn at(due: Instant, kind: Kind, now: Instant) -> Step {
    if now >= due { Step::Run(kind) } else { Step::Wait { until: Some(due) } }
}

/// Returns the pause after a failure. What only another goal can fix is tried as rarely as files
/// are checked: people fix volumes and rights without telling us.
fn pause(failure: &Failure, period: Duration) -> Duration {
    match failure.retry {
        Retry::Backoff => {
            let attempt = usize::try_from(failure.count.saturating_sub(1)).unwrap_or(usize::MAX);
            RETRIES.get(attempt).copied().unwrap_or(period).min(period)
        }
        Retry::NextPeriod => period,
        Retry::NextChange => CHECK_PERIOD,
    }
}

#[cfg(test)]
mod tests;
