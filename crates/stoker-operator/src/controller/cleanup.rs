//! The end of a GatewaySync: agents are told, then it is let go.
//!
//! # Promises
//! It takes at most 30 s. Only agents whose pod runs, and that have reported as that pod, are
//! waited for. What belongs to it goes with it, by owner references.

use std::time::Duration;

use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use stoker_api::GatewaySync;
use stoker_api::chain::Chain;
use stoker_api::contract::metadata::Metadata;
use stoker_api::names::FINALIZER;
use tokio::time::Instant;

use super::cache::{Belongings, Key, Undecodable};
use super::{Context, Error, Next, apply};
use crate::controller::apply::{is_conflict, is_not_found};

const AGENTS_WITHIN: Duration = Duration::from_secs(30);
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
    let seen = context.memories.with(key, |it| *it.ending.get_or_insert_with(Instant::now));
    let left = time_left(sync, Timestamp::now(), seen.elapsed());
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

/// Forgets a GatewaySync that is gone.
pub(crate) fn forget(context: &Context, key: &Key) -> Next {
    context.memories.forget(key);
    context.legacy.forget(key);
    context.remotes.keep(key, &[]);
    context.announcer.forget(key);
    Next::Rest
}

/// Returns how long agents are waited for yet. `seen` is how long the deletion is known.
fn time_left(sync: &GatewaySync, now: Timestamp, seen: Duration) -> Duration {
    let Some(deleted) = &sync.metadata.deletion_timestamp else { return Duration::ZERO };
    let elapsed = now.duration_since(deleted.0);
    // A clock that runs behind the API server's must not make this longer.
    let elapsed = Duration::try_from(elapsed).unwrap_or_default().max(seen);
    AGENTS_WITHIN.saturating_sub(elapsed)
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
    use stoker_testkit::object::gateway_sync;

    use super::*;

    #[test]
    fn agents_are_waited_for_at_most_30_s_whatever_the_clock_says() {
        let mut sync = gateway_sync("plant").build();
        let deleted: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
        sync.metadata.deletion_timestamp = Some(Time(deleted));
        let left = |now: &str, seen| {
            let now = format!("2026-11-16T{now}Z").parse().unwrap();
            time_left(&sync, now, Duration::from_secs(seen)).as_secs()
        };
        assert_eq!(left("12:00:00", 0), 30);
        assert_eq!(left("12:00:20", 0), 10, "another instance led until now");
        assert_eq!(left("11:00:00", 0), 30, "an hour behind");
        assert_eq!(left("11:00:20", 20), 10);
        assert_eq!(left("11:00:30", 30), 0);
    }
}
