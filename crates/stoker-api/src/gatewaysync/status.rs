//! What the controller says about a GatewaySync.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::{RefResolutionStatus, SyncStatus, Trigger};
use crate::limit;
use crate::schema;

/// What the controller observed. Scripts read the conditions first.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct GatewaySyncStatus {
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// When every gateway was last synced.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub last_sync_time: Option<Time>,

    /// The ref that every gateway was last synced to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_sync_ref: Option<String>,

    /// The commit that every gateway was last synced to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_sync_commit: Option<String>,

    /// The first digits of `lastSyncCommit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_sync_commit_short: Option<String>,

    /// The full name of the ref that was resolved, such as `refs/heads/main`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_ref: Option<String>,

    /// The commit that the ref was resolved to; gateways may still be on their way to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_commit: Option<String>,

    /// The value of the annotation `stoker.io/recheck-at` that was acted on last: the remote has
    /// been asked since. `stoker sync-now --wait` waits for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_handled_recheck_at: Option<String>,

    /// Where the resolution of the ref stands: NotResolved, Resolving, Resolved or Error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ref_resolution_status: Option<RefResolutionStatus>,

    /// How many profiles are embedded in the spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile_count: Option<i32>,

    /// How many gateways there are, and how they stand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateways: Option<GatewayCounts>,

    /// The gateways that were found, by the name of their pod: at most 100, the worst first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limit::STATUS_GATEWAYS))]
    #[schemars(extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["podName"]
    ))]
    pub discovered_gateways: Vec<DiscoveredGateway>,

    /// The conditions; Ready says it all in one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}

/// How many gateways there are, and how they stand.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct GatewayCounts {
    /// Gateways that were found.
    pub discovered: i32,
    /// Gateways that are synced at the resolved commit.
    pub synced: i32,
    /// Gateways that are on an older commit and on their way.
    pub behind: i32,
    /// Gateways that failed.
    pub failed: i32,
}

/// One gateway that was found.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct DiscoveredGateway {
    /// The name of the gateway.
    pub name: String,

    /// The namespace of its pod.
    pub namespace: String,

    /// The name of its pod.
    pub pod_name: String,

    /// The service account of its pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,

    /// The profile that it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,

    /// The directory of the repository that it is served from, where its layout is by convention.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_path: Option<String>,

    /// Where it stands: Pending, Syncing, Synced, Degraded, Error, MissingSidecar, Paused or
    /// DryRun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_status: Option<SyncStatus>,

    /// When it was last synced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub last_sync_time: Option<Time>,

    /// How long that took, such as `3.2s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_sync_duration: Option<String>,

    /// The commit that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synced_commit: Option<String>,

    /// The ref that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synced_ref: Option<String>,

    /// The version of its agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,

    /// What its last scan said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_scan_result: Option<String>,

    /// How many files the last sync changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_changed: Option<i32>,

    /// The Ignition projects that the last sync touched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::projects")]
    pub projects_synced: Vec<String>,

    /// What there is to say, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,

    /// Why its pod must be restarted before a change of this object takes effect there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart_needed: Option<String>,

    /// The last syncs, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limit::STATUS_HISTORY))]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub history: Vec<HistoryEntry>,
}

/// One past sync of a gateway.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct HistoryEntry {
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub timestamp: Option<Time>,

    /// The commit that was wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,

    /// The ref that was wanted.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub git_ref: Option<String>,

    /// What set it off: webhook, polling, manual, specChange, profileChange, secretRotation, drift
    /// or startup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,

    /// How many files it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_changed: Option<i32>,

    /// The Ignition projects that it touched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::projects")]
    pub projects_synced: Vec<String>,

    /// How long it took, such as `3.2s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<String>,

    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
}
