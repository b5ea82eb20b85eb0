//! What has to be written, given what exists.

use std::collections::{BTreeMap, BTreeSet};

use stoker_api::GatewaySync;
use stoker_api::contract::metadata::{AuthType, Metadata};
use stoker_api::names::{Annotation, FINALIZER};

use super::{Observed, Rights, TokenWriter};
use crate::gateway::Gateway;
use crate::metadata::allow_mass_delete;
use crate::request::Request;

/// One change to the cluster.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "a field is named after what it holds")]
pub enum Write {
    /// Adds our finalizer to the GatewaySync.
    Finalizer,
    /// Sets or removes annotations of the GatewaySync.
    Annotations(BTreeMap<Annotation, Option<String>>),
    /// Lets agents read the metadata, and write this many status objects.
    Role { shards: u8 },
    /// Binds exactly these service accounts to that Role.
    Binding { accounts: BTreeSet<String> },
    /// Lets the controller write Secrets in this namespace.
    TokenBinding,
    /// Takes that right back.
    TokenUnbinding,
    /// Makes an empty status object.
    StatusShard(u8),
    /// Publishes metadata.
    Metadata(Box<Metadata>),
}

/// What the decision came to.
pub(super) struct Wanted<'a> {
    pub(super) request: &'a Request,
    pub(super) metadata: Option<&'a Metadata>,
    pub(super) gateways: &'a [Gateway],
}

/// Lists the changes, those first that others need: rights and status objects before the metadata
/// that makes agents use them.
pub(super) fn writes(sync: &GatewaySync, observed: &Observed, wanted: &Wanted<'_>) -> Vec<Write> {
    let mut writes = Vec::new();
    let finalizers = sync.metadata.finalizers.as_deref().unwrap_or_default();
    if !finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
        writes.push(Write::Finalizer);
    }
    let changes = annotations(sync, observed, wanted);
    if !changes.is_empty() {
        writes.push(Write::Annotations(changes));
    }
    let shards = wanted.metadata.map_or(1, |metadata| metadata.status_shards);
    writes.extend(rights(observed, shards));
    writes.extend(token_binding(observed, wanted));
    if let Some(metadata) = wanted.metadata {
        let missing = (0..shards).filter(|shard| !observed.shards.contains(shard));
        writes.extend(missing.map(Write::StatusShard));
        let published = observed.published.as_ref().and_then(|it| it.as_ref().ok());
        if published != Some(metadata) {
            writes.push(Write::Metadata(Box::new(metadata.clone())));
        }
    }
    writes
}

fn annotations(
    sync: &GatewaySync,
    observed: &Observed,
    wanted: &Wanted<'_>,
) -> BTreeMap<Annotation, Option<String>> {
    let mut changes = wanted.request.changes.clone();
    let present = |annotation: Annotation| {
        let annotations = sync.metadata.annotations.as_ref();
        annotations.is_some_and(|them| them.contains_key(annotation.as_str()))
    };
    if present(Annotation::ForgetHostKey) && is_host_key_forgotten(observed) {
        changes.insert(Annotation::ForgetHostKey, None);
    }
    if present(Annotation::AllowMassDelete) && is_deletion_over(sync, observed, wanted) {
        changes.insert(Annotation::AllowMassDelete, None);
    }
    changes
}

/// A host key is forgotten when none is published any more, or the one that was seen since.
fn is_host_key_forgotten(observed: &Observed) -> bool {
    let published = observed.published.as_ref().and_then(|it| it.as_ref().ok());
    let known_hosts = published.and_then(|it| it.known_hosts.as_deref());
    known_hosts.is_none() || known_hosts == observed.host_keys.pinned()
}

/// A confirmation has done its work when agents have seen it and none waits for it any more.
fn is_deletion_over(sync: &GatewaySync, observed: &Observed, wanted: &Wanted<'_>) -> bool {
    let Some(commit) = allow_mass_delete(sync) else { return true };
    let published = observed.published.as_ref().and_then(|it| it.as_ref().ok());
    let was_published = published.is_some_and(|it| it.allow_mass_delete.as_ref() == Some(&commit));
    let waits = wanted.gateways.iter().any(|gateway| {
        let blocked = gateway.report.as_ref().and_then(|report| report.deletion_blocked.as_ref());
        blocked.is_some_and(|blocked| blocked.commit == commit)
    });
    let is_wanted = wanted
        .gateways
        .iter()
        .any(|gateway| gateway.wanted.as_ref() == Some(&commit) && !gateway.is_synced());
    was_published && !waits && !is_wanted
}

/// The right to write Secrets is taken only where a GitHub App needs it.
fn token_binding(observed: &Observed, wanted: &Wanted<'_>) -> Option<Write> {
    let needs = wanted.metadata.is_some_and(|metadata| metadata.auth_type == AuthType::GithubApp);
    match observed.token_writer {
        TokenWriter::Managed { is_bound: false } if needs => Some(Write::TokenBinding),
        // Before there is metadata it is not known whether the right is needed.
        TokenWriter::Managed { is_bound: true } if !needs && wanted.metadata.is_some() => {
            Some(Write::TokenUnbinding)
        }
        TokenWriter::Managed { .. } | TokenWriter::NotManaged => None,
    }
}

/// Rights are given as soon as a pod exists, and taken back when the last of its account goes.
fn rights(observed: &Observed, shards: u8) -> Vec<Write> {
    let Rights::Managed { role, bound } = &observed.rights else { return Vec::new() };
    let accounts: BTreeSet<String> =
        observed.pods.iter().map(|pod| pod.service_account.clone()).collect();
    if accounts.is_empty() && bound.is_none() {
        return Vec::new();
    }
    let mut writes = Vec::new();
    if *role != Some(shards) {
        writes.push(Write::Role { shards });
    }
    if bound.as_ref() != Some(&accounts) {
        writes.push(Write::Binding { accounts });
    }
    writes
}
