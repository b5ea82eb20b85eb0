//! The secrets that deliveries are verified with, in memory only.
//!
//! The operator's files are read every second. Secrets of GatewaySyncs are read from the API server
//! when a reference is new and when a watch of their metadata reports a change. Where the operator
//! may not watch Secrets, they are read again every 30 s. A delivery never waits for one.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Secret as SecretObject;
use kube::Client;
use kube::api::{Api, ListParams, PartialObjectMeta};
use kube::runtime::watcher::Config;
use stoker_api::GatewaySync;
use stoker_api::gatewaysync::{ResolvedSecretRef, SecretRef};
use stoker_api::names::SecretKey;
use stoker_api::word::Secret;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::Arguments;
use crate::controller::watch::{Change, follow_some};
use crate::directory::Directory;

/// How often new references and files are looked for.
const INTERVAL: Duration = Duration::from_secs(1);
/// How often every Secret is read again where no watch reports changes, and where one does.
const REFRESH: Duration = Duration::from_secs(30);
const REFRESH_WATCHED: Duration = Duration::from_mins(10);
/// Secrets that are read at the same time.
const AT_ONCE: usize = 8;
/// How soon a Secret that does not exist is looked for again.
const MISSING: Duration = Duration::from_secs(10);
const READ_WITHIN: Duration = Duration::from_secs(5);

/// The secrets. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Secrets(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    state: RwLock<State>,
    /// A Secret that is in use changed.
    changed: Notify,
    /// Whether changes of Secrets are reported.
    is_watched: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    hmac: Option<Secret>,
    token: Option<Secret>,
    of_syncs: HashMap<Reference, Secret>,
    /// References that were read in vain, and when.
    missing: HashMap<Reference, Instant>,
    /// What GatewaySyncs refer to, existing or not.
    wanted: HashSet<Reference>,
    /// References whose Secret changed since it was read.
    stale: HashSet<Reference>,
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
    pub(super) fn start(
        directory: &Directory,
        arguments: &Arguments,
        namespaces: &[String],
    ) -> Self {
        let secrets = Self::default();
        secrets.read_files(arguments);
        let client = directory.client();
        if namespaces.is_empty() {
            tokio::spawn(secrets.clone().watch(Api::all(client.clone()), Api::all(client.clone())));
        }
        for namespace in namespaces {
            let probe = Api::namespaced(client.clone(), namespace);
            let api = Api::namespaced(client.clone(), namespace);
            tokio::spawn(secrets.clone().watch(probe, api));
        }
        let keeper = secrets.clone();
        let (directory, arguments) = (directory.clone(), arguments.clone());
        tokio::spawn(async move { keeper.keep(&directory, &arguments).await });
        secrets
    }

    /// Returns the keys for a GatewaySync, or for one that is not known.
    pub(super) fn keys(&self, sync: Option<&GatewaySync>) -> Keys {
        let state = self.0.state.read().unwrap_or_else(PoisonError::into_inner);
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
        let state = self.0.state.read().unwrap_or_else(PoisonError::into_inner);
        state.hmac.is_some() || state.token.is_some() || !state.wanted.is_empty()
    }

    /// Has a Secret read again when it changes.
    async fn watch(self, probe: Api<SecretObject>, api: Api<PartialObjectMeta<SecretObject>>) {
        let probed = probe.list_metadata(&ListParams::default().limit(1)).await;
        if matches!(probed, Err(kube::Error::Api(status)) if status.code == 403) {
            let seconds = REFRESH.as_secs();
            tracing::info!(seconds, "can't watch Secrets, a rotated one counts within this time");
            return;
        }
        follow_some(
            api,
            Config::default(),
            "Secret",
            |_| false,
            |change| match change {
                Change::Applied(key, _) | Change::Deleted(key) => {
                    self.report_change(&key.namespace, &key.name);
                }
                Change::Listed(_) => self.0.is_watched.store(true, Ordering::Relaxed),
            },
        )
        .await;
    }

    fn report_change(&self, namespace: &str, name: &str) {
        let is_stale = |it: &&Reference| it.namespace == namespace && it.name == name;
        let is_wanted = |state: &State| state.wanted.iter().any(|it| is_stale(&it));
        // Most Secrets of a cluster are not ours.
        if !is_wanted(&self.0.state.read().unwrap_or_else(PoisonError::into_inner)) {
            return;
        }
        self.write(|state| {
            let stale = state.wanted.iter().filter(is_stale).cloned();
            state.stale.extend(stale);
        });
        self.0.changed.notify_one();
    }

    async fn keep(self, directory: &Directory, arguments: &Arguments) {
        let mut refreshed = Instant::now();
        loop {
            let is_watched = self.0.is_watched.load(Ordering::Relaxed);
            let interval = if is_watched { REFRESH_WATCHED } else { REFRESH };
            let is_due = refreshed.elapsed() >= interval;
            if is_due {
                refreshed = Instant::now();
            }
            self.read_files(arguments);
            self.read_references(directory, is_due).await;
            tokio::select! {
                () = tokio::time::sleep(INTERVAL) => {}
                () = self.0.changed.notified() => {}
            }
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
        let owed = self.take_owed(wanted, is_due);
        let client = directory.client();
        let reads = owed.into_iter().map(async |reference| {
            let found = read_reference(client, &reference).await;
            (reference, found)
        });
        let found: Vec<_> = futures::stream::iter(reads).buffer_unordered(AT_ONCE).collect().await;
        self.write(|state| {
            for (reference, found) in found {
                match found {
                    // The API server is away: the secret that is known still counts.
                    None => drop(state.stale.insert(reference)),
                    Some(Some(secret)) => {
                        state.missing.remove(&reference);
                        state.of_syncs.insert(reference, secret);
                    }
                    Some(None) => {
                        state.of_syncs.remove(&reference);
                        state.missing.insert(reference, Instant::now());
                    }
                }
            }
        });
    }

    /// Returns the references that are to be read now. A change that is reported later than this
    /// makes them stale again.
    fn take_owed(&self, wanted: HashSet<Reference>, is_due: bool) -> Vec<Reference> {
        self.write(|state| {
            let stale = std::mem::take(&mut state.stale);
            let is_paused =
                |it: &Reference| state.missing.get(it).is_some_and(|at| at.elapsed() < MISSING);
            let is_new = |it: &Reference| !state.of_syncs.contains_key(it) && !is_paused(it);
            let is_owed = |it: &&Reference| is_due || stale.contains(*it) || is_new(it);
            let owed = wanted.iter().filter(is_owed).cloned().collect();
            state.of_syncs.retain(|reference, _| wanted.contains(reference));
            state.missing.retain(|reference, _| wanted.contains(reference));
            state.wanted = wanted;
            owed
        })
    }

    fn write<T>(&self, write: impl FnOnce(&mut State) -> T) -> T {
        write(&mut self.0.state.write().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns the secret, or that there is none; nothing where the API server did not answer.
async fn read_reference(client: &Client, reference: &Reference) -> Option<Option<Secret>> {
    let api: Api<SecretObject> = Api::namespaced(client.clone(), &reference.namespace);
    let read = tokio::time::timeout(READ_WITHIN, api.get_opt(&reference.name)).await.ok()?;
    let object = read.ok()?;
    // A Secret that was deleted is revoked.
    let data = object.and_then(|object| object.data).unwrap_or_default();
    let content = data.get(&reference.key).cloned();
    Some(content.map(|bytes| Secret::from_file(bytes.0)).filter(|secret| !secret.is_empty()))
}

/// An empty file is not a secret.
pub(super) fn read_file(path: &Path) -> Option<Secret> {
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
