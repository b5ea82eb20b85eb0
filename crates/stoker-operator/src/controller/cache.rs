//! What the watches have seen, reduced to what decisions need.
//!
//! Every change returns the GatewaySyncs that it concerns; `fleet` wakes them.
//!
//! Long: one function for each kind of object that is watched, and one for each question.

mod known;
mod owned;
mod table;
mod tables;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::{self, Display, Formatter};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::core::DeserializeGuard;
use stoker_api::{GatewaySync, SyncProfile};
use stoker_core::gateway::{Choice, Pod};
use tokio::sync::Notify;

use super::repair::{Injected, Need};
use super::watch::Change;
use owned::{Owned, Reports};
use table::Table;
use tables::Tables;

pub(crate) use known::{Known, Undecodable};
pub(crate) use owned::{Bound, PublishedMetadata, account};

/// The name of an object in its namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// Everything that belongs to one GatewaySync, as far as it has its present UID.
#[derive(Debug, Clone, Default)]
pub(crate) struct Belongings {
    /// Its metadata.
    pub(crate) metadata: Option<PublishedMetadata>,
    /// Its status objects.
    pub(crate) shards: BTreeSet<u8>,
    /// The reports in them.
    pub(crate) reports: Reports,
    /// The status objects that have a report, by the name of the pod.
    pub(crate) places: BTreeMap<String, Vec<u8>>,
    /// How many status objects the agents' Role covers.
    pub(crate) role: Option<u8>,
    /// The service accounts that are bound to it.
    pub(crate) bound: Option<BTreeSet<String>>,
    /// Who may write the tokens of its GitHub App.
    pub(crate) token_binding: Option<Bound>,
    /// The versions of what is written again.
    pub(crate) versions: Versions,
}

/// The versions of objects that belong to a GatewaySync; none where there is no such object.
#[derive(Debug, Clone, Default)]
pub(crate) struct Versions {
    pub(crate) metadata: Option<String>,
    pub(crate) role: Option<String>,
    pub(crate) binding: Option<String>,
    pub(crate) token_binding: Option<String>,
}

/// What the watches have seen.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    tables: RwLock<Tables>,
    unlisted: AtomicUsize,
    listed: Notify,
    profiles_changed: Notify,
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

    /// Returns every GatewaySync, those with a gateway in the middle of a sync first.
    pub(crate) fn keys(&self) -> Vec<Key> {
        self.read(|tables| {
            let syncing = tables.syncing();
            let keys = tables.syncs.iter().map(|(key, _)| key.clone());
            let (mut keys, others): (Vec<Key>, Vec<Key>) =
                keys.partition(|key| syncing.contains(key));
            keys.extend(others);
            keys
        })
    }

    /// Returns what belongs to a GatewaySync with this UID.
    pub(crate) fn belongings(&self, key: &Key, uid: Option<&str>) -> Belongings {
        self.read(|tables| tables.belongings(key, uid))
    }

    /// Returns the metadata of a GatewaySync with this UID.
    pub(crate) fn metadata(&self, key: &Key, uid: Option<&str>) -> Option<PublishedMetadata> {
        self.read(|tables| tables.metadata(key, uid).cloned())
    }

    /// Returns the pods of a GatewaySync that have not ended, in the order of their names.
    pub(crate) fn pods(&self, key: &Key) -> Vec<Pod> {
        self.read(|tables| tables.pods_of(key))
    }

    /// Returns the pods that need a restart, in the order of their names.
    pub(crate) fn needs(&self) -> Vec<Need<Injected>> {
        self.read(Tables::needs)
    }

    /// Says whether a pod of a namespace may run an agent of the Go operator.
    pub(crate) fn may_have_legacy_agents(&self, namespace: &str) -> bool {
        self.read(|tables| {
            let pods = tables.pods.in_namespace(namespace);
            let pods = pods.chain(tables.unlabelled.in_namespace(namespace));
            pods.into_iter().any(|(_, pod)| pod.may_have_legacy_agent())
        })
    }

    /// Returns a SyncProfile.
    pub(crate) fn profile(&self, key: &Key) -> Option<Arc<SyncProfile>> {
        self.read(|tables| tables.profiles.get(key).cloned())
    }

    /// Returns every SyncProfile.
    pub(crate) fn profiles(&self) -> Vec<(Key, Arc<SyncProfile>)> {
        self.read(|tables| {
            let profiles = tables.profiles.iter();
            profiles.map(|(key, profile)| (key.clone(), Arc::clone(profile))).collect()
        })
    }

    /// Returns every SyncProfile that can't be read.
    pub(crate) fn unreadable_profiles(&self) -> Vec<(Key, Undecodable)> {
        self.read(|tables| {
            let profiles = tables.unreadable_profiles.iter();
            profiles.map(|(key, fault)| (key.clone(), fault.clone())).collect()
        })
    }

    /// Returns how many gateways use a SyncProfile.
    pub(crate) fn users_of(&self, profile: &Key) -> usize {
        self.read(|tables| {
            let pods = tables.pods.in_namespace(&profile.namespace);
            let users = pods
                .filter(|(_, pod)| !pod.is_ending && pod.choice() == Choice::Object(&profile.name));
            users.count()
        })
    }

    /// Waits until a SyncProfile, or a pod that names one, has changed.
    pub(crate) async fn profiles_changed(&self) {
        self.profiles_changed.notified().await;
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
            match &change {
                Change::Applied(key, _) | Change::Deleted(key) => drop(tables.foreign.remove(key)),
                Change::Listed(existing) => drop(tables.foreign.keep(scope, existing)),
            }
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

    /// Returns the version of a GatewaySync that was reported last.
    pub(crate) fn sync_version(&self, key: &Key) -> Option<String> {
        self.read(|tables| tables.sync_version(key).map(ToOwned::to_owned))
    }

    /// Takes note of a GatewaySync that was read after this version of it had been reported; none
    /// where it is gone. What the watch has reported since counts more.
    pub(crate) fn read_sync(
        &self,
        key: &Key,
        reported: &str,
        found: Option<DeserializeGuard<GatewaySync>>,
    ) {
        self.write(|tables| {
            if tables.sync_version(key) == Some(reported) {
                let change = Change::of(key.clone(), found.map(Known::from));
                tables.syncs.change(None, change);
            }
        });
    }

    /// Returns the version of a ConfigMap of ours that was reported last.
    pub(crate) fn map_version(&self, key: &Key) -> Option<String> {
        self.read(|tables| tables.maps.version(key).map(ToOwned::to_owned))
    }

    /// Takes note of a ConfigMap of ours, as [`Cache::read_sync`] does.
    pub(crate) fn read_map(&self, key: &Key, reported: &str, found: Option<ConfigMap>) {
        self.write(|tables| tables.maps.read(key, reported, found.map(Owned::from)));
    }

    /// Returns the version of a Role of ours that was reported last.
    pub(crate) fn role_version(&self, key: &Key) -> Option<String> {
        self.read(|tables| tables.roles.version(key).map(ToOwned::to_owned))
    }

    /// Takes note of a Role of ours, as [`Cache::read_sync`] does.
    pub(crate) fn read_role(&self, key: &Key, reported: &str, found: Option<Role>) {
        self.write(|tables| tables.roles.read(key, reported, found.map(Owned::from)));
    }

    /// Returns the version of a RoleBinding of ours that was reported last.
    pub(crate) fn binding_version(&self, key: &Key) -> Option<String> {
        self.read(|tables| tables.bindings.version(key).map(ToOwned::to_owned))
    }

    /// Takes note of a RoleBinding of ours, as [`Cache::read_sync`] does.
    pub(crate) fn read_binding(&self, key: &Key, reported: &str, found: Option<RoleBinding>) {
        self.write(|tables| tables.bindings.read(key, reported, found.map(Owned::from)));
    }

    /// Takes note of a GatewaySync that another shard holds: where it is, pods have to name theirs.
    pub(crate) fn on_foreign_sync(&self, key: Key) -> Vec<Key> {
        self.write(|tables| {
            let mut concerned = Vec::new();
            // It may have been created again with another UID.
            if tables.syncs.remove(&key).is_some() {
                concerned.push(key.clone());
            }
            let namespace = key.namespace.clone();
            if tables.foreign.insert(key, ()).is_none() {
                concerned.extend(tables.syncs_in(&BTreeSet::from([namespace])));
            }
            concerned
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
            let names_profile = |pod: &Arc<Pod>| matches!(pod.choice(), Choice::Object(_));
            if changed.before.iter().chain(&now).any(names_profile) {
                self.profiles_changed.notify_one();
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
            tables.served(owners(&changed, &tables.maps))
        })
    }

    /// Takes note of a change to our Roles.
    pub(crate) fn on_role(&self, scope: Option<&str>, change: Change<Role>) -> Vec<Key> {
        self.write(|tables| {
            let changed = tables.roles.change(scope, change.map(Owned::from));
            tables.served(owners(&changed, &tables.roles))
        })
    }

    /// Takes note of a change to our RoleBindings.
    pub(crate) fn on_binding(&self, scope: Option<&str>, change: Change<RoleBinding>) -> Vec<Key> {
        self.write(|tables| {
            let changed = tables.bindings.change(scope, change.map(Owned::from));
            tables.served(owners(&changed, &tables.bindings))
        })
    }

    /// Takes note of a change to SyncProfiles, which concerns the GatewaySyncs beside it.
    pub(crate) fn on_profile(
        &self,
        scope: Option<&str>,
        change: Change<DeserializeGuard<SyncProfile>>,
    ) -> Vec<Key> {
        // For gateways a SyncProfile that can't be read is like none.
        let (change, unreadable) = match change {
            Change::Applied(key, DeserializeGuard(Ok(profile))) => {
                (Change::Applied(key.clone(), Arc::new(profile)), Change::Deleted(key))
            }
            Change::Applied(key, DeserializeGuard(Err(invalid))) => {
                (Change::Deleted(key.clone()), Change::Applied(key, Undecodable::from(invalid)))
            }
            Change::Deleted(key) => (Change::Deleted(key.clone()), Change::Deleted(key)),
            Change::Listed(keys) => (Change::Listed(keys.clone()), Change::Listed(keys)),
        };
        self.write(|tables| {
            tables.unreadable_profiles.change(scope, unreadable);
            let changed = tables.profiles.change(scope, change);
            self.profiles_changed.notify_one();
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

    /// Says whether a GatewaySync names a Secret.
    pub(crate) fn is_secret_named(&self, key: &Key) -> bool {
        self.read(|tables| !tables.syncs_with_secret(key).is_empty())
    }

    /// Drops Secrets that do not exist any more.
    pub(crate) fn keep_secrets(&self, scope: Option<&str>, existing: &HashSet<Key>) -> Vec<Key> {
        self.write(|tables| {
            let gone = tables.secrets.keep(scope, existing).keys;
            gone.iter().flat_map(|secret| tables.syncs_with_secret(secret)).collect()
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

#[cfg(test)]
mod tests {
    use k8s_openapi::api::rbac::v1::Subject;
    use stoker_api::condition::SyncStatus;
    use stoker_api::contract::report::Report;
    use stoker_api::names::{self, Label};
    use stoker_testkit::object::{config_map, gateway_sync};

    use super::*;

    fn cache_with(sync: GatewaySync) -> Cache {
        let cache = Cache::default();
        let key = Key::of(&sync);
        cache.on_sync(None, Change::Applied(key, DeserializeGuard(Ok(sync))));
        cache
    }

    fn versioned(version: &str) -> GatewaySync {
        let mut sync = gateway_sync("plant").namespace("line").build();
        sync.metadata.resource_version = Some(version.to_owned());
        sync
    }

    #[test]
    fn what_was_read_counts_only_while_the_watch_reports_nothing_else() {
        let key = Key::new("line", "plant");
        let read = |version: &str| Some(DeserializeGuard(Ok(versioned(version))));
        let cache = cache_with(versioned("3"));
        cache.read_sync(&key, "3", read("5"));
        assert_eq!(cache.sync_version(&key).as_deref(), Some("5"));
        cache.on_sync(None, Change::Applied(key.clone(), DeserializeGuard(Ok(versioned("7")))));
        cache.read_sync(&key, "5", read("6"));
        cache.read_sync(&key, "5", None);
        assert_eq!(cache.sync_version(&key).as_deref(), Some("7"));
        cache.on_sync(None, Change::Deleted(key.clone()));
        cache.read_sync(&key, "7", read("8"));
        assert_eq!(cache.sync_version(&key), None, "it was deleted after it was read");
        cache.on_sync(None, Change::Applied(key.clone(), DeserializeGuard(Ok(versioned("9")))));
        cache.read_sync(&key, "9", None);
        assert_eq!(cache.sync_version(&key), None, "the watch has lost its deletion");
    }

    #[test]
    fn metadata_that_was_read_counts_only_while_the_watch_reports_nothing_else() {
        let key = Key::new("line", &names::metadata_config_map("plant"));
        let map = |version: &str| {
            let mut map = config_map(&key.name, [("key", "value")]);
            map.metadata.resource_version = Some(version.to_owned());
            map
        };
        let cache = Cache::default();
        cache.on_map(None, Change::Applied(key.clone(), map("3")));
        cache.read_map(&key, "2", Some(map("1")));
        assert_eq!(cache.map_version(&key).as_deref(), Some("3"));
        cache.read_map(&key, "3", Some(map("4")));
        assert_eq!(cache.map_version(&key).as_deref(), Some("4"));
        cache.read_map(&key, "4", None);
        assert_eq!(cache.map_version(&key), None);
    }

    // Every report of a GatewaySync that another operator serves would cost a request.
    #[test]
    fn what_belongs_to_a_gatewaysync_that_is_not_served_wakes_nobody() {
        let cache = cache_with(versioned("1"));
        let owned = |sync: &str| {
            let mut map = config_map(&names::status_config_map(sync, 0), [("key", "value")]);
            let label = (Label::CrName.as_str().to_owned(), sync.to_owned());
            map.metadata.labels = Some(BTreeMap::from([label]));
            let key = Key::new("line", &names::status_config_map(sync, 0));
            cache.on_map(None, Change::Applied(key, map))
        };
        assert_eq!(owned("plant"), [Key::new("line", "plant")]);
        assert_eq!(owned("other"), []);
    }

    // A Secret may be deleted while there is no watch.
    #[test]
    fn a_secret_that_a_list_does_not_show_wakes_who_names_it() {
        let key = Key::new("line", "plant");
        let cache = cache_with(gateway_sync("plant").namespace("line").token("git").build());
        let git = Key::new("line", "git");
        assert!(cache.is_secret_named(&git) && !cache.is_secret_named(&key));
        cache.on_secret(&git, Some("1".to_owned()));
        assert_eq!(cache.keep_secrets(Some("line"), &HashSet::from([git.clone()])), []);
        assert_eq!(cache.keep_secrets(Some("other"), &HashSet::new()), []);
        assert_eq!(cache.keep_secrets(Some("line"), &HashSet::new()), [key]);
        assert_eq!(cache.secret_version(&git), None);
    }

    // Whoever may write RoleBindings would otherwise keep what was added to ours.
    #[test]
    fn a_binding_with_a_stranger_is_not_the_one_that_we_would_write() {
        let bound = |subjects: &[(&str, &str, &str)]| {
            let subject = |(kind, namespace, name): &(&str, &str, &str)| Subject {
                kind: (*kind).to_owned(),
                namespace: Some((*namespace).to_owned()),
                name: (*name).to_owned(),
                ..Subject::default()
            };
            let mut binding = RoleBinding::default();
            binding.metadata.namespace = Some("line".to_owned());
            binding.subjects = Some(subjects.iter().map(subject).collect());
            let key = Key::new("line", &names::agent_role("plant"));
            let cache = Cache::default();
            cache.on_binding(None, Change::Applied(key, binding));
            cache.belongings(&Key::new("line", "plant"), None).bound
        };
        let own = ("ServiceAccount", "line", "ignition");
        let ours = Some(BTreeSet::from(["ignition".to_owned()]));
        assert_eq!(bound(&[own]), ours);
        for stranger in [
            ("ServiceAccount", "other", "ignition"),
            ("User", "", "ignition"),
            ("Group", "", "everyone"),
        ] {
            assert_ne!(bound(&[own, stranger]), ours, "{stranger:?}");
            assert_ne!(bound(&[stranger]), ours, "{stranger:?}");
        }
    }

    // The emergency stop reaches those first that would change files.
    #[test]
    fn a_gatewaysync_with_a_gateway_in_the_middle_of_a_sync_comes_first() {
        let cache = Cache::default();
        for (name, status) in [
            ("a", SyncStatus::Synced),
            ("b", SyncStatus::Syncing),
            ("c", SyncStatus::Error),
            ("d", SyncStatus::Syncing),
        ] {
            let key = Key::new("line", name);
            let sync = gateway_sync(name).namespace("line").build();
            cache.on_sync(None, Change::Applied(key, DeserializeGuard(Ok(sync))));
            let pod = format!("{name}-0");
            let report = Report::new(pod.parse().unwrap(), &pod, "uid", status);
            let map = names::status_config_map(name, 0);
            let mut reports = config_map(&map, [(pod, report.to_value())]);
            let label = (Label::CrName.as_str().to_owned(), name.to_owned());
            reports.metadata.labels = Some(BTreeMap::from([label]));
            cache.on_map(None, Change::Applied(Key::new("line", &map), reports));
        }
        let names: Vec<String> = cache.keys().into_iter().map(|key| key.name).collect();
        assert_eq!(names, ["b", "d", "a", "c"]);
    }
}
