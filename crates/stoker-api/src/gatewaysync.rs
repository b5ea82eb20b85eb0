//! The GatewaySync resource: which repository, which gateways, which files.
//!
//! The texts of the fields are the documentation that users read in `kubectl explain`. Values stay
//! plain strings here, so that one wrong value can't keep the controller from reading the rest;
//! `stoker-core` turns them into words. What the schema and its rules refuse is in `rule.rs`.

#![expect(clippy::duplicated_attributes, reason = "columns of one table look alike")]

mod agent;
mod gateway;
mod git;
mod reserved;
mod secret_ref;
mod status;
mod sync;
mod webhook;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use agent::{Agent, AgentImage, AgentResources, PullPolicy};
pub use gateway::{Gateway, GatewayApi};
pub use git::{Auth, AuthMethod, Git, GithubApp, KnownHosts, Polling, SshKey, Token};
pub use reserved::Reserved;
pub use secret_ref::{ResolvedSecretRef, SecretRef};
pub use status::{DiscoveredGateway, GatewayCounts, GatewaySyncStatus, HistoryEntry};
pub use sync::{
    DesignerSessionPolicy, DriftPolicy, Mapping, MappingType, Overrides, Patch, Profile, Sync,
};
pub use webhook::Webhook;

/// GatewaySync keeps Ignition gateways in step with a git repository.
///
/// It names the repository and the ref, how agents reach the gateways, and, in profiles, which
/// files of the repository go where. Pods choose it by the annotation `stoker.io/cr-name`.
#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
#[kube(
    group = "stoker.io",
    version = "v1alpha1",
    kind = "GatewaySync",
    plural = "gatewaysyncs",
    shortname = "gs",
    category = "stoker",
    namespaced,
    status = "GatewaySyncStatus",
    derive = "PartialEq",
    doc = "GatewaySync keeps Ignition gateways in step with a git repository. Pods choose it by the annotation `stoker.io/cr-name`.",
    printcolumn(
        name = "Ref",
        type_ = "string",
        json_path = ".status.lastSyncRef",
        description = "The ref that every gateway was last synced to"
    ),
    printcolumn(
        name = "Gateways",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"AllGatewaysSynced\")].message",
        description = "How many gateways are synced"
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status",
        description = "Whether everything is as this object says"
    ),
    printcolumn(
        name = "Status",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
        description = "What is going on, in one sentence"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Commit",
        type_ = "string",
        json_path = ".status.lastSyncCommitShort",
        description = "The commit that every gateway was last synced to",
        priority = 1
    ),
    printcolumn(
        name = "Profiles",
        type_ = "integer",
        json_path = ".status.profileCount",
        description = "How many profiles are embedded",
        priority = 1
    ),
    printcolumn(
        name = "Last Sync",
        type_ = "date",
        json_path = ".status.lastSyncTime",
        description = "When the last sync was completed",
        priority = 1
    )
)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySyncSpec {
    /// The repository, the ref that is wanted from it, and how to authenticate.
    pub git: Git,

    /// How often the remote is asked for new commits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polling: Option<Polling>,

    /// How agents reach the gateways of this GatewaySync. A pod can override port and TLS by the
    /// annotations `stoker.io/gateway-port` and `stoker.io/gateway-tls`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<Gateway>,

    /// Which files go where: defaults, and profiles by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync: Option<Sync>,

    /// The agent that is injected into the pods of gateways: its image and its resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,

    /// The receiver of push events of this GatewaySync, at `/webhook/{namespace}/{name}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<Webhook>,

    /// Pauses syncing: agents are told, and go idle; files stay as they are. Pods are still
    /// admitted and the status stays true. The default is false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,

    /// Fields that later versions will have, and fields that nobody knows.
    #[serde(flatten)]
    pub reserved: Reserved,
}

#[cfg(test)]
mod tests;
