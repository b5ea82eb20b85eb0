//! What the worker knows, and what follows from it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use stoker_api::condition::{Reason, Trigger};
use stoker_api::names;
use stoker_run::Cancel;

use crate::announce::Metrics;
use crate::announcement::Announcement;
use crate::args::Environment;
use crate::decide::{self, Kind, Step};
use crate::deliver::Parcel;
use crate::goal::{self, Goal, Hold};
use crate::history::History;
use crate::pod::Pod;
use crate::report::{self, GATEWAY_PATIENCE, Last};
use crate::run::{Ended, Files, Found, Job, Writing};
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
            history: History { loaded: found.commit, ..History::default() },
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
            Step::Undo => self.undo(),
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

    /// Cancels the run that is under way, unless it has begun to put files in place: then it is
    /// finished, with its scan.
    fn undo(&self) {
        if self.running.as_ref().is_some_and(|running| !running.writing.is_applying()) {
            self.cancel();
        }
    }

    fn wanted(&self) -> Option<Result<Goal, Hold>> {
        match &self.announcement {
            Announcement::Published(published) => {
                Some(goal::goal(&published.metadata, &self.pod, &self.environment))
            }
            Announcement::Invalid { message, .. } => {
                Some(Err(Hold::MetadataInvalid { message: message.clone() }))
            }
            Announcement::Unknown { .. } | Announcement::Absent { .. } => None,
        }
    }

    /// Says whether there is no announcement, and so no place for a report: the GatewaySync was
    /// deleted, or the controller has not seen it yet.
    pub(super) fn is_withdrawn(&self) -> bool {
        matches!(self.announcement, Announcement::Absent { .. })
    }

    /// Returns the longest pause between two attempts at what is owed.
    pub(super) fn period(&self) -> Duration {
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
        // A gateway that was let go without files has loaded none.
        let none = || self.has_started.then(String::new);
        Some(Job {
            goal,
            kind,
            trigger,
            loaded: self.history.loaded.clone().or_else(none),
            environment: Arc::clone(&self.environment),
            store_limit: self.store_limit,
        })
    }

    fn startup(&self, wanted: Option<&Result<Goal, Hold>>, now: Instant) -> Startup {
        let metadata = self.announcement.published().map(|published| &published.metadata);
        let announced = metadata.and_then(|metadata| metadata.startup_deadline);
        let deadline = announced.map(stoker_api::word::Interval::as_duration);
        let hold_message;
        let wait = match (&self.announcement, wanted) {
            (Announcement::Unknown { .. }, _) => Wait::ApiServer,
            (Announcement::Absent { message } | Announcement::Invalid { message, .. }, _) => {
                Wait::Metadata(message)
            }
            (Announcement::Published(_), Some(Ok(goal))) => self.wait_for(goal),
            (Announcement::Published(_), Some(Err(hold))) if !hold.is_final() => {
                hold_message = hold.describe().2;
                Wait::Controller(&hold_message)
            }
            (Announcement::Published(_), Some(Err(_)) | None) => Wait::Nothing,
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
            Some(failure) => match failure.reason {
                Reason::Locked => Wait::Volume(&failure.message),
                Reason::RestartNeeded => Wait::Fault,
                _ if failure.is_source => Wait::Git(&failure.message),
                _ => Wait::Fault,
            },
            // A dry run is done, and brings no files.
            None if self.history.applied.as_ref() == Some(goal) => Wait::Nothing,
            None => Wait::Run { is_writing: false },
        }
    }

    fn parcel(&self, wanted: Option<&Result<Goal, Hold>>, now: Instant) -> Option<Parcel> {
        let place = self.announcement.place()?;
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
        Some(Parcel {
            shard: names::status_shard(&self.environment.pod_name, place.shards),
            value: report.to_value(),
            wanted: place.reports_wanted,
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
        self.has_files |= ended.report.live_commit.is_some();
        let is_undone = ended
            .fault
            .as_ref()
            .is_some_and(|fault| fault.is_cancelled && fault.files == Files::Untouched);
        if !is_undone {
            // Kubernetes keeps whole seconds.
            let now = Timestamp::now();
            let now = Timestamp::from_second(now.as_second()).unwrap_or(now);
            self.last.take(&ended.report, job, now);
        }
        self.history.take(job, ended, now);
    }

    /// Takes note of a run that panicked.
    pub(super) fn take_broken(&mut self, job: &Job, now: Instant) {
        self.running = None;
        self.history.note_broken(job, now);
    }
}

#[cfg(test)]
mod tests;
