//! The status of SyncProfiles: whether they are valid, and how many gateways use them.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use stoker_api::SyncProfile;
use stoker_api::chain::Chain;
use stoker_api::condition::{ConditionType, Reason};
use stoker_api::contract::cap;
use stoker_api::gatewaysync::Overrides;
use stoker_api::syncprofile::SyncProfileStatus;
use stoker_core::profile::Profiles;

use super::Context;
use super::cache::Key;

/// Changes that come together are written together.
const DEBOUNCE: Duration = Duration::from_secs(1);
const MESSAGE_BYTES: usize = 1024;

/// Keeps the status of SyncProfiles, while this instance leads.
pub(crate) async fn follow(context: &Context) {
    loop {
        for (key, profile) in context.cache.profiles() {
            let users = context.cache.users_of(&key);
            let next = status(&profile, users, Timestamp::now());
            if profile.status.as_ref() != Some(&next) {
                publish(context, &key, &profile, &next).await;
            }
        }
        context.cache.profiles_changed().await;
        tokio::time::sleep(DEBOUNCE).await;
    }
}

fn status(profile: &SyncProfile, users: usize, now: Timestamp) -> SyncProfileStatus {
    let checked = Profiles::of_object(profile, &Overrides::default());
    let (status, reason, message) = match checked {
        Ok(_) => ("True", Reason::ProfilesValid, "the profile is valid".to_owned()),
        Err(invalid) => ("False", Reason::ProfilesInvalid, invalid.to_string()),
    };
    let before = profile.status.as_ref().and_then(|status| status.conditions.first());
    let since = before.filter(|before| before.status == status);
    let now = Time(Timestamp::from_second(now.as_second()).unwrap_or(now));
    let valid = Condition {
        type_: ConditionType::Valid.as_str().to_owned(),
        status: status.to_owned(),
        reason: reason.as_str().to_owned(),
        message: cap::text(&message, MESSAGE_BYTES),
        observed_generation: profile.metadata.generation,
        last_transition_time: since.map_or(now, |before| before.last_transition_time.clone()),
    };
    SyncProfileStatus {
        observed_generation: profile.metadata.generation,
        gateways: Some(i32::try_from(users).unwrap_or(i32::MAX)),
        conditions: vec![valid],
    }
}

async fn publish(context: &Context, key: &Key, profile: &SyncProfile, next: &SyncProfileStatus) {
    if context.check_leading().is_err() {
        return;
    }
    let api: Api<SyncProfile> = Api::namespaced(context.shared.client.clone(), &key.namespace);
    let version = &profile.metadata.resource_version;
    let patch = json!({ "metadata": { "resourceVersion": version }, "status": next });
    let (parameters, patch) = (PatchParams::default(), Patch::Merge(&patch));
    // A conflict means that a newer version is on its way, and with it another attempt.
    if let Err(error) = api.patch_status(&key.name, &parameters, &patch).await {
        let (namespace, name) = (&key.namespace, &key.name);
        tracing::debug!(%namespace, %name, error = %Chain(&error), "failed to write a status");
    }
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
