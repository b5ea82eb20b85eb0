//! Host keys of git servers: given by the spec, or pinned on first use.

use stoker_api::GatewaySync;
use stoker_api::gatewaysync::{Auth, AuthMethod};
use stoker_api::names::{Annotation, TRUE};
use stoker_api::word::{RepoUrl, Transport};
use stoker_core::reconcile::HostKeys;
use stoker_git::host_key;
use tokio::time::Instant;

use super::annotation;
use crate::controller::Context;
use crate::controller::cache::{Belongings, Key};

/// Says whether the pinned host key is to be dropped.
fn is_forgotten(sync: &GatewaySync) -> bool {
    annotation(sync, Annotation::ForgetHostKey) == Some(TRUE)
}

/// Returns since when a learned host key counts.
pub(super) fn forgotten(context: &Context, key: &Key, sync: &GatewaySync) -> Option<Instant> {
    context.memories.with(key, |memory| {
        if is_forgotten(sync) && memory.forgotten.is_none_or(|at| Some(at) < memory.asked_at()) {
            memory.forgotten = memory.asked_at().or_else(|| Some(Instant::now()));
        }
        memory.forgotten
    })
}

/// Returns the host keys that were pinned for this server.
pub(super) fn pinned(sync: &GatewaySync, url: &RepoUrl, belongings: &Belongings) -> Option<String> {
    if is_forgotten(sync) || !matches!(host_keys(sync, url, None), HostKeys::Pinned(_)) {
        return None;
    }
    let metadata = belongings.metadata.as_ref()?.content.as_ref().ok()?;
    metadata.known_hosts.clone().filter(|known_hosts| host_key::covers(known_hosts, url))
}

/// Returns whom git trusts over SSH.
pub(super) fn host_keys(sync: &GatewaySync, url: &RepoUrl, pinned: Option<String>) -> HostKeys {
    if url.transport() != Transport::Ssh {
        return HostKeys::NotNeeded;
    }
    match sync.spec.git.auth.as_ref().and_then(Auth::method) {
        Some(AuthMethod::SshKey { known_hosts: Some(_), .. }) => HostKeys::Given,
        _ => HostKeys::Pinned(pinned),
    }
}
