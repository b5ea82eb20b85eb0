//! The support archive: what was seen, without secrets.
//!
//! No Secret is in it: of Secrets only names of keys are known here. Values that people write
//! freely (variables, patches, the environment) are replaced, and of annotations only Stoker's own
//! are kept.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value, json};
use stoker_api::names::GROUP;
use stoker_core::doctor::{Facts, Finding};
use stoker_core::view::SyncRow;

const REDACTED: &str = "REDACTED";

/// Fields whose values people write freely.
const FREE: [&str; 2] = ["vars", "set"];

pub(super) fn write(path: &Path, facts: &Facts, findings: &[Finding]) -> io::Result<()> {
    let mut archive = tar::Builder::new(File::create(path)?);
    let rows: Vec<SyncRow> = facts.syncs.iter().map(SyncRow::of).collect();
    let secrets: Vec<Value> = facts
        .secrets
        .iter()
        .map(|(key, keys)| json!({"namespace": key.namespace, "name": key.name, "keys": keys}))
        .collect();
    let pods: Vec<Value> = facts.pods.iter().map(pod).collect();
    let unread: Vec<&String> = facts.unread.iter().map(|unread| &unread.message).collect();
    let about = json!({"stoker": env!("CARGO_PKG_VERSION"), "time": facts.now.to_string()});
    let reports: Vec<_> = facts.reports.values().collect();
    add(&mut archive, "about.json", &about)?;
    add(&mut archive, "findings.json", &findings)?;
    add(&mut archive, "unread.json", &unread)?;
    add(&mut archive, "status.json", &rows)?;
    add(&mut archive, "gatewaysyncs.json", &facts.syncs)?;
    add(&mut archive, "pods.json", &pods)?;
    add(&mut archive, "reports.json", &reports)?;
    add(&mut archive, "secrets.json", &secrets)?;
    add(&mut archive, "operators.json", &facts.operators)?;
    add(&mut archive, "leases.json", &facts.leases)?;
    add(&mut archive, "webhooks.json", &facts.webhooks)?;
    archive.into_inner()?.flush()
}

fn pod(pod: &stoker_core::doctor::PodFacts) -> Value {
    json!({
        "namespace": pod.namespace,
        "name": pod.name,
        "hasAgent": pod.has_agent,
        "serviceAccount": pod.service_account,
        "node": pod.node,
        "annotations": pod.annotations,
    })
}

fn add(archive: &mut tar::Builder<File>, name: &str, value: &impl Serialize) -> io::Result<()> {
    let value = redact(serde_json::to_value(value)?);
    let text = serde_json::to_vec_pretty(&value)?;
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    header.set_cksum();
    archive.append_data(&mut header, format!("stoker-support/{name}"), &*text)
}

/// Replaces what may be secret.
fn redact(value: Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.into_iter().map(redact).collect()),
        Value::Object(fields) => Value::Object(fields.into_iter().filter_map(field).collect()),
        other => other,
    }
}

fn field((name, value): (String, Value)) -> Option<(String, Value)> {
    let value = match (&*name, value) {
        ("managedFields", _) => return None,
        ("annotations", Value::Object(all)) => {
            let prefix = format!("{GROUP}/");
            let ours = all.into_iter().filter(|(name, _)| name.starts_with(&prefix));
            Value::Object(ours.collect())
        }
        ("env", Value::Array(variables)) => {
            let variables = variables.into_iter().map(|mut variable| {
                if variable.get("value").is_some() {
                    variable["value"] = json!(REDACTED);
                }
                variable
            });
            Value::Array(variables.collect())
        }
        (name, Value::Object(values)) if FREE.contains(&name) => {
            let values = values.into_iter().map(|(name, _)| (name, json!(REDACTED)));
            Value::Object(values.collect::<Map<_, _>>())
        }
        (_, value) => redact(value),
    };
    Some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_freely_is_not_in_the_archive() {
        let object = json!({
            "metadata": {
                "annotations": {"stoker.io/cr-name": "plant", "note": "hunter2"},
                "managedFields": [{"manager": "kubectl"}],
            },
            "spec": {
                "sync": {"defaults": {"vars": {"password": "hunter2"}}, "profiles": {"default": {
                    "mappings": [{"source": "a", "patches": [{"set": {"a.b": "hunter2"}}]}]}}},
                "containers": [{"env": [{"name": "A", "value": "hunter2"}]}],
            },
        });
        let redacted = redact(object).to_string();
        assert!(!redacted.contains("hunter2"), "{redacted}");
        for kept in ["plant", "\"source\":\"a\"", "password", "a.b", "\"name\":\"A\""] {
            assert!(redacted.contains(kept), "{kept}: {redacted}");
        }
        assert!(!redacted.contains("managedFields"), "{redacted}");
    }
}
