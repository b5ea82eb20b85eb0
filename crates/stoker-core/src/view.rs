//! GatewaySyncs as rows for people: what `stoker status` and the dashboard show.
//!
//! Everything comes from one GatewaySync object, so that a fleet costs one list request.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Serialize;
use stoker_api::GatewaySync;
use stoker_api::condition::{ConditionType, Reason, SyncStatus};
use stoker_api::gatewaysync::{DiscoveredGateway, GatewayCounts, GatewaySyncStatus};
use stoker_api::names::Annotation;

use crate::request;
use crate::status::condition;

/// Digits of a commit that people read.
const SHORT: usize = 7;

/// One GatewaySync.
#[derive(Serialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct SyncRow {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Whether it is Ready, for its present generation.
    pub ready: Readiness,
    /// The reason of the condition Ready.
    pub reason: String,
    /// The message of the condition Ready.
    pub message: String,
    /// The ref that is wanted: the requested one, else that of the spec.
    #[serde(rename = "ref")]
    pub git_ref: String,
    /// The commit that the ref was resolved to.
    pub commit: Option<String>,
    /// Since when every gateway has the resolved commit.
    pub since: Option<Timestamp>,
    /// How many gateways there are.
    pub counts: GatewayCounts,
    /// The gateways that the status lists, the worst first.
    pub gateways: Vec<GatewayRow>,
    /// The command that helps; none where nothing is to be done.
    pub next: Option<String>,
}

/// One gateway.
#[derive(Serialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct GatewayRow {
    /// Its name.
    pub name: String,
    /// The name of its pod.
    pub pod: String,
    /// Where it stands.
    pub status: SyncStatus,
    /// The profile that it uses.
    pub profile: Option<String>,
    /// The commit that it has.
    pub commit: Option<String>,
    /// Since when it has this commit.
    pub since: Option<Timestamp>,
    /// The version of its agent.
    pub agent_version: Option<String>,
    /// What there is to say, in one sentence.
    pub message: Option<String>,
    /// Why its pod must be restarted before a change takes effect there.
    pub restart_needed: Option<String>,
}

/// Whether a GatewaySync is Ready.
#[derive(Serialize, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// It is.
    True,
    /// It is not.
    False,
    /// The controller has not judged the present generation yet.
    Unknown,
}

impl SyncRow {
    /// Builds the row of a GatewaySync.
    pub fn of(sync: &GatewaySync) -> Self {
        let empty = GatewaySyncStatus::default();
        let status = sync.status.as_ref().unwrap_or(&empty);
        let (ready, reason, message) = judge(sync, status);
        let gateways: Vec<GatewayRow> =
            status.discovered_gateways.iter().map(GatewayRow::of).collect();
        let counts = status.gateways.unwrap_or_default();
        let is_complete = counts.discovered > 0 && counts.synced == counts.discovered;
        let since = gateways.iter().filter_map(|gateway| gateway.since).max();
        Self {
            namespace: sync.metadata.namespace.clone().unwrap_or_default(),
            name: sync.metadata.name.clone().unwrap_or_default(),
            next: next(sync, status, ready, &reason),
            ready,
            reason,
            message,
            git_ref: wanted_ref(sync),
            commit: status.resolved_commit.clone(),
            since: since.filter(|_| is_complete),
            counts,
            gateways,
        }
    }
}

impl GatewayRow {
    fn of(gateway: &DiscoveredGateway) -> Self {
        Self {
            name: gateway.name.clone(),
            pod: gateway.pod_name.clone(),
            status: gateway.sync_status.unwrap_or(SyncStatus::Pending),
            profile: gateway.profile.clone(),
            commit: gateway.synced_commit.clone(),
            since: since(gateway),
            agent_version: gateway.agent_version.clone(),
            message: gateway.message.clone(),
            restart_needed: gateway.restart_needed.clone(),
        }
    }
}

impl Readiness {
    /// Returns the word that conditions use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// Returns the first digits of a commit.
pub fn short(commit: &str) -> &str {
    commit.get(..SHORT).unwrap_or(commit)
}

/// Returns an age as `kubectl` prints it: `45s`, `12m`, `7h`, `3d`.
pub fn age(since: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(since).max(SignedDuration::ZERO).as_secs();
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// A status that speaks of an older spec says nothing about the present one.
fn judge(sync: &GatewaySync, status: &GatewaySyncStatus) -> (Readiness, String, String) {
    let Some(ready) = condition(status, ConditionType::Ready) else {
        let message = "the controller has not reported yet".to_owned();
        return (Readiness::Unknown, Reason::Progressing.to_string(), message);
    };
    if ready.observed_generation.is_some() && ready.observed_generation != sync.metadata.generation
    {
        let message = "the controller has not seen the present spec yet".to_owned();
        return (Readiness::Unknown, Reason::Progressing.to_string(), message);
    }
    let readiness = match ready.status.as_str() {
        "True" => Readiness::True,
        "False" => Readiness::False,
        _ => Readiness::Unknown,
    };
    (readiness, ready.reason.clone(), ready.message.clone())
}

fn wanted_ref(sync: &GatewaySync) -> String {
    let empty = std::collections::BTreeMap::new();
    let annotations = sync.metadata.annotations.as_ref().unwrap_or(&empty);
    // The time matters for annotations to be written only.
    let request = request::decide(annotations, &sync.spec.git.git_ref, Timestamp::UNIX_EPOCH);
    request.wanted.map_or_else(|invalid| invalid.text, |wanted| wanted.to_string())
}

/// The first of the uninterrupted syncs of the present commit, as far as the history goes.
fn since(gateway: &DiscoveredGateway) -> Option<Timestamp> {
    let of_commit =
        gateway.history.iter().take_while(|entry| entry.commit == gateway.synced_commit);
    let oldest = of_commit.filter_map(|entry| entry.timestamp.as_ref()).last();
    oldest.or(gateway.last_sync_time.as_ref()).map(|Time(time)| *time)
}

fn next(
    sync: &GatewaySync,
    status: &GatewaySyncStatus,
    ready: Readiness,
    reason: &str,
) -> Option<String> {
    let target = Target::of(sync);
    let blocked = condition(status, ConditionType::DeletionBlocked);
    if let (Some(_), Some(commit)) = (blocked, &status.resolved_commit) {
        return Some(target.annotate(Annotation::AllowMassDelete, commit));
    }
    if ready == Readiness::True {
        return None;
    }
    Some(match Reason::find(reason) {
        Some(Reason::Paused) if sync.spec.paused == Some(true) => target.stoker("resume"),
        Some(Reason::Paused) => "stoker resume --all".to_owned(),
        Some(Reason::GatewaysSyncing | Reason::Progressing) => {
            format!("{} --watch", target.stoker("status"))
        }
        _ => target.stoker("doctor"),
    })
}

/// A GatewaySync in the commands that people paste.
pub(crate) struct Target<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
}

impl<'a> Target<'a> {
    pub(crate) fn of(sync: &'a GatewaySync) -> Self {
        let namespace = sync.metadata.namespace.as_deref().unwrap_or("default");
        Self { namespace, name: sync.metadata.name.as_deref().unwrap_or_default() }
    }

    pub(crate) fn stoker(&self, command: &str) -> String {
        format!("stoker {command} {} -n {}", self.name, self.namespace)
    }

    pub(crate) fn annotate(&self, annotation: Annotation, value: &str) -> String {
        format!(
            "kubectl annotate gatewaysync {} -n {} --overwrite {annotation}={value}",
            self.name, self.namespace
        )
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{commit, now, observed, plant, pod, settled, stored, synced};

    use super::*;

    fn row(change: impl FnOnce(&mut GatewaySync)) -> SyncRow {
        let mut sync = stored(plant());
        let mut seen = observed(vec![pod("press-0")]);
        settled(&mut sync, &mut seen);
        let metadata = seen.published.clone().unwrap().unwrap();
        let report = synced(&seen.pods[0], &metadata);
        seen.reports.insert("press-0".into(), Ok(report.into()));
        settled(&mut sync, &mut seen);
        change(&mut sync);
        SyncRow::of(&sync)
    }

    #[test]
    fn a_synced_plant_is_ready_and_needs_nothing() {
        let row = row(|_| ());
        assert_eq!((row.ready, row.next), (Readiness::True, None));
        assert_eq!((&*row.git_ref, row.commit), ("main", Some(commit('a').to_string())));
        assert_eq!(row.since, Some(now()));
        assert_eq!(row.gateways[0].status, SyncStatus::Synced);
    }

    #[test]
    fn a_status_of_an_older_spec_is_not_believed() {
        let row = row(|sync| sync.metadata.generation = Some(2));
        assert_eq!(row.ready, Readiness::Unknown);
        assert_eq!(row.next.unwrap(), "stoker status plant -n line --watch");
        let unseen = SyncRow::of(&stored(plant()));
        assert_eq!(unseen.ready, Readiness::Unknown);
    }

    #[test]
    fn the_next_command_fits_the_reason() {
        let failed = |reason: Reason, paused: bool| {
            let row = row(|sync| {
                sync.spec.paused = Some(paused);
                let ready = &mut sync.status.as_mut().unwrap().conditions[0];
                ready.status = "False".into();
                ready.reason = reason.to_string();
            });
            row.next.unwrap()
        };
        assert_eq!(failed(Reason::Paused, true), "stoker resume plant -n line");
        assert_eq!(failed(Reason::Paused, false), "stoker resume --all");
        assert_eq!(failed(Reason::GatewaysFailed, false), "stoker doctor plant -n line");
    }

    #[test]
    fn the_age_of_a_commit_is_that_of_its_first_sync_in_a_row() {
        let minutes = |count: i64| now() - SignedDuration::from_mins(count);
        let entry = |digit: char, at: Timestamp| stoker_api::gatewaysync::HistoryEntry {
            commit: Some(commit(digit).to_string()),
            timestamp: Some(Time(at)),
            ..Default::default()
        };
        let gateway = DiscoveredGateway {
            synced_commit: Some(commit('a').to_string()),
            history: vec![
                entry('a', minutes(1)),
                entry('a', minutes(5)),
                entry('b', minutes(9)),
                entry('a', minutes(12)),
            ],
            ..DiscoveredGateway::default()
        };
        assert_eq!(since(&gateway), Some(minutes(5)));
    }

    #[test]
    fn ages_are_as_kubectl_prints_them() {
        let ago = |seconds| age(now() - SignedDuration::from_secs(seconds), now());
        let ages = [-5, 59, 130, 7_199, 7_200, 200_000].map(ago);
        assert_eq!(ages, ["0s", "59s", "2m", "119m", "2h", "2d"]);
    }
}
