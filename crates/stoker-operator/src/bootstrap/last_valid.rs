//! The last valid policy, in a ConfigMap of the operator's namespace.
//!
//! An invalid policy changes nothing, also when the operator starts: without this record a new
//! process would know no policy, leave pods as they are, and remove the copies.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, ObjectMeta, Patch, PatchParams};
use serde_json::json;
use stoker_api::chain::Chain;
use stoker_api::names::{BOOTSTRAP_POLICY_CONFIG_MAP, Label, MANAGED_BY};
use stoker_api::podbootstrap::PodBootstrapSpec;
use stoker_core::bootstrap::Policy;

use super::Bootstrap;
use super::view::InForce;

const SPEC: &str = "spec";
const UID: &str = "uid";
const MANAGER: &str = "stoker-bootstrap";
const RETRY: Duration = Duration::from_secs(2);
const WITHIN: Duration = Duration::from_secs(5);

/// Reads the last valid policy and the UID of the PodBootstrap that it is from. Waits until the API
/// server answers.
pub(super) async fn read(client: &Client, namespace: &str) -> Option<(String, InForce)> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let found = loop {
        match tokio::time::timeout(WITHIN, api.get_opt(BOOTSTRAP_POLICY_CONFIG_MAP)).await {
            Ok(Ok(found)) => break found,
            Ok(Err(error)) => {
                tracing::warn!(error = %Chain(&error), "failed to read the last valid policy");
            }
            Err(_) => tracing::warn!("failed to read the last valid policy within {WITHIN:?}"),
        }
        tokio::time::sleep(RETRY).await;
    };
    parse(found?.data?)
}

fn parse(mut data: BTreeMap<String, String>) -> Option<(String, InForce)> {
    let spec: PodBootstrapSpec = serde_json::from_str(data.get(SPEC)?).ok()?;
    let policy = Policy::compile(&spec).ok()?;
    Some((data.remove(UID)?, InForce { spec, policy }))
}

/// Keeps the policy in force, whenever it changed.
pub(super) async fn follow(bootstrap: Bootstrap) {
    let mut changes = bootstrap.0.view.changes();
    let mut kept = None;
    loop {
        changes.mark_unchanged();
        let present = bootstrap.0.view.in_force().zip(bootstrap.0.view.policy_uid());
        if let Some((in_force, uid)) = present
            && kept.as_ref() != Some(&(uid.clone(), in_force.spec.clone()))
            && bootstrap.0.leadership.is_held()
        {
            match keep(&bootstrap, &uid, &in_force.spec).await {
                Ok(()) => kept = Some((uid, in_force.spec.clone())),
                Err(error) => {
                    tracing::warn!(error = %Chain(&error), "failed to keep the valid policy");
                    tokio::time::sleep(RETRY).await;
                    continue;
                }
            }
        }
        if changes.changed().await.is_err() {
            return;
        }
    }
}

async fn keep(bootstrap: &Bootstrap, uid: &str, spec: &PodBootstrapSpec) -> kube::Result<()> {
    let label = (Label::ManagedBy.as_str().to_owned(), MANAGED_BY.to_owned());
    let object = ConfigMap {
        metadata: ObjectMeta {
            name: Some(BOOTSTRAP_POLICY_CONFIG_MAP.to_owned()),
            labels: Some(BTreeMap::from([label])),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([
            (SPEC.to_owned(), json!(spec).to_string()),
            (UID.to_owned(), uid.to_owned()),
        ])),
        ..ConfigMap::default()
    };
    let inner = &bootstrap.0;
    let api: Api<ConfigMap> = Api::namespaced(inner.client.clone(), &inner.scope.own);
    let parameters = PatchParams::apply(MANAGER).force();
    api.patch(BOOTSTRAP_POLICY_CONFIG_MAP, &parameters, &Patch::Apply(&object)).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_policy_that_is_still_valid_is_taken() {
        let data = |spec: &str| {
            let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
            BTreeMap::from([pair(SPEC, spec), pair(UID, "u")])
        };
        let valid = r#"{"registries":[{"from":"docker.io","to":"r.example/hub"}]}"#;
        let (uid, in_force) = parse(data(valid)).unwrap();
        assert_eq!((uid.as_str(), in_force.spec.registries.len()), ("u", 1));
        for invalid in ["", "1", r#"{"registries":[{"from":"docker","to":"r.example"}]}"#] {
            assert!(parse(data(invalid)).is_none(), "{invalid}");
        }
        assert!(parse(BTreeMap::new()).is_none());
    }
}
