//! What was evicted already: the content of the ConfigMap `stoker-repairs`.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use serde::{Deserialize, Serialize};

use super::{Cause, Workload, created};

/// Entries that are kept, the newest first. One entry has about 250 bytes.
const ENTRIES: usize = 1000;

/// What was evicted already, by workload, pod template and cause.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Record(BTreeMap<String, Entry>);

/// The evictions for one workload, pod template and cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The workload, for people.
    pub workload: String,
    /// Why, for people.
    pub cause: String,
    /// When the youngest pod was created that is evicted for it. Pods that were created later
    /// already are what the evictions brought.
    pub created: Timestamp,
    /// When a pod was last evicted.
    pub at: Timestamp,
    /// The pod that was evicted last.
    pub pod: String,
    /// Its UID.
    pub uid: String,
}

impl Record {
    /// Reads the data of the ConfigMap. An entry that can't be read counts as none.
    pub fn parse(data: &BTreeMap<String, String>) -> Self {
        let entries = data.iter().filter_map(|(key, text)| {
            let entry: Entry = serde_json::from_str(text).ok()?;
            Some((key.clone(), entry))
        });
        Self(entries.collect())
    }

    /// Writes the data of the ConfigMap.
    pub fn to_data(&self) -> BTreeMap<String, String> {
        let entries = self
            .0
            .iter()
            .filter_map(|(key, entry)| Some((key.clone(), serde_json::to_string(entry).ok()?)));
        entries.collect()
    }

    /// Returns what was evicted for a pod's workload, template and cause.
    pub fn find(&self, workload: &Workload, pod: &Pod, cause: &Cause) -> Option<&Entry> {
        self.0.get(&key(workload, pod, cause))
    }

    /// Adds the eviction of a pod. `youngest` is the time of creation of the youngest pod of the
    /// same workload that needs a restart for the same cause.
    pub fn add(
        &mut self,
        workload: &Workload,
        pod: &Pod,
        cause: &Cause,
        youngest: Timestamp,
        now: Timestamp,
    ) {
        let key = key(workload, pod, cause);
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let before = self.0.get(&key).map(|entry| entry.created);
        let entry = Entry {
            workload: format!("{namespace}/{}", workload.owner),
            cause: cause.word.to_owned(),
            // The first eviction draws the line.
            created: before.unwrap_or(youngest).max(created(pod).unwrap_or(youngest)),
            at: now,
            pod: pod.metadata.name.clone().unwrap_or_default(),
            uid: pod.metadata.uid.clone().unwrap_or_default(),
        };
        self.0.insert(key, entry);
        while self.0.len() > ENTRIES {
            let oldest = self.0.iter().min_by_key(|(_, entry)| entry.at);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else { return };
            self.0.remove(&oldest);
        }
    }

    /// Says whether a pod was evicted less than `interval` ago.
    pub(super) fn is_within(&self, interval: Duration, now: Timestamp) -> bool {
        let interval = SignedDuration::try_from(interval).unwrap_or(SignedDuration::MAX);
        self.0.values().any(|entry| {
            let ago = now.duration_since(entry.at);
            // An entry of the future is from a clock that was wrong.
            !ago.is_negative() && ago < interval
        })
    }
}

fn key(workload: &Workload, pod: &Pod, cause: &Cause) -> String {
    let labels = pod.metadata.labels.as_ref();
    let template = workload.template_label().and_then(|label| labels?.get(label));
    let template = template.map_or("-", String::as_str);
    format!("{}.{template}.{}", workload.owner.uid, cause.digest())
}
