//! A copy as an object of the API server: built, compared, written and removed.
//!
//! Secrets and ConfigMaps differ in how they write their data, and in nothing else here.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, ListParams, ObjectMeta, Patch, PatchParams,
    Preconditions,
};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use stoker_api::names::{Annotation, Label, MANAGED_BY};
use stoker_core::bootstrap::{CA_CONFIG_MAP, Copied, Origin, REPLICA, Seen};

use super::view::seen;

/// The name under which bootstrap owns fields of copies.
const FIELD_MANAGER: &str = "stoker-bootstrap";
/// Pods that have ended need nothing any more.
const LIVING: &str = "status.phase!=Succeeded,status.phase!=Failed";
const PAGE: u32 = 500;

/// What is copied.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Content {
    /// The name of copies.
    pub(super) name: String,
    pub(super) origin: Origin,
    /// The type of a Secret.
    pub(super) kind: Option<String>,
    pub(super) data: BTreeMap<String, Vec<u8>>,
}

/// Copies of one kind in one namespace.
pub(super) struct Copies<'a> {
    client: &'a Client,
    copied: Copied,
    namespace: &'a str,
    api: Api<DynamicObject>,
}

/// What has the name of a copy.
pub(super) enum Found {
    Nothing,
    /// An object that does not carry our label.
    Foreign,
    /// A copy.
    Copy(Box<DynamicObject>),
}

impl std::fmt::Debug for Content {
    /// The data of a Secret is never printed.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, origin, .. } = self;
        formatter
            .debug_struct("Content")
            .field("name", name)
            .field("origin", origin)
            .finish_non_exhaustive()
    }
}

impl<'a> Copies<'a> {
    pub(super) fn new(client: &'a Client, copied: Copied, namespace: &'a str) -> Self {
        let resource = match copied {
            Copied::PullSecret => ApiResource::erase::<Secret>(&()),
            Copied::CaBundle => ApiResource::erase::<ConfigMap>(&()),
        };
        let api = Api::namespaced_with(client.clone(), namespace, &resource);
        Self { client, copied, namespace, api }
    }

    /// Reads what has this name.
    pub(super) async fn find(&self, name: &str) -> kube::Result<Found> {
        let found = self.api.get_opt(name).await?;
        Ok(match found {
            None => Found::Nothing,
            Some(object) if is_ours(&object.metadata) => Found::Copy(Box::new(object)),
            Some(_) => Found::Foreign,
        })
    }

    /// Writes a copy; `version` is that of the one that is there.
    ///
    /// Without a version nothing is forced, so that an object that appeared meanwhile is kept.
    pub(super) async fn write(
        &self,
        content: &Content,
        version: Option<&str>,
    ) -> kube::Result<Seen> {
        let object = self.build(content, version);
        let parameters = PatchParams::apply(FIELD_MANAGER);
        let parameters = if version.is_some() { parameters.force() } else { parameters };
        let written = self.api.patch(&content.name, &parameters, &Patch::Apply(&object)).await?;
        Ok(seen(&written.metadata))
    }

    /// Removes exactly this copy.
    pub(super) async fn remove(&self, copy: &DynamicObject) -> kube::Result<()> {
        let preconditions =
            Preconditions { uid: copy.uid(), resource_version: copy.resource_version() };
        let parameters = DeleteParams::default().preconditions(preconditions);
        self.api.delete(&copy.name_any(), &parameters).await.map(drop)
    }

    /// Says whether a copy has the content that it should have.
    pub(super) fn is_current(&self, copy: &DynamicObject, content: &Content) -> bool {
        let has = |(key, value): (&String, &Vec<u8>)| {
            copy.data["data"][key].as_str() == Some(&self.encode(value))
        };
        let kind = copy.data["type"].as_str();
        seen(&copy.metadata).origin.as_ref() == Some(&content.origin)
            && content.kind.as_deref().is_none_or(|wanted| kind == Some(wanted))
            && content.data.iter().all(has)
    }

    /// Says whether a pod of the namespace refers to a copy with this name.
    pub(super) async fn is_used(&self, name: &str) -> kube::Result<bool> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), self.namespace);
        let mut parameters = ListParams::default().fields(LIVING).limit(PAGE);
        loop {
            let page = pods.list(&parameters).await?;
            if page.items.iter().any(|pod| self.refers(pod, name)) {
                return Ok(true);
            }
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => parameters = parameters.continue_token(&token),
                None => return Ok(false),
            }
        }
    }

    fn refers(&self, pod: &Pod, name: &str) -> bool {
        let Some(spec) = &pod.spec else { return false };
        match self.copied {
            Copied::PullSecret => {
                spec.image_pull_secrets.iter().flatten().any(|it| it.name == name)
            }
            Copied::CaBundle => {
                let projected =
                    spec.volumes.iter().flatten().filter_map(|it| it.projected.as_ref());
                let sources = projected.flat_map(|it| it.sources.iter().flatten());
                let mut maps = sources.filter_map(|it| it.config_map.as_ref());
                maps.any(|map| map.name == CA_CONFIG_MAP)
            }
        }
    }

    fn build(&self, content: &Content, version: Option<&str>) -> Value {
        let kind = match self.copied {
            Copied::PullSecret => "Secret",
            Copied::CaBundle => "ConfigMap",
        };
        let data = content.data.iter().map(|(key, value)| (key.clone(), json!(self.encode(value))));
        let mut object = json!({
            "apiVersion": "v1",
            "kind": kind,
            "metadata": {
                "name": content.name,
                "namespace": self.namespace,
                "labels": {
                    Label::Replica.as_str(): REPLICA,
                    Label::ManagedBy.as_str(): MANAGED_BY,
                },
                "annotations": { Annotation::ReplicaOf.as_str(): content.origin.to_string() },
            },
            "data": Value::Object(data.collect()),
        });
        if let Some(version) = version {
            object["metadata"]["resourceVersion"] = json!(version);
        }
        if let Some(kind) = &content.kind {
            object["type"] = json!(kind);
        }
        object
    }

    fn encode(&self, value: &[u8]) -> String {
        match self.copied {
            Copied::PullSecret => STANDARD.encode(value),
            Copied::CaBundle => String::from_utf8_lossy(value).into_owned(),
        }
    }
}

fn is_ours(metadata: &ObjectMeta) -> bool {
    let label = metadata.labels.as_ref().and_then(|labels| labels.get(Label::Replica.as_str()));
    label.is_some_and(|value| value == REPLICA)
}
