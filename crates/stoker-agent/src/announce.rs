//! Logs and metrics of the agent. Each change is logged and counted once, here.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use jiff::Timestamp;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use stoker_api::condition::{Reason, SyncStatus};
use stoker_api::contract::report::Report;
use stoker_core::audit::Audit;
use stoker_run::{Action, Outcome, RunReport, Scan};
use stoker_runtime::telemetry;

use crate::decide::Kind;
use crate::run::{Ended, Files, Job};

/// Bounds of the histograms, in seconds.
const BUCKETS: [f64; 12] = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 600.0];

/// The metrics of the agent.
#[derive(Debug, Clone)]
pub(crate) struct Metrics {
    syncs: Family<ResultLabel, Counter>,
    durations: Family<PhaseLabel, Histogram, fn() -> Histogram>,
    files: Family<ActionLabel, Gauge>,
    fetches: Family<ResultLabel, Counter>,
    fetch_duration: Histogram,
    scans: Family<ScanLabel, Counter>,
    scan_duration: Histogram,
    designers_active: Gauge,
    designers_blocked: Gauge,
    // Without labels: they have a series from the first result on.
    last_sync: Family<NoLabel, Gauge<f64, AtomicU64>>,
    last_success: Family<NoLabel, Gauge>,
    skipped: Family<ReasonLabel, Counter>,
    startup: Gauge<f64, AtomicU64>,
    drift: Gauge,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabel {
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PhaseLabel {
    phase: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ActionLabel {
    action: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ScanLabel {
    half: &'static str,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabel {
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct NoLabel {}

fn histogram() -> Histogram {
    Histogram::new(BUCKETS)
}

impl Metrics {
    /// Makes the metrics and the registry that shows them.
    pub(crate) fn new() -> (Self, Arc<Registry>) {
        let metrics = Self {
            syncs: Family::default(),
            durations: Family::new_with_constructor(histogram),
            files: Family::default(),
            fetches: Family::default(),
            fetch_duration: histogram(),
            scans: Family::default(),
            scan_duration: histogram(),
            designers_active: Gauge::default(),
            designers_blocked: Gauge::default(),
            last_sync: Family::default(),
            last_success: Family::default(),
            skipped: Family::default(),
            startup: Gauge::default(),
            drift: Gauge::default(),
        };
        let registry = metrics.register();
        (metrics, Arc::new(registry))
    }

    fn register(&self) -> Registry {
        let mut registry = Registry::with_prefix("stoker_agent");
        self.register_runs(&mut registry);
        self.register_gateway(&mut registry);
        registry
    }

    fn register_runs(&self, registry: &mut Registry) {
        registry.register("sync", "Syncs by result", self.syncs.clone());
        registry.register_with_unit(
            "sync_duration",
            "Time of syncs by phase",
            Unit::Seconds,
            self.durations.clone(),
        );
        registry.register("files_changed", "Files that the last sync changed", self.files.clone());
        registry.register("git_fetch", "Fetches from git by result", self.fetches.clone());
        registry.register_with_unit(
            "git_fetch_duration",
            "Time of fetches from git",
            Unit::Seconds,
            self.fetch_duration.clone(),
        );
        registry.register_with_unit(
            "last_sync_timestamp",
            "When files were last brought to a commit",
            Unit::Seconds,
            self.last_sync.clone(),
        );
        registry.register(
            "last_sync_success",
            "Whether the last sync succeeded",
            self.last_success.clone(),
        );
        registry.register("sync_skipped", "Syncs that were not run", self.skipped.clone());
        registry.register(
            "drift_files",
            "Files that differ from the last sync",
            self.drift.clone(),
        );
    }

    fn register_gateway(&self, registry: &mut Registry) {
        registry.register("scan", "Scans by half and result", self.scans.clone());
        registry.register_with_unit(
            "scan_duration",
            "Time that syncs waited for the gateway",
            Unit::Seconds,
            self.scan_duration.clone(),
        );
        registry.register(
            "designer_sessions_active",
            "Open Designer sessions that the last sync found",
            self.designers_active.clone(),
        );
        registry.register(
            "designer_sessions_blocked",
            "Whether open Designer sessions blocked the last sync",
            self.designers_blocked.clone(),
        );
        registry.register_with_unit(
            "gateway_startup_duration",
            "How long the start of the gateway waited",
            Unit::Seconds,
            self.startup.clone(),
        );
    }

    /// Takes note of the moment at which the gateway could start.
    pub(crate) fn started(&self, age: Duration) {
        self.startup.set(age.as_secs_f64());
    }

    /// Takes note of a sync that was not run.
    pub(crate) fn skipped(&self, reason: Reason) {
        self.skipped.get_or_create(&ReasonLabel { reason: reason.as_str() }).inc();
    }

    fn count_files(&self, report: &RunReport) {
        for action in ACTIONS {
            let count = report.listed(&[action]).count;
            let gauge = self.files.get_or_create(&ActionLabel { action: word(action) }).clone();
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
    }

    /// Logs a run and counts it.
    pub(crate) fn ended(&self, job: &Job, ended: &Ended) {
        let Ended { report, fault } = ended;
        let is_cancelled = fault.as_ref().is_some_and(|fault| fault.is_cancelled);
        log(job, ended);
        if let Some(line) = audit(job, ended, Timestamp::now()) {
            telemetry::write_line(&line);
        }
        if job.kind != Kind::Scan && !is_cancelled {
            let result = if fault.is_none() { "success" } else { "failure" };
            self.syncs.get_or_create(&ResultLabel { result }).inc();
            self.last_success.get_or_create(&NoLabel {}).set(i64::from(fault.is_none()));
            if fault.is_none() {
                let now = Timestamp::now().as_duration().as_secs_f64();
                self.last_sync.get_or_create(&NoLabel {}).set(now);
            }
        }
        let durations = &report.durations;
        let phases = [
            ("fetch", durations.fetch),
            ("plan", durations.plan),
            ("apply", durations.apply),
            ("gateway", durations.gateway),
            ("total", durations.total),
        ];
        for (phase, time) in phases {
            self.durations.get_or_create(&PhaseLabel { phase }).observe(time.as_secs_f64());
        }
        if !durations.fetch.is_zero() {
            let is_failed = fault.as_ref().is_some_and(|fault| fault.is_source);
            let result = if is_failed { "failure" } else { "success" };
            self.fetches.get_or_create(&ResultLabel { result }).inc();
            self.fetch_duration.observe(durations.fetch.as_secs_f64());
        }
        if job.kind != Kind::Scan {
            self.count_files(report);
        }
        for (half, scan) in [("projects", report.scans.projects), ("config", report.scans.config)] {
            if scan != Scan::Skipped {
                self.scans.get_or_create(&ScanLabel { half, result: scan.as_str() }).inc();
            }
        }
        if !durations.gateway.is_zero() {
            self.scan_duration.observe(durations.gateway.as_secs_f64());
        }
        let designers = fault.as_ref().map_or(0, |fault| fault.designers);
        let is_blocked =
            fault.as_ref().is_some_and(|fault| fault.reason == Reason::DesignerSessionActive);
        self.designers_active.set(i64::try_from(designers).unwrap_or(i64::MAX));
        self.designers_blocked.set(i64::from(is_blocked));
        if job.kind == Kind::Check {
            self.drift.set(i64::try_from(report.drift.len()).unwrap_or(i64::MAX));
        }
    }
}

/// Every action, so that one that did not happen is shown as zero.
const ACTIONS: [Action; 4] = [Action::Add, Action::Modify, Action::Delete, Action::Mode];

fn word(action: Action) -> &'static str {
    match action {
        Action::Add => "added",
        Action::Modify => "modified",
        Action::Delete => "deleted",
        Action::Mode => "mode",
    }
}

fn log(job: &Job, ended: &Ended) {
    let Ended { report, fault } = ended;
    let (gateway, commit) = (&job.goal.gateway, &job.goal.commit);
    let milliseconds = u64::try_from(report.durations.total.as_millis()).unwrap_or(u64::MAX);
    match fault {
        Some(fault) if fault.is_cancelled => {
            tracing::info!(%gateway, %commit, "the sync was cancelled: something else is to be done now");
        }
        Some(fault) => {
            let reason = fault.reason.as_str();
            tracing::warn!(%gateway, %commit, reason, error = fault.message, "the sync failed");
        }
        None if job.kind == Kind::Scan && !report.owes_scan() => {
            tracing::info!(%gateway, %commit, scans = %report.scans, "the gateway made up for its scan");
        }
        None if report.changes.is_empty() => {
            tracing::debug!(%gateway, %commit, milliseconds, kind = ?job.kind, "nothing changed");
        }
        // The audit line has it.
        None => {}
    }
    for warning in &report.warnings {
        tracing::info!(%gateway, code = warning.code().as_str(), "{warning}");
    }
    if let Some(absent) = &report.gateway_absent {
        let error = stoker_api::chain::Chain(absent).to_string();
        tracing::debug!(%gateway, error, "the gateway owes a scan");
    }
}

/// Returns the audit line of a sync that changed files or failed. A sync that was undone for a newer
/// one did neither.
fn audit(job: &Job, ended: &Ended, now: Timestamp) -> Option<String> {
    let Ended { report, fault } = ended;
    let is_undone =
        fault.as_ref().is_some_and(|fault| fault.is_cancelled && fault.files == Files::Untouched);
    let is_change = report.outcome == Outcome::Synced && !report.changes.is_empty();
    if job.kind == Kind::Scan || is_undone || (fault.is_none() && !is_change) {
        return None;
    }
    let Job { goal, environment, trigger, .. } = job;
    let mut fields = Report::new(goal.gateway.clone(), "", "", SyncStatus::Pending);
    report.describe(&mut fields);
    let milliseconds = u64::try_from(report.durations.total.as_millis()).unwrap_or(u64::MAX);
    let failure = fault.as_ref().filter(|fault| !fault.is_cancelled).map(|fault| fault.reason);
    let audit = Audit {
        timestamp: now,
        cr: &environment.cr_name,
        namespace: &environment.pod_namespace,
        gateway: &goal.gateway,
        pod_name: &environment.pod_name,
        trigger: Some(*trigger),
        commit: Some(&goal.commit),
        git_ref: Some(&goal.git_ref),
        files_changed: fields.files_added + fields.files_modified + fields.files_deleted,
        projects_synced: &fields.projects_synced,
        duration: Some(Duration::from_millis(milliseconds).into()),
        failure,
        scan_result: &fields.scan_result,
    };
    Some(audit.to_line())
}

#[cfg(test)]
mod tests {
    use super::*;

    // The alert for a failing agent goes by this series: one that never had to sync has none.
    #[test]
    fn an_agent_that_has_not_synced_yet_shows_no_result() {
        let (_, registry) = Metrics::new();
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        let is_result = |line: &&str| line.starts_with("stoker_agent_last_sync_");
        assert_eq!(text.lines().find(is_result), None);
    }

    #[test]
    fn the_metrics_have_the_names_of_the_contract() {
        let (metrics, registry) = Metrics::new();
        metrics.syncs.get_or_create(&ResultLabel { result: "success" }).inc();
        metrics.durations.get_or_create(&PhaseLabel { phase: "total" }).observe(0.1);
        metrics.fetches.get_or_create(&ResultLabel { result: "success" }).inc();
        metrics.scans.get_or_create(&ScanLabel { half: "projects", result: "done" }).inc();
        metrics.count_files(&RunReport::default());
        metrics.last_sync.get_or_create(&NoLabel {}).set(1.0);
        metrics.last_success.get_or_create(&NoLabel {}).set(1);
        metrics.skipped(Reason::Paused);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        let names = [
            "sync_total",
            "sync_duration_seconds",
            "files_changed",
            "git_fetch_total",
            "git_fetch_duration_seconds",
            "scan_total",
            "scan_duration_seconds",
            "designer_sessions_active",
            "designer_sessions_blocked",
            "last_sync_timestamp_seconds",
            "last_sync_success",
            "sync_skipped_total",
            "gateway_startup_duration_seconds",
            "drift_files",
        ];
        for name in names {
            let is_there = |line: &str| {
                let after =
                    line.strip_prefix("stoker_agent_").and_then(|rest| rest.strip_prefix(name));
                after.is_some_and(|after| {
                    let suffixes = ["{", " ", "_bucket{", "_sum "];
                    suffixes.iter().any(|suffix| after.starts_with(suffix))
                })
            };
            assert!(text.lines().any(is_there), "{name}: {text}");
        }
    }
}
