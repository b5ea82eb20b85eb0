//! The secrets that deliveries are verified with, in memory only.
//!
//! The operator's files are read every few seconds. Secrets of GatewaySyncs are read from the API
//! server when a reference is new, and every 30 s; a request never waits for one.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret as SecretObject;
use kube::api::Api;
use stoker_api::GatewaySync;
use stoker_api::gatewaysync::{ResolvedSecretRef, SecretRef};
use stoker_api::names::SecretKey;
use stoker_api::word::Secret;
use tokio::time::Instant;

use super::Arguments;
use crate::directory::Directory;

/// How often new references and files are looked for.
const INTERVAL: Duration = Duration::from_secs(1);
/// How often every Secret is read again.
const REFRESH: Duration = Duration::from_secs(30);
/// How soon a Secret that does not exist is looked for again.
const MISSING: Duration = Duration::from_secs(10);
const READ_WITHIN: Duration = Duration::from_secs(5);

/// The secrets. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Secrets(Arc<RwLock<State>>);

#[derive(Debug, Default)]
struct State {
    hmac: Option<Secret>,
    token: Option<Secret>,
    of_syncs: HashMap<Reference, Secret>,
    /// References that were read in vain, and when.
    missing: HashMap<Reference, Instant>,
    /// Whether a GatewaySync refers to a Secret, existing or not.
    has_references: bool,
}

/// A key of a Secret.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Reference {
    namespace: String,
    name: String,
    key: String,
}

/// What one delivery may be verified with.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// The secret of the GatewaySync.
    pub(super) own: Option<Secret>,
    /// The secret of the GatewaySync that is being rotated out.
    pub(super) previous: Option<Secret>,
    /// The operator's secret for signatures.
    pub(super) operator: Option<Secret>,
    /// The operator's token.
    pub(super) token: Option<Secret>,
}

impl Secrets {
    /// Starts to read secrets, and returns with the operator's.
    pub(super) fn start(directory: &Directory, arguments: &Arguments) -> Self {
        let secrets = Self::default();
        secrets.read_files(arguments);
        let keeper = secrets.clone();
        let (directory, arguments) = (directory.clone(), arguments.clone());
        tokio::spawn(async move { keeper.keep(&directory, &arguments).await });
        secrets
    }

    /// Returns the keys for a GatewaySync, or for one that is not known.
    pub(super) fn keys(&self, sync: Option<&GatewaySync>) -> Keys {
        let state = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let get = |of: fn(&GatewaySync) -> Option<Reference>| {
            state.of_syncs.get(&sync.and_then(of)?).cloned()
        };
        Keys {
            own: get(own),
            previous: get(previous),
            operator: state.hmac.clone(),
            token: state.token.clone(),
        }
    }

    /// Says whether a GatewaySync names a secret of its own, existing or not.
    pub(super) fn is_named(sync: &GatewaySync) -> bool {
        own(sync).is_some() || previous(sync).is_some()
    }

    /// Says whether any secret is configured anywhere.
    pub(super) fn is_any_configured(&self) -> bool {
        let state = self.0.read().unwrap_or_else(PoisonError::into_inner);
        state.hmac.is_some() || state.token.is_some() || state.has_references
    }

    async fn keep(self, directory: &Directory, arguments: &Arguments) {
        let mut refreshed = Instant::now();
        loop {
            let is_due = refreshed.elapsed() >= REFRESH;
            if is_due {
                refreshed = Instant::now();
            }
            self.read_files(arguments);
            self.read_references(directory, is_due).await;
            tokio::time::sleep(INTERVAL).await;
        }
    }

    fn read_files(&self, arguments: &Arguments) {
        let hmac = arguments.receiver_hmac_file.as_deref().and_then(read_file);
        let token = arguments.receiver_token_file.as_deref().and_then(read_file);
        self.write(|state| {
            state.hmac = hmac;
            state.token = token;
        });
    }

    async fn read_references(&self, directory: &Directory, is_due: bool) {
        let syncs = directory.all_syncs();
        let wanted: HashSet<Reference> =
            syncs.iter().flat_map(|sync| [own(sync), previous(sync)]).flatten().collect();
        let missing: Vec<Reference> = {
            let state = self.0.read().unwrap_or_else(PoisonError::into_inner);
            let is_paused =
                |it: &Reference| state.missing.get(it).is_some_and(|at| at.elapsed() < MISSING);
            let is_owed =
                |it: &&Reference| is_due || !state.of_syncs.contains_key(it) && !is_paused(it);
            wanted.iter().filter(is_owed).cloned().collect()
        };
        let mut found = Vec::new();
        for reference in missing {
            if let Some(answer) = read_reference(directory, &reference).await {
                found.push((reference, answer));
            }
        }
        self.write(|state| {
            state.has_references = !wanted.is_empty();
            state.of_syncs.retain(|reference, _| wanted.contains(reference));
            state.missing.retain(|reference, _| wanted.contains(reference));
            for (reference, answer) in found {
                if let Some(secret) = answer {
                    state.missing.remove(&reference);
                    state.of_syncs.insert(reference, secret);
                } else {
                    state.of_syncs.remove(&reference);
                    state.missing.insert(reference, Instant::now());
                }
            }
        });
    }

    fn write(&self, write: impl FnOnce(&mut State)) {
        write(&mut self.0.write().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Returns the secret, or that there is none; nothing where the API server did not answer.
async fn read_reference(directory: &Directory, reference: &Reference) -> Option<Option<Secret>> {
    let api: Api<SecretObject> = Api::namespaced(directory.client().clone(), &reference.namespace);
    let read = tokio::time::timeout(READ_WITHIN, api.get_opt(&reference.name)).await.ok()?;
    let object = read.ok()?;
    // A Secret that was deleted is revoked.
    let data = object.and_then(|object| object.data).unwrap_or_default();
    let content = data.get(&reference.key).cloned();
    Some(content.map(|bytes| Secret::from_file(bytes.0)).filter(|secret| !secret.is_empty()))
}

/// An empty file is not a secret.
fn read_file(path: &Path) -> Option<Secret> {
    let secret = Secret::from_file(std::fs::read(path).ok()?);
    (!secret.is_empty()).then_some(secret)
}

fn own(sync: &GatewaySync) -> Option<Reference> {
    reference(sync, sync.spec.webhook.as_ref()?.secret_ref.as_ref()?)
}

fn previous(sync: &GatewaySync) -> Option<Reference> {
    reference(sync, sync.spec.webhook.as_ref()?.previous_secret_ref.as_ref()?)
}

fn reference(sync: &GatewaySync, secret: &SecretRef) -> Option<Reference> {
    let ResolvedSecretRef { name, key } = secret.resolve(SecretKey::HmacKey);
    Some(Reference { namespace: sync.metadata.namespace.clone()?, name, key })
}
