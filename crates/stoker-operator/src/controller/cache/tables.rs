//! Everything that the watches have seen, and how it belongs together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use stoker_api::condition::SyncStatus;
use stoker_api::contract::report::Report;
use stoker_api::names::Annotation;
use stoker_api::{SyncProfile, names};
use stoker_core::gateway::Pod;
use stoker_core::repair::Cause;

use super::owned::{Bound, Owned, OwnedMap, PublishedMetadata, Reports};
use super::table::Table;
use super::{Belongings, Key, Known, Undecodable, Versions};
use crate::controller::repair::{Injected, Need};

/// Everything that the watches have seen.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) syncs: Table<Known>,
    /// GatewaySyncs that another shard holds.
    pub(super) foreign: Table<()>,
    pub(super) pods: Table<Arc<Pod>>,
    pub(super) unlabelled: Table<Arc<Pod>>,
    pub(super) maps: Table<Owned<OwnedMap>>,
    pub(super) roles: Table<Owned<Option<u8>>>,
    pub(super) bindings: Table<Owned<Bound>>,
    pub(super) profiles: Table<Arc<SyncProfile>>,
    pub(super) unreadable_profiles: Table<Undecodable>,
    pub(super) secrets: Table<String>,
    pub(super) emergency: Option<String>,
}

impl Tables {
    pub(super) fn belongings(&self, key: &Key, uid: Option<&str>) -> Belongings {
        let place = |name: &str| Key::new(&key.namespace, name);
        let is_ours = |owner: &Option<String>| owner.as_deref() == uid;
        let metadata = self.metadata(key, uid).cloned();
        let mut belongings = Belongings { metadata, ..Belongings::default() };
        for (shard, reports) in self.shards(key, uid) {
            belongings.shards.insert(shard);
            for (pod, report) in reports {
                belongings.places.entry(pod.clone()).or_default().push(shard);
                // A pod whose shard has changed has its newest report in the highest.
                belongings.reports.insert(pod.clone(), report.clone());
            }
        }
        let rights = place(&names::agent_role(&key.name));
        let role = self.roles.get(&rights).filter(|owned| is_ours(&owned.owner));
        belongings.role = role.and_then(|owned| owned.object);
        let bound = |at: &Key| self.bindings.get(at).filter(|owned| is_ours(&owned.owner));
        belongings.bound = bound(&rights).map(|owned| owned.object.accounts.clone());
        let token = place(&names::token_role_binding(&key.name));
        belongings.token_binding = bound(&token).map(|owned| owned.object.clone());
        // Also of objects of a GatewaySync that had this name before: they are taken over.
        belongings.versions = Versions {
            metadata: belongings.metadata.as_ref().and_then(|it| it.resource_version.clone()),
            role: self.roles.version(&rights).map(ToOwned::to_owned),
            binding: self.bindings.version(&rights).map(ToOwned::to_owned),
            token_binding: self.bindings.version(&token).map(ToOwned::to_owned),
        };
        belongings
    }

    /// Returns the status objects of a GatewaySync with this UID.
    fn shards(&self, key: &Key, uid: Option<&str>) -> BTreeMap<u8, &Reports> {
        let prefix = format!("{}{}-", names::STATUS_PREFIX, key.name);
        let named = self.maps.with_prefix(&key.namespace, &prefix);
        let shards = named.filter_map(|(at, owned)| match &owned.object {
            OwnedMap::Reports(reports) if owned.owner.as_deref() == uid => {
                Some((at.name[prefix.len()..].parse().ok()?, reports))
            }
            OwnedMap::Reports(_) | OwnedMap::Metadata(_) | OwnedMap::Other => None,
        });
        shards.collect()
    }

    /// Returns the metadata of a GatewaySync with this UID.
    pub(super) fn metadata(&self, key: &Key, uid: Option<&str>) -> Option<&PublishedMetadata> {
        let at = Key::new(&key.namespace, &names::metadata_config_map(&key.name));
        match self.maps.get(&at).filter(|owned| owned.owner.as_deref() == uid)?.object {
            OwnedMap::Metadata(ref metadata) => Some(metadata),
            OwnedMap::Reports(_) | OwnedMap::Other => None,
        }
    }

    /// Returns the version of a GatewaySync.
    pub(super) fn sync_version(&self, key: &Key) -> Option<&str> {
        match self.syncs.get(key)? {
            Known::Sync(sync) => sync.metadata.resource_version.as_deref(),
            Known::Undecodable(fault) => fault.resource_version.as_deref(),
        }
    }

    /// Returns the GatewaySyncs of which a gateway reports that it is in the middle of a sync.
    pub(super) fn syncing(&self) -> BTreeSet<Key> {
        let is_syncing = |report: &Result<Arc<Report>, String>| {
            report.as_ref().is_ok_and(|report| report.sync_status == SyncStatus::Syncing)
        };
        let syncing = self.maps.iter().filter(|(_, owned)| match &owned.object {
            OwnedMap::Reports(reports) => reports.values().any(is_syncing),
            OwnedMap::Metadata(_) | OwnedMap::Other => false,
        });
        syncing.map(|(key, owned)| Key::new(&key.namespace, &owned.sync)).collect()
    }

    pub(super) fn pods_of(&self, key: &Key) -> Vec<Pod> {
        let foreign = self.foreign.in_namespace(&key.namespace).count();
        let is_only = self.syncs.in_namespace(&key.namespace).count() + foreign == 1;
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

    /// Returns the pods that need a restart: those without an agent that ask for one, and those of
    /// which the status says so. Pods of a paused GatewaySync stay as they are.
    pub(super) fn needs(&self) -> Vec<Need<Injected>> {
        let mut needs = Vec::new();
        for (key, known) in self.syncs.iter() {
            let Known::Sync(sync) = known else { continue };
            if sync.spec.paused == Some(true) || sync.metadata.deletion_timestamp.is_some() {
                continue;
            }
            let outdated: BTreeMap<&str, &str> = sync
                .status
                .iter()
                .flat_map(|status| &status.discovered_gateways)
                .filter_map(|gateway| {
                    Some((gateway.pod_name.as_str(), gateway.restart_needed.as_deref()?))
                })
                .collect();
            let has_missed = self.unlabelled.in_namespace(&key.namespace).next().is_some();
            if outdated.is_empty() && !has_missed {
                continue;
            }
            for pod in self.pods_of(key).into_iter().filter(|pod| pod.is_scheduled) {
                let hash = pod.annotation(Annotation::InjectedHash).unwrap_or_default();
                let cause = match outdated.get(pod.name.as_str()) {
                    _ if !pod.has_agent && pod.asks_for_agent() => Cause::MISSING_AGENT,
                    Some(reason) if pod.has_agent => Cause::restart_needed(reason, hash),
                    _ => continue,
                };
                let subject = Injected { uid: pod.uid, sync: Arc::clone(sync) };
                needs.push(Need { pod: Key::new(&pod.namespace, &pod.name), cause, subject });
            }
        }
        needs
    }

    pub(super) fn syncs_of<'a>(&self, pods: impl Iterator<Item = &'a Arc<Pod>>) -> Vec<Key> {
        let mut keys = BTreeSet::new();
        for pod in pods {
            match pod.sync_name() {
                Some(name) => drop(keys.insert(Key::new(&pod.namespace, name))),
                None => keys.extend(self.syncs_in(&BTreeSet::from([pod.namespace.clone()]))),
            }
        }
        self.served(keys.into_iter().collect())
    }

    /// Returns those of these GatewaySyncs that this operator serves.
    pub(super) fn served(&self, mut keys: Vec<Key>) -> Vec<Key> {
        keys.retain(|key| self.syncs.get(key).is_some());
        keys
    }

    pub(super) fn syncs_in(&self, namespaces: &BTreeSet<String>) -> Vec<Key> {
        let all = namespaces.iter().flat_map(|namespace| self.syncs.in_namespace(namespace));
        all.map(|(key, _)| key.clone()).collect()
    }

    pub(super) fn syncs_with_secret(&self, secret: &Key) -> Vec<Key> {
        let syncs = self.syncs.in_namespace(&secret.namespace);
        let concerned = syncs.filter(|(_, known)| match known {
            Known::Sync(sync) => crate::controller::credential::names(sync).contains(&secret.name),
            Known::Undecodable(_) => false,
        });
        concerned.map(|(key, _)| key.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use kube::core::DeserializeGuard;
    use stoker_testkit::object::{gateway_pod, gateway_sync};

    use super::*;
    use crate::controller::cache::Cache;
    use crate::controller::pod;
    use crate::controller::watch::Change;

    // Two shards would restart the pod by turns, and the webhook would give it nothing.
    #[test]
    fn a_pod_that_names_none_of_two_gatewaysyncs_is_missed_by_neither_shard() {
        let cache = Cache::default();
        let (own, foreign) = (Key::new("line", "a"), Key::new("line", "b"));
        let sync = gateway_sync("a").namespace("line").build();
        cache.on_sync(None, Change::Applied(own.clone(), DeserializeGuard(Ok(sync))));
        let mut missed =
            gateway_pod("ignition-0").spec(|it| it.node_name = Some("n".into())).build();
        missed.metadata.namespace = Some("line".to_owned());
        cache.on_unlabelled(&Key::new("line", "ignition-0"), pod::reduced(&missed));
        assert_eq!(cache.needs().len(), 1);
        assert_eq!(cache.on_foreign_sync(foreign.clone()), std::slice::from_ref(&own));
        assert_eq!(cache.needs().len(), 0);
        cache.on_sync(None, Change::Listed([own.clone(), foreign.clone()].into()));
        assert_eq!(cache.needs().len(), 0);
        cache.on_sync(None, Change::Deleted(foreign));
        assert_eq!(cache.needs().len(), 1);
        // It was created again, with a UID of another shard.
        assert_eq!(cache.on_foreign_sync(own.clone()), std::slice::from_ref(&own));
        assert_eq!(cache.sync(&own).map(drop), None);
    }
}
