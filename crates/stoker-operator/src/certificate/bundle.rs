//! The CA in the webhook configurations.
//!
//! Mutating and validating configurations have the same shape, so both are read as one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

/// A webhook configuration of ours.
#[derive(Debug, Clone)]
pub(super) struct Configuration {
    pub(super) api: Api<DynamicObject>,
    pub(super) name: String,
}

impl Configuration {
    /// Returns the configuration of this kind, `Mutating…` or `Validating…`.
    pub(super) fn new(client: Client, kind: &str, name: &str) -> Self {
        let resource = ApiResource {
            group: "admissionregistration.k8s.io".to_owned(),
            version: "v1".to_owned(),
            api_version: "admissionregistration.k8s.io/v1".to_owned(),
            kind: kind.to_owned(),
            plural: format!("{}s", kind.to_lowercase()),
        };
        Self { api: Api::all_with(client, &resource), name: name.to_owned() }
    }

    /// Returns the CAs that the configuration trusts: the first one that is set.
    pub(super) async fn trusted(&self) -> kube::Result<Option<String>> {
        let Some(object) = self.api.get_opt(&self.name).await? else { return Ok(None) };
        let bundles = webhooks(&object).iter().filter_map(bundle_of);
        Ok(bundles.into_iter().find(|bundle| !bundle.is_empty()))
    }

    /// Writes the CAs where they differ. Says whether something was written.
    pub(super) async fn trust(&self, bundle: &str) -> kube::Result<bool> {
        let object = self.api.get(&self.name).await?;
        let operations = difference(webhooks(&object), bundle);
        if operations.is_empty() {
            return Ok(false);
        }
        let patch: json_patch::Patch =
            serde_json::from_value(Value::Array(operations)).map_err(kube::Error::SerdeError)?;
        let patch = Patch::Json::<()>(patch);
        self.api.patch(&object.name_any(), &PatchParams::default(), &patch).await?;
        Ok(true)
    }
}

fn webhooks(object: &DynamicObject) -> &[Value] {
    object.data["webhooks"].as_array().map_or(&[], Vec::as_slice)
}

fn bundle_of(webhook: &Value) -> Option<String> {
    let encoded = webhook["clientConfig"]["caBundle"].as_str()?;
    String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
}

/// Returns the operations that set the bundle of every webhook. Each is guarded by the name of the
/// webhook, because it names its place in a list.
fn difference(webhooks: &[Value], bundle: &str) -> Vec<Value> {
    let encoded = STANDARD.encode(bundle);
    let differing = webhooks.iter().enumerate().filter(|(_, webhook)| {
        webhook["clientConfig"]["caBundle"].as_str() != Some(encoded.as_str())
    });
    differing
        .flat_map(|(index, webhook)| {
            [
                json!({
                    "op": "test",
                    "path": format!("/webhooks/{index}/name"),
                    "value": webhook["name"],
                }),
                json!({
                    "op": "add",
                    "path": format!("/webhooks/{index}/clientConfig/caBundle"),
                    "value": encoded,
                }),
            ]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_webhooks_with_another_bundle_are_written() {
        let same = STANDARD.encode("CA");
        let webhooks = [
            json!({ "name": "a", "clientConfig": { "caBundle": same } }),
            json!({ "name": "b", "clientConfig": {} }),
        ];
        let operations = difference(&webhooks, "CA");
        assert_eq!(operations.len(), 2);
        assert_eq!(operations[1]["path"], "/webhooks/1/clientConfig/caBundle");
        assert_eq!(difference(&webhooks[..1], "CA"), Vec::<Value>::new());
    }
}
