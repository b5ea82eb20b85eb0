//! The SyncProfile resource: one profile as an object of its own.

#![expect(clippy::duplicated_attributes, reason = "columns of one table look alike")]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::gatewaysync::Profile;
use crate::schema;

/// SyncProfile is a profile as an object of its own, for pods of any GatewaySync in the namespace.
///
/// A pod chooses it by the annotation `stoker.io/sync-profile`.
#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
#[kube(
    group = "stoker.io",
    version = "v1alpha1",
    kind = "SyncProfile",
    plural = "syncprofiles",
    category = "stoker",
    namespaced,
    status = "SyncProfileStatus",
    derive = "PartialEq",
    doc = "SyncProfile is a profile as an object of its own. A pod chooses it by the annotation `stoker.io/sync-profile`; it has the fields of one profile in `spec.sync.profiles` of a GatewaySync.",
    printcolumn(
        name = "Valid",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Valid\")].status",
        description = "Whether the profile is valid"
    ),
    printcolumn(
        name = "Gateways",
        type_ = "integer",
        json_path = ".status.gateways",
        description = "How many gateways use it"
    ),
    printcolumn(name = "Dry Run", type_ = "boolean", json_path = ".spec.dryRun"),
    printcolumn(name = "Paused", type_ = "boolean", json_path = ".spec.paused"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct SyncProfileSpec {
    /// The fields of one profile.
    #[serde(flatten)]
    pub profile: Profile,
}

/// What the controller observed.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SyncProfileStatus {
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// How many gateways use this profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateways: Option<i32>,

    /// The conditions; Valid says whether agents get this profile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}
