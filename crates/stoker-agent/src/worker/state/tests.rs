//! Claims about what the worker does next, given what came of its runs.

use std::path::Path;

use stoker_api::contract::metadata::Metadata;
use stoker_run::{Phase, Progress as _, Retry, RunReport};

use super::*;
use crate::announcement::Published;
use crate::run::Fault;
use crate::testing::{environment, metadata};

/// A worker on a volume without a state of Stoker, to which this is announced.
fn worker(metadata: Metadata) -> State {
    let mut state = State::new(Start {
        environment: environment(Path::new("/")).into(),
        metrics: Metrics::new().0,
        pod: Pod::default(),
        found: Found { commit: None, is_last_good: false, is_unfinished: false },
        store_limit: 1,
        at: Instant::now(),
    });
    state.announcement = published(metadata);
    state
}

fn published(metadata: Metadata) -> Announcement {
    Announcement::Published(Published { metadata, reports_wanted: None }.into())
}

// F05: a dry run brings no files, so there are none to wait for once it is done.
#[test]
fn a_gateway_with_a_dry_run_starts_when_the_run_is_done() {
    let mut metadata = metadata();
    for profile in metadata.profiles.values_mut() {
        profile.dry_run = true;
    }
    let (mut state, now) = (worker(metadata), Instant::now());
    let Todo { job: Some(job), startup, .. } = state.consider(now) else { panic!("no run") };
    assert_ne!(startup, Startup::Pass);
    state.take(&job, &Ended { report: RunReport::default(), fault: None }, now);
    assert_eq!(state.consider(now).startup, Startup::Pass);
}

// R38: a run whose renames have begun finishes with its scan; one before them is undone.
#[test]
fn a_pause_ends_a_run_that_has_changed_nothing_yet() {
    let before = [Phase::Opening, Phase::AskingGateway, Phase::Writing { changes: 1 }];
    let after = [Phase::Applying, Phase::Scanning];
    let phases = before.map(|phase| (phase, true)).into_iter();
    for (phase, ends) in phases.chain(after.map(|phase| (phase, false))) {
        let (mut state, now) = (worker(metadata()), Instant::now());
        let job = state.consider(now).job.unwrap();
        let (cancel, writing) = (Cancel::default(), Writing::default());
        writing.phase(phase);
        state.running = Some(Running { job, cancel: cancel.clone(), writing, since: now });
        state.consider(now);
        assert!(!cancel.is_cancelled(), "{phase:?}");
        state.announcement = published(Metadata { is_paused: true, ..metadata() });
        state.consider(now);
        assert_eq!(cancel.is_cancelled(), ends, "{phase:?}");
    }
}

fn failed(reason: Reason, is_source: bool) -> Ended {
    let fault = Fault {
        reason,
        message: "why".to_owned(),
        retry: Retry::Backoff,
        is_source,
        is_cancelled: false,
        designers: 0,
        files: Files::Untouched,
    };
    Ended { report: RunReport::default(), fault: Some(fault) }
}

// S3: the run that has the volume is about to bring the first files. A pod that must be recreated
// gets none by waiting.
#[test]
fn a_gateway_waits_for_the_run_that_has_its_volume_and_not_for_a_new_pod() {
    let cases = [
        (Reason::RemoteUnreachable, true, false),
        (Reason::Locked, false, false),
        (Reason::RestartNeeded, true, true),
        (Reason::DiskFull, false, true),
    ];
    for (reason, is_source, passes) in cases {
        let (mut state, now) = (worker(metadata()), Instant::now());
        let job = state.consider(now).job.unwrap();
        state.take(&job, &failed(reason, is_source), now);
        let startup = state.consider(now).startup;
        assert_eq!(startup == Startup::Pass, passes, "{reason:?} {startup:?}");
    }
}
