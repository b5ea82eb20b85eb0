//! Small things about the API server that several steps share.

use std::time::Duration;

use kube::api::{Api, ListParams, ObjectMeta};
use kube::{Resource as _, ResourceExt as _};
use stoker_api::GatewaySync;
use stoker_api::names::{Label, MANAGED_BY};
use stoker_runtime::admin::Check;

use super::cache::Key;
use super::{Context, Error};
use crate::run::Shared;

/// The name under which the controller owns fields.
pub(crate) const FIELD_MANAGER: &str = "stoker-controller";

const DEFINITIONS_CHECK: Duration = Duration::from_secs(5);

/// Waits until the API server knows GatewaySyncs.
pub(crate) async fn wait_for_definitions(shared: &Shared, ready: &Check) {
    let api: Api<GatewaySync> = match shared.watch_namespaces.first() {
        Some(namespace) => Api::namespaced(shared.client.clone(), namespace),
        None => Api::all(shared.client.clone()),
    };
    let mut is_told = false;
    while let Err(kube::Error::Api(status)) =
        api.list_metadata(&ListParams::default().limit(1)).await
    {
        if status.code != 404 {
            return;
        }
        if !is_told {
            let message = "the custom resource definitions are missing";
            tracing::error!(command = "stoker-operator crds apply", "{message}");
            ready.fail(format!("{message}: run stoker-operator crds apply"));
            is_told = true;
        }
        tokio::select! {
            () = tokio::time::sleep(DEFINITIONS_CHECK) => {}
            () = shared.shutdown.requested() => return,
        }
    }
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
