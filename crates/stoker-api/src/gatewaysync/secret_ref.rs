//! References to Secrets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limit;
use crate::names::SecretKey;
use crate::rule;

/// A key of a Secret in the namespace of this object.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct SecretRef {
    /// The name of the Secret, in the namespace of this object.
    #[schemars(length(min = 1, max = limit::OBJECT_NAME))]
    #[schemars(extend("x-kubernetes-validations" = rule::object_name()))]
    pub name: String,

    /// The key in the Secret. Where it is left out, the key that is usual for this kind of
    /// credential: `ssh-privatekey`, `known_hosts`, `token`, `private-key.pem`, `ca.crt`, `apiKey`
    /// or `hmac-key`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = limit::DATA_KEY))]
    #[schemars(extend("x-kubernetes-validations" = rule::data_key()))]
    pub key: Option<String>,
}

/// A Secret and the key in it that is meant, whether it was named or not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResolvedSecretRef {
    /// The name of the Secret.
    pub name: String,
    /// The key in the Secret.
    pub key: String,
}

impl SecretRef {
    /// Returns the reference with `default` as its key where it names none.
    pub fn resolve(&self, default: SecretKey) -> ResolvedSecretRef {
        let key = self.key.as_deref().unwrap_or(default.as_str());
        ResolvedSecretRef { name: self.name.clone(), key: key.to_owned() }
    }
}
