//! Claims about what the worker does next, given what came of its runs.

use std::path::Path;

use stoker_run::RunReport;

use super::*;
use crate::announcement::Published;
use crate::testing::{environment, metadata};

/// A worker on a volume without a state of Stoker, to which this is announced.
fn worker(metadata: stoker_api::contract::metadata::Metadata) -> State {
    let mut state = State::new(Start {
        environment: environment(Path::new("/")).into(),
        metrics: Metrics::new().0,
        pod: Pod::default(),
        found: Found { is_last_good: false, is_unfinished: false },
        store_limit: 1,
        at: Instant::now(),
    });
    let published = Published { metadata, reports_wanted: None };
    state.announcement = Announcement::Published(published.into());
    state
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
