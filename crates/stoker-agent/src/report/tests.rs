//! Claims about the report for the controller.

use std::path::Path;

use stoker_api::condition::Trigger;
use stoker_api::word::Commit;
use stoker_run::{Retry, Scan};

use super::*;
use crate::decide::Kind;
use crate::history::OwedScan;
use crate::testing::{COMMIT, OTHER, environment, plain_goal};

struct World {
    environment: Environment,
    history: History,
    last: Last,
    has_files: bool,
    has_started: bool,
    is_running: bool,
    now: Instant,
}

impl World {
    fn new() -> Self {
        Self {
            environment: environment(Path::new("/")),
            history: History::default(),
            last: Last::default(),
            has_files: false,
            has_started: false,
            is_running: false,
            now: Instant::now(),
        }
    }

    fn report(&self, wanted: Result<&Goal, &Hold>) -> Report {
        build(&Facts {
            environment: &self.environment,
            gateway: &GatewayName::parse("Plant 1").unwrap(),
            wanted,
            history: &self.history,
            last: &self.last,
            is_running: self.is_running,
            has_started: self.has_started,
            has_files: self.has_files,
            now: self.now,
        })
    }

    fn owe(&mut self, reason: Reason, since: Instant) {
        let message = "refused".to_owned();
        self.history.scan = Some(OwedScan { since, at: since, count: 0, reason, message });
    }

    fn fail(&mut self, goal: &Goal, is_source: bool) {
        self.history.failure = Some(Failure {
            goal: goal.clone(),
            kind: Kind::Sync,
            at: self.now,
            count: 1,
            retry: Retry::Backoff,
            reason: Reason::RemoteUnreachable,
            message: "connection refused".to_owned(),
            is_source,
        });
    }
}

fn newer() -> Goal {
    Goal { commit: Commit::parse(OTHER).unwrap(), ..plain_goal() }
}

fn job(trigger: Trigger) -> Job {
    let environment = environment(Path::new("/")).into();
    let (goal, kind, loaded) = (plain_goal(), Kind::Sync, None);
    Job { goal, kind, trigger, loaded, environment, store_limit: 1 }
}

fn state(report: &Report) -> (SyncStatus, Option<Reason>) {
    (report.sync_status, report.reason)
}

#[test]
fn a_gateway_with_the_goal_and_no_owed_scan_is_synced_with_the_hash_of_what_it_has() {
    let (mut world, goal) = (World::new(), plain_goal());
    world.history.applied = Some(goal.clone());
    let report = world.report(Ok(&goal));
    assert_eq!(state(&report), (SyncStatus::Synced, None));
    assert_eq!(report.applied, Some(goal.applied()));
    assert_eq!((report.pod_name.as_str(), report.pod_uid.as_str()), ("plant-0", "uid-1"));
    assert_eq!(report.profile.as_deref(), Some("default"));
}

// R21: while the next commit fails, the hash and the commit stay those of what is live.
#[test]
fn a_newer_commit_that_can_t_be_fetched_leaves_the_hash_of_the_last_one() {
    let (mut world, goal) = (World::new(), plain_goal());
    world.history.applied = Some(goal.clone());
    world.has_files = true;
    world.fail(&newer(), true);
    let report = world.report(Ok(&newer()));
    assert_eq!(state(&report), (SyncStatus::Degraded, Some(Reason::RemoteUnreachable)));
    assert_eq!(
        (report.applied, report.message.as_str()),
        (Some(goal.applied()), "connection refused")
    );
}

#[test]
fn a_failure_is_degraded_only_while_the_gateway_is_in_service_and_git_is_to_blame() {
    let goal = plain_goal();
    let cases = [
        (true, true, false, SyncStatus::Degraded),
        (true, false, true, SyncStatus::Degraded),
        (true, false, false, SyncStatus::Error),
        (false, true, true, SyncStatus::Error),
    ];
    for (is_source, has_files, has_started, status) in cases {
        let mut world = World::new();
        world.fail(&goal, is_source);
        (world.has_files, world.has_started) = (has_files, has_started);
        let found = world.report(Ok(&goal)).sync_status;
        assert_eq!(found, status, "{is_source} {has_files} {has_started}");
    }
}

// A refused connection is normal before the gateway has started, and an error after ten minutes.
#[test]
fn an_owed_scan_is_syncing_and_an_unreachable_gateway_is_an_error_after_ten_minutes() {
    let (mut world, goal) = (World::new(), plain_goal());
    world.history.applied = Some(goal.clone());
    let since = world.now;
    let cases = [
        (Reason::GatewayUnreachable, 0, SyncStatus::Syncing),
        (Reason::GatewayUnreachable, 600, SyncStatus::Error),
        (Reason::GatewayConnectionLost, 0, SyncStatus::Syncing),
        (Reason::GatewayConnectionLost, 600, SyncStatus::Error),
        (Reason::GatewayServerFault, 0, SyncStatus::Error),
        (Reason::GatewayNotReady, 6000, SyncStatus::Syncing),
        (Reason::GatewayUnauthorized, 0, SyncStatus::Error),
    ];
    for (reason, seconds, status) in cases {
        world.owe(reason, since);
        world.now = since + Duration::from_secs(seconds);
        assert_eq!(state(&world.report(Ok(&goal))), (status, Some(reason)), "{seconds}");
    }
}

// R20: a dry run is never shown as applied.
#[test]
fn a_dry_run_has_no_hash() {
    let mut world = World::new();
    let mut goal = plain_goal();
    goal.profile.dry_run = true;
    world.history.applied = Some(goal.clone());
    let report = world.report(Ok(&goal));
    assert_eq!((report.sync_status, report.applied), (SyncStatus::DryRun, None));
}

#[test]
fn termination_is_acknowledged_when_no_run_is_under_way() {
    let mut world = World::new();
    world.is_running = true;
    assert!(!world.report(Err(&Hold::Terminating)).acknowledged);
    world.is_running = false;
    assert!(world.report(Err(&Hold::Terminating)).acknowledged);
    let paused = Hold::Paused { message: "the GatewaySync is paused".to_owned() };
    let report = world.report(Err(&paused));
    assert_eq!((report.sync_status, report.acknowledged), (SyncStatus::Paused, false));
}

#[test]
fn a_run_that_changed_nothing_leaves_the_counts_of_the_one_before() {
    let (mut world, goal) = (World::new(), plain_goal());
    let first: Timestamp = "2026-11-16T10:00:00Z".parse().unwrap();
    let later: Timestamp = "2026-11-16T11:00:00Z".parse().unwrap();
    let live = Some(COMMIT.to_owned());
    let mut run = RunReport { outcome: Outcome::Synced, live_commit: live, ..RunReport::default() };
    run.projects = vec!["hmi".to_owned()];
    run.scans.projects = Scan::Done;
    world.last.take(&run, &job(Trigger::Webhook), first);
    (run.outcome, run.projects) = (Outcome::Unchanged, Vec::new());
    run.scans = Scans::default();
    world.last.take(&run, &job(Trigger::Drift), later);
    world.history.applied = Some(goal.clone());
    let report = world.report(Ok(&goal));
    assert_eq!(report.projects_synced, ["hmi"]);
    assert_eq!(report.scan_result, "projects done, config skipped");
    assert_eq!((report.trigger, report.synced_at), (Some(Trigger::Webhook), Some(first)));
    assert_eq!(report.commit.unwrap().as_str(), COMMIT);
    assert_eq!(report.git_ref.unwrap().as_str(), "main");
}
