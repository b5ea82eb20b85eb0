//! Agents of the Go operator: they read our metadata and report in their own words.
//!
//! Their reports are in the ConfigMap `stoker-status-{cr}`, under the name of the pod or of the
//! gateway. Stoker only reads it.

use std::collections::BTreeMap;

use serde::Deserialize;
use stoker_api::condition::SyncStatus;
use stoker_api::names::Annotation;
use stoker_api::word::Commit;

use super::Pod;

/// What such an agent reported.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LegacyReport {
    /// Its state: Pending, Syncing, Synced or Error.
    pub sync_status: String,
    /// The commit that the gateway has.
    pub synced_commit: String,
    /// The ref that the gateway has.
    pub synced_ref: String,
    /// When that was synced.
    pub last_sync_time: String,
    /// The version of the agent.
    pub agent_version: String,
    /// What went wrong.
    pub error_message: String,
}

/// The reports of such agents, by the key that they have in the ConfigMap.
pub type LegacyReports = BTreeMap<String, LegacyReport>;

/// Reads the ConfigMap. A value that can't be read is passed over.
pub fn read_legacy(data: &BTreeMap<String, String>) -> LegacyReports {
    let read =
        |(key, value): (&String, &String)| Some((key.clone(), serde_json::from_str(value).ok()?));
    data.iter().filter_map(read).collect()
}

impl Pod {
    /// Says whether its agent may be one of the Go operator: the webhook of this version stamps a
    /// hash on every pod that it injects.
    pub fn may_have_legacy_agent(&self) -> bool {
        self.has_agent && self.annotation(Annotation::InjectedHash).is_none()
    }

    /// Finds the report of its agent.
    pub(super) fn legacy_report<'a>(&self, reports: &'a LegacyReports) -> Option<&'a LegacyReport> {
        let by_pod = reports.get(&self.name);
        by_pod.or_else(|| reports.get(self.gateway_name().as_str()))
    }
}

impl LegacyReport {
    /// Returns how the gateway stands, and why, given the commit that it is to have.
    pub(super) fn judge(&self, wanted: Option<&Commit>) -> (SyncStatus, String) {
        let state = SyncStatus::find(&self.sync_status).unwrap_or(SyncStatus::Pending);
        if state != SyncStatus::Synced {
            return (state, self.error_message.clone());
        }
        match wanted {
            Some(wanted) if wanted.as_str() == self.synced_commit => (state, String::new()),
            Some(wanted) => {
                let has = self.synced_commit.get(..7).unwrap_or(&self.synced_commit);
                let message = format!("has commit {has}, {} is wanted", wanted.short());
                (SyncStatus::Syncing, message)
            }
            None => (SyncStatus::Syncing, "no commit is announced yet".to_owned()),
        }
    }
}
