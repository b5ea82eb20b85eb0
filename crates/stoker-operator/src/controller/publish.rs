//! The only place where a status is written.
//!
//! A write carries the version that was observed, so that a stale pass can't overwrite a newer one.
//! At most three statuses are written at once, and then one a second; what waits is not lost,
//! because the next pass decides it again.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use serde_json::{Map, Value, json};
use stoker_api::GatewaySync;
use stoker_api::chain::Chain;
use stoker_api::condition::{ConditionType, Reason};
use stoker_api::contract::cap;
use stoker_api::gatewaysync::GatewaySyncStatus;
use stoker_core::status::with_failed_pass;
use tokio::time::Instant;

use super::apply::{Applied, is_conflict, is_not_found, refresh};
use super::cache::{Key, Known, Undecodable};
use super::memory::Memory;
use super::{Context, Error, Next};

const CONFLICT_RETRY: Duration = Duration::from_millis(200);
const MESSAGE_BYTES: usize = 1024;

/// What became of a status.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Published {
    /// It was written.
    Written(Box<GatewaySyncStatus>),
    /// It is the same as before.
    Unchanged,
    /// It has to wait this long.
    Deferred(Duration),
}

/// Writes the status, if it differs from the one that was observed.
pub(crate) async fn publish(
    context: &Context,
    key: &Key,
    sync: &GatewaySync,
    status: GatewaySyncStatus,
    applied: &Applied,
) -> Result<Published, Error> {
    if sync.status.as_ref() == Some(&status) {
        return Ok(Published::Unchanged);
    }
    if let Err(wait) = context.memories.with(key, |memory| memory.bucket.take(Instant::now())) {
        return Ok(Published::Deferred(wait));
    }
    context.check_leading()?;
    let version = applied.resource_version.as_ref().or(sync.metadata.resource_version.as_ref());
    let patch = json!({
        "metadata": { "resourceVersion": version },
        "status": replacing(sync.status.as_ref(), &status),
    });
    let parameters = PatchParams::default();
    match context.syncs(key).patch_status(&key.name, &parameters, &Patch::Merge(&patch)).await {
        Ok(_) => Ok(Published::Written(Box::new(status))),
        Err(error) if is_conflict(&error) => {
            refresh(context, key).await;
            Ok(Published::Deferred(CONFLICT_RETRY))
        }
        // It was deleted meanwhile.
        Err(error) if is_not_found(&error) => Ok(Published::Unchanged),
        Err(source) => Err(Error::Publish { key: key.clone(), source: Box::new(source) }),
    }
}

/// Says that a pass failed, on the status of its GatewaySync: what it says may not be true any more.
pub(crate) async fn failed_pass(context: &Context, key: &Key, error: &Error) {
    // Where the status can't be written, nothing else can be said, either.
    if matches!(error, Error::Publish { .. } | Error::NotLeading) {
        return;
    }
    let Some(Known::Sync(sync)) = context.cache.sync(key) else { return };
    context.announcer.not_ready(key);
    let status = with_failed_pass(&sync, &Chain(error).to_string(), Timestamp::now());
    if let Err(error) = publish(context, key, &sync, status, &Applied::default()).await {
        tracing::warn!(%key, error = %Chain(&error), "failed to say that a pass failed");
    }
}

/// Says that a GatewaySync can't be read, on its own status, once.
pub(crate) async fn undecodable(
    context: &Context,
    key: &Key,
    fault: &Undecodable,
) -> Result<Next, Error> {
    context.announcer.not_ready(key);
    let said =
        |memory: &mut Memory| memory.undecodable.as_ref().is_some_and(|it| it.is_same(fault));
    if context.memories.with(key, said) {
        return Ok(Next::Rest);
    }
    context.check_leading()?;
    let message = cap::text(&fault.fault, MESSAGE_BYTES);
    tracing::warn!(namespace = key.namespace, name = key.name, error = message, "unreadable spec");
    let condition = |kind: ConditionType, status: &str| Condition {
        type_: kind.as_str().to_owned(),
        status: status.to_owned(),
        reason: Reason::SpecInvalid.as_str().to_owned(),
        message: message.clone(),
        observed_generation: fault.generation,
        last_transition_time: Time(Timestamp::now()),
    };
    let conditions =
        [condition(ConditionType::Ready, "False"), condition(ConditionType::Stalled, "True")];
    let patch = json!({
        "metadata": { "resourceVersion": fault.resource_version },
        "status": { "observedGeneration": fault.generation, "conditions": conditions },
    });
    let resource = ApiResource::erase::<GatewaySync>(&());
    let api: Api<DynamicObject> =
        Api::namespaced_with(context.shared.client.clone(), &key.namespace, &resource);
    match api.patch_status(&key.name, &PatchParams::default(), &Patch::Merge(&patch)).await {
        Ok(_) => {
            context.memories.with(key, |memory| memory.undecodable = Some(fault.clone()));
            Ok(Next::Rest)
        }
        Err(error) if is_conflict(&error) => Ok(Next::After(CONFLICT_RETRY)),
        Err(error) if is_not_found(&error) => Ok(Next::Rest),
        Err(source) => Err(Error::Publish { key: key.clone(), source: Box::new(source) }),
    }
}

/// A merge keeps what is not mentioned, so that fields which went have to be named.
fn replacing(before: Option<&GatewaySyncStatus>, next: &GatewaySyncStatus) -> Value {
    let fields = |status: &GatewaySyncStatus| match serde_json::to_value(status) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) | Err(_) => Map::new(),
    };
    let mut next = fields(next);
    for name in before.map(fields).unwrap_or_default().keys() {
        next.entry(name.clone()).or_insert(Value::Null);
    }
    Value::Object(next)
}

impl Published {
    /// Returns when to try again.
    pub(crate) fn next(&self) -> Next {
        match self {
            Self::Written(_) | Self::Unchanged => Next::Rest,
            Self::Deferred(wait) => Next::After(*wait),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_went_are_removed_and_lists_are_replaced() {
        let before = GatewaySyncStatus {
            last_sync_ref: Some("main".into()),
            profile_count: Some(1),
            ..GatewaySyncStatus::default()
        };
        let next = GatewaySyncStatus { profile_count: Some(2), ..GatewaySyncStatus::default() };
        let patch = replacing(Some(&before), &next);
        assert_eq!(patch, json!({ "profileCount": 2, "lastSyncRef": null }));
    }
}
