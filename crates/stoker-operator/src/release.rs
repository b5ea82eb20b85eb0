//! `stoker-operator release`: lets go of everything that would outlive the operator.
//!
//! The chart runs it before it uninstalls the operator. Without a controller a finalizer of ours
//! would hold its GatewaySync, and the namespace around it, for ever.
//!
//! # Flow
//! Scale the operator to 0 and wait until its pods are gone: a controller that still runs would add
//! the finalizers again, and a webhook the certificate's Secret. Then remove the finalizers, the
//! certificate's Secret, the record of repairs and the Lease.
//!
//! # Promises
//! Running it twice, or after it was killed, ends in the same state. What does not exist is not an
//! error. Finalizers of others stay.

use std::time::Duration;

use clap::Args;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kube::api::{Api, DeleteParams, ListParams, PartialObjectMeta, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::json;
use stoker_api::GatewaySync;
use stoker_api::names::{
    BOOTSTRAP_POLICY_CONFIG_MAP, BOOTSTRAP_REPAIRS_CONFIG_MAP, FINALIZER, REPAIRS_CONFIG_MAP,
};
use tokio::time::{Instant, sleep};

/// How long the operator's pods may take to end.
const PODS_END_WITHIN: Duration = Duration::from_secs(90);
const PODS_CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// GatewaySyncs per request.
const PAGE: u32 = 500;
const CONFLICT_RETRIES: u32 = 5;

/// What to let go of.
#[derive(Debug, Clone, Args)]
pub(crate) struct Arguments {
    /// The namespace of the operator
    #[arg(long, env = "POD_NAMESPACE", value_name = "NAMESPACE")]
    pub(crate) namespace: String,

    /// A Deployment of the operator, which is scaled to 0 (repeatable)
    #[arg(long = "deployment", required = true, value_name = "NAME")]
    pub(crate) deployments: Vec<String>,

    /// The label selector of the operator's pods
    #[arg(long, value_name = "SELECTOR")]
    pub(crate) selector: String,

    /// The Secret with the certificate of the webhook, which is deleted
    #[arg(long, value_name = "NAME")]
    pub(crate) certificate_secret: Option<String>,

    /// Only GatewaySyncs of these namespaces; without it all of them
    #[arg(long, value_name = "NAMESPACES", value_delimiter = ',')]
    pub(crate) watch_namespaces: Vec<String>,

    /// The Lease of the operator, which is deleted
    #[arg(long, value_name = "NAME")]
    pub(crate) lease: Option<String>,
}

/// Why something is still held.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The controller may still run.
    #[error("failed to scale the Deployment {name:?} to 0")]
    Scale { name: String, source: Box<kube::Error> },
    /// Nothing is known about the operator's pods.
    #[error("failed to list the pods {selector:?}")]
    ListPods { selector: String, source: Box<kube::Error> },
    /// A pod of the operator does not end.
    #[error("the pods {names:?} still run {} s after the Deployment was scaled to 0", PODS_END_WITHIN.as_secs())]
    PodsRemain { names: Vec<String> },
    /// Nothing is known about the GatewaySyncs.
    #[error("failed to list the GatewaySyncs")]
    ListSyncs(#[source] Box<kube::Error>),
    /// One GatewaySync still has our finalizer.
    #[error("failed to remove the finalizer of GatewaySync \"{namespace}/{name}\"")]
    Finalizer { namespace: String, name: String, source: Box<kube::Error> },
    /// An object of ours is still there.
    #[error("failed to delete {name:?}")]
    Delete { name: String, source: Box<kube::Error> },
}

/// Lets go of everything.
pub(crate) async fn run(client: &Client, arguments: &Arguments) -> Result<(), Error> {
    scale_down(client, arguments).await?;
    wait_for_pods(client, arguments).await?;
    let mut released = 0;
    for syncs in scopes(client, &arguments.watch_namespaces) {
        released += remove_finalizers(client, &syncs).await?;
    }
    tracing::info!(released, "removed the finalizers of GatewaySyncs");
    let namespace = &arguments.namespace;
    if let Some(name) = &arguments.certificate_secret {
        delete(Api::<Secret>::namespaced(client.clone(), namespace), name).await?;
    }
    for name in [REPAIRS_CONFIG_MAP, BOOTSTRAP_REPAIRS_CONFIG_MAP, BOOTSTRAP_POLICY_CONFIG_MAP] {
        delete(Api::<ConfigMap>::namespaced(client.clone(), namespace), name).await?;
    }
    if let Some(name) = &arguments.lease {
        delete(Api::<Lease>::namespaced(client.clone(), namespace), name).await?;
    }
    Ok(())
}

async fn scale_down(client: &Client, arguments: &Arguments) -> Result<(), Error> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), &arguments.namespace);
    let patch = Patch::Merge(json!({"spec": {"replicas": 0}}));
    for name in &arguments.deployments {
        match deployments.patch(name, &PatchParams::default(), &patch).await {
            Err(source) if !is_missing(&source) => {
                return Err(Error::Scale { name: name.clone(), source: Box::new(source) });
            }
            _ => {}
        }
    }
    Ok(())
}

async fn wait_for_pods(client: &Client, arguments: &Arguments) -> Result<(), Error> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), &arguments.namespace);
    let selector = &arguments.selector;
    let started = Instant::now();
    loop {
        let listed = pods.list_metadata(&ListParams::default().labels(selector)).await;
        let source =
            |source| Error::ListPods { selector: selector.clone(), source: Box::new(source) };
        let names: Vec<_> = listed.map_err(source)?.iter().map(ResourceExt::name_any).collect();
        if names.is_empty() {
            return Ok(());
        }
        if started.elapsed() > PODS_END_WITHIN {
            return Err(Error::PodsRemain { names });
        }
        sleep(PODS_CHECK_INTERVAL).await;
    }
}

/// The GatewaySyncs that this operator served.
fn scopes(client: &Client, namespaces: &[String]) -> Vec<Api<GatewaySync>> {
    if namespaces.is_empty() {
        return vec![Api::all(client.clone())];
    }
    namespaces.iter().map(|name| Api::namespaced(client.clone(), name)).collect()
}

/// Returns from how many GatewaySyncs a finalizer was removed.
async fn remove_finalizers(client: &Client, all: &Api<GatewaySync>) -> Result<usize, Error> {
    let mut page = ListParams::default().limit(PAGE);
    let mut released = 0;
    loop {
        let listed = match all.list_metadata(&page).await {
            Ok(listed) => listed,
            // Without the definition there are no GatewaySyncs.
            Err(error) if is_missing(&error) => return Ok(released),
            Err(error) => return Err(Error::ListSyncs(Box::new(error))),
        };
        for sync in &listed.items {
            released += usize::from(remove_finalizer(client, sync).await?);
        }
        match listed.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page.continue_token = Some(token),
            None => return Ok(released),
        }
    }
}

/// Returns whether there was one to remove.
async fn remove_finalizer(
    client: &Client,
    sync: &PartialObjectMeta<GatewaySync>,
) -> Result<bool, Error> {
    let (name, namespace) = (sync.name_any(), sync.namespace().unwrap_or_default());
    let syncs: Api<GatewaySync> = Api::namespaced(client.clone(), &namespace);
    let mut result = patch_finalizers(&syncs, sync).await;
    for _ in 0..CONFLICT_RETRIES {
        // The object was changed after it was listed.
        if !matches!(&result, Err(kube::Error::Api(status)) if status.code == 409) {
            break;
        }
        result = match syncs.get_metadata(&name).await {
            Ok(newer) => patch_finalizers(&syncs, &newer).await,
            Err(error) => Err(error),
        };
    }
    match result {
        Err(error) if is_missing(&error) => Ok(false),
        Err(source) => Err(Error::Finalizer { namespace, name, source: Box::new(source) }),
        Ok(removed) => Ok(removed),
    }
}

async fn patch_finalizers(
    syncs: &Api<GatewaySync>,
    sync: &PartialObjectMeta<GatewaySync>,
) -> Result<bool, kube::Error> {
    if !sync.finalizers().iter().any(|finalizer| finalizer == FINALIZER) {
        return Ok(false);
    }
    let others: Vec<_> = sync.finalizers().iter().filter(|name| *name != FINALIZER).collect();
    let metadata = json!({"finalizers": others, "resourceVersion": sync.resource_version()});
    let patch = Patch::Merge(json!({"metadata": metadata}));
    syncs.patch_metadata(&sync.name_any(), &PatchParams::default(), &patch).await.map(|_| true)
}

async fn delete<K>(objects: Api<K>, name: &str) -> Result<(), Error>
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    match objects.delete(name, &DeleteParams::default()).await {
        Err(source) if !is_missing(&source) => {
            Err(Error::Delete { name: name.to_owned(), source: Box::new(source) })
        }
        _ => Ok(()),
    }
}

fn is_missing(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

#[cfg(test)]
mod tests;
