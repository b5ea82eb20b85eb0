//! Reads what a decision about one pod needs, from the API server and not from a cache.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::ResourceExt as _;
use kube::api::Api;
use kube::client::Client;
use stoker_api::names::{Annotation, Label};
use stoker_core::admission::{Policy, World};
use stoker_core::repair::{
    Facts, Outlook, Owner, OwnerKind, Scope, Verdict, Workload, decide, outlook, owner_of,
};

use super::record::Stored;
use super::webhook::Webhook;
use super::{Context, Need};
use crate::controller::cache::Key;

/// What was found about a pod.
pub(super) struct Examined {
    pub(super) pod: Pod,
    pub(super) workload: Option<Workload>,
    pub(super) record: Stored,
    pub(super) verdict: Verdict,
}

/// Examines a pod; none where it is not there any more, or ends.
pub(super) async fn examine(context: &Context, need: &Need) -> kube::Result<Option<Examined>> {
    let client = &context.shared.client;
    let namespace = &need.pod.namespace;
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let Some(pod) = api.get_opt(&need.pod.name).await? else { return Ok(None) };
    let is_same = pod.metadata.uid.as_deref() == Some(&need.pod.uid);
    if !is_same || pod.metadata.deletion_timestamp.is_some() {
        return Ok(None);
    }
    let record = Stored::read(context).await?;
    let workload = match owner_of(&pod.metadata) {
        Some(owner) => workload(client, namespace, &owner).await?,
        None => None,
    };
    let outlook = match &workload {
        Some(workload) => look_ahead(context, need, workload).await?,
        None => Outlook::Unreachable,
    };
    let last = workload.as_ref().and_then(|it| record.content.find(it, &pod, &need.cause));
    let is_predecessor_ending = match last {
        Some(last) if last.uid != need.pod.uid => {
            let found = api.get_metadata_opt(&last.pod).await?;
            found.is_some_and(|found| found.metadata.uid.as_deref() == Some(&last.uid))
        }
        _ => false,
    };
    let facts = Facts {
        pod: &pod,
        cause: &need.cause,
        workload: workload.as_ref(),
        outlook: &outlook,
        is_predecessor_ending,
    };
    let interval = context.settings.repair.interval;
    let verdict = decide(&facts, &record.content, interval, Timestamp::now());
    Ok(Some(Examined { pod, workload, record, verdict }))
}

/// Reads the workload of a pod: of a Deployment's ReplicaSet the Deployment.
async fn workload(
    client: &Client,
    namespace: &str,
    owner: &Owner,
) -> kube::Result<Option<Workload>> {
    macro_rules! read {
        ($kind:ty) => {
            Api::<$kind>::namespaced(client.clone(), namespace).get_opt(&owner.name).await?
        };
    }
    let found = match owner.kind {
        OwnerKind::Deployment => read!(Deployment).map(Workload::from),
        OwnerKind::StatefulSet => read!(StatefulSet).map(Workload::from),
        OwnerKind::DaemonSet => read!(DaemonSet).map(Workload::from),
        OwnerKind::ReplicaSet => {
            let Some(set) = read!(ReplicaSet) else { return Ok(None) };
            return match owner_of(&set.metadata) {
                Some(above) => Box::pin(workload(client, namespace, &above)).await,
                // Something else may own it, and would undo or repeat what we do.
                None if set.owner_references().is_empty() => Ok(Some(Workload::from(set))),
                None => Ok(None),
            };
        }
    };
    Ok(found.filter(|found| found.owner.uid == owner.uid))
}

/// Finds out what the pod's successor would get.
async fn look_ahead(context: &Context, need: &Need, workload: &Workload) -> kube::Result<Outlook> {
    let client = &context.shared.client;
    let webhook = match &context.settings.repair.webhook {
        Some(name) => Webhook::read(client, name).await?,
        None => Webhook::default(),
    };
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let labels = namespaces.get_metadata(&need.pod.namespace).await?.metadata.labels;
    let labels = labels.unwrap_or_default();
    let policy = match labels.get(Label::InjectionPolicy.as_str()).map(String::as_str) {
        Some("strict") => Policy::Strict,
        Some("lenient") => Policy::Lenient,
        _ => context.settings.repair.policy,
    };
    let annotations = workload.template.metadata.iter().flat_map(|it| &it.annotations);
    let profile = annotations.into_iter().find_map(|it| it.get(Annotation::SyncProfile.as_str()));
    let key = |name: &String| Key::new(&need.pod.namespace, name);
    let world = World {
        syncs: vec![&need.sync],
        has_sync_profile: profile.is_none_or(|it| context.cache.profile(&key(it)).is_some()),
        is_complete: true,
    };
    let scope = Scope { selector: webhook.selector.as_ref(), labels: &labels, policy };
    let found = outlook(&workload.template, &world, &context.settings.admission, scope);
    if found == Outlook::Agent && !webhook.works().await {
        return Ok(Outlook::Unreachable);
    }
    Ok(found)
}
