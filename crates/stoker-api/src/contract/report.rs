//! What an agent tells the controller: one value in a ConfigMap `stoker-status-{cr}-{n}`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{PROTOCOL, cap};
use crate::condition::{Reason, SyncStatus, Trigger};
use crate::limit;
use crate::word::{Commit, GatewayName, Interval, RefName};

/// How one gateway stands. The key beside it is the name of the pod.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The version of the contract.
    pub protocol: String,
    /// The name of the gateway.
    pub gateway: GatewayName,
    /// The name of the pod.
    pub pod_name: String,
    /// The UID of the pod: a recreated pod of the same name has another.
    #[serde(default)]
    pub pod_uid: String,
    /// The profile that was applied, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The hash of what was applied. The gateway is synced where it equals the hash of what was
    /// published; `stoker-core` computes both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<String>,
    /// What this agent can do beyond the protocol.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// Where the gateway stands.
    pub sync_status: SyncStatus,
    /// Why, in one word.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "known")]
    pub reason: Option<Reason>,
    /// What there is to say, in one sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The commit that the gateway has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Commit>,
    /// The ref that the gateway has.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub git_ref: Option<RefName>,
    /// When that was synced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synced_at: Option<Timestamp>,
    /// How long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Interval>,
    /// The version of the agent.
    #[serde(default)]
    pub agent_version: String,
    /// What the last scan said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scan_result: String,
    /// Files that the last sync added.
    #[serde(default)]
    pub files_added: u64,
    /// Files that the last sync modified.
    #[serde(default)]
    pub files_modified: u64,
    /// Files that the last sync deleted.
    #[serde(default)]
    pub files_deleted: u64,
    /// Projects that the last sync touched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub projects_synced: Vec<String>,
    /// What set the last sync off.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "known")]
    pub trigger: Option<Trigger>,
    /// What a sync would change, where it only counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<Counts>,
    /// Files that differ from what was synced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
    /// Files that Stoker did not write and keeps below managed directories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_files: Option<ForeignFiles>,
    /// A mass deletion that waits for confirmation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_blocked: Option<DeletionBlocked>,
    /// Whether the agent has stopped because the GatewaySync ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub acknowledged: bool,
}

/// Numbers of files.
#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Counts {
    /// Files that are new.
    pub added: u64,
    /// Files that differ.
    pub modified: u64,
    /// Files that go.
    pub deleted: u64,
}

/// Files that differ from what was synced.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Drift {
    /// How many.
    pub count: u64,
    /// The first of them.
    pub paths: Vec<String>,
    /// Whether they were written again.
    pub repaired: bool,
}

/// Files that Stoker did not write and keeps.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ForeignFiles {
    /// How many.
    pub count: u64,
    /// The first of them.
    pub paths: Vec<String>,
}

/// A mass deletion that waits for confirmation.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct DeletionBlocked {
    /// The commit that causes it; confirming it means to name it.
    pub commit: Commit,
    /// How many files would go.
    pub deletes: u64,
    /// Of how many.
    pub of: u64,
}

/// Why a value in a status ConfigMap is no report.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "a field is named after what it holds")]
pub enum Error {
    /// The value is larger than reports are.
    #[error("report of pod {pod_name:?} has {bytes} bytes, more than {limit}", limit = limit::REPORT_BYTES)]
    TooLarge { pod_name: String, bytes: usize },
    /// The value is no JSON of this shape.
    #[error("report of pod {pod_name:?} can't be read")]
    Malformed { pod_name: String, source: serde_json::Error },
    /// The agent speaks another version of the contract.
    #[error(
        "report of pod {pod_name:?} speaks protocol {found:?}, this program speaks {PROTOCOL:?}"
    )]
    Protocol { pod_name: String, found: String },
    /// The report speaks of another pod than its key.
    #[error("report under the key of pod {pod_name:?} speaks of pod {found:?}")]
    Foreign { pod_name: String, found: String },
}

impl Report {
    /// Begins a report with what every report says.
    pub fn new(
        gateway: GatewayName,
        pod_name: &str,
        pod_uid: &str,
        sync_status: SyncStatus,
    ) -> Self {
        Self {
            protocol: PROTOCOL.to_owned(),
            gateway,
            pod_name: pod_name.to_owned(),
            pod_uid: pod_uid.to_owned(),
            profile: None,
            applied: None,
            capabilities: Vec::new(),
            sync_status,
            reason: None,
            message: String::new(),
            commit: None,
            git_ref: None,
            synced_at: None,
            duration: None,
            agent_version: String::new(),
            scan_result: String::new(),
            files_added: 0,
            files_modified: 0,
            files_deleted: 0,
            projects_synced: Vec::new(),
            trigger: None,
            dry_run: None,
            drift: None,
            foreign_files: None,
            deletion_blocked: None,
            acknowledged: false,
        }
    }

    /// Builds the value for the ConfigMap, with texts and lists cut until it fits.
    pub fn to_value(&self) -> String {
        let mut share = limit::REPORT_PROJECTS;
        loop {
            let value = serde_json::to_string(&self.cut(share))
                .expect("a report has string keys only, so it serialises");
            if value.len() <= limit::REPORT_BYTES || share == 0 {
                return value;
            }
            share /= 2;
        }
    }

    fn cut(&self, share: usize) -> Self {
        let mut report = self.clone();
        report.message = cap::text(&report.message, limit::REPORT_MESSAGE_BYTES);
        report.scan_result = cap::text(&report.scan_result, limit::REPORT_MESSAGE_BYTES);
        report.agent_version = cap::text(&report.agent_version, limit::REPORT_NAME_BYTES);
        report.projects_synced = names(&report.projects_synced, share);
        if let Some(drift) = &mut report.drift {
            drift.paths = names(&drift.paths, share.min(limit::REPORT_PATHS));
        }
        if let Some(foreign) = &mut report.foreign_files {
            foreign.paths = names(&foreign.paths, share.min(limit::REPORT_PATHS));
        }
        report.profile = report.profile.map(|name| cap::text(&name, limit::REPORT_NAME_BYTES));
        report.capabilities = names(&report.capabilities, share.min(limit::REPORT_PATHS));
        report
    }

    /// Parses a value of the ConfigMap. Its writer may be hostile: it can only speak for itself.
    pub fn from_value(pod_name: &str, value: &str) -> Result<Self, Error> {
        let pod = || pod_name.to_owned();
        if value.len() > limit::REPORT_BYTES {
            return Err(Error::TooLarge { pod_name: pod(), bytes: value.len() });
        }
        let report: Self = serde_json::from_str(value)
            .map_err(|source| Error::Malformed { pod_name: pod(), source })?;
        if report.protocol != PROTOCOL {
            return Err(Error::Protocol { pod_name: pod(), found: report.protocol });
        }
        if report.pod_name != pod_name {
            return Err(Error::Foreign { pod_name: pod(), found: report.pod_name });
        }
        Ok(report)
    }
}

fn names(names: &[String], limit: usize) -> Vec<String> {
    cap::list(names.iter().map(|name| cap::text(name, limit::REPORT_NAME_BYTES)), limit)
}

/// Reads a word that a newer agent may have and this program may not know: then it is none.
fn known<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::de::DeserializeOwned,
{
    let value = serde_json::Value::deserialize(from)?;
    Ok(serde_json::from_value(value).ok())
}
