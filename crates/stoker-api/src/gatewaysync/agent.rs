//! The agent's container.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::registry::registry_in_json;
use crate::rule;
use crate::schema;
use crate::word::Interval;

/// The agent that is injected into the pods of gateways.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    /// The image of the agent. Where it is not set, the image that the operator was installed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<AgentImage>,

    /// CPU and memory of the agent. The default is requests of 50m and 64Mi, limits of 1 and 256Mi.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<AgentResources>,

    /// How long the start of a gateway waits for git while its volume is still empty, such as
    /// `10m`. The default is `10m`; `0` waits for ever. Then the gateway starts, and its state is
    /// Degraded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = crate::limit::INTERVAL))]
    #[schemars(extend("x-kubernetes-validations" = rule::interval_or_zero("agent.startupDeadline")))]
    pub startup_deadline: Option<String>,
}

/// The image of the agent.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct AgentImage {
    /// The repository of the image, such as `registry.example.com/stoker-agent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    #[schemars(extend("x-kubernetes-validations" = rule::image_repository()))]
    pub repository: Option<String>,

    /// The tag of the image, such as `1.4.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    #[schemars(extend("x-kubernetes-validations" = rule::image_tag()))]
    pub tag: Option<String>,

    /// The digest of the image, `sha256:` and 64 hexadecimal digits. It counts more than the tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 71))]
    #[schemars(extend("x-kubernetes-validations" = rule::image_digest()))]
    pub digest: Option<String>,

    /// When the image is pulled: `Always`, `IfNotPresent` or `Never`. The default is
    /// `IfNotPresent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_policy: Option<PullPolicy>,
}

/// CPU and memory of the agent.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct AgentResources {
    /// What the agent is guaranteed, such as `cpu: 50m` and `memory: 64Mi`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::quantities")]
    pub requests: BTreeMap<String, Quantity>,

    /// What the agent may use at most, such as `cpu: 1` and `memory: 256Mi`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::quantities")]
    pub limits: BTreeMap<String, Quantity>,
}

registry_in_json! {
    /// When an image is pulled.
    pub enum PullPolicy {
        /// On every start.
        Always = "Always",
        /// Where the node does not have it.
        IfNotPresent = "IfNotPresent",
        /// Not at all.
        Never = "Never",
    }
}

impl Agent {
    /// How long the start of a gateway waits for git where nothing is set.
    pub const DEFAULT_STARTUP_DEADLINE: Interval = Interval::from_secs(600);
}
