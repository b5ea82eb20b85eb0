//! Builders for the objects of a test, with verbs instead of pasted YAML.
//!
//! Each starts from the least that the API server accepts, and says nothing that was not asked for.
//!
//! ```
//! # use stoker_testkit::object::{gateway_pod, gateway_sync, profile};
//! let sync = gateway_sync("plant").repo("https://git.example.com/plant.git").git_ref("main");
//! let sync = sync.profile("site", profile().mapping("site/projects", "projects")).paused().build();
//! let pod = gateway_pod("ignition-0").cr("plant").profile("site").build();
//! assert_eq!(sync.spec.paused, Some(true));
//! assert_eq!(pod.metadata.name.as_deref(), Some("ignition-0"));
//! ```

mod announcement;
mod pod;
mod profile;
mod sync;

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::ObjectMeta;

pub use self::announcement::{announced_profile, announcement};
pub use self::pod::{DATA_PATH, PodBuilder, gateway_pod};
pub use self::profile::{ProfileBuilder, SyncProfileBuilder, profile, sync_profile};
pub use self::sync::{GatewaySyncBuilder, gateway_sync};

/// Makes a Secret from keys and values.
pub fn secret<K, V>(name: &str, data: impl IntoIterator<Item = (K, V)>) -> Secret
where
    K: Into<String>,
    V: Into<Vec<u8>>,
{
    let data = data.into_iter().map(|(key, value)| (key.into(), ByteString(value.into())));
    Secret { metadata: named(name), data: Some(data.collect()), ..Secret::default() }
}

/// Makes a `ConfigMap` from keys and values.
pub fn config_map<K, V>(name: &str, data: impl IntoIterator<Item = (K, V)>) -> ConfigMap
where
    K: Into<String>,
    V: Into<String>,
{
    let data = data.into_iter().map(|(key, value)| (key.into(), value.into()));
    ConfigMap { metadata: named(name), data: Some(data.collect()), ..ConfigMap::default() }
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
}

fn put(map: &mut Option<BTreeMap<String, String>>, key: &str, value: &str) {
    map.get_or_insert_default().insert(key.to_owned(), value.to_owned());
}

#[cfg(test)]
mod tests;
