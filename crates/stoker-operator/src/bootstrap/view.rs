//! What every process knows without asking: policies, namespaces, and the copies in them.
//!
//! Of namespaces only the annotations of bootstrap are kept, of copies only their version and
//! origin.
//!
//! Long: one view, with a part for each kind of object.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::api::{Api, PartialObjectMeta};
use kube::core::DeserializeGuard;
use kube::runtime::watcher::Config;
use stoker_api::PodBootstrap;
use stoker_api::condition::EventReason;
use stoker_api::names::{Annotation, Label};
use stoker_api::podbootstrap::{POLICY_NAME, PodBootstrapSpec};
use stoker_core::bootstrap::{CA_CONFIG_MAP, Copied, Origin, Policy, Problem, REPLICA, Seen};
use stoker_runtime::admin::Check;
use tokio::sync::watch;

use super::{Bootstrap, last_valid};
use crate::controller::Key;
use crate::controller::watch::{Change, follow};

/// What is known.
pub(super) struct View {
    state: RwLock<State>,
    unlisted: AtomicUsize,
    check: Check,
    /// Counts changes.
    changes: watch::Sender<u64>,
    is_listed: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    in_force: Option<Arc<InForce>>,
    objects: BTreeMap<String, Arc<Object>>,
    /// The policy that an earlier process kept, and the UID of its PodBootstrap.
    last_valid: Option<(String, Arc<InForce>)>,
    namespaces: HashMap<String, Arc<Space>>,
    copies: HashMap<String, BTreeMap<Place, Seen>>,
}

/// A copy within its namespace: what is copied, and its name.
pub(super) type Place = (Copied, String);

/// The policy that counts now.
pub(super) struct InForce {
    pub(super) spec: PodBootstrapSpec,
    pub(super) policy: Policy,
}

/// A PodBootstrap as it is stored.
pub(super) struct Object {
    pub(super) stored: PodBootstrap,
    pub(super) problems: Vec<Problem>,
}

/// A namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Space {
    pub(super) annotations: BTreeMap<String, String>,
    pub(super) uid: String,
    pub(super) is_ending: bool,
}

impl View {
    pub(super) fn new(check: Check) -> Self {
        Self {
            state: RwLock::default(),
            unlisted: AtomicUsize::new(0),
            check,
            changes: watch::Sender::new(0),
            is_listed: watch::Sender::new(false),
        }
    }

    /// Returns the policy that counts.
    pub(super) fn in_force(&self) -> Option<Arc<InForce>> {
        self.read(|state| state.in_force.clone())
    }

    /// Returns the UID of the PodBootstrap that counts.
    pub(super) fn policy_uid(&self) -> Option<String> {
        self.read(|state| state.objects.get(POLICY_NAME)?.stored.metadata.uid.clone())
    }

    /// Returns every PodBootstrap.
    pub(super) fn objects(&self) -> Vec<Arc<Object>> {
        self.read(|state| state.objects.values().cloned().collect())
    }

    /// Returns a namespace that was seen.
    pub(super) fn namespace(&self, name: &str) -> Option<Arc<Space>> {
        self.read(|state| state.namespaces.get(name).cloned())
    }

    /// Returns the names of all namespaces.
    pub(super) fn namespaces(&self) -> Vec<String> {
        self.read(|state| state.namespaces.keys().cloned().collect())
    }

    /// Returns the copies that a namespace holds, those of earlier policies included.
    pub(super) fn copies(&self, namespace: &str) -> BTreeMap<Place, Seen> {
        self.read(|state| state.copies.get(namespace).cloned().unwrap_or_default())
    }

    /// Returns the hash of the certificates that a namespace holds.
    pub(super) fn certificates(&self, namespace: &str) -> Option<String> {
        let place = (Copied::CaBundle, CA_CONFIG_MAP.to_owned());
        self.read(|state| {
            let seen = state.copies.get(namespace)?.get(&place)?;
            seen.origin.as_ref().map(|origin| origin.hash.clone())
        })
    }

    /// Takes a copy that was written or removed. Says whether that is new.
    pub(super) fn wrote(&self, namespace: &str, place: Place, seen: Option<Seen>) -> bool {
        self.write(|state| {
            let copies = state.copies.entry(namespace.to_owned()).or_default();
            let before = copies.remove(&place);
            let is_new = before != seen;
            if let Some(seen) = seen {
                copies.insert(place, seen);
            }
            if copies.is_empty() {
                state.copies.remove(namespace);
            }
            is_new
        })
    }

    /// Says that something changed that the status may tell of.
    pub(super) fn changed(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Returns a receiver of changes.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Waits until everything was listed once.
    pub(super) async fn listed(&self) {
        // The sender lives as long as this.
        self.is_listed.subscribe().wait_for(|is_listed| *is_listed).await.ok();
    }

    fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        read(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, write: impl FnOnce(&mut State) -> T) -> T {
        write(&mut self.state.write().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Starts every watch.
pub(super) fn watch(bootstrap: &Bootstrap, has_controller: bool) {
    let client = &bootstrap.0.client;
    let copies = || Config::default().labels(&format!("{}={REPLICA}", Label::Replica));
    let policies: Api<DeserializeGuard<PodBootstrap>> = Api::all(client.clone());
    let last_valid = load(bootstrap.clone());
    spawn_after(last_valid, bootstrap, policies, Config::default(), "PodBootstrap", see_policy);
    let namespaces: Api<PartialObjectMeta<Namespace>> = Api::all(client.clone());
    spawn(bootstrap, namespaces, Config::default(), "Namespace", see_namespace);
    let maps: Api<PartialObjectMeta<ConfigMap>> = Api::all(client.clone());
    spawn(bootstrap, maps, copies(), "ConfigMap copy", |bootstrap, change| {
        see_copy(bootstrap, Copied::CaBundle, change);
    });
    if has_controller {
        let secrets: Api<PartialObjectMeta<Secret>> = Api::all(client.clone());
        spawn(bootstrap, secrets, copies(), "Secret copy", |bootstrap, change| {
            see_copy(bootstrap, Copied::PullSecret, change);
        });
    }
}

/// Reads the policy that an earlier process kept.
async fn load(bootstrap: Bootstrap) {
    let inner = &bootstrap.0;
    let found = last_valid::read(&inner.client, &inner.scope.own).await;
    let found = found.map(|(uid, in_force)| (uid, Arc::new(in_force)));
    inner.view.write(|state| state.last_valid = found);
}

fn spawn<K>(
    bootstrap: &Bootstrap,
    api: Api<K>,
    config: Config,
    kind: &'static str,
    see: impl Fn(&Bootstrap, Change<K>) + Send + 'static,
) where
    K: Resource + Clone + serde::de::DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    spawn_after(std::future::ready(()), bootstrap, api, config, kind, see);
}

fn spawn_after<K>(
    first: impl Future<Output = ()> + Send + 'static,
    bootstrap: &Bootstrap,
    api: Api<K>,
    config: Config,
    kind: &'static str,
    see: impl Fn(&Bootstrap, Change<K>) + Send + 'static,
) where
    K: Resource + Clone + serde::de::DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    bootstrap.0.view.unlisted.fetch_add(1, Ordering::SeqCst);
    let bootstrap = bootstrap.clone();
    let mut is_first = true;
    let watch = follow(api, config, kind, move |change| {
        let is_list = matches!(change, Change::Listed(_));
        see(&bootstrap, change);
        let view = &bootstrap.0.view;
        if is_list
            && std::mem::take(&mut is_first)
            && view.unlisted.fetch_sub(1, Ordering::SeqCst) == 1
        {
            view.is_listed.send_replace(true);
            view.check.pass();
        }
    });
    tokio::spawn(async {
        first.await;
        watch.await;
    });
}

fn see_policy(bootstrap: &Bootstrap, change: Change<DeserializeGuard<PodBootstrap>>) {
    let view = &bootstrap.0.view;
    match change {
        Change::Applied(key, guard) => {
            let (stored, compiled) = read_policy(guard);
            let before = view.read(|state| state.objects.get(&key.name).cloned());
            let problems = compiled.as_ref().err().cloned().unwrap_or_default();
            if key.name == POLICY_NAME {
                match compiled {
                    Ok(policy) => {
                        let spec = stored.spec.clone();
                        put_in_force(bootstrap, Some(Arc::new(InForce { spec, policy })));
                    }
                    Err(problems) => {
                        let is_known = before.is_some_and(|before| before.problems == problems);
                        if !is_known {
                            complain(bootstrap, &problems);
                        }
                        recall(bootstrap, stored.metadata.uid.as_deref());
                    }
                }
            }
            let object = Arc::new(Object { stored, problems });
            view.write(|state| state.objects.insert(key.name, object));
        }
        Change::Deleted(key) => {
            view.write(|state| state.objects.remove(&key.name));
            if key.name == POLICY_NAME {
                put_in_force(bootstrap, None);
            }
        }
        Change::Listed(keys) => {
            let is_there = keys.iter().any(|key| key.name == POLICY_NAME);
            view.write(|state| {
                state.objects.retain(|name, _| keys.iter().any(|key| key.name == *name));
            });
            if !is_there {
                put_in_force(bootstrap, None);
            }
        }
    }
    view.changed();
}

/// Takes a stored policy apart. One that can't be read counts as invalid.
fn read_policy(
    guard: DeserializeGuard<PodBootstrap>,
) -> (PodBootstrap, Result<Policy, Vec<Problem>>) {
    match guard.0 {
        Ok(stored) => {
            let compiled = Policy::compile(&stored.spec);
            (stored, compiled)
        }
        Err(invalid) => {
            let message = format!("this version can't read it: {}", invalid.error);
            let metadata = invalid.metadata;
            let stored = PodBootstrap { metadata, spec: PodBootstrapSpec::default(), status: None };
            (stored, Err(vec![Problem { field: "spec".to_owned(), message }]))
        }
    }
}

/// Puts the policy in force that an earlier process kept, where none is.
fn recall(bootstrap: &Bootstrap, uid: Option<&str>) {
    let kept = bootstrap.0.view.write(|state| {
        let kept = state.last_valid.take()?;
        let is_meant = state.in_force.is_none() && uid == Some(&kept.0);
        is_meant.then_some(kept.1)
    });
    if let Some(kept) = kept {
        put_in_force(bootstrap, Some(kept));
    }
}

fn put_in_force(bootstrap: &Bootstrap, next: Option<Arc<InForce>>) {
    let is_other = bootstrap.0.view.write(|state| {
        let before = state.in_force.as_ref().map(|it| &it.spec);
        let is_other = before != next.as_ref().map(|it| &it.spec);
        if is_other {
            state.in_force = next;
        }
        is_other
    });
    if is_other {
        tracing::info!("the policy of pod bootstrap changed");
        bootstrap.0.census.recount(None);
        bootstrap.wake_all();
    }
}

fn complain(bootstrap: &Bootstrap, problems: &[Problem]) {
    let text: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let reason = text.join("; ");
    tracing::warn!(reason, "the policy of pod bootstrap is invalid: the last valid one stays");
    bootstrap.0.events.add(EventReason::PolicyInvalid, "Validate", reason);
}

fn see_namespace(bootstrap: &Bootstrap, change: Change<PartialObjectMeta<Namespace>>) {
    let view = &bootstrap.0.view;
    match change {
        Change::Applied(key, object) => {
            let space = Arc::new(Space::of(&object.metadata));
            let before =
                view.write(|state| state.namespaces.insert(key.name.clone(), Arc::clone(&space)));
            if before.as_ref() == Some(&space) {
                return;
            }
            bootstrap.0.replicator.wake(&key.name);
            // The pods of a namespace that is new are new as well.
            if before.is_some_and(|before| before.annotations != space.annotations) {
                bootstrap.0.census.recount(Some(&key.name));
            }
        }
        Change::Deleted(key) => {
            view.write(|state| state.namespaces.remove(&key.name));
            bootstrap.0.replicator.gone(&key.name);
            bootstrap.0.census.gone(&key.name);
        }
        Change::Listed(keys) => {
            let names: std::collections::HashSet<&str> =
                keys.iter().map(|key| key.name.as_str()).collect();
            view.write(|state| state.namespaces.retain(|name, _| names.contains(name.as_str())));
        }
    }
    view.changed();
}

fn see_copy<K>(bootstrap: &Bootstrap, copied: Copied, change: Change<PartialObjectMeta<K>>) {
    let view = &bootstrap.0.view;
    let namespaces: Vec<String> = match change {
        Change::Applied(key, object) => {
            let seen = seen(&object.metadata);
            let is_new = view.wrote(&key.namespace, (copied, key.name), Some(seen));
            is_new.then_some(key.namespace).into_iter().collect()
        }
        Change::Deleted(key) => {
            let is_new = view.wrote(&key.namespace, (copied, key.name), None);
            is_new.then_some(key.namespace).into_iter().collect()
        }
        Change::Listed(keys) => view.write(|state| {
            let mut gone = Vec::new();
            for (namespace, copies) in &mut state.copies {
                let before = copies.len();
                copies.retain(|(kind, name), _| {
                    *kind != copied || keys.contains(&Key::new(namespace, name))
                });
                if copies.len() != before {
                    gone.push(namespace.clone());
                }
            }
            gone
        }),
    };
    for namespace in namespaces {
        bootstrap.0.replicator.wake(&namespace);
    }
    view.changed();
}

/// Reads what a copy says about itself.
pub(super) fn seen(metadata: &ObjectMeta) -> Seen {
    let annotations = metadata.annotations.as_ref();
    let origin = annotations.and_then(|them| them.get(Annotation::ReplicaOf.as_str()));
    Seen {
        version: metadata.resource_version.clone().unwrap_or_default(),
        origin: origin.and_then(|text| Origin::parse(text)),
    }
}

impl Space {
    /// Keeps what counts of a namespace.
    pub(super) fn of(metadata: &ObjectMeta) -> Self {
        let prefix = Annotation::Bootstrap.as_str();
        let annotations = metadata.annotations.iter().flatten();
        let own = annotations.filter(|(name, _)| name.starts_with(prefix));
        Self {
            annotations: own.map(|(name, value)| (name.clone(), value.clone())).collect(),
            uid: metadata.uid.clone().unwrap_or_default(),
            is_ending: metadata.deletion_timestamp.is_some(),
        }
    }
}
