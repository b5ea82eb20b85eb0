//! Reads what a decision about one pod needs, from the API server and not from a cache.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::Api;
use kube::client::Client;
use stoker_core::repair::{
    Facts, Outlook, Owner, OwnerKind, Verdict, Wait, Workload, decide, owner_of,
};

use super::record::Stored;
use super::{Context, Need, Watchdog};

/// What was found about a pod.
pub(super) struct Examined {
    pub(super) pod: Pod,
    pub(super) workload: Option<Workload>,
    pub(super) record: Stored,
    pub(super) verdict: Verdict,
}

/// Examines a pod; none where it is not there any more, ends, or does not need a restart.
pub(super) async fn examine<W: Watchdog>(
    context: &Context,
    watchdog: &W,
    need: &Need<W::Subject>,
) -> kube::Result<Option<Examined>> {
    let client = &context.shared.client;
    let namespace = &need.pod.namespace;
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let Some(pod) = api.get_opt(&need.pod.name).await? else { return Ok(None) };
    if pod.metadata.deletion_timestamp.is_some() || !watchdog.is_meant(need, &pod) {
        return Ok(None);
    }
    let record = Stored::read(context, watchdog.record()).await?;
    let workload = match owner_of(&pod.metadata) {
        Some(owner) => workload(client, namespace, &owner).await?,
        None => None,
    };
    let outlook = match &workload {
        Some(workload) => watchdog.look_ahead(need, workload).await?,
        None => Outlook::Wait(Wait::Webhook),
    };
    let last = workload.as_ref().and_then(|it| record.content.find(it, &pod, &need.cause));
    let is_predecessor_ending = match last {
        Some(last) if Some(&last.uid) != pod.metadata.uid.as_ref() => {
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
    let verdict = decide(&facts, &record.content, watchdog.interval(), Timestamp::now());
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
