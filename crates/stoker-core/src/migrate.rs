//! Manifests of other tools -> manifests of Stoker, and a list of what did not come along.
//!
//! Reads git-sync (its ConfigMaps and its containers in pod specs), IgnitionSync, the kind Stoker,
//! and GatewaySyncs of the Go operator. Every field is either translated or a [`Remark`]: fields
//! are taken out of the source one by one, and what is left is listed.

mod field;
mod git_sync;
mod manifest;
mod workload;

use serde::Serialize;
use serde_json::Value;

use crate::profile::Profiles;

pub use workload::Workload;

/// What the user chose.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The name of the GatewaySync; none: that of the source.
    pub name: Option<String>,
    /// The namespace; none: that of the source.
    pub namespace: Option<String>,
    /// What goes where, for sources that do not say it: source and destination.
    pub maps: Vec<(String, String)>,
    /// The ref, for sources that do not say it.
    pub git_ref: Option<String>,
}

/// What a migration comes to.
#[derive(Serialize, Debug, Clone, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct Migration {
    /// The manifests.
    pub objects: Vec<Value>,
    /// Commands that change the workloads, in order.
    pub commands: Vec<String>,
    /// What did not come along.
    pub dropped: Vec<Remark>,
    /// What the source does not have, and a gateway usually needs.
    pub unset: Vec<Remark>,
}

/// A field that did not come along, or that is left to the user.
#[derive(Serialize, Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "camelCase")]
pub struct Remark {
    /// The object, such as `IgnitionSync site1/plant`.
    pub object: String,
    /// The field.
    pub field: String,
    /// Why, and what to do instead.
    pub reason: String,
}

/// Why nothing can be migrated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "a field is named after what it holds")]
pub enum Error {
    /// None of the documents is known.
    #[error(
        "found nothing to migrate: expected git-sync in a ConfigMap or a pod spec, an IgnitionSync, \
         a Stoker or a GatewaySync"
    )]
    Nothing,
    /// The source does not say what goes where.
    #[error("{object} does not say which files go where")]
    NoMappings { object: String },
    /// A value that every GatewaySync needs is missing.
    #[error("{object} has no {field}")]
    Missing { object: String, field: &'static str },
    /// The result would be refused.
    #[error("the GatewaySync that {object} becomes is invalid: {message}")]
    Invalid { object: String, message: String },
}

/// Migrates the documents of a file, or the objects of a namespace.
pub fn migrate(documents: &[Value], options: &Options) -> Result<Migration, Error> {
    let workloads: Vec<Workload<'_>> = documents.iter().filter_map(Workload::of).collect();
    let mut migration = Migration::default();
    for document in documents {
        match kind(document) {
            ("sync.ignition.io", "IgnitionSync") | ("stoker.io", "Stoker" | "GatewaySync") => {
                manifest::sync(document, &workloads, options, &mut migration)?;
            }
            ("stoker.io", "SyncProfile") => manifest::profile(document, &mut migration)?,
            _ => {}
        }
    }
    git_sync::migrate(documents, &workloads, options, &mut migration)?;
    if migration.objects.is_empty() {
        return Err(Error::Nothing);
    }
    let sync = only_sync(&migration.objects);
    for workload in &workloads {
        workload.migrate(sync.as_deref(), &mut migration);
    }
    migration.dropped.sort();
    migration.dropped.dedup();
    Ok(migration)
}

/// Returns group and kind.
fn kind(document: &Value) -> (&str, &str) {
    let version = document["apiVersion"].as_str().unwrap_or_default();
    let group = version.split_once('/').map_or("", |(group, _)| group);
    (group, document["kind"].as_str().unwrap_or_default())
}

/// Names an object for people.
fn described(document: &Value) -> String {
    let name = document["metadata"]["name"].as_str().unwrap_or_default();
    let kind = document["kind"].as_str().unwrap_or_default();
    match document["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    }
}

fn only_sync(objects: &[Value]) -> Option<String> {
    let mut syncs = objects.iter().filter(|object| object["kind"] == "GatewaySync");
    let first = syncs.next()?["metadata"]["name"].as_str()?.to_owned();
    syncs.next().is_none().then_some(first)
}

/// Proves that the result is one that the operator takes.
fn check(object: &str, sync: &Value) -> Result<(), Error> {
    let invalid = |message: String| Error::Invalid { object: object.to_owned(), message };
    let sync: stoker_api::GatewaySync =
        serde_json::from_value(sync.clone()).map_err(|error| invalid(error.to_string()))?;
    stoker_api::word::RepoUrl::parse(&sync.spec.git.repo)
        .map_err(|error| invalid(format!("spec.git.repo: {error}")))?;
    stoker_api::word::RefName::parse(&sync.spec.git.git_ref)
        .map_err(|error| invalid(format!("spec.git.ref: {error}")))?;
    if let Some(profiles) = &sync.spec.sync {
        Profiles::of(profiles).map_err(|error| invalid(error.to_string()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
