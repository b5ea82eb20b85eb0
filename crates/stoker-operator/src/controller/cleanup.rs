//! The end of a GatewaySync: agents are told, then it is let go.
//!
//! # Promises
//! It takes at most 30 s. Only agents whose pod runs, and that have reported as that pod, are
//! waited for. What belongs to it goes with it, by owner references. A GatewaySync that the label
//! selector leaves out by now is let go, too, unless another operator does so in time.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;
use kube::api::{PartialObjectMeta, Patch, PatchParams};
use kube::runtime::watcher::Config;
use serde_json::json;
use stoker_api::GatewaySync;
use stoker_api::chain::Chain;
use stoker_api::contract::metadata::Metadata;
use stoker_api::names::FINALIZER;
use tokio::time::Instant;

use super::cache::{Belongings, Key, Undecodable};
use super::watch::{Change, dead_after, follow_some};
use super::{Context, Error, Next, apply, fleet};
use crate::controller::apply::{is_conflict, is_not_found};

/// How long another operator has to let go of a GatewaySync that this one does not serve any more.
const OTHERS_WITHIN: Duration = Duration::from_secs(45);
const CONFLICT_RETRY: Duration = Duration::from_millis(200);

/// Ends a GatewaySync that is being deleted.
pub(crate) async fn end(context: &Context, key: &Key, sync: &GatewaySync) -> Result<Next, Error> {
    if !sync.finalizers().iter().any(|finalizer| finalizer == FINALIZER) {
        return Ok(forget(context, key));
    }
    let belongings = context.cache.belongings(key, sync.metadata.uid.as_deref());
    let published = belongings.metadata.as_ref().and_then(|it| it.content.as_ref().ok());
    if let Some(metadata) = published.filter(|metadata| !metadata.is_terminating) {
        let ending = Metadata { is_terminating: true, ..metadata.clone() };
        // Agents that can't be told are not waited for any longer than those that do not answer.
        let version = belongings.metadata.as_ref().and_then(|it| it.resource_version.clone());
        if let Err(fault) = apply::publish_metadata(context, sync, &ending, version).await {
            let (namespace, name) = (&key.namespace, &key.name);
            tracing::warn!(%namespace, %name, error = %Chain(&fault), "failed to tell agents");
        }
    }
    let within = context.settings.agents_within;
    let left = time_left(&sync.metadata, within, Timestamp::now(), seen(context, key));
    if published.is_some() && is_awaited(context, key, &belongings) && !left.is_zero() {
        return Ok(Next::After(left));
    }
    release(context, key, sync.finalizers(), sync.resource_version()).await
}

/// Ends a GatewaySync that can't be read: there is nothing that its agents could be told.
pub(crate) async fn end_undecodable(
    context: &Context,
    key: &Key,
    fault: &Undecodable,
) -> Result<Next, Error> {
    release(context, key, &fault.finalizers, fault.resource_version.clone()).await
}

/// Wakes GatewaySyncs that the label selector leaves out when they are deleted: they may have our
/// finalizer from before.
pub(crate) async fn follow_left_out(context: &Context) {
    if context.shared.watch_label_selector.is_none() {
        return std::future::pending().await;
    }
    let watches = fleet::scopes(context).into_iter().map(|scope| {
        let api = fleet::api(&context.shared.client, scope.as_deref());
        let config = dead_after(Config::default(), context.settings.watch_silent_seconds);
        let on = |change: Change<PartialObjectMeta<GatewaySync>>| {
            if let Change::Applied(key, object) = change
                && is_held(&object.metadata)
            {
                context.queue.wake(key);
            }
        };
        follow_some(api, config, "GatewaySync left out", |_| false, on)
    });
    futures::future::join_all(watches).await;
}

/// Forgets a GatewaySync that is gone, or that the label selector leaves out.
pub(crate) async fn gone(context: &Context, key: &Key) -> Result<Next, Error> {
    if context.shared.watch_label_selector.is_none() {
        return Ok(forget(context, key));
    }
    let found = context.syncs(key).get_metadata_opt(&key.name).await;
    let found =
        found.map_err(|source| Error::Release { key: key.clone(), source: Box::new(source) })?;
    let Some(object) = found.filter(|it| is_held(&it.metadata)) else {
        return Ok(forget(context, key));
    };
    let left = time_left(&object.metadata, OTHERS_WITHIN, Timestamp::now(), seen(context, key));
    if !left.is_zero() {
        return Ok(Next::After(left));
    }
    release(context, key, object.finalizers(), object.resource_version()).await
}

fn is_held(metadata: &ObjectMeta) -> bool {
    let mut finalizers = metadata.finalizers.iter().flatten();
    metadata.deletion_timestamp.is_some() && finalizers.any(|it| it == FINALIZER)
}

/// Forgets a GatewaySync that is gone.
fn forget(context: &Context, key: &Key) -> Next {
    context.memories.forget(key);
    context.legacy.forget(key);
    context.remotes.keep(key, &[]);
    context.announcer.forget(key);
    Next::Rest
}

/// Returns how long the deletion is known.
fn seen(context: &Context, key: &Key) -> Duration {
    context.memories.with(key, |memory| memory.ending.get_or_insert_with(Instant::now).elapsed())
}

/// Returns what is left of the time that others have after a deletion that is known since `seen`.
fn time_left(metadata: &ObjectMeta, within: Duration, now: Timestamp, seen: Duration) -> Duration {
    let Some(deleted) = &metadata.deletion_timestamp else { return Duration::ZERO };
    let elapsed = now.duration_since(deleted.0);
    // A clock that runs behind the API server's must not make this longer.
    let elapsed = Duration::try_from(elapsed).unwrap_or_default().max(seen);
    within.saturating_sub(elapsed)
}

fn is_awaited(context: &Context, key: &Key, belongings: &Belongings) -> bool {
    let pods = context.cache.pods(key);
    pods.iter().filter(|pod| pod.has_agent && pod.is_running).any(|pod| {
        let report = belongings.reports.get(&pod.name).and_then(|report| report.as_ref().ok());
        report.is_some_and(|report| report.pod_uid == pod.uid && !report.acknowledged)
    })
}

async fn release(
    context: &Context,
    key: &Key,
    finalizers: &[String],
    version: Option<String>,
) -> Result<Next, Error> {
    context.check_leading()?;
    let others: Vec<&String> =
        finalizers.iter().filter(|finalizer| *finalizer != FINALIZER).collect();
    let patch = json!({ "metadata": { "finalizers": others, "resourceVersion": version } });
    let parameters = PatchParams::default();
    match context.syncs(key).patch_metadata(&key.name, &parameters, &Patch::Merge(&patch)).await {
        Ok(_) => Ok(forget(context, key)),
        Err(error) if is_not_found(&error) => Ok(forget(context, key)),
        Err(error) if is_conflict(&error) => Ok(Next::After(CONFLICT_RETRY)),
        Err(source) => Err(Error::Release { key: key.clone(), source: Box::new(source) }),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    #[test]
    fn agents_are_waited_for_at_most_30_s_whatever_the_clock_says() {
        let deleted = Some(Time("2026-11-16T12:00:00Z".parse().unwrap()));
        let metadata = ObjectMeta { deletion_timestamp: deleted, ..ObjectMeta::default() };
        let left = |now: &str, seen| {
            let now = format!("2026-11-16T{now}Z").parse().unwrap();
            let within = Duration::from_secs(30);
            time_left(&metadata, within, now, Duration::from_secs(seen)).as_secs()
        };
        assert_eq!(left("12:00:00", 0), 30);
        assert_eq!(left("12:00:20", 0), 10, "another instance led until now");
        assert_eq!(left("11:00:00", 0), 30, "an hour behind");
        assert_eq!(left("11:00:20", 20), 10);
        assert_eq!(left("11:00:30", 30), 0);
    }
}
