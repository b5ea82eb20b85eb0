//! Small things about the API server that several steps share.

use std::fmt::Debug;
use std::time::Duration;

use kube::api::{Api, ListParams, ObjectMeta};
use kube::core::NamespaceResourceScope;
use kube::{Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use stoker_api::names::{Label, MANAGED_BY};
use stoker_api::{GatewaySync, SyncProfile};
use stoker_runtime::admin::Check;

use super::apply::is_not_found;
use super::cache::Key;
use super::{Context, Error, fleet};
use crate::run::Shared;

/// The name under which the controller owns fields.
pub(crate) const FIELD_MANAGER: &str = "stoker-controller";

const DEFINITIONS_CHECK: Duration = Duration::from_secs(5);

/// Waits until the API server knows the kinds that the controller watches.
pub(crate) async fn wait_for_definitions(shared: &Shared, ready: &Check) {
    let mut is_told = false;
    loop {
        let missing = [unknown::<GatewaySync>(shared).await, unknown::<SyncProfile>(shared).await];
        let missing: Vec<String> = missing.into_iter().flatten().collect();
        if missing.is_empty() {
            return;
        }
        if !is_told {
            let (kinds, command) = (missing.join(", "), "stoker-operator crds apply");
            let message = "the custom resource definitions are missing";
            tracing::error!(kinds, command, "{message}");
            ready.fail(format!("{message} of {kinds}: run {command}"));
            is_told = true;
        }
        tokio::select! {
            () = tokio::time::sleep(DEFINITIONS_CHECK) => {}
            () = shared.shutdown.requested() => return,
        }
    }
}

/// Returns the name of a kind that the API server does not know.
async fn unknown<K>(shared: &Shared) -> Option<String>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + DeserializeOwned
        + Debug,
{
    let api = fleet::api::<K>(&shared.client, shared.watch_namespaces.first().map(String::as_str));
    let listed = api.list_metadata(&ListParams::default().limit(1)).await;
    listed.is_err_and(|error| is_not_found(&error)).then(|| K::kind(&()).into_owned())
}

/// Returns the metadata of an object that belongs to a GatewaySync and goes with it.
pub(crate) fn owned_by(sync: &GatewaySync, name: String) -> ObjectMeta {
    let labels = [
        (Label::CrName.as_str(), sync.name_any()),
        (Label::ManagedBy.as_str(), MANAGED_BY.to_owned()),
    ];
    ObjectMeta {
        name: Some(name),
        namespace: sync.namespace(),
        labels: Some(labels.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        owner_references: sync.controller_owner_ref(&()).map(|owner| vec![owner]),
        ..ObjectMeta::default()
    }
}

impl Context {
    /// Fails where this instance must not write any more.
    pub(crate) fn check_leading(&self) -> Result<(), Error> {
        if self.shared.leadership.is_held() { Ok(()) } else { Err(Error::NotLeading) }
    }

    /// Returns access to the GatewaySyncs beside this one.
    pub(crate) fn syncs(&self, key: &Key) -> Api<GatewaySync> {
        Api::namespaced(self.shared.client.clone(), &key.namespace)
    }
}
