//! What the watches have seen, reduced to what decisions need.
//!
//! Every change returns the GatewaySyncs that it concerns; `fleet` wakes them.

mod owned;
mod table;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::{self, Display, Formatter};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::core::DeserializeGuard;
use stoker_api::condition::SyncStatus;
use stoker_api::contract::report::Report;
use stoker_api::{GatewaySync, SyncProfile, limit, names};
use stoker_core::gateway::Pod;
use tokio::sync::Notify;

use super::watch::Change;
use owned::{Owned, OwnedMap};
use table::Table;

pub(crate) use owned::PublishedMetadata;

/// The name of an object in its namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// A GatewaySync as far as it could be read.
#[derive(Debug, Clone)]
pub(crate) enum Known {
    /// It was read.
    Sync(Arc<GatewaySync>),
    /// It could not be read.
    Undecodable(Undecodable),
}

/// A GatewaySync that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Undecodable {
    /// What is wrong with it.
    pub(crate) fault: String,
    /// Its generation.
    pub(crate) generation: Option<i64>,
    /// Its version.
    pub(crate) resource_version: Option<String>,
    /// Its finalizers.
    pub(crate) finalizers: Vec<String>,
    /// Whether it is being deleted.
    pub(crate) is_deleted: bool,
}

/// Everything that belongs to one GatewaySync, as far as it has its present UID.
#[derive(Debug, Clone, Default)]
pub(crate) struct Belongings {
    /// Its metadata.
    pub(crate) metadata: Option<PublishedMetadata>,
    /// Its status objects.
    pub(crate) shards: BTreeSet<u8>,
    /// The reports in them.
    pub(crate) reports: BTreeMap<String, Result<Report, String>>,
    /// How many status objects the agents' Role covers.
    pub(crate) role: Option<u8>,
    /// The service accounts that are bound to it.
    pub(crate) bound: Option<BTreeSet<String>>,
}

/// What the watches have seen.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    tables: RwLock<Tables>,
    unlisted: AtomicUsize,
    listed: Notify,
}

#[derive(Debug, Default)]
struct Tables {
    syncs: Table<Known>,
    pods: Table<Arc<Pod>>,
    unlabelled: Table<Arc<Pod>>,
    maps: Table<Owned<OwnedMap>>,
    roles: Table<Owned<Option<u8>>>,
    bindings: Table<Owned<BTreeSet<String>>>,
    profiles: Table<Arc<SyncProfile>>,
    secrets: Table<String>,
    emergency: Option<String>,
}

impl Cache {
    /// Says that one more watch has to list before the cache is whole.
    pub(crate) fn expect_list(&self) {
        self.unlisted.fetch_add(1, Ordering::SeqCst);
    }

    /// Says that a watch has listed for the first time.
    pub(crate) fn has_listed(&self) {
        if self.unlisted.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.listed.notify_waiters();
        }
    }

    /// Waits until every watch has listed.
    pub(crate) async fn listed(&self) {
        loop {
            let mut notified = std::pin::pin!(self.listed.notified());
            notified.as_mut().enable();
            if self.unlisted.load(Ordering::SeqCst) == 0 {
                return;
            }
            notified.await;
        }
    }

    /// Returns a GatewaySync.
    pub(crate) fn sync(&self, key: &Key) -> Option<Known> {
        self.read(|tables| tables.syncs.get(key).cloned())
    }

    /// Returns every GatewaySync, those with a sync under way first.
    pub(crate) fn keys(&self) -> Vec<Key> {
        self.read(|tables| {
            let syncs = tables.syncs.iter();
            let mut keys: Vec<(bool, Key)> =
                syncs.map(|(key, known)| (!known.is_syncing(), key.clone())).collect();
            keys.sort();
            keys.into_iter().map(|(_, key)| key).collect()
        })
    }

    /// Returns what belongs to a GatewaySync with this UID.
    pub(crate) fn belongings(&self, key: &Key, uid: Option<&str>) -> Belongings {
        self.read(|tables| tables.belongings(key, uid))
    }

    /// Returns the pods of a GatewaySync that have not ended, in the order of their names.
    pub(crate) fn pods(&self, key: &Key) -> Vec<Pod> {
        self.read(|tables| tables.pods_of(key))
    }

    /// Returns a SyncProfile.
    pub(crate) fn profile(&self, key: &Key) -> Option<Arc<SyncProfile>> {
        self.read(|tables| tables.profiles.get(key).cloned())
    }

    /// Returns the version of a Secret, where the watch has seen it.
    pub(crate) fn secret_version(&self, key: &Key) -> Option<String> {
        self.read(|tables| tables.secrets.get(key).cloned())
    }

    /// Returns the reason of the emergency stop, where it is in force.
    pub(crate) fn emergency(&self) -> Option<String> {
        self.read(|tables| tables.emergency.clone())
    }

    /// Takes note of a change to GatewaySyncs.
    pub(crate) fn on_sync(
        &self,
        scope: Option<&str>,
        change: Change<DeserializeGuard<GatewaySync>>,
    ) -> Vec<Key> {
        self.write(|tables| {
            let changed = tables.syncs.change(scope, change.map(Known::from));
            // Our own writes to the status come back as changes, and concern no one.
            if let ([key], [before]) = (&*changed.keys, &*changed.before)
                && tables.syncs.get(key).is_some_and(|now| now.is_same_but_status(before))
            {
                return Vec::new();
            }
            changed.keys
        })
    }

    /// Takes note of a change to pods with an agent.
    pub(crate) fn on_pod(&self, scope: Option<&str>, change: Change<super::pod::Pod>) -> Vec<Key> {
        self.write(|tables| {
            let changed = tables.pods.change(scope, change.map(|pod| Arc::new(Pod::from(pod))));
            let now: Vec<_> =
                changed.keys.iter().filter_map(|key| tables.pods.get(key).cloned()).collect();
            // Most changes of a pod are about what is not kept here.
            if now == changed.before {
                return Vec::new();
            }
            tables.syncs_of(changed.before.iter().chain(&now))
        })
    }

    /// Takes note of a pod without an agent that concerns Stoker, or that it is gone.
    pub(crate) fn on_unlabelled(&self, key: &Key, pod: Option<Pod>) -> Vec<Key> {
        self.write(|tables| {
            let now = pod.map(Arc::new);
            let before = match &now {
                Some(pod) => tables.unlabelled.insert(key.clone(), Arc::clone(pod)),
                None => tables.unlabelled.remove(key),
            };
            if now == before { Vec::new() } else { tables.syncs_of(before.iter().chain(&now)) }
        })
    }

    /// Drops pods without an agent that do not exist any more.
    pub(crate) fn keep_unlabelled(&self, scope: Option<&str>, existing: &HashSet<Key>) -> Vec<Key> {
        self.write(|tables| {
            let changed = tables.unlabelled.keep(scope, existing);
            tables.syncs_of(changed.before.iter())
        })
    }

    /// Takes note of a change to our ConfigMaps.
    pub(crate) fn on_map(&self, scope: Option<&str>, change: Change<ConfigMap>) -> Vec<Key> {
        self.write(|tables| {
            let changed = tables.maps.change(scope, change.map(Owned::from));
            owners(&changed, &tables.maps)
        })
    }

    /// Takes note of a change to our Roles.
    pub(crate) fn on_role(&self, scope: Option<&str>, change: Change<Role>) -> Vec<Key> {
        self.write(|tables| {
            let changed = tables.roles.change(scope, change.map(Owned::from));
            owners(&changed, &tables.roles)
        })
    }

    /// Takes note of a change to our RoleBindings.
    pub(crate) fn on_binding(&self, scope: Option<&str>, change: Change<RoleBinding>) -> Vec<Key> {
        self.write(|tables| {
            let changed = tables.bindings.change(scope, change.map(Owned::from));
            owners(&changed, &tables.bindings)
        })
    }

    /// Takes note of a change to SyncProfiles, which concerns the GatewaySyncs beside it.
    pub(crate) fn on_profile(
        &self,
        scope: Option<&str>,
        change: Change<DeserializeGuard<SyncProfile>>,
    ) -> Vec<Key> {
        let change = match change {
            Change::Applied(key, DeserializeGuard(Ok(profile))) => {
                Change::Applied(key, Arc::new(profile))
            }
            // A SyncProfile that can't be read is like none.
            Change::Applied(key, DeserializeGuard(Err(_))) | Change::Deleted(key) => {
                Change::Deleted(key)
            }
            Change::Listed(keys) => Change::Listed(keys),
        };
        self.write(|tables| {
            let changed = tables.profiles.change(scope, change);
            let namespaces = changed.keys.into_iter().map(|key| key.namespace);
            tables.syncs_in(&namespaces.collect())
        })
    }

    /// Takes note of the version of a Secret, or that it is gone. A Secret that no GatewaySync
    /// names leaves no entry.
    pub(crate) fn on_secret(&self, key: &Key, version: Option<String>) -> Vec<Key> {
        self.write(|tables| {
            let concerned = tables.syncs_with_secret(key);
            let before = tables.secrets.remove(key);
            if concerned.is_empty() {
                return concerned;
            }
            let is_same = before == version;
            if let Some(version) = version {
                tables.secrets.insert(key.clone(), version);
            }
            if is_same { Vec::new() } else { concerned }
        })
    }

    /// Takes note of the version of a Secret that was just read.
    pub(crate) fn saw_secret(&self, key: &Key, version: Option<String>) {
        self.write(|tables| match version {
            Some(version) => drop(tables.secrets.insert(key.clone(), version)),
            None => drop(tables.secrets.remove(key)),
        });
    }

    /// Takes note of the emergency stop, and says whether that is a change.
    pub(crate) fn on_emergency(&self, reason: Option<String>) -> bool {
        self.write(|tables| {
            let is_change = tables.emergency != reason;
            tables.emergency = reason;
            is_change
        })
    }

    fn read<T>(&self, read: impl FnOnce(&Tables) -> T) -> T {
        read(&self.tables.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, write: impl FnOnce(&mut Tables) -> T) -> T {
        write(&mut self.tables.write().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns the GatewaySyncs that changed objects belong, or belonged, to.
fn owners<T>(changed: &table::Changed<Owned<T>>, table: &Table<Owned<T>>) -> Vec<Key> {
    let now = changed.keys.iter().filter_map(|key| table.get(key));
    let names: BTreeSet<&str> =
        changed.before.iter().chain(now).map(|owned| owned.sync.as_str()).collect();
    let namespaces: BTreeSet<&str> = changed.keys.iter().map(|key| &*key.namespace).collect();
    let pairs = namespaces.iter().flat_map(|space| names.iter().map(|name| Key::new(space, name)));
    pairs.collect()
}

impl Tables {
    fn belongings(&self, key: &Key, uid: Option<&str>) -> Belongings {
        let place = |name: &str| Key::new(&key.namespace, name);
        let is_ours = |owner: &Option<String>| owner.as_deref() == uid;
        let map = |name: &str| self.maps.get(&place(name)).filter(|owned| is_ours(&owned.owner));
        let mut belongings = Belongings::default();
        if let Some(OwnedMap::Metadata(metadata)) =
            map(&names::metadata_config_map(&key.name)).map(|owned| &owned.object)
        {
            belongings.metadata = Some(metadata.clone());
        }
        for shard in (0..u8::MAX).take(limit::SHARDS) {
            let name = names::status_config_map(&key.name, shard);
            if let Some(OwnedMap::Reports(reports)) = map(&name).map(|owned| &owned.object) {
                belongings.shards.insert(shard);
                let reports = reports.iter().map(|(pod, report)| (pod.clone(), report.clone()));
                belongings.reports.extend(reports);
            }
        }
        let rights = place(&names::agent_role(&key.name));
        let role = self.roles.get(&rights).filter(|owned| is_ours(&owned.owner));
        belongings.role = role.and_then(|owned| owned.object);
        let bound = self.bindings.get(&rights).filter(|owned| is_ours(&owned.owner));
        belongings.bound = bound.map(|owned| owned.object.clone());
        belongings
    }

    fn pods_of(&self, key: &Key) -> Vec<Pod> {
        let is_only = self.syncs.in_namespace(&key.namespace).count() == 1;
        let all = self.pods.in_namespace(&key.namespace);
        let all = all.chain(self.unlabelled.in_namespace(&key.namespace)).map(|(_, pod)| pod);
        let named = all.filter(|pod| match pod.sync_name() {
            Some(name) => name == key.name,
            // The webhook would have derived the name.
            None => is_only && pod.asks_for_agent(),
        });
        let mut pods: Vec<Pod> =
            named.filter(|pod| !pod.is_ending).map(|pod| Pod::clone(pod)).collect();
        pods.sort_by(|one, other| one.name.cmp(&other.name));
        pods.dedup_by(|one, other| one.name == other.name);
        pods
    }

    fn syncs_of<'a>(&self, pods: impl Iterator<Item = &'a Arc<Pod>>) -> Vec<Key> {
        let mut keys = BTreeSet::new();
        for pod in pods {
            match pod.sync_name() {
                Some(name) => drop(keys.insert(Key::new(&pod.namespace, name))),
                None => keys.extend(self.syncs_in(&BTreeSet::from([pod.namespace.clone()]))),
            }
        }
        keys.into_iter().filter(|key| self.syncs.get(key).is_some()).collect()
    }

    fn syncs_in(&self, namespaces: &BTreeSet<String>) -> Vec<Key> {
        let all = namespaces.iter().flat_map(|namespace| self.syncs.in_namespace(namespace));
        all.map(|(key, _)| key.clone()).collect()
    }

    fn syncs_with_secret(&self, secret: &Key) -> Vec<Key> {
        let syncs = self.syncs.in_namespace(&secret.namespace);
        let concerned = syncs.filter(|(_, known)| match known {
            Known::Sync(sync) => super::credential::names(sync).contains(&secret.name),
            Known::Undecodable(_) => false,
        });
        concerned.map(|(key, _)| key.clone()).collect()
    }
}

impl Known {
    fn is_syncing(&self) -> bool {
        let Self::Sync(sync) = self else { return false };
        let gateways = sync.status.as_ref().map(|status| &*status.discovered_gateways);
        gateways.unwrap_or_default().iter().any(|it| it.sync_status == Some(SyncStatus::Syncing))
    }

    /// Says whether two versions differ in nothing but their status.
    fn is_same_but_status(&self, before: &Self) -> bool {
        let (now, before) = match (self, before) {
            (Self::Sync(now), Self::Sync(before)) => (&now.metadata, &before.metadata),
            (Self::Undecodable(now), Self::Undecodable(before)) => {
                return now.generation == before.generation
                    && now.fault == before.fault
                    && now.is_deleted == before.is_deleted;
            }
            (Self::Sync(_), Self::Undecodable(_)) | (Self::Undecodable(_), Self::Sync(_)) => {
                return false;
            }
        };
        now.uid == before.uid
            && now.generation == before.generation
            && now.annotations == before.annotations
            && now.labels == before.labels
            && now.finalizers == before.finalizers
            && now.deletion_timestamp == before.deletion_timestamp
    }
}

impl From<DeserializeGuard<GatewaySync>> for Known {
    fn from(guard: DeserializeGuard<GatewaySync>) -> Self {
        match guard.0 {
            Ok(mut sync) => {
                sync.metadata.managed_fields = None;
                Self::Sync(Arc::new(sync))
            }
            Err(invalid) => Self::Undecodable(Undecodable {
                fault: invalid.error,
                generation: invalid.metadata.generation,
                resource_version: invalid.metadata.resource_version,
                finalizers: invalid.metadata.finalizers.unwrap_or_default(),
                is_deleted: invalid.metadata.deletion_timestamp.is_some(),
            }),
        }
    }
}

impl Key {
    /// Returns the key of the object with this name.
    pub(crate) fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

impl Display for Key {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}
