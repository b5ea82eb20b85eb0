//! The syncs that have finished since the status was published, as lines of the audit trail.

use stoker_api::condition::{Reason, SyncStatus};
use stoker_api::contract::report::Report;
use stoker_api::gatewaysync::DiscoveredGateway;
use stoker_api::limit;

use crate::audit::Audit;
use crate::gateway::Gateway;
use crate::status::{Facts, listed_message, whole_seconds};

/// Returns a line for each gateway whose report tells of another sync than the published status.
pub(super) fn lines(facts: &Facts<'_>) -> Vec<String> {
    let none = Vec::new();
    let before = facts.sync.status.as_ref().map_or(&none, |status| &status.discovered_gateways);
    // A full list leaves gateways out, and those would look new in every pass.
    let is_whole = before.len() < limit::STATUS_GATEWAYS;
    let finished = facts.gateways.iter().filter_map(|gateway| {
        let report = gateway.report.as_ref()?;
        let was = before.iter().find(|was| was.pod_name == gateway.pod.name);
        let is_known = was.is_some() || is_whole;
        (is_known && is_finished(facts, was, gateway, report)).then(|| line(facts, gateway, report))
    });
    finished.collect()
}

fn is_finished(
    facts: &Facts<'_>,
    was: Option<&DiscoveredGateway>,
    now: &Gateway,
    report: &Report,
) -> bool {
    let has_synced = report.synced_at.map(whole_seconds);
    let is_synced = has_synced.is_some() && was.map(|was| &was.last_sync_time) != Some(&has_synced);
    let has_failed = report.sync_status == SyncStatus::Error
        && was.is_none_or(|was| {
            was.sync_status != Some(now.status)
                || was.message.as_deref().unwrap_or_default() != listed_message(facts, now)
        });
    is_synced || has_failed
}

fn line(facts: &Facts<'_>, gateway: &Gateway, report: &Report) -> String {
    let metadata = &facts.sync.metadata;
    let has_failed = report.sync_status == SyncStatus::Error;
    let audit = Audit {
        timestamp: facts.now,
        cr: metadata.name.as_deref().unwrap_or_default(),
        namespace: metadata.namespace.as_deref().unwrap_or_default(),
        gateway: &gateway.name,
        pod_name: &gateway.pod.name,
        trigger: report.trigger,
        commit: report.commit.as_ref(),
        git_ref: report.git_ref.as_ref(),
        files_changed: report.files_added + report.files_modified + report.files_deleted,
        projects_synced: &report.projects_synced,
        duration: report.duration,
        failure: has_failed.then(|| report.reason.unwrap_or(Reason::Internal)),
        scan_result: &report.scan_result,
    };
    audit.to_line()
}
