//! The gateways as the status lists them.

use stoker_api::contract::cap;
use stoker_api::contract::report::Report;
use stoker_api::gatewaysync::{DiscoveredGateway, HistoryEntry};
use stoker_api::limit;
use stoker_api::names::Annotation;

use super::{Facts, whole_seconds};
use crate::gateway::{Gateway, LegacyReport};

/// Lists at most 100 gateways, the worst first, then by name.
pub(super) fn gateways(facts: &Facts<'_>) -> Vec<DiscoveredGateway> {
    let mut sorted: Vec<&Gateway> = facts.gateways.iter().collect();
    sorted.sort_by(|one, other| {
        one.urgency().cmp(&other.urgency()).then_with(|| one.pod.name.cmp(&other.pod.name))
    });
    let listed = sorted.iter().take(limit::STATUS_GATEWAYS).map(|gateway| entry(facts, gateway));
    fitting(listed.collect())
}

/// Leaves out what is least missed until the list fits, so that the status can be written. What was
/// cut once stays as it is, so that a status does not change because it was published.
fn fitting(mut gateways: Vec<DiscoveredGateway>) -> Vec<DiscoveredGateway> {
    let cuts: [fn(&mut DiscoveredGateway); 3] = [
        |gateway| gateway.history.iter_mut().for_each(|past| count_only(&mut past.projects_synced)),
        |gateway| count_only(&mut gateway.projects_synced),
        |gateway| gateway.history.truncate(1),
    ];
    for cut in cuts {
        let size = serde_json::to_string(&gateways).map_or(0, |json| json.len());
        if size <= limit::STATUS_BYTES {
            break;
        }
        gateways.iter_mut().for_each(cut);
    }
    gateways
}

fn count_only(names: &mut Vec<String>) {
    if names.len() > 1 {
        *names = cap::list(names.drain(..), 0);
    }
}

fn entry(facts: &Facts<'_>, gateway: &Gateway) -> DiscoveredGateway {
    let published = facts.sync.status.as_ref().map(|status| &*status.discovered_gateways);
    let before = published.unwrap_or_default().iter().find(|it| it.pod_name == gateway.pod.name);
    let pod = &gateway.pod;
    let message = listed_message(facts, gateway);
    let listed = DiscoveredGateway {
        name: gateway.name.to_string(),
        namespace: pod.namespace.clone(),
        pod_name: pod.name.clone(),
        service_account_name: Some(pod.service_account.clone()).filter(|name| !name.is_empty()),
        profile: Some(pod.choice().name().to_owned()),
        service_path: pod
            .annotation(Annotation::ServicePath)
            .map(|path| cap::text(path, limit::REPORT_NAME_BYTES)),
        sync_status: Some(gateway.status),
        message: Some(message).filter(|message| !message.is_empty()),
        restart_needed: gateway.restart_needed.clone(),
        ..DiscoveredGateway::default()
    };
    let history = before.map(|before| before.history.clone()).unwrap_or_default();
    match (&gateway.report, &gateway.legacy) {
        (Some(report), _) => with_report(listed, report, history),
        (None, Some(legacy)) => DiscoveredGateway { history, ..with_legacy(listed, legacy) },
        (None, None) => DiscoveredGateway { history, ..listed },
    }
}

/// What the status says about a gateway. Equal gateway names are flagged, never renamed.
pub(crate) fn listed_message(facts: &Facts<'_>, gateway: &Gateway) -> String {
    let text = cap::text(&gateway.message, limit::REPORT_MESSAGE_BYTES);
    let twin = facts
        .gateways
        .iter()
        .find(|other| other.name == gateway.name && other.pod.name != gateway.pod.name);
    match (twin, text.is_empty()) {
        (Some(twin), true) => format!("pod {} has the same gateway name", twin.pod.name),
        (Some(twin), false) => format!("{text}; pod {} has the same gateway name", twin.pod.name),
        (None, _) => text,
    }
}

fn with_report(
    listed: DiscoveredGateway,
    report: &Report,
    mut history: Vec<HistoryEntry>,
) -> DiscoveredGateway {
    let text = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let changed = report.files_added + report.files_modified + report.files_deleted;
    let changed = i32::try_from(changed).unwrap_or(i32::MAX);
    if let Some(entry) = history_entry(&listed, report, changed)
        && history.first().and_then(|newest| newest.timestamp.as_ref()) != entry.timestamp.as_ref()
    {
        history.insert(0, entry);
        history.truncate(limit::STATUS_HISTORY);
    }
    DiscoveredGateway {
        last_sync_time: report.synced_at.map(whole_seconds),
        last_sync_duration: report.duration.map(|duration| duration.to_string()),
        synced_commit: report.commit.as_ref().map(ToString::to_string),
        synced_ref: report.git_ref.as_ref().map(ToString::to_string),
        agent_version: text(&report.agent_version),
        last_scan_result: text(&report.scan_result),
        files_changed: report.synced_at.map(|_| changed),
        projects_synced: report.projects_synced.clone(),
        history,
        ..listed
    }
}

/// What an agent of the Go operator says.
fn with_legacy(listed: DiscoveredGateway, legacy: &LegacyReport) -> DiscoveredGateway {
    let text = |text: &String| {
        Some(cap::text(text, limit::REPORT_NAME_BYTES)).filter(|text| !text.is_empty())
    };
    DiscoveredGateway {
        last_sync_time: legacy.last_sync_time.parse().ok().map(whole_seconds),
        synced_commit: text(&legacy.synced_commit),
        synced_ref: text(&legacy.synced_ref),
        agent_version: text(&legacy.agent_version),
        ..listed
    }
}

fn history_entry(
    listed: &DiscoveredGateway,
    report: &Report,
    changed: i32,
) -> Option<HistoryEntry> {
    Some(HistoryEntry {
        timestamp: Some(whole_seconds(report.synced_at?)),
        commit: report.commit.as_ref().map(ToString::to_string),
        git_ref: report.git_ref.as_ref().map(ToString::to_string),
        trigger: report.trigger,
        files_changed: Some(changed),
        projects_synced: report.projects_synced.clone(),
        duration: report.duration.map(|duration| duration.to_string()),
        result: listed.sync_status.map(|status| status.to_string()),
    })
}
