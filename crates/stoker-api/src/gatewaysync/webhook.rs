//! The receiver of push events.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SecretRef;
use crate::rule;

/// The receiver of push events of this GatewaySync.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rule::webhook()))]
pub struct Webhook {
    /// Whether push events for this GatewaySync are taken. The default is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,

    /// The Secret that push events are signed with (HMAC-SHA256) or carry as a bearer token. The
    /// default key is `hmac-key`. Without it the secret of the operator counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretRef>,

    /// The Secret that is being rotated out: accepted as well, until it is removed here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_secret_ref: Option<SecretRef>,
}
