//! The SyncProfile resource: one profile as an object of its own.

#![expect(clippy::duplicated_attributes, reason = "columns of one table look alike")]

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::gatewaysync::Profile;

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
    derive = "PartialEq",
    doc = "SyncProfile is a profile as an object of its own. A pod chooses it by the annotation `stoker.io/sync-profile`; it has the fields of one profile in `spec.sync.profiles` of a GatewaySync.",
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
