//! Publishes the status of PodBootstraps, while this instance leads.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use stoker_api::PodBootstrap;
use stoker_api::chain::Chain;
use stoker_core::bootstrap::{self, Copied, Copies, Facts, Source, Standing};

use super::Bootstrap;
use super::view::Object;

/// Changes that come together are written together.
const DEBOUNCE: Duration = Duration::from_millis(500);

/// Publishes whenever something changed.
pub(super) async fn follow(bootstrap: Bootstrap) {
    let mut changes = bootstrap.0.view.changes();
    loop {
        changes.mark_unchanged();
        let copies = copies(&bootstrap);
        let pods = bootstrap.0.census.counts();
        observe(&bootstrap, &copies, pods.as_ref());
        for object in bootstrap.0.view.objects() {
            let is_ours = |uid: String| bootstrap.0.shard.is_none_or(|shard| shard.holds(&uid));
            if object.stored.uid().is_some_and(is_ours) {
                publish(&bootstrap, &object, &copies, pods.clone()).await;
            }
        }
        if changes.changed().await.is_err() {
            return;
        }
        tokio::time::sleep(DEBOUNCE).await;
    }
}

fn observe(bootstrap: &Bootstrap, copies: &Copies, pods: Option<&BTreeMap<Standing, usize>>) {
    let metrics = &bootstrap.0.metrics;
    metrics.copies(copies.waiting, copies.conflicts.len());
    let Some(pods) = pods else { return };
    for standing in [Standing::Current, Standing::Missed, Standing::Stale, Standing::OptedOut] {
        metrics.pods(standing.as_str(), pods.get(&standing).copied().unwrap_or_default());
    }
}

async fn publish(
    bootstrap: &Bootstrap,
    object: &Object,
    copies: &Copies,
    pods: Option<BTreeMap<Standing, usize>>,
) {
    let in_force = bootstrap.0.view.in_force();
    let compiled = match (&in_force, object.problems.is_empty()) {
        (Some(in_force), true) => Ok(&in_force.policy),
        _ => Err(object.problems.as_slice()),
    };
    let facts = Facts {
        compiled,
        has_last_good: in_force.is_some(),
        mark: bootstrap.mark(),
        copies: copies.clone(),
        pods,
        now: Timestamp::now(),
    };
    let stored = &object.stored;
    let next = bootstrap::status(stored, &facts);
    if stored.status.as_ref() == Some(&next) || !bootstrap.0.leadership.is_held() {
        return;
    }
    let api: Api<PodBootstrap> = Api::all(bootstrap.0.client.clone());
    let version = &stored.metadata.resource_version;
    let patch = json!({ "metadata": { "resourceVersion": version }, "status": next });
    let (parameters, patch) = (PatchParams::default(), Patch::Merge(&patch));
    // A conflict means that a newer version is on its way, and with it another attempt.
    let name = stored.name_any();
    if let Err(error) = api.patch_status(&name, &parameters, &patch).await {
        tracing::debug!(name, error = %Chain(&error), "failed to write a status");
    }
}

/// Compares what namespaces hold with what they are to hold.
fn copies(bootstrap: &Bootstrap) -> Copies {
    let inner = &bootstrap.0;
    let mut copies = Copies {
        conflicts: inner.replicator.conflicts(),
        failures: inner.replicator.failures(),
        ..Copies::default()
    };
    let sources = Copied::ALL.map(|copied| (copied, inner.sources.get(copied)));
    copies.faults = sources.iter().filter_map(|(_, it)| it.fault().map(str::to_owned)).collect();
    let Some(in_force) = inner.view.in_force() else { return copies };
    for name in inner.view.namespaces() {
        let Some(space) = inner.view.namespace(&name) else { continue };
        if space.is_ending || !inner.scope.serves(&name) {
            continue;
        }
        let held = inner.view.copies(&name);
        let space = bootstrap::Namespace {
            name: &name,
            annotations: &space.annotations,
            certificates: None,
        };
        let wanted = sources.iter().filter(|(copied, _)| copied.is_wanted(space, &in_force.policy));
        let states: Vec<bool> = wanted
            .map(|(copied, source)| match source {
                _ if inner.sources.is_in(*copied, &name) => true,
                Source::Present(content) => {
                    let seen = held.get(&(*copied, content.name.clone()));
                    seen.and_then(|seen| seen.origin.as_ref()) == Some(&content.origin)
                }
                _ => false,
            })
            .collect();
        if states.contains(&false) {
            copies.waiting += 1;
        } else if !states.is_empty() {
            copies.complete += 1;
        }
    }
    copies
}
