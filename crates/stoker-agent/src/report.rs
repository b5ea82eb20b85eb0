//! Builds the report for the controller: a pure function of what the worker knows.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use stoker_api::condition::{Reason, SyncStatus};
use stoker_api::contract::report::Report;
use stoker_api::word::GatewayName;
use stoker_run::{Outcome, RunReport, Scans};

use crate::args::Environment;
use crate::decide::Kind;
use crate::goal::{Goal, Hold};
use crate::history::{Failure, History};
use crate::run::Job;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// A gateway that did not answer for so long is in error.
pub(crate) const GATEWAY_PATIENCE: Duration = Duration::from_mins(10);

/// What a report is made from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) gateway: &'a GatewayName,
    /// What the gateway is to have, or why there is nothing to sync.
    pub(crate) wanted: Result<&'a Goal, &'a Hold>,
    pub(crate) history: &'a History,
    /// What the last run left in the report.
    pub(crate) last: &'a Last,
    /// Whether a run is under way.
    pub(crate) is_running: bool,
    /// Whether the gateway may run.
    pub(crate) has_started: bool,
    /// Whether files of an earlier sync are on the volume.
    pub(crate) has_files: bool,
    pub(crate) now: Instant,
}

/// What runs leave for later reports.
#[derive(Debug, Clone, Default)]
pub(crate) struct Last {
    /// The fields that describe the last run.
    fields: Option<Report>,
}

impl Last {
    /// Takes what a run did. A run that changed nothing leaves the counts of the one before.
    pub(crate) fn take(&mut self, run: &RunReport, job: &Job, now: Timestamp) {
        let Job { goal, trigger, .. } = job;
        let mut fields = Report::new(goal.gateway.clone(), "", "", SyncStatus::Pending);
        run.describe(&mut fields);
        let milliseconds = u64::try_from(run.durations.total.as_millis()).unwrap_or(u64::MAX);
        fields.duration = Some(Duration::from_millis(milliseconds).into());
        let is_news = matches!(run.outcome, Outcome::Synced | Outcome::DryRun);
        if is_news {
            fields.trigger = Some(*trigger);
            fields.synced_at = (run.outcome == Outcome::Synced).then_some(now);
        }
        if let Some(before) = self.fields.take().filter(|_| !is_news) {
            fields.files_added = before.files_added;
            fields.files_modified = before.files_modified;
            fields.files_deleted = before.files_deleted;
            fields.projects_synced = before.projects_synced;
            fields.duration = before.duration;
            (fields.trigger, fields.synced_at) = (before.trigger, before.synced_at);
            fields.git_ref = before.git_ref;
            if run.scans == Scans::default() {
                fields.scan_result = before.scan_result;
            }
            if job.kind != Kind::Check {
                // Only a check looks at all files.
                (fields.drift, fields.foreign_files) = (before.drift, before.foreign_files);
            }
        }
        if fields.commit.as_ref() == Some(&goal.commit) {
            fields.git_ref = Some(goal.git_ref.clone());
            fields.synced_at = fields.synced_at.or(Some(now));
        }
        self.fields = Some(fields);
    }
}

/// Builds the report.
pub(crate) fn build(facts: &Facts<'_>) -> Report {
    let Environment { pod_name, pod_uid, .. } = facts.environment;
    let (status, reason, message) = status(facts);
    let blank = Report::new(facts.gateway.clone(), pod_name, pod_uid, status);
    let mut report = match &facts.last.fields {
        Some(last) => Report {
            gateway: facts.gateway.clone(),
            pod_name: pod_name.clone(),
            pod_uid: pod_uid.clone(),
            sync_status: status,
            ..last.clone()
        },
        None => blank,
    };
    (report.reason, report.message) = (reason, message);
    report.agent_version = VERSION.into();
    report.acknowledged = facts.wanted.err() == Some(&Hold::Terminating) && !facts.is_running;
    // A dry run is never shown as applied.
    let applied = facts.history.applied.as_ref().filter(|goal| !goal.profile.dry_run);
    report.profile = applied.map(|goal| goal.profile_name.clone());
    report.applied = applied.map(Goal::applied);
    report
}

fn status(facts: &Facts<'_>) -> (SyncStatus, Option<Reason>, String) {
    let goal = match facts.wanted {
        Ok(goal) => goal,
        Err(hold) => {
            let (status, reason, message) = hold.describe();
            return (status, Some(reason), message);
        }
    };
    if let Some(failure) = facts.history.failure.as_ref().filter(|failure| failure.goal == *goal) {
        return failed(facts, failure);
    }
    if facts.history.applied.as_ref() != Some(goal) {
        return (SyncStatus::Syncing, None, format!("syncing {}", goal.commit.short()));
    }
    if goal.profile.dry_run {
        return (SyncStatus::DryRun, None, "changes were counted and not applied".to_owned());
    }
    match &facts.history.scan {
        None => (SyncStatus::Synced, None, String::new()),
        Some(scan) => {
            let is_late = facts.now - scan.since >= GATEWAY_PATIENCE;
            let status = match scan.reason {
                Reason::GatewayNotReady => SyncStatus::Syncing,
                Reason::GatewayUnreachable | Reason::GatewayConnectionLost if !is_late => {
                    SyncStatus::Syncing
                }
                _ => SyncStatus::Error,
            };
            let message = format!("the files are in place, the scan is owed: {}", scan.message);
            (status, Some(scan.reason), message)
        }
    }
}

/// A gateway that runs on a last good state, because the next one can't be fetched, is degraded. So
/// is one that was let go without files.
fn failed(facts: &Facts<'_>, failure: &Failure) -> (SyncStatus, Option<Reason>, String) {
    let is_in_service = facts.has_files || facts.has_started;
    let is_degraded = failure.is_source && is_in_service;
    let status = if is_degraded { SyncStatus::Degraded } else { SyncStatus::Error };
    (status, Some(failure.reason), failure.message.clone())
}

#[cfg(test)]
mod tests;
