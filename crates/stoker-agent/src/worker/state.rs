//! What the worker knows, and what follows from it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use stoker_api::chain::Chain;
use stoker_api::condition::{Reason, Trigger};
use stoker_api::names;
use stoker_ignition::Error as GatewayError;
use stoker_run::{Cancel, Retry, RunReport};

use crate::announce::Metrics;
use crate::announcement::{Announcement, Published};
use crate::args::Environment;
use crate::decide::{self, Kind, Step};
use crate::deliver::Parcel;
use crate::goal::{self, Goal, Hold};
use crate::history::{Failure, History, OwedScan};
use crate::pod::Pod;
use crate::report::{self, GATEWAY_PATIENCE, Last};
use crate::run::{Ended, Fault, Found, Job, Writing};
use crate::startup::{self, Startup, Wait};

/// A run that lasts longer than this is reported before it ends.
const LONG_RUN: Duration = Duration::from_secs(2);

/// What the worker knows.
pub(super) struct State {
    pub(super) environment: Arc<Environment>,
    pub(super) metrics: Metrics,
    pub(super) announcement: Announcement,
    pub(super) pod: Pod,
    pub(super) running: Option<Running>,
    store_limit: u64,
    /// When the container started.
    started: Instant,
    history: History,
    last: Last,
    has_files: bool,
    has_started: bool,
    held: Option<Hold>,
}

/// What the worker knows when it starts.
pub(super) struct Start {
    pub(super) environment: Arc<Environment>,
    pub(super) metrics: Metrics,
    pub(super) pod: Pod,
    pub(super) found: Found,
    pub(super) store_limit: u64,
    /// When the container started.
    pub(super) at: Instant,
}

/// A run that is under way.
pub(super) struct Running {
    pub(super) job: Job,
    pub(super) cancel: Cancel,
    pub(super) writing: Writing,
    pub(super) since: Instant,
}

/// What is to be done, and when to look again.
pub(super) struct Todo {
    /// A run to start.
    pub(super) job: Option<Job>,
    /// The report, where there is something to say and a place to say it.
    pub(super) parcel: Option<Parcel>,
    /// Whether the gateway may start: said once more only when it changes.
    pub(super) startup: Startup,
    pub(super) next: Option<Instant>,
}

impl State {
    pub(super) fn new(start: Start) -> Self {
        let Start { environment, metrics, pod, found, store_limit, at } = start;
        let message = "the API server has not answered yet".to_owned();
        Self {
            environment,
            metrics,
            announcement: Announcement::Unknown { message },
            pod,
            running: None,
            store_limit,
            started: at,
            history: History::default(),
            last: Last::default(),
            has_files: found.is_last_good,
            has_started: false,
            held: None,
        }
    }

    /// Decides what is to be done now.
    pub(super) fn consider(&mut self, now: Instant) -> Todo {
        let wanted = self.wanted();
        self.note_hold(wanted.as_ref());
        let step = decide::decide(&decide::Facts {
            goal: wanted.as_ref().and_then(|wanted| wanted.as_ref().ok()),
            history: &self.history,
            running: self.running.as_ref().map(|running| &running.job.goal),
            period: self.period(),
            now,
        });
        let startup = self.startup(wanted.as_ref(), now);
        let mut next = None;
        let mut job = None;
        match step {
            Step::Run(kind) => job = self.job(wanted.as_ref(), kind),
            Step::Cancel => self.cancel(),
            Step::Wait { until } => next = until,
        }
        let parcel = self.parcel(wanted.as_ref(), now);
        let after = match &startup {
            Startup::Wait { next: Some(after), .. } => Some(now + *after),
            Startup::Wait { next: None, .. } | Startup::Pass => None,
        };
        let next = [next, after, self.report_due(now)].into_iter().flatten().min();
        Todo { job, parcel, startup, next }
    }

    /// Takes note that the gateway may start.
    pub(super) fn note_start(&mut self, now: Instant) {
        self.has_started = true;
        self.metrics.started(now - self.started);
    }

    /// Cancels the run that is under way. Before its renames it is undone, after them it ends well.
    pub(super) fn cancel(&self) {
        if let Some(running) = &self.running {
            running.cancel.cancel();
        }
    }

    fn wanted(&self) -> Option<Result<Goal, Hold>> {
        let Published { metadata, .. } = self.announcement.published()?;
        Some(goal::goal(metadata, &self.pod, &self.environment))
    }

    fn period(&self) -> Duration {
        let metadata = self.announcement.published().map(|published| &published.metadata);
        goal::sync_period(metadata, &self.pod)
    }

    fn note_hold(&mut self, wanted: Option<&Result<Goal, Hold>>) {
        let held = wanted.and_then(|wanted| wanted.as_ref().err());
        if held != self.held.as_ref() {
            if let Some(hold) = held {
                let (_, reason, message) = hold.describe();
                self.metrics.skipped(reason);
                tracing::info!(reason = reason.as_str(), "{message}");
            }
            self.held = held.cloned();
        }
    }

    fn job(&self, wanted: Option<&Result<Goal, Hold>>, kind: Kind) -> Option<Job> {
        let goal = wanted?.as_ref().ok()?.clone();
        let announced = self.announcement.published().and_then(|it| it.metadata.trigger);
        let before = self.history.applied.as_ref();
        let trigger = match kind {
            Kind::Check if before == Some(&goal) => Trigger::Drift,
            Kind::Sync | Kind::Check | Kind::Scan => goal.trigger(before, announced),
        };
        let environment = Arc::clone(&self.environment);
        Some(Job { goal, kind, trigger, environment, store_limit: self.store_limit })
    }

    fn startup(&self, wanted: Option<&Result<Goal, Hold>>, now: Instant) -> Startup {
        let metadata = self.announcement.published().map(|published| &published.metadata);
        let announced = metadata.and_then(|metadata| metadata.startup_deadline);
        let deadline = announced.map(stoker_api::word::Interval::as_duration);
        let hold_message;
        let wait = match (&self.announcement, wanted) {
            (Announcement::Unknown { .. }, _) | (_, None) if metadata.is_none() => {
                match &self.announcement {
                    Announcement::Absent { message } | Announcement::Invalid { message } => {
                        Wait::Metadata(message)
                    }
                    Announcement::Unknown { .. } | Announcement::Published(_) => Wait::ApiServer,
                }
            }
            (_, Some(Err(hold))) if !hold.is_final() => {
                hold_message = hold.describe().2;
                Wait::Controller(&hold_message)
            }
            (_, Some(Err(_)) | None) => Wait::Nothing,
            (_, Some(Ok(goal))) => self.wait_for(goal),
        };
        startup::decide(&startup::Facts {
            age: now - self.started,
            deadline: deadline.unwrap_or(self.environment.startup_deadline),
            has_files: self.has_files,
            wait,
        })
    }

    fn wait_for(&self, goal: &Goal) -> Wait<'_> {
        if let Some(running) = &self.running {
            return Wait::Run { is_writing: running.writing.is_writing() };
        }
        match self.history.failure.as_ref().filter(|failure| failure.goal == *goal) {
            Some(failure) if failure.is_source => Wait::Git(&failure.message),
            Some(_) => Wait::Fault,
            None => Wait::Run { is_writing: false },
        }
    }

    fn parcel(&self, wanted: Option<&Result<Goal, Hold>>, now: Instant) -> Option<Parcel> {
        let published = self.announcement.published()?;
        let wanted = wanted?.as_ref();
        let is_new = wanted.is_ok_and(|goal| {
            let is_failed = self.history.failure.as_ref().is_some_and(|f| f.goal == *goal);
            self.history.applied.as_ref() != Some(goal) && !is_failed
        });
        let is_long = self.running.as_ref().is_some_and(|run| now - run.since >= LONG_RUN);
        if is_new && !is_long {
            // It is about to end: its result is the next report.
            return None;
        }
        let report = report::build(&report::Facts {
            environment: &self.environment,
            gateway: &goal::gateway_name(&self.pod, &self.environment),
            wanted,
            history: &self.history,
            last: &self.last,
            is_running: self.running.is_some(),
            has_started: self.has_started,
            has_files: self.has_files,
            now,
        });
        let shards = published.metadata.status_shards;
        Some(Parcel {
            shard: names::status_shard(&self.environment.pod_name, shards),
            value: report.to_value(),
            wanted: published.reports_wanted.clone(),
        })
    }

    /// When the report changes though nothing happens.
    fn report_due(&self, now: Instant) -> Option<Instant> {
        let long = self.running.as_ref().map(|running| running.since + LONG_RUN);
        let late = self.history.scan.as_ref().map(|scan| scan.since + GATEWAY_PATIENCE);
        [long, late].into_iter().flatten().filter(|due| *due > now).min()
    }

    /// Takes what came of the run that was under way.
    pub(super) fn take(&mut self, job: &Job, ended: &Ended, now: Instant) {
        self.running = None;
        self.metrics.ended(job, ended);
        let Ended { report, fault } = ended;
        self.has_files |= report.live_commit.is_some();
        if fault.as_ref().is_some_and(|fault| fault.is_cancelled) {
            return;
        }
        self.last.take(report, job, Timestamp::now());
        match fault {
            None => self.note_success(job, report, now),
            Some(fault) if fault.has_landed => self.note_owed(job, fault, now),
            Some(fault) => self.note_failure(job, fault, now),
        }
    }

    fn note_success(&mut self, job: &Job, report: &RunReport, now: Instant) {
        let history = &mut self.history;
        history.applied = Some(job.goal.clone());
        history.failure = None;
        if job.kind == Kind::Check {
            // A run that brings another commit looks only at what it touches.
            let is_whole =
                report.previous_commit.is_none() || report.previous_commit == report.commit;
            history.is_check_owed = !is_whole;
            history.checked = Some(now);
        }
        if !report.owes_scan() {
            // It was commissioned meanwhile, and may have replaced files.
            history.is_check_owed |= history.scan.take().is_some();
            return;
        }
        let (reason, message) = match &report.gateway_absent {
            Some(error) => (reason_of(error), Chain(error).to_string()),
            None => (Reason::ScanFailed, "the sync ended before the scan".to_owned()),
        };
        let count = history.tried();
        history.owe(OwedScan { since: now, at: now, count, reason, message });
    }

    /// The files are in place, and the gateway did not scan them.
    fn note_owed(&mut self, job: &Job, fault: &Fault, now: Instant) {
        self.history.applied = Some(job.goal.clone());
        self.history.failure = None;
        self.history.checked.get_or_insert(now);
        // What only a person can fix is tried once a period.
        let tried = self.history.tried();
        let count = if fault.retry == Retry::Backoff { tried } else { usize::MAX };
        let (reason, message) = (fault.reason, fault.message.clone());
        self.history.owe(OwedScan { since: now, at: now, count, reason, message });
    }

    fn note_failure(&mut self, job: &Job, fault: &Fault, now: Instant) {
        let before = self.history.failure.take().filter(|before| before.goal == job.goal);
        self.history.failure = Some(Failure {
            goal: job.goal.clone(),
            kind: job.kind,
            at: now,
            count: before.map_or(1, |before| before.count.saturating_add(1)),
            retry: fault.retry,
            reason: fault.reason,
            message: fault.message.clone(),
            is_source: fault.is_source,
        });
    }
}

impl History {
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

/// A gateway that answers is starting or not commissioned; the others can't be reached.
fn reason_of(error: &GatewayError) -> Reason {
    match error {
        GatewayError::Starting { .. }
        | GatewayError::NotReady { .. }
        | GatewayError::NeedsCommissioning { .. }
        | GatewayError::NotCommissioned { .. } => Reason::GatewayNotReady,
        _ => Reason::GatewayUnreachable,
    }
}
