//! Removes the reports of pods that are gone.
//!
//! A report stays for ten minutes after its pod, for people who look what happened. Before it is
//! removed, the API server is asked whether the pod is really gone: a cache may be old.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use stoker_api::chain::Chain;
use stoker_api::names;
use tokio::time::Instant;

use super::cache::Key;
use super::observe::Observation;
use super::{Context, Next};

/// Removes reports whose time has come, and says when the next one's does.
pub(crate) async fn prune(context: &Context, key: &Key, observed: &Observation) -> Next {
    let places = &observed.places;
    let exist: HashSet<&str> = observed.facts.pods.iter().map(|pod| &*pod.name).collect();
    let gone: BTreeSet<&String> =
        places.keys().filter(|name| !exist.contains(name.as_str())).collect();
    let now = Instant::now();
    let since = context.memories.with(key, |memory| {
        memory.gone.retain(|name, _| gone.contains(name));
        for name in &gone {
            memory.gone.entry((*name).clone()).or_insert(now);
        }
        memory.gone.clone()
    });
    let mut next = Next::Rest;
    for (name, since) in since {
        let left = context.settings.report_kept_for.saturating_sub(now - since);
        if left.is_zero() {
            let shards = places.get(&name).map(Vec::as_slice).unwrap_or_default();
            remove(context, key, &name, shards).await;
        } else {
            next = next.sooner(Next::After(left));
        }
    }
    next
}

async fn remove(context: &Context, key: &Key, pod: &str, shards: &[u8]) {
    let pods: Api<Pod> = Api::namespaced(context.shared.client.clone(), &key.namespace);
    let is_gone = matches!(pods.get_metadata_opt(pod).await, Ok(None));
    if !is_gone || context.check_leading().is_err() {
        return;
    }
    let maps: Api<ConfigMap> = Api::namespaced(context.shared.client.clone(), &key.namespace);
    for shard in shards {
        let name = names::status_config_map(&key.name, *shard);
        let patch = Patch::Merge(json!({ "data": BTreeMap::from([(pod, None::<String>)]) }));
        if let Err(error) = maps.patch_metadata(&name, &PatchParams::default(), &patch).await {
            let namespace = &key.namespace;
            tracing::warn!(%namespace, name, pod, error = %Chain(&error), "failed to remove a report");
        }
    }
}
