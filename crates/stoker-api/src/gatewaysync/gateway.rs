//! How agents reach a gateway.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ResolvedSecretRef, SecretRef};
use crate::limit;
use crate::names::SecretKey;
use crate::rule;

/// How agents reach the gateway in their own pod.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rule::gateway()))]
pub struct Gateway {
    /// The port of the gateway's web server. Where it is not set, 8088 without TLS is tried, and
    /// where that does not answer or demands a secure channel, 8043 with TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<i32>,

    /// Whether the gateway is reached by TLS, on the pod's loopback. The default is false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<bool>,

    /// The API key with which agents ask the gateway to scan. Without it files land and the gateway
    /// is not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<GatewayApi>,

    /// Another way to write `api`: the same Secret by name and key. Set only one of the two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_secret_ref: Option<SecretRef>,
}

/// The Secret with a gateway's API key.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct GatewayApi {
    /// The name of the Secret, in the namespace of this object.
    #[schemars(length(min = 1, max = limit::OBJECT_NAME))]
    #[schemars(extend("x-kubernetes-validations" = rule::object_name()))]
    pub secret_name: String,

    /// The key in the Secret. The default is `apiKey`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = limit::DATA_KEY))]
    #[schemars(extend("x-kubernetes-validations" = rule::data_key()))]
    pub secret_key: Option<String>,
}

impl Gateway {
    /// Returns the Secret with the API key, by whichever of the two spellings it was given.
    pub fn api_key(&self) -> Option<ResolvedSecretRef> {
        let by_api = self
            .api
            .as_ref()
            .map(|api| SecretRef { name: api.secret_name.clone(), key: api.secret_key.clone() });
        let reference = by_api.or_else(|| self.api_key_secret_ref.clone())?;
        Some(reference.resolve(SecretKey::ApiKey))
    }
}
