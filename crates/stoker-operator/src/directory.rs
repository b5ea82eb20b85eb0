//! What the webhook and the receiver know without asking: GatewaySyncs, SyncProfiles, and the
//! policies of namespaces. Every replica keeps one.
//!
//! Of a GatewaySync's status only the resolved ref is kept, of SyncProfiles only the names.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, PartialObjectMeta};
use kube::core::DeserializeGuard;
use kube::runtime::watcher::Config;
use kube::{Client, ResourceExt as _};
use stoker_api::gatewaysync::GatewaySyncStatus;
use stoker_api::names::Label;
use stoker_api::{GatewaySync, SyncProfile};
use stoker_core::admission::Policy;
use stoker_runtime::admin::Check;

use crate::controller::cache::Key;
use crate::controller::watch::{Change, follow};
use crate::defaults::Current as Defaults;
use crate::run::Shared;

/// What is known. Clones share it.
#[derive(Clone)]
pub(crate) struct Directory(Arc<Inner>);

struct Inner {
    client: Client,
    selector: Option<String>,
    namespaces: Vec<String>,
    state: RwLock<State>,
    unlisted: AtomicUsize,
    check: Check,
    defaults: Defaults,
}

#[derive(Debug, Default)]
struct State {
    syncs: HashMap<String, BTreeMap<String, Arc<GatewaySync>>>,
    profiles: HashMap<String, BTreeSet<String>>,
    policies: HashMap<String, Policy>,
}

impl Directory {
    /// Starts to watch, and returns at once.
    pub(crate) fn start(shared: &Shared) -> Self {
        let directory = Self::new(shared);
        let namespaces = &shared.watch_namespaces;
        if namespaces.is_empty() {
            directory.watch(Api::all(shared.client.clone()), Api::all(shared.client.clone()));
        }
        for namespace in namespaces {
            directory.watch(
                Api::namespaced(shared.client.clone(), namespace),
                Api::namespaced(shared.client.clone(), namespace),
            );
        }
        directory.watch_policies();
        directory
    }

    /// Returns a directory that knows nothing yet.
    fn new(shared: &Shared) -> Self {
        let scopes = shared.watch_namespaces.len().max(1);
        Self(Arc::new(Inner {
            client: shared.client.clone(),
            selector: shared.watch_label_selector.clone(),
            namespaces: shared.watch_namespaces.clone(),
            state: RwLock::default(),
            // GatewaySyncs and SyncProfiles of every scope, and the policies of all namespaces.
            unlisted: AtomicUsize::new(scopes * 2 + 1),
            check: shared.checks.readiness("directory"),
            defaults: shared.defaults.clone(),
        }))
    }

    /// Says whether the operator serves this namespace.
    pub(crate) fn serves(&self, namespace: &str) -> bool {
        self.0.namespaces.is_empty() || self.0.namespaces.iter().any(|it| it == namespace)
    }

    /// Returns a GatewaySync that was seen.
    pub(crate) fn sync(&self, namespace: &str, name: &str) -> Option<Arc<GatewaySync>> {
        self.read(|state| state.syncs.get(namespace)?.get(name).cloned())
    }

    /// Returns the GatewaySyncs of a namespace that were seen.
    pub(crate) fn syncs(&self, namespace: &str) -> Vec<Arc<GatewaySync>> {
        self.read(|state| {
            state.syncs.get(namespace).into_iter().flat_map(BTreeMap::values).cloned().collect()
        })
    }

    /// Returns every GatewaySync that was seen.
    pub(crate) fn all_syncs(&self) -> Vec<Arc<GatewaySync>> {
        self.read(|state| state.syncs.values().flat_map(BTreeMap::values).cloned().collect())
    }

    /// Says whether a SyncProfile was seen.
    pub(crate) fn has_profile(&self, namespace: &str, name: &str) -> bool {
        self.read(|state| state.profiles.get(namespace).is_some_and(|names| names.contains(name)))
    }

    /// Returns the policy of a namespace, where its label sets one.
    pub(crate) fn policy(&self, namespace: &str) -> Option<Policy> {
        self.read(|state| state.policies.get(namespace).copied())
    }

    /// Returns the API of GatewaySyncs in a namespace, and the labels of those that are served.
    pub(crate) fn api(&self, namespace: &str) -> Api<GatewaySync> {
        Api::namespaced(self.0.client.clone(), namespace)
    }

    /// Returns the labels of the GatewaySyncs that are served.
    pub(crate) fn selector(&self) -> Option<&str> {
        self.0.selector.as_deref()
    }

    /// Returns the cluster-wide defaults.
    pub(crate) fn defaults(&self) -> &Defaults {
        &self.0.defaults
    }

    /// Returns the client.
    pub(crate) fn client(&self) -> &Client {
        &self.0.client
    }

    fn watch(
        &self,
        syncs: Api<DeserializeGuard<GatewaySync>>,
        profiles: Api<PartialObjectMeta<SyncProfile>>,
    ) {
        let config = Config::default();
        let config = match &self.0.selector {
            Some(selector) => config.labels(selector),
            None => config,
        };
        let directory = self.clone();
        let mut is_first = true;
        tokio::spawn(follow(syncs, config, "GatewaySync", move |change| {
            directory.see_sync(change, &mut is_first);
        }));
        let directory = self.clone();
        let mut is_first = true;
        let follow = follow(profiles, Config::default(), "SyncProfile", move |change| {
            directory.see_profile(change, &mut is_first);
        });
        tokio::spawn(follow);
    }

    fn watch_policies(&self) {
        let api: Api<PartialObjectMeta<Namespace>> = Api::all(self.0.client.clone());
        let config = Config::default().labels(Label::InjectionPolicy.as_str());
        let directory = self.clone();
        let mut is_first = true;
        tokio::spawn(follow(api, config, "Namespace", move |change| {
            directory.see_namespace(change, &mut is_first);
        }));
    }

    fn see_sync(&self, change: Change<DeserializeGuard<GatewaySync>>, is_first: &mut bool) {
        match change {
            Change::Applied(key, guard) => self.write(|state| {
                let syncs = state.syncs.entry(key.namespace).or_default();
                match guard.0 {
                    Ok(sync) => drop(syncs.insert(key.name, Arc::new(lean(sync)))),
                    // It exists and can't be read: what was known of it is not true any more.
                    Err(_) => drop(syncs.remove(&key.name)),
                }
            }),
            Change::Deleted(key) => self.write(|state| {
                if let Some(syncs) = state.syncs.get_mut(&key.namespace) {
                    syncs.remove(&key.name);
                }
            }),
            Change::Listed(keys) => {
                let scope = self.scope_of(&keys);
                self.write(|state| {
                    for (namespace, syncs) in &mut state.syncs {
                        if scope.is_none_or(|scope| scope == namespace) {
                            syncs.retain(|name, _| keys.contains(&Key::new(namespace, name)));
                        }
                    }
                });
                self.listed(is_first);
            }
        }
    }

    fn see_profile(&self, change: Change<PartialObjectMeta<SyncProfile>>, is_first: &mut bool) {
        match change {
            Change::Applied(key, _) => self.write(|state| {
                state.profiles.entry(key.namespace).or_default().insert(key.name);
            }),
            Change::Deleted(key) => self.write(|state| {
                if let Some(names) = state.profiles.get_mut(&key.namespace) {
                    names.remove(&key.name);
                }
            }),
            Change::Listed(keys) => {
                let scope = self.scope_of(&keys);
                self.write(|state| {
                    for (namespace, names) in &mut state.profiles {
                        if scope.is_none_or(|scope| scope == namespace) {
                            names.retain(|name| keys.contains(&Key::new(namespace, name)));
                        }
                    }
                });
                self.listed(is_first);
            }
        }
    }

    fn see_namespace(&self, change: Change<PartialObjectMeta<Namespace>>, is_first: &mut bool) {
        let is_list = matches!(change, Change::Listed(_));
        self.write(|state| see_policy(&mut state.policies, change));
        if is_list {
            self.listed(is_first);
        }
    }

    /// Returns the one namespace that a list was of; none where it was of all.
    ///
    /// A list of one of several watched namespaces that is empty does not say which it was of, and
    /// then forgets nothing: deletions arrive as events.
    fn scope_of<'a>(&'a self, keys: &'a std::collections::HashSet<Key>) -> Option<&'a str> {
        match self.0.namespaces.as_slice() {
            [] => None,
            [only] => Some(only),
            _ => Some(keys.iter().next().map_or("", |key| &key.namespace)),
        }
    }

    fn listed(&self, is_first: &mut bool) {
        if std::mem::take(is_first) && self.0.unlisted.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.check.pass();
        }
    }

    fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        read(&self.0.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write(&self, write: impl FnOnce(&mut State)) {
        write(&mut self.0.state.write().unwrap_or_else(PoisonError::into_inner));
    }
}

fn see_policy(
    policies: &mut HashMap<String, Policy>,
    change: Change<PartialObjectMeta<Namespace>>,
) {
    match change {
        Change::Applied(key, namespace) => {
            let label = namespace.labels().get(Label::InjectionPolicy.as_str());
            match label.map(String::as_str) {
                Some("strict") => drop(policies.insert(key.name, Policy::Strict)),
                Some("lenient") => drop(policies.insert(key.name, Policy::Lenient)),
                _ => drop(policies.remove(&key.name)),
            }
        }
        Change::Deleted(key) => drop(policies.remove(&key.name)),
        Change::Listed(keys) => policies.retain(|name, _| keys.contains(&Key::new("", name))),
    }
}

fn lean(mut sync: GatewaySync) -> GatewaySync {
    sync.metadata.managed_fields = None;
    sync.status = sync.status.map(|status| GatewaySyncStatus {
        resolved_ref: status.resolved_ref,
        ..GatewaySyncStatus::default()
    });
    sync
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::HashSet;

    use stoker_runtime::admin::Checks;
    use stoker_runtime::lease::Leadership;
    use stoker_runtime::telemetry::Filter;
    use stoker_runtime::{Shutdown, tls};

    use super::*;

    /// Returns a directory of all namespaces that watches nothing.
    pub(crate) fn unwatched(client: Client) -> Directory {
        Directory::new(&Shared {
            client,
            namespace: "stoker-system".to_owned(),
            identity: "stoker-0".to_owned(),
            watch_namespaces: Vec::new(),
            watch_label_selector: None,
            defaults: crate::defaults::start(None, &Filter::default()).unwrap(),
            checks: Checks::default(),
            leadership: Leadership::never(),
            certificate: tls::Certificate::default(),
            shutdown: Shutdown::manual().1,
        })
    }

    // Until then a pod in a lenient namespace would be denied by a default that is strict.
    #[tokio::test]
    async fn a_replica_is_ready_only_when_the_policies_of_namespaces_are_known() {
        let refused = tower::service_fn(|_: hyper::Request<kube::client::Body>| async {
            Err::<hyper::Response<kube::client::Body>, _>(std::io::Error::other("not asked"))
        });
        let directory = unwatched(Client::new(refused, "default"));
        let unlisted = || directory.0.unlisted.load(Ordering::SeqCst);
        directory.see_sync(Change::Listed(HashSet::new()), &mut true);
        directory.see_profile(Change::Listed(HashSet::new()), &mut true);
        assert_eq!(unlisted(), 1);
        let mut is_first = true;
        directory.see_namespace(Change::Listed(HashSet::new()), &mut is_first);
        assert_eq!(unlisted(), 0);
        directory.see_namespace(Change::Listed(HashSet::new()), &mut is_first);
        assert_eq!(unlisted(), 0);
    }
}
