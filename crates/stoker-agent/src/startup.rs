//! Whether the gateway may start: a pure function.
//!
//! The gateway waits for its first files, and for nothing else. It starts at once where a last good
//! state is on the volume or where there is nothing to wait for. Metadata that is absent or
//! forbidden is waited for 60 s; git, an API server that does not answer and another agent's run on
//! the same volume, up to the deadline.

use std::time::Duration;

/// How long metadata or rights that are absent are waited for.
pub(crate) const METADATA: Duration = Duration::from_mins(1);

/// What the decision goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Facts<'a> {
    /// How long the container runs.
    pub(crate) age: Duration,
    /// How long git may be waited for; zero is for ever.
    pub(crate) deadline: Duration,
    /// Whether a last good state is on the volume, or the first sync is done.
    pub(crate) has_files: bool,
    pub(crate) wait: Wait<'a>,
}

/// What the first sync waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait<'a> {
    /// The API server has not answered yet.
    ApiServer,
    /// The metadata is absent, forbidden or can't be read.
    Metadata(&'a str),
    /// Nothing: there is nothing to sync.
    Nothing,
    /// The controller: the ref is not resolved yet.
    Controller(&'a str),
    /// The first run, which is under way; whether it has all that it needs and writes files.
    Run { is_writing: bool },
    /// Git: the last run failed to reach it.
    Git(&'a str),
    /// The volume: a run of another agent has it.
    Volume(&'a str),
    /// Another fault, which waiting does not fix.
    Fault,
}

/// Whether the gateway may start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Startup {
    /// It may.
    Pass,
    /// It waits, for this reason, and is asked again after at most this time.
    Wait { reason: String, next: Option<Duration> },
}

/// Decides whether the gateway may start.
pub(crate) fn decide(facts: &Facts<'_>) -> Startup {
    let Facts { age, deadline, has_files, wait } = *facts;
    if has_files {
        return Startup::Pass;
    }
    let (reason, limit) = match wait {
        Wait::Nothing | Wait::Fault => return Startup::Pass,
        Wait::Metadata(fault) => (format!("for its metadata: {fault}"), Some(METADATA)),
        Wait::ApiServer => ("for the API server".to_owned(), limit(deadline)),
        Wait::Controller(fault) => (format!("for the controller: {fault}"), limit(deadline)),
        Wait::Run { is_writing: true } => ("for the first files".to_owned(), None),
        Wait::Run { is_writing: false } => ("for the first commit".to_owned(), limit(deadline)),
        Wait::Git(fault) => (format!("for git: {fault}"), limit(deadline)),
        Wait::Volume(fault) => (format!("for its volume: {fault}"), limit(deadline)),
    };
    match limit {
        Some(limit) if age >= limit => Startup::Pass,
        limit => Startup::Wait { reason, next: limit.map(|limit| limit.saturating_sub(age)) },
    }
}

fn limit(deadline: Duration) -> Option<Duration> {
    (!deadline.is_zero()).then_some(deadline)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(wait: Wait<'_>, seconds: u64) -> Facts<'_> {
        let (age, deadline) = (Duration::from_secs(seconds), Duration::from_mins(10));
        Facts { age, deadline, has_files: false, wait }
    }

    fn passes_at(wait: Wait<'_>) -> Option<u64> {
        (0..10_000).find(|second| decide(&facts(wait, *second)) == Startup::Pass)
    }

    // R13, S3 and contract.md, "Agent container".
    #[test]
    fn a_gateway_waits_for_its_first_files_and_only_as_long_as_that_helps() {
        let cases = [
            (Wait::Nothing, Some(0)),
            (Wait::Fault, Some(0)),
            (Wait::Metadata("not found"), Some(60)),
            (Wait::ApiServer, Some(600)),
            (Wait::Controller("not resolved"), Some(600)),
            (Wait::Git("refused"), Some(600)),
            (Wait::Volume("held"), Some(600)),
            (Wait::Run { is_writing: false }, Some(600)),
            (Wait::Run { is_writing: true }, None),
        ];
        for (wait, second) in cases {
            assert_eq!(passes_at(wait), second, "{wait:?}");
            let with_files = Facts { has_files: true, ..facts(wait, 0) };
            assert_eq!(decide(&with_files), Startup::Pass, "{wait:?}");
        }
    }

    #[test]
    fn a_deadline_of_zero_is_for_ever_for_git_and_not_for_metadata() {
        let for_ever = |wait| Facts { deadline: Duration::ZERO, ..facts(wait, 1_000_000) };
        let waits = decide(&for_ever(Wait::Git("refused")));
        let reason = "for git: refused".to_owned();
        assert_eq!(waits, Startup::Wait { reason, next: None });
        assert_eq!(decide(&for_ever(Wait::Metadata("x"))), Startup::Pass);
    }
}
