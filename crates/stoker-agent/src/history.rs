//! What the worker remembers of its runs.

use std::time::Instant;

use stoker_api::chain::Chain;
use stoker_api::condition::Reason;
use stoker_run::{Retry, RunReport};

use crate::decide::Kind;
use crate::goal::Goal;
use crate::run::{Ended, Fault, Files, Job};

/// What the worker remembers of its runs.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// The last goal whose files are all in place.
    pub(crate) applied: Option<Goal>,
    /// The last run, if it failed.
    pub(crate) failure: Option<Failure>,
    /// The scan that the gateway still owes.
    pub(crate) scan: Option<OwedScan>,
    /// The last commit that this gateway was found to have loaded: it started with it, or scanned
    /// it. Another agent on the same volume may have brought and scanned a later one.
    pub(crate) loaded: Option<String>,
    /// When all managed files were last checked.
    pub(crate) checked: Option<Instant>,
    /// Whether all managed files are to be checked now: a gateway that was commissioned meanwhile
    /// may have replaced some.
    pub(crate) is_check_owed: bool,
}

/// A run that failed.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) goal: Goal,
    pub(crate) kind: Kind,
    /// When it ended.
    pub(crate) at: Instant,
    /// How often in a row runs for this goal have failed.
    pub(crate) count: u32,
    pub(crate) retry: Retry,
    pub(crate) reason: Reason,
    pub(crate) message: String,
    /// Whether the way to the commit failed, not what was done with it.
    pub(crate) is_source: bool,
}

/// A scan that the gateway owes because it did not answer, or was not ready.
#[derive(Debug, Clone)]
pub(crate) struct OwedScan {
    /// Since when.
    pub(crate) since: Instant,
    /// When it was last tried.
    pub(crate) at: Instant,
    /// How often it was tried.
    pub(crate) count: usize,
    pub(crate) reason: Reason,
    pub(crate) message: String,
}

impl History {
    /// Takes what came of a run.
    pub(crate) fn take(&mut self, job: &Job, ended: &Ended, now: Instant) {
        match &ended.fault {
            None => self.note_success(job, &ended.report, now),
            Some(fault) if fault.files == Files::InPlace => self.note_owed(job, fault, now),
            // It was undone before it changed anything.
            Some(fault) if fault.is_cancelled => {}
            Some(fault) => self.note_failure(job, fault, now),
        }
    }

    fn note_success(&mut self, job: &Job, report: &RunReport, now: Instant) {
        self.applied = Some(job.goal.clone());
        self.failure = None;
        if job.kind == Kind::Check {
            // A run that brings another commit looks only at what it touches. A dry run brings
            // none: it would be owed for ever.
            let is_whole = job.goal.profile.dry_run
                || report.previous_commit.is_none()
                || report.previous_commit == report.commit;
            self.is_check_owed = !is_whole;
            self.checked = Some(now);
        }
        if !report.owes_scan() || job.environment.api_key_file.is_none() {
            // The gateway was commissioned meanwhile, and may have replaced files.
            self.is_check_owed |= self.scan.take().is_some();
            if !job.goal.profile.dry_run {
                self.loaded.clone_from(&report.live_commit);
            }
            return;
        }
        let (reason, message) = match &report.gateway_absent {
            Some(error) => (reported(error.reason()), Chain(error).to_string()),
            None => (Reason::ScanFailed, "the sync ended before the scan".to_owned()),
        };
        let count = self.tried();
        self.owe(OwedScan { since: now, at: now, count, reason, message });
    }

    /// The files are in place, and the gateway did not scan them.
    fn note_owed(&mut self, job: &Job, fault: &Fault, now: Instant) {
        self.applied = Some(job.goal.clone());
        self.failure = None;
        self.checked.get_or_insert(now);
        // What only a person can fix is tried once a period.
        let count = if fault.retry == Retry::Backoff { self.tried() } else { usize::MAX };
        let (reason, message) = if fault.is_cancelled {
            (Reason::ScanFailed, "the sync ended before the scan".to_owned())
        } else {
            (reported(fault.reason), fault.message.clone())
        };
        self.owe(OwedScan { since: now, at: now, count, reason, message });
    }

    /// Takes note of a run that panicked: it is retried like one that failed.
    pub(crate) fn note_broken(&mut self, job: &Job, now: Instant) {
        let fault = Fault {
            reason: Reason::ApplyFailed,
            message: "the sync ended unexpectedly; the agent's log says where".to_owned(),
            retry: Retry::Backoff,
            is_source: false,
            is_cancelled: false,
            designers: 0,
            files: Files::Mixed,
        };
        self.note_failure(job, &fault, now);
    }

    fn note_failure(&mut self, job: &Job, fault: &Fault, now: Instant) {
        if fault.files == Files::Mixed {
            // What was applied before is not what is live: going back to it takes a run.
            self.applied = None;
        }
        let before = self.failure.take().filter(|before| before.goal == job.goal);
        let is_scan = before.as_ref().is_some_and(|before| before.kind == Kind::Scan);
        if is_scan && job.kind == Kind::Check {
            // It is the scan that is tried again; files are checked again in their own time.
            self.checked = Some(now);
        }
        self.failure = Some(Failure {
            goal: job.goal.clone(),
            kind: if is_scan { Kind::Scan } else { job.kind },
            at: now,
            count: before.map_or(1, |before| before.count.saturating_add(1)),
            retry: fault.retry,
            reason: fault.reason,
            message: fault.message.clone(),
            is_source: fault.is_source,
        });
    }

    /// Returns how often the owed scan was tried again.
    fn tried(&self) -> usize {
        self.scan.as_ref().map_or(0, |scan| scan.count.saturating_add(1))
    }

    /// Takes note of a scan that is owed, or still owed.
    fn owe(&mut self, mut owed: OwedScan) {
        if let Some(before) = self.scan.take() {
            owed.since = before.since;
            if before.reason == owed.reason {
                // The same reason in other words is not news.
                owed.message = before.message;
            }
        }
        self.scan = Some(owed);
    }
}

/// Returns the reason for a report: a gateway that is away or not ready yet is so however that shows.
fn reported(reason: Reason) -> Reason {
    match reason {
        Reason::GatewayStarting | Reason::GatewayNeedsCommissioning => Reason::GatewayNotReady,
        Reason::GatewayConnectionRefused | Reason::GatewayTimedOut => Reason::GatewayUnreachable,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use stoker_api::condition::Trigger;
    use stoker_ignition::Error as GatewayError;
    use stoker_run::{Scan, Scans};

    use super::*;
    use crate::args::Environment;
    use crate::decide::{Facts, Step, decide};
    use crate::testing::{COMMIT, OTHER, environment, plain_goal};

    fn job(kind: Kind) -> Job {
        let api_key_file = Some("/key".into());
        let environment = Environment { api_key_file, ..environment(Path::new("/")) }.into();
        let (goal, trigger, loaded) = (plain_goal(), Trigger::Polling, None);
        Job { goal, kind, trigger, loaded, environment, store_limit: 1 }
    }

    fn ran(previous: &str, projects: Scan) -> Ended {
        let report = RunReport {
            commit: Some(COMMIT.to_owned()),
            previous_commit: Some(previous.to_owned()),
            scans: Scans { projects, config: Scan::Skipped },
            ..RunReport::default()
        };
        Ended { report, fault: None }
    }

    fn fault(files: Files) -> Fault {
        Fault {
            reason: Reason::GatewayUnauthorized,
            message: "401".to_owned(),
            retry: Retry::NextPeriod,
            is_source: false,
            is_cancelled: false,
            designers: 0,
            files,
        }
    }

    #[test]
    fn a_check_that_brought_another_commit_is_still_owed() {
        let (mut history, now) = (History::default(), Instant::now());
        history.take(&job(Kind::Check), &ran(OTHER, Scan::Done), now);
        assert!(history.is_check_owed);
        history.take(&job(Kind::Check), &ran(COMMIT, Scan::Done), now);
        assert!(!history.is_check_owed);
        assert_eq!((history.checked, history.applied), (Some(now), Some(plain_goal())));
    }

    // A dry run leaves the live commit, so it never brings the announced one.
    #[test]
    fn a_dry_run_beside_another_live_commit_is_not_repeated_at_once() {
        let (mut history, now) = (History::default(), Instant::now());
        let mut dry = job(Kind::Check);
        dry.goal.profile.dry_run = true;
        history.take(&dry, &ran(OTHER, Scan::Skipped), now);
        let until = Some(now + crate::decide::CHECK_PERIOD);
        assert_eq!(step_to(&dry.goal, &history, now), Step::Wait { until });
    }

    #[test]
    fn a_commit_is_loaded_when_no_scan_of_it_is_owed() {
        let (mut history, now) = (History::default(), Instant::now());
        let mut ended = ran(OTHER, Scan::Owed);
        ended.report.live_commit = Some(COMMIT.to_owned());
        history.take(&job(Kind::Sync), &ended, now);
        assert_eq!(history.loaded, None);
        ended.report.scans.projects = Scan::Done;
        let mut dry = job(Kind::Sync);
        dry.goal.profile.dry_run = true;
        history.take(&dry, &ended, now);
        assert_eq!(history.loaded, None);
        history.take(&job(Kind::Scan), &ended, now);
        assert_eq!(history.loaded.as_deref(), Some(COMMIT));
    }

    // S6: after commissioning the files are checked, once.
    #[test]
    fn a_scan_that_was_owed_and_is_done_makes_a_check_due() {
        let (mut history, now) = (History::default(), Instant::now());
        history.take(&job(Kind::Check), &ran(COMMIT, Scan::Owed), now);
        history.take(&job(Kind::Scan), &ran(COMMIT, Scan::Owed), now);
        let scan = history.scan.as_ref().unwrap();
        assert_eq!((scan.count, history.is_check_owed), (1, false));
        history.take(&job(Kind::Scan), &ran(COMMIT, Scan::Done), now);
        assert!(history.is_check_owed && history.scan.is_none());
    }

    // Nothing scans without an API key, whatever an earlier pod left owed.
    #[test]
    fn without_an_api_key_no_scan_is_owed() {
        let (mut history, now) = (History::default(), Instant::now());
        let environment = environment(Path::new("/")).into();
        let keyless = Job { environment, ..job(Kind::Check) };
        history.take(&keyless, &ran(COMMIT, Scan::Owed), now);
        assert!(history.scan.is_none());
    }

    // G1: each answer of a gateway keeps its reason; one that is away or starting has not failed.
    #[test]
    fn an_owed_scan_has_the_reason_of_the_gateways_answer() {
        let cases = [
            (Reason::GatewayConnectionRefused, Reason::GatewayUnreachable),
            (Reason::GatewayTimedOut, Reason::GatewayUnreachable),
            (Reason::GatewayStarting, Reason::GatewayNotReady),
            (Reason::GatewayNeedsCommissioning, Reason::GatewayNotReady),
            (Reason::GatewayRouteNotFound, Reason::GatewayRouteNotFound),
            (Reason::GatewayServerFault, Reason::GatewayServerFault),
        ];
        for (reason, reported) in cases {
            let (mut history, now) = (History::default(), Instant::now());
            let fault = Some(Fault { reason, ..fault(Files::InPlace) });
            history.take(&job(Kind::Sync), &Ended { fault, ..ran(OTHER, Scan::Failed) }, now);
            assert_eq!(history.scan.unwrap().reason, reported);
        }
        let mut absent = ran(COMMIT, Scan::Owed);
        let waited = std::time::Duration::ZERO;
        for (error, reported) in [
            (GatewayError::NotReady { waited }, Reason::GatewayNotReady),
            (GatewayError::NoKey, Reason::GatewayKeyMissing),
        ] {
            let (mut history, now) = (History::default(), Instant::now());
            absent.report.gateway_absent = Some(error);
            history.take(&job(Kind::Check), &absent, now);
            assert_eq!(history.scan.unwrap().reason, reported);
        }
    }

    // R43: a refused key is not tried again and again.
    #[test]
    fn a_scan_that_only_a_person_can_fix_is_tried_once_a_period() {
        let (mut history, now) = (History::default(), Instant::now());
        let refused = Ended { fault: Some(fault(Files::InPlace)), ..ran(OTHER, Scan::Failed) };
        history.take(&job(Kind::Sync), &refused, now);
        assert_eq!(history.scan.as_ref().unwrap().count, usize::MAX);
        assert_eq!(history.applied, Some(plain_goal()), "the files are in place");
        assert!(history.failure.is_none());
    }

    #[test]
    fn failures_are_counted_per_goal_and_leave_what_is_applied() {
        let (mut history, now) = (History::default(), Instant::now());
        let failed = || Ended { fault: Some(fault(Files::Untouched)), ..ran(OTHER, Scan::Skipped) };
        history.take(&job(Kind::Sync), &failed(), now);
        history.take(&job(Kind::Sync), &failed(), now);
        assert_eq!(history.failure.as_ref().unwrap().count, 2);
        let mut other = job(Kind::Sync);
        other.goal.port = Some(1);
        history.take(&other, &failed(), now);
        assert_eq!(history.failure.as_ref().unwrap().count, 1);
        assert_eq!(history.applied, None);
        history.note_broken(&other, now);
        assert_eq!(history.failure.as_ref().unwrap().count, 2);
    }

    #[test]
    fn a_check_that_fails_like_the_scan_before_it_leaves_the_scan_to_be_tried_again() {
        let (mut history, now) = (History::default(), Instant::now());
        let failed = || Ended { fault: Some(fault(Files::Untouched)), ..ran(COMMIT, Scan::Owed) };
        history.take(&job(Kind::Scan), &failed(), now);
        history.take(&job(Kind::Check), &failed(), now);
        assert_eq!(history.failure.unwrap().kind, Kind::Scan);
        assert_eq!(history.checked, Some(now));
    }

    fn later() -> Job {
        let goal = Goal { port: Some(1), ..plain_goal() };
        Job { goal, ..job(Kind::Sync) }
    }

    fn step_to(goal: &Goal, history: &History, now: Instant) -> Step {
        let (running, period) = (None, std::time::Duration::from_secs(30));
        decide(&Facts { goal: Some(goal), history, running, period, now })
    }

    #[test]
    fn going_back_after_a_run_that_failed_half_way_takes_a_run() {
        let (mut history, now) = (History::default(), Instant::now());
        history.take(&job(Kind::Check), &ran(COMMIT, Scan::Done), now);
        let half = fault(Files::Mixed);
        let half = Ended { fault: Some(half), ..ran(COMMIT, Scan::Skipped) };
        history.take(&later(), &half, now);
        assert_eq!(step_to(&plain_goal(), &history, now), Step::Run(Kind::Check));
        // One that failed before it changed anything leaves what is applied.
        history.take(&job(Kind::Check), &ran(COMMIT, Scan::Done), now);
        history.take(
            &later(),
            &Ended { fault: Some(fault(Files::Untouched)), ..ran(COMMIT, Scan::Skipped) },
            now,
        );
        assert_eq!(history.applied, Some(plain_goal()));
    }

    #[test]
    fn going_back_after_a_run_that_was_cancelled_in_its_scan_takes_a_run() {
        let (mut history, now) = (History::default(), Instant::now());
        history.take(&job(Kind::Check), &ran(COMMIT, Scan::Done), now);
        let cut = Fault { is_cancelled: true, ..fault(Files::InPlace) };
        history.take(&later(), &Ended { fault: Some(cut), ..ran(COMMIT, Scan::Owed) }, now);
        assert_eq!(history.applied, Some(later().goal));
        assert_eq!(step_to(&plain_goal(), &history, now), Step::Run(Kind::Sync));
        let undone = Fault { is_cancelled: true, ..fault(Files::Untouched) };
        history.take(
            &job(Kind::Sync),
            &Ended { fault: Some(undone), ..ran(COMMIT, Scan::Owed) },
            now,
        );
        assert_eq!(history.applied, Some(later().goal));
        assert!(history.failure.is_none());
    }
}
