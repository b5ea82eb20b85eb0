//! The audit line: one JSON object per finished sync, in the logs of the agent and the controller.
//!
//! Systems that collect logs rely on the keys. They find these lines by `target`.

use jiff::Timestamp;
use serde::Serialize;
use stoker_api::condition::{Reason, Trigger};
use stoker_api::word::{Commit, GatewayName, Interval, RefName};

/// How audit lines are found among other log lines.
const TARGET: &str = "stoker::audit";
const LEVEL: &str = "INFO";
const MESSAGE: &str = "sync finished";
/// The result of a sync that succeeded; otherwise the result is a reason.
const SUCCESS: &str = "success";

/// One finished sync of one gateway.
#[derive(Debug, Clone, PartialEq)]
pub struct Audit<'a> {
    /// When it ended.
    pub timestamp: Timestamp,
    /// The GatewaySync.
    pub cr: &'a str,
    /// The namespace of the GatewaySync and the pod.
    pub namespace: &'a str,
    /// The gateway.
    pub gateway: &'a GatewayName,
    /// The gateway's pod.
    pub pod_name: &'a str,
    /// What set the sync off.
    pub trigger: Option<Trigger>,
    /// The commit.
    pub commit: Option<&'a Commit>,
    /// The ref that the commit was resolved from.
    pub git_ref: Option<&'a RefName>,
    /// How many files were added, modified or deleted.
    pub files_changed: u64,
    /// The projects that were touched.
    pub projects_synced: &'a [String],
    /// How long the sync took.
    pub duration: Option<Interval>,
    /// Why the sync failed, if it did.
    pub failure: Option<Reason>,
    /// What the gateway's scans came to.
    pub scan_result: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    timestamp: String,
    level: &'a str,
    target: &'a str,
    message: &'a str,
    cr: &'a str,
    namespace: &'a str,
    gateway: &'a GatewayName,
    pod_name: &'a str,
    trigger: Option<&'a str>,
    commit: Option<&'a Commit>,
    r#ref: Option<&'a RefName>,
    files_changed: u64,
    projects_synced: &'a [String],
    duration: Option<String>,
    result: &'a str,
    scan_result: &'a str,
}

impl Audit<'_> {
    /// Returns the line, without its end.
    pub fn to_line(&self) -> String {
        let line = Line {
            timestamp: format!("{:.3}", self.timestamp),
            level: LEVEL,
            target: TARGET,
            message: MESSAGE,
            cr: self.cr,
            namespace: self.namespace,
            gateway: self.gateway,
            pod_name: self.pod_name,
            trigger: self.trigger.map(Trigger::as_str),
            commit: self.commit,
            r#ref: self.git_ref,
            files_changed: self.files_changed,
            projects_synced: self.projects_synced,
            duration: self.duration.map(|duration| duration.to_string()),
            result: self.failure.map_or(SUCCESS, Reason::as_str),
            scan_result: self.scan_result,
        };
        serde_json::to_string(&line).expect("strings and numbers are always JSON")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_line_has_the_promised_keys_and_stays_one_line() {
        let commit = Commit::parse("4f1c2d3e4b5a69788796a5b4c3d2e1f001122334").unwrap();
        let gateway = GatewayName::parse("plant").unwrap();
        let git_ref = RefName::parse("main").unwrap();
        let audit = Audit {
            timestamp: "2026-11-16T10:30:05.123456789Z".parse().unwrap(),
            cr: "plant",
            namespace: "site",
            gateway: &gateway,
            pod_name: "plant-0",
            trigger: Some(Trigger::Webhook),
            commit: Some(&commit),
            git_ref: Some(&git_ref),
            files_changed: 47,
            projects_synced: &["line\n1".to_owned()],
            duration: Some(Duration::from_millis(3200).into()),
            failure: None,
            scan_result: "projects done, config skipped",
        };
        assert_eq!(
            audit.to_line(),
            "{\"timestamp\":\"2026-11-16T10:30:05.123Z\",\"level\":\"INFO\",\
             \"target\":\"stoker::audit\",\"message\":\"sync finished\",\"cr\":\"plant\",\
             \"namespace\":\"site\",\"gateway\":\"plant\",\"podName\":\"plant-0\",\
             \"trigger\":\"webhook\",\"commit\":\"4f1c2d3e4b5a69788796a5b4c3d2e1f001122334\",\
             \"ref\":\"main\",\"filesChanged\":47,\"projectsSynced\":[\"line\\n1\"],\
             \"duration\":\"3.2s\",\"result\":\"success\",\
             \"scanResult\":\"projects done, config skipped\"}"
        );
        let failed = Audit { failure: Some(Reason::RemoteUnreachable), ..audit };
        assert!(failed.to_line().contains("\"result\":\"RemoteUnreachable\""));
    }
}
