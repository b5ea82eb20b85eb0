//! The record of evictions, in a ConfigMap of the operator's namespace.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{Api, ListParams, ObjectMeta, PostParams};
use kube::core::Selector;
use stoker_api::names::{Label, MANAGED_BY};
use stoker_core::repair::{Cause, Record, Workload};

use super::Context;

/// The record, and the object that it was read from.
pub(super) struct Stored {
    pub(super) content: Record,
    name: &'static str,
    object: Option<ConfigMap>,
}

impl Stored {
    /// Reads the record.
    pub(super) async fn read(context: &Context, name: &'static str) -> kube::Result<Self> {
        let object = api(context).get_opt(name).await?;
        let record = object.as_ref().and_then(|object| object.data.as_ref());
        let known = record.map(Record::parse).unwrap_or_default();
        Ok(Self { content: known, name, object })
    }

    /// Adds an eviction, and stores the record. That fails where another instance wrote it
    /// meanwhile: then nothing is evicted.
    pub(super) async fn add(
        &mut self,
        context: &Context,
        cause: &Cause,
        pod: &Pod,
        workload: &Workload,
    ) -> kube::Result<()> {
        let youngest = youngest(context, pod, workload).await?;
        self.content.add(workload, pod, cause, youngest, Timestamp::now());
        let data = Some(self.content.to_data());
        let parameters = PostParams::default();
        if let Some(object) = self.object.take() {
            let object = ConfigMap { data, ..object };
            api(context).replace(self.name, &parameters, &object).await?;
        } else {
            let label = (Label::ManagedBy.as_str().to_owned(), MANAGED_BY.to_owned());
            let metadata = ObjectMeta {
                name: Some(self.name.to_owned()),
                labels: Some(BTreeMap::from([label])),
                ..ObjectMeta::default()
            };
            let object = ConfigMap { metadata, data, ..ConfigMap::default() };
            api(context).create(&parameters, &object).await?;
        }
        Ok(())
    }
}

/// Returns when the youngest pod of a workload was created, by the clock of the API server.
async fn youngest(context: &Context, pod: &Pod, workload: &Workload) -> kube::Result<Timestamp> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let pods: Api<Pod> = Api::namespaced(context.shared.client.clone(), namespace);
    let mut parameters = ListParams::default();
    if let Ok(selector) = Selector::try_from(workload.selector.clone()) {
        parameters = parameters.labels_from(&selector);
    }
    let listed = pods.list_metadata(&parameters).await?;
    let own = pod.metadata.creation_timestamp.iter().map(|time| time.0);
    let all = listed.items.iter().filter_map(|it| it.metadata.creation_timestamp.as_ref());
    Ok(all.map(|time| time.0).chain(own).max().unwrap_or_default())
}

fn api(context: &Context) -> Api<ConfigMap> {
    Api::namespaced(context.shared.client.clone(), &context.shared.namespace)
}
