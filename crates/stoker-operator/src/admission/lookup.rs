//! The GatewaySyncs that a pod may mean: from the directory, and once from the API server before
//! "there is none" is believed.
//!
//! A GatewaySync and its pods often arrive in one `kubectl apply`, and the directory hears of it a
//! moment later.

use std::sync::Arc;
use std::time::Duration;

use kube::api::{Api, ListParams};
use stoker_api::names::Annotation;
use stoker_api::{GatewaySync, SyncProfile};
use stoker_core::admission::Pod;

use crate::directory::Directory;

/// The API server waits 2 s for the whole response.
const WITHIN: Duration = Duration::from_millis(700);
/// Enough to say that there are several, and to list some.
const ENOUGH: u32 = 20;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) syncs: Vec<Arc<GatewaySync>>,
    pub(super) has_sync_profile: bool,
    pub(super) is_complete: bool,
    /// The pod names a GatewaySync that exists, and that the label selector leaves out.
    pub(super) is_of_another: bool,
}

/// Looks up what a pod names.
pub(super) async fn look_up(directory: &Directory, namespace: &str, pod: &Pod<'_>) -> Found {
    let named = annotation(pod, Annotation::CrName);
    let profile = annotation(pod, Annotation::SyncProfile);
    let (syncs, has_sync_profile) = tokio::join!(
        syncs(directory, namespace, named),
        has_profile(directory, namespace, profile)
    );
    let is_of_another = match (&syncs, named) {
        (Some(syncs), Some(name)) if !has(syncs, name) => {
            is_left_out(directory, namespace, name).await
        }
        _ => false,
    };
    Found {
        is_of_another,
        is_complete: syncs.is_some(),
        syncs: syncs.unwrap_or_default(),
        // Without an answer nothing is said about the SyncProfile.
        has_sync_profile: has_sync_profile.unwrap_or(true),
    }
}

fn annotation<'a>(pod: &'a Pod<'_>, annotation: Annotation) -> Option<&'a str> {
    pod.annotation(annotation.as_str()).filter(|text| !text.is_empty())
}

/// Returns the GatewaySyncs of the namespace, the named one among them if it exists, or none where
/// the API server did not answer.
async fn syncs(
    directory: &Directory,
    namespace: &str,
    named: Option<&str>,
) -> Option<Vec<Arc<GatewaySync>>> {
    let mut known = directory.syncs(namespace);
    let is_enough = match named {
        Some(name) => has(&known, name),
        None => !known.is_empty(),
    };
    if is_enough {
        return Some(known);
    }
    let mut parameters = ListParams::default().limit(ENOUGH);
    // A list, and not a read by name: the API server then compares the labels.
    if let Some(name) = named {
        parameters = parameters.fields(&format!("metadata.name={name}"));
    }
    if let Some(selector) = directory.selector() {
        parameters = parameters.labels(selector);
    }
    let api = directory.api(namespace);
    let listed = tokio::time::timeout(WITHIN, api.list(&parameters)).await.ok()?.ok()?;
    known.extend(listed.items.into_iter().map(Arc::new));
    Some(known)
}

fn has(syncs: &[Arc<GatewaySync>], name: &str) -> bool {
    syncs.iter().any(|sync| sync.metadata.name.as_deref() == Some(name))
}

/// Says whether a GatewaySync exists that is not among those that this operator serves. Its own
/// operator injects the agent, with the credentials that only that operator knows of.
async fn is_left_out(directory: &Directory, namespace: &str, name: &str) -> bool {
    if directory.selector().is_none() {
        return false;
    }
    let api = directory.api(namespace);
    matches!(tokio::time::timeout(WITHIN, api.get_metadata_opt(name)).await, Ok(Ok(Some(_))))
}

async fn has_profile(directory: &Directory, namespace: &str, name: Option<&str>) -> Option<bool> {
    let Some(name) = name else { return Some(false) };
    if directory.has_profile(namespace, name) {
        return Some(true);
    }
    let api: Api<SyncProfile> = Api::namespaced(directory.client().clone(), namespace);
    let found = tokio::time::timeout(WITHIN, api.get_metadata_opt(name)).await.ok()?.ok()?;
    Some(found.is_some())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use hyper::{Request, Response};
    use kube::Client;
    use kube::client::Body;
    use serde_json::json;
    use stoker_testkit::object::gateway_sync;

    use super::*;
    use crate::directory::tests::unwatched;

    /// An API server with 25 GatewaySyncs, `plant-00` and so on, that knows limits and names.
    fn crowded() -> Client {
        let service = tower::service_fn(|request: Request<Body>| async move {
            let query = request.uri().query().unwrap_or_default().to_owned();
            let names = (0..25).map(|number| format!("plant-{number:02}"));
            let is_asked_for = |name: &String| {
                !query.contains("fieldSelector=")
                    || query.contains(&format!("fieldSelector=metadata.name%3D{name}"))
            };
            let limit = if query.contains("limit=20") { 20 } else { 25 };
            let items: Vec<_> = names
                .filter(is_asked_for)
                .take(limit)
                .map(|name| gateway_sync(&name).mapping("a", "b").build())
                .collect();
            let list = json!({
                "apiVersion": "stoker.io/v1alpha1", "kind": "GatewaySyncList",
                "metadata": {}, "items": items,
            });
            Ok::<_, Infallible>(Response::new(Body::from(serde_json::to_vec(&list).unwrap())))
        });
        Client::new(service, "default")
    }

    // S1: also in a namespace with more GatewaySyncs than one look lists.
    #[tokio::test]
    async fn a_named_gatewaysync_is_found_among_many() {
        let directory = unwatched(crowded());
        for (name, is_there) in [("plant-00", true), ("plant-24", true), ("plant-25", false)] {
            let found = syncs(&directory, "default", Some(name)).await.unwrap();
            let is_found = found.iter().any(|sync| sync.metadata.name.as_deref() == Some(name));
            assert_eq!(is_found, is_there, "{name}");
        }
        assert!(syncs(&directory, "default", None).await.unwrap().len() > 1);
    }
}
