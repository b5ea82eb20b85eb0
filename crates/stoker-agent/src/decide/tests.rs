//! The decision as tables.

use stoker_api::condition::Reason;
use stoker_api::word::Commit;

use super::*;
use crate::history::OwedScan;
use crate::testing::{OTHER, plain_goal};

const PERIOD: Duration = Duration::from_secs(30);

fn newer() -> Goal {
    Goal { commit: Commit::parse(OTHER).unwrap(), ..plain_goal() }
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn failure(goal: Goal, at: Instant, count: u32, retry: Retry) -> Failure {
    Failure {
        goal,
        kind: Kind::Sync,
        at,
        count,
        retry,
        reason: Reason::RemoteUnreachable,
        message: String::new(),
        is_source: true,
    }
}

fn step(goal: Option<&Goal>, history: &History, running: Option<&Goal>, now: Instant) -> Step {
    decide(&Facts { goal, history, running, period: PERIOD, now })
}

fn settled(goal: Goal, now: Instant) -> History {
    History { applied: Some(goal), checked: Some(now), ..History::default() }
}

// R38: when a pause comes no sync begins, and one that has changed nothing yet is undone.
// F24: nor does one begin for what the running one is for.
#[test]
fn nothing_begins_without_a_goal_and_a_run_for_the_goal_is_left_alone() {
    let (now, goal) = (Instant::now(), plain_goal());
    let idle = Step::Wait { until: None };
    assert_eq!(step(None, &History::default(), None, now), idle);
    assert_eq!(step(None, &History::default(), Some(&goal), now), Step::Undo);
    assert_eq!(step(Some(&goal), &History::default(), Some(&goal), now), idle);
}

#[test]
fn a_newer_goal_cancels_the_run_for_an_older_one() {
    let (now, goal) = (Instant::now(), plain_goal());
    assert_eq!(step(Some(&newer()), &History::default(), Some(&goal), now), Step::Cancel);
}

#[test]
fn the_first_run_checks_all_files_and_a_newer_commit_only_what_it_touches() {
    let (now, goal) = (Instant::now(), plain_goal());
    assert_eq!(step(Some(&goal), &History::default(), None, now), Step::Run(Kind::Check));
    let history = settled(goal, now);
    assert_eq!(step(Some(&newer()), &history, None, now), Step::Run(Kind::Sync));
}

#[test]
fn a_sync_that_is_asked_for_again_checks_all_files() {
    let (now, goal) = (Instant::now(), plain_goal());
    let requested_at = Some("2026-11-16T10:00:00Z".parse().unwrap());
    let asked = Goal { requested_at, ..goal.clone() };
    assert_eq!(step(Some(&asked), &settled(goal, now), None, now), Step::Run(Kind::Check));
}

#[test]
fn at_rest_nothing_is_due_before_the_next_check() {
    let (now, goal) = (Instant::now(), plain_goal());
    let history = settled(goal.clone(), now);
    let until = Some(now + CHECK_PERIOD);
    assert_eq!(step(Some(&goal), &history, None, now), Step::Wait { until });
    let later = now + CHECK_PERIOD;
    assert_eq!(step(Some(&goal), &history, None, later), Step::Run(Kind::Check));
}

// S4, R29: git that returns is noticed within the sync period; a fixing commit is tried at once.
#[test]
fn a_failed_run_is_retried_soon_then_every_period_and_a_newer_goal_at_once() {
    let (now, goal) = (Instant::now(), plain_goal());
    for (count, pause) in [(1, 1), (2, 2), (3, 5), (4, 10), (5, 20), (6, 30), (100, 30)] {
        let failure = Some(failure(goal.clone(), now, count, Retry::Backoff));
        let history = History { failure, ..History::default() };
        let due = now + seconds(pause);
        let waits = Step::Wait { until: Some(due) };
        assert_eq!(step(Some(&goal), &history, None, now), waits, "{count}");
        assert_eq!(step(Some(&goal), &history, None, due), Step::Run(Kind::Sync), "{count}");
        assert_eq!(step(Some(&newer()), &history, None, now), Step::Run(Kind::Check), "{count}");
    }
}

#[test]
fn what_a_person_must_fix_is_retried_less_often() {
    let (now, goal) = (Instant::now(), plain_goal());
    for (retry, pause) in [(Retry::NextPeriod, PERIOD), (Retry::NextChange, CHECK_PERIOD)] {
        let failure = Some(failure(goal.clone(), now, 1, retry));
        let history = History { failure, ..History::default() };
        let until = Some(now + pause);
        assert_eq!(step(Some(&goal), &history, None, now), Step::Wait { until }, "{retry:?}");
    }
}

#[test]
fn no_pause_is_longer_than_the_sync_period() {
    let (now, goal) = (Instant::now(), plain_goal());
    let failure = Some(failure(goal.clone(), now, 4, Retry::Backoff));
    let history = History { failure, ..History::default() };
    let facts =
        Facts { goal: Some(&goal), history: &history, running: None, period: seconds(5), now };
    assert_eq!(decide(&facts), Step::Wait { until: Some(now + seconds(5)) });
}

// F27, R23: owed scans at 5, 10, 30 and 60 s, then every sync period, without a new commit.
#[test]
fn owed_scans_are_tried_after_5_10_30_60_seconds_then_every_period_and_never_before_a_newer_commit()
{
    let (now, goal) = (Instant::now(), plain_goal());
    for (count, pause) in [(0, 5), (1, 10), (2, 30), (3, 60), (4, 30), (usize::MAX, 30)] {
        let (reason, message) = (Reason::GatewayUnreachable, String::new());
        let scan = Some(OwedScan { since: now, at: now, count, reason, message });
        let history = History { scan, ..settled(goal.clone(), now) };
        let due = now + seconds(pause);
        let waits = Step::Wait { until: Some(due) };
        assert_eq!(step(Some(&goal), &history, None, now), waits, "{count}");
        assert_eq!(step(Some(&goal), &history, None, due), Step::Run(Kind::Scan), "{count}");
        assert_eq!(step(Some(&newer()), &history, None, now), Step::Run(Kind::Sync), "{count}");
    }
}

// S6, G5: a gateway that was commissioned may have replaced files.
#[test]
fn a_check_that_is_owed_is_done_at_once() {
    let (now, goal) = (Instant::now(), plain_goal());
    let history = History { is_check_owed: true, ..settled(goal.clone(), now) };
    assert_eq!(step(Some(&goal), &history, None, now), Step::Run(Kind::Check));
}

// A scan that keeps failing does not hide that files were changed.
#[test]
fn a_scan_that_fails_does_not_keep_files_from_being_checked() {
    let (now, goal) = (Instant::now(), plain_goal());
    let failed = failure(goal.clone(), now + CHECK_PERIOD, 1, Retry::NextPeriod);
    let failure = Some(Failure { kind: Kind::Scan, ..failed });
    let history = History { failure, ..settled(goal.clone(), now) };
    let at = |time| step(Some(&goal), &history, None, time);
    assert_eq!(at(now + CHECK_PERIOD), Step::Run(Kind::Check));
    let until = Some(now + CHECK_PERIOD);
    assert_eq!(at(now), Step::Wait { until });
}
