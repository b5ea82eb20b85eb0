//! The status of SyncProfiles: whether they are valid, and how many gateways use them.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use serde_json::json;
use stoker_api::SyncProfile;
use stoker_api::chain::Chain;
use stoker_api::condition::{ConditionType, Reason};
use stoker_api::contract::cap;
use stoker_api::gatewaysync::Overrides;
use stoker_api::syncprofile::SyncProfileStatus;
use stoker_core::backoff::Backoff;
use stoker_core::profile::Profiles;

use super::Context;
use super::apply::{is_conflict, is_not_found};
use super::cache::{Key, Undecodable};

/// Changes that come together are written together.
const DEBOUNCE: Duration = Duration::from_secs(1);
const RETRY: Backoff = Backoff { first: Duration::from_secs(1), most: Duration::from_secs(30) };
const MESSAGE_BYTES: usize = 1024;

/// What the status of SyncProfiles says that can't be read.
type Told = HashMap<Key, SyncProfileStatus>;

/// Keeps the status of SyncProfiles, while this instance leads.
pub(crate) async fn follow(context: &Context) {
    let mut told = Told::new();
    let mut failures: u32 = 0;
    loop {
        let is_written = publish_all(context, &mut told).await;
        let changed = context.cache.profiles_changed();
        if is_written {
            failures = 0;
            changed.await;
        } else {
            failures = failures.saturating_add(1);
            tokio::time::timeout(RETRY.delay(failures, fastrand::f64()), changed).await.ok();
        }
        tokio::time::sleep(DEBOUNCE).await;
    }
}

/// Writes every status that has changed, and says whether all could be written.
async fn publish_all(context: &Context, told: &mut Told) -> bool {
    let mut is_written = true;
    let mut report = |key: &Key, written: Result<(), kube::Error>| {
        let Err(error) = written else { return };
        is_written = false;
        let (namespace, name, chain) = (&key.namespace, &key.name, Chain(&error));
        if is_conflict(&error) {
            tracing::debug!(%namespace, %name, error = %chain, "another status came first");
        } else {
            tracing::warn!(%namespace, %name, error = %chain, "failed to write a status");
        }
    };
    for (key, profile) in context.cache.profiles() {
        let users = context.cache.users_of(&key);
        let next = status(&profile, users, Timestamp::now());
        if profile.status.as_ref() != Some(&next) {
            let version = profile.metadata.resource_version.as_deref();
            report(&key, publish(context, &key, version, &next).await);
        }
    }
    let unreadable = context.cache.unreadable_profiles();
    told.retain(|key, _| unreadable.iter().any(|(other, _)| other == key));
    for (key, fault) in unreadable {
        report(&key, publish_unreadable(context, &key, &fault, told).await);
    }
    is_written
}

fn status(profile: &SyncProfile, users: usize, now: Timestamp) -> SyncProfileStatus {
    let checked = Profiles::of_object(profile, &Overrides::default());
    let fault = checked.err().map(|invalid| invalid.to_string());
    build(fault.as_deref(), profile.metadata.generation, profile.status.as_ref(), users, now)
}

/// Builds a status. It keeps the time of the one before where that says the same.
fn build(
    fault: Option<&str>,
    generation: Option<i64>,
    before: Option<&SyncProfileStatus>,
    users: usize,
    now: Timestamp,
) -> SyncProfileStatus {
    let (status, reason, message) = match fault {
        None => ("True", Reason::ProfilesValid, "the profile is valid"),
        Some(fault) => ("False", Reason::ProfilesInvalid, fault),
    };
    let before = before.and_then(|status| status.conditions.first());
    let since = before.filter(|before| before.status == status);
    let now = Time(Timestamp::from_second(now.as_second()).unwrap_or(now));
    let valid = Condition {
        type_: ConditionType::Valid.as_str().to_owned(),
        status: status.to_owned(),
        reason: reason.as_str().to_owned(),
        message: cap::text(message, MESSAGE_BYTES),
        observed_generation: generation,
        last_transition_time: since.map_or(now, |before| before.last_transition_time.clone()),
    };
    SyncProfileStatus {
        observed_generation: generation,
        gateways: Some(i32::try_from(users).unwrap_or(i32::MAX)),
        conditions: vec![valid],
    }
}

/// Says that a SyncProfile can't be read, on its own status, once.
async fn publish_unreadable(
    context: &Context,
    key: &Key,
    fault: &Undecodable,
    told: &mut Told,
) -> Result<(), kube::Error> {
    let users = context.cache.users_of(key);
    let next = |before: Option<&SyncProfileStatus>| {
        build(Some(&fault.fault), fault.generation, before, users, Timestamp::now())
    };
    let before = told.get(key);
    if before.is_some() && before == Some(&next(before)) {
        return Ok(());
    }
    let Some(found) = objects(context, key).get_opt(&key.name).await? else { return Ok(()) };
    let before = serde_json::from_value(found.data["status"].clone()).ok();
    let next = next(before.as_ref());
    if before.as_ref() != Some(&next) {
        publish(context, key, found.metadata.resource_version.as_deref(), &next).await?;
    }
    told.insert(key.clone(), next);
    Ok(())
}

async fn publish(
    context: &Context,
    key: &Key,
    version: Option<&str>,
    next: &SyncProfileStatus,
) -> Result<(), kube::Error> {
    if context.check_leading().is_err() {
        return Ok(());
    }
    let patch = json!({ "metadata": { "resourceVersion": version }, "status": next });
    let (parameters, patch) = (PatchParams::default(), Patch::Merge(&patch));
    match objects(context, key).patch_status(&key.name, &parameters, &patch).await {
        Ok(_) => Ok(()),
        // It was deleted meanwhile.
        Err(error) if is_not_found(&error) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns access to SyncProfiles, whether they can be decoded or not.
fn objects(context: &Context, key: &Key) -> Api<DynamicObject> {
    let resource = ApiResource::erase::<SyncProfile>(&());
    Api::namespaced_with(context.shared.client.clone(), &key.namespace, &resource)
}

#[cfg(test)]
mod tests {
    use stoker_testkit::object::{profile, sync_profile};

    use super::*;

    #[test]
    fn a_profile_says_whether_it_is_valid_and_who_uses_it() {
        let now: Timestamp = "2026-11-16T12:00:00.5Z".parse().unwrap();
        let mut good = sync_profile("press", profile().mapping("a", "b")).build();
        let first = status(&good, 3, now);
        assert_eq!((first.gateways, &*first.conditions[0].status), (Some(3), "True"));
        good.status = Some(first.clone());
        let later = now + Duration::from_mins(1);
        assert_eq!(status(&good, 3, later), first, "nothing is written twice");
        let bad = sync_profile("press", profile().mapping("a", "../etc")).build();
        let found = &status(&bad, 0, now).conditions[0];
        assert_eq!((&*found.status, &*found.reason), ("False", "ProfilesInvalid"));
    }
}
