//! The syncs that have finished since the status was published, as lines of the audit trail.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use stoker_api::condition::{Reason, SyncStatus};
use stoker_api::contract::report::Report;
use stoker_api::gatewaysync::{DiscoveredGateway, GatewaySyncStatus};
use stoker_api::limit;

use crate::audit::Audit;
use crate::gateway::Gateway;
use crate::status::{Facts, listed_message, whole_seconds};

/// The last sync of a gateway that the audit trail has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastSync {
    synced_at: Option<Time>,
    /// How it failed, if it did: state and message.
    failure: Option<(SyncStatus, String)>,
}

/// What the audit trail gets, and what it then has of gateways that the status does not list.
pub(super) struct Trail {
    pub(super) lines: Vec<String>,
    pub(super) unlisted: BTreeMap<String, LastSync>,
}

/// Returns a line for each gateway whose report tells of another sync than the published status, or
/// than `unlisted` for a gateway that the status had no room for.
pub(super) fn trail(
    facts: &Facts<'_>,
    next: &GatewaySyncStatus,
    unlisted: Option<&BTreeMap<String, LastSync>>,
) -> Trail {
    let none = Vec::new();
    let before = facts.sync.status.as_ref().map_or(&none, |status| &status.discovered_gateways);
    let before: BTreeMap<_, _> = before.iter().map(|was| (&*was.pod_name, was)).collect();
    // After a start, a full list does not say what became of the gateways that it leaves out.
    let has_all = unlisted.is_some() || before.len() < limit::STATUS_GATEWAYS;
    let listed: BTreeSet<_> = next.discovered_gateways.iter().map(|now| &*now.pod_name).collect();
    let mut trail = Trail { lines: Vec::new(), unlisted: BTreeMap::new() };
    for gateway in facts.gateways {
        let Some(report) = &gateway.report else { continue };
        let name = &*gateway.pod.name;
        let now = LastSync::reported(facts, gateway, report);
        let was = before.get(name).map(|was| LastSync::listed(was));
        let was = was.or_else(|| unlisted?.get(name).cloned());
        let is_known = was.is_some() || has_all;
        if is_known && now.is_news(was.as_ref()) {
            trail.lines.push(line(facts, gateway, report));
        }
        if !listed.contains(name) {
            trail.unlisted.insert(name.to_owned(), now);
        }
    }
    trail
}

impl LastSync {
    fn reported(facts: &Facts<'_>, gateway: &Gateway, report: &Report) -> Self {
        let has_failed = report.sync_status == SyncStatus::Error;
        Self {
            synced_at: report.synced_at.map(whole_seconds),
            failure: has_failed.then(|| (gateway.status, listed_message(facts, gateway))),
        }
    }

    fn listed(was: &DiscoveredGateway) -> Self {
        let message = was.message.clone().unwrap_or_default();
        Self {
            synced_at: was.last_sync_time.clone(),
            failure: was.sync_status.map(|it| (it, message)),
        }
    }

    fn is_news(&self, was: Option<&Self>) -> bool {
        let synced_at = was.and_then(|was| was.synced_at.as_ref());
        let failure = was.and_then(|was| was.failure.as_ref());
        let is_synced = self.synced_at.is_some() && self.synced_at.as_ref() != synced_at;
        is_synced || self.failure.is_some() && self.failure.as_ref() != failure
    }
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
