//! Objects that belong to a GatewaySync: its ConfigMaps and the rights of its agents.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use stoker_api::chain::Chain;
use stoker_api::contract::metadata::Metadata;
use stoker_api::contract::report::Report;
use stoker_api::names::{self, Label};

/// What agents reported, by the name of the pod.
pub(crate) type Reports = BTreeMap<String, Result<Arc<Report>, String>>;

/// A ConfigMap of ours.
#[derive(Debug, Clone)]
pub(crate) enum OwnedMap {
    /// What agents are given.
    Metadata(Box<PublishedMetadata>),
    /// What agents report.
    Reports(Reports),
    /// Something else.
    Other,
}

/// The metadata ConfigMap of a GatewaySync.
#[derive(Debug, Clone)]
pub(crate) struct PublishedMetadata {
    /// What it holds, or why it can't be read.
    pub(crate) content: Result<Metadata, String>,
    /// Its version.
    pub(crate) resource_version: Option<String>,
}

/// What a RoleBinding binds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bound {
    /// The name of the role or cluster role.
    pub(crate) role: String,
    /// The subjects, as [`account`] names them; no account has the name of any other subject.
    pub(crate) accounts: BTreeSet<String>,
}

/// An object with its version, the GatewaySync that it belongs to by name, and by its UID.
#[derive(Debug, Clone)]
pub(crate) struct Owned<T> {
    pub(crate) sync: String,
    pub(crate) owner: Option<String>,
    pub(crate) resource_version: Option<String>,
    pub(crate) object: T,
}

impl<T> Owned<T> {
    fn new(metadata: &ObjectMeta, object: T) -> Self {
        let labels = metadata.labels.as_ref();
        let sync = labels.and_then(|labels| labels.get(Label::CrName.as_str()));
        let owners = metadata.owner_references.as_deref().unwrap_or_default();
        let owner = owners.iter().find(|owner| owner.kind == "GatewaySync");
        Self {
            sync: sync.cloned().unwrap_or_default(),
            owner: owner.map(|owner| owner.uid.clone()),
            resource_version: metadata.resource_version.clone(),
            object,
        }
    }
}

impl From<ConfigMap> for Owned<OwnedMap> {
    fn from(map: ConfigMap) -> Self {
        let name = map.metadata.name.as_deref().unwrap_or_default();
        let data = map.data.unwrap_or_default();
        let object = if name.starts_with(names::METADATA_PREFIX) {
            let content = Metadata::from_data(&data).map_err(|error| Chain(&error).to_string());
            let resource_version = map.metadata.resource_version.clone();
            OwnedMap::Metadata(Box::new(PublishedMetadata { content, resource_version }))
        } else if name.starts_with(names::STATUS_PREFIX) {
            let read = |(pod, value): (&String, &String)| {
                let report = Report::from_value(pod, value);
                (pod.clone(), report.map(Arc::new).map_err(|error| Chain(&error).to_string()))
            };
            OwnedMap::Reports(data.iter().map(read).collect())
        } else {
            OwnedMap::Other
        };
        Self::new(&map.metadata, object)
    }
}

/// How many status objects a Role covers; none where it is not the Role that we would write.
impl From<Role> for Owned<Option<u8>> {
    fn from(role: Role) -> Self {
        let sync = Owned::new(&role.metadata, ()).sync;
        let reports = role.rules.iter().flatten().next_back();
        let named = reports.and_then(|rule| rule.resource_names.as_ref());
        let shards = named.and_then(|names| u8::try_from(names.len()).ok());
        let is_ours =
            |shards: &u8| role.rules.as_ref() == Some(&super::super::apply::rules(&sync, *shards));
        Self::new(&role.metadata, shards.filter(is_ours))
    }
}

impl From<RoleBinding> for Owned<Bound> {
    fn from(binding: RoleBinding) -> Self {
        let own = binding.metadata.namespace.as_deref().unwrap_or_default();
        let subjects = binding.subjects.iter().flatten();
        let accounts = subjects.map(|subject| match subject.kind.as_str() {
            "ServiceAccount" => {
                account(own, subject.namespace.as_deref().unwrap_or_default(), &subject.name)
            }
            kind => format!("{kind}:{}", subject.name),
        });
        let accounts = accounts.collect();
        let bound = Bound { role: binding.role_ref.name, accounts };
        Self::new(&binding.metadata, bound)
    }
}

/// Names a service account that a RoleBinding of the namespace `own` binds: by its name alone where
/// it is one of that namespace.
pub(crate) fn account(own: &str, namespace: &str, name: &str) -> String {
    if namespace == own { name.to_owned() } else { format!("{namespace}:{name}") }
}
