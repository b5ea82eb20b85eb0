//! How one gateway stands, given its pod, its report and what was published.

use std::collections::BTreeMap;
use std::sync::Arc;

use stoker_api::condition::{Reason, SyncStatus};
use stoker_api::contract::metadata::{Metadata, Target};
use stoker_api::contract::report::Report;
use stoker_api::names::Annotation;
use stoker_api::word::RepoUrl;

use super::{Choice, Gateway, LegacyReport, LegacyReports, Pod};
use crate::applied::{self, Applied};

/// What agents were given.
#[derive(Debug, Clone, Copy, Default)]
pub struct Published<'a> {
    /// The metadata; none before the first.
    pub metadata: Option<&'a Metadata>,
    /// Why a pod's own ref has no commit, by the name of the pod.
    pub override_faults: Option<&'a BTreeMap<String, String>>,
    /// What agents of the Go operator reported.
    pub legacy: Option<&'a LegacyReports>,
}

/// How a gateway stands, and why.
struct Standing {
    status: SyncStatus,
    reason: Option<Reason>,
    message: String,
}

/// Judges one pod. `report` is what is under its key, readable or not.
pub fn judge(
    pod: &Pod,
    report: Option<&Result<Arc<Report>, String>>,
    published: Published<'_>,
) -> Gateway {
    let own = match report {
        Some(Ok(report)) if report.pod_uid == pod.uid => Some(report),
        _ => None,
    };
    let target = published.metadata.and_then(|metadata| target_of(pod, metadata));
    let legacy = published.legacy.filter(|_| own.is_none() && pod.may_have_legacy_agent());
    let legacy = legacy.and_then(|reports| pod.legacy_report(reports));
    let standing = match legacy {
        Some(legacy) => Standing::of_legacy(legacy, target.as_ref()),
        None => stand(pod, report, own.map(AsRef::as_ref), published),
    };
    Gateway {
        name: pod.gateway_name(),
        status: standing.status,
        reason: standing.reason,
        message: standing.message,
        report: own.cloned(),
        wanted: target.map(|target| target.commit),
        is_overridden: pod.annotation(Annotation::RefOverride).is_some(),
        legacy: legacy.cloned(),
        restart_needed: None,
        pod: pod.clone(),
    }
}

fn stand(
    pod: &Pod,
    report: Option<&Result<Arc<Report>, String>>,
    own: Option<&Report>,
    published: Published<'_>,
) -> Standing {
    if !pod.has_agent {
        return without_agent(pod);
    }
    if let Some(fault) = published.override_faults.and_then(|faults| faults.get(&pod.name)) {
        return Standing::new(SyncStatus::Error, Some(Reason::RefNotPublished), fault);
    }
    let missing = published.metadata.and_then(|metadata| missing_profile(pod, metadata));
    match (own, report, missing) {
        (_, _, Some(message)) => {
            Standing::new(SyncStatus::Error, Some(Reason::ProfileNotFound), message)
        }
        (Some(report), _, None) => reported(pod, report, published.metadata),
        (None, Some(Err(fault)), None) => Standing::new(SyncStatus::Error, None, fault),
        (None, _, None) => Standing::new(SyncStatus::Pending, None, "has not reported yet"),
    }
}

fn without_agent(pod: &Pod) -> Standing {
    if pod.asks_for_agent() {
        let message = "the pod has no agent: delete it, so that it is created again with one";
        Standing::new(SyncStatus::MissingSidecar, None, message)
    } else {
        let message = "the pod has no agent and does not ask for one (stoker.io/inject)";
        Standing::new(SyncStatus::Pending, None, message)
    }
}

fn missing_profile(pod: &Pod, metadata: &Metadata) -> Option<String> {
    // The layout by convention needs no profile.
    let by_convention = pod.annotation(Annotation::ServicePath).is_some();
    let chosen = pod.annotation(Annotation::Profile).or(pod.annotation(Annotation::SyncProfile));
    if by_convention && chosen.is_none() || pod.choice().find(metadata).is_some() {
        return None;
    }
    Some(match pod.choice() {
        Choice::Embedded(name) => {
            let existing: Vec<&str> = metadata.profiles.keys().map(AsRef::as_ref).collect();
            format!("there is no profile {name:?}, only [{}]", existing.join(", "))
        }
        Choice::Object(name) => format!("there is no valid SyncProfile {name:?}"),
    })
}

/// An agent that says "synced" must have applied what was published; everything else is believed.
fn reported(pod: &Pod, report: &Report, metadata: Option<&Metadata>) -> Standing {
    let believed = Standing::new(report.sync_status, report.reason, &report.message);
    if report.sync_status != SyncStatus::Synced {
        return believed;
    }
    let expected = metadata.and_then(|metadata| expected_hash(pod, metadata));
    if expected.is_some() && report.applied == expected {
        return believed;
    }
    let message = match (metadata.and_then(|it| target_of(pod, it)), &report.commit) {
        (Some(target), Some(has)) if target.commit != *has => {
            format!("has commit {}, {} is wanted", has.short(), target.commit.short())
        }
        (Some(_), _) => "has not applied the present profile yet".to_owned(),
        (None, _) => "no commit is announced yet".to_owned(),
    };
    Standing::new(SyncStatus::Syncing, None, message)
}

fn target_of(pod: &Pod, metadata: &Metadata) -> Option<Target> {
    // A pod with a ref of its own never falls back to the common one.
    if pod.annotation(Annotation::RefOverride).is_some() {
        return metadata.overrides.get(&pod.name).cloned();
    }
    metadata.target_of(&pod.name)
}

fn expected_hash(pod: &Pod, metadata: &Metadata) -> Option<String> {
    let target = target_of(pod, metadata)?;
    let url: &RepoUrl = &metadata.git_url;
    Some(applied::hash(&Applied {
        url,
        commit: &target.commit,
        profile: pod.choice().find(metadata)?,
        exclude_patterns: pod.annotation(Annotation::ExcludePatterns),
        gateway_name: pod.annotation(Annotation::GatewayName),
    }))
}

impl Standing {
    fn of_legacy(report: &LegacyReport, target: Option<&Target>) -> Self {
        let (status, message) = report.judge(target.map(|target| &target.commit));
        Self::new(status, None, message)
    }

    fn new(status: SyncStatus, reason: Option<Reason>, message: impl Into<String>) -> Self {
        Self { status, reason, message: message.into() }
    }
}
