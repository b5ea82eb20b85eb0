//! A pod, reduced to what the controller needs while it is decoded.

use std::borrow::Cow;

use k8s_openapi::api::core::v1::Pod as Full;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::Deserialize;
use stoker_api::names::{AGENT_CONTAINER, Annotation, GROUP, Label};
use stoker_core::gateway;

/// The volume that the webhook gives the agent of a pod without a gateway.
const OWN_DATA: &str = "stoker-data";

/// The fields of a pod that matter here.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Pod {
    metadata: ObjectMeta,
    spec: Spec,
    status: Status,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    node_name: Option<String>,
    service_account_name: Option<String>,
    init_containers: Vec<Container>,
    containers: Vec<Container>,
    volumes: Vec<Volume>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Volume {
    name: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Container {
    name: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Status {
    phase: Option<String>,
}

impl Resource for Pod {
    type DynamicType = ();
    type Scope = <Full as Resource>::Scope;

    fn kind((): &()) -> Cow<'_, str> {
        Full::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        Full::group(&())
    }

    fn version((): &()) -> Cow<'_, str> {
        Full::version(&())
    }

    fn plural((): &()) -> Cow<'_, str> {
        Full::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// Says whether a pod concerns Stoker.
pub(crate) fn is_annotated(metadata: &ObjectMeta) -> bool {
    let annotations = metadata.annotations.as_ref();
    [Annotation::CrName, Annotation::Inject]
        .iter()
        .any(|it| annotations.is_some_and(|them| them.contains_key(it.as_str())))
}

impl From<Pod> for gateway::Pod {
    fn from(pod: Pod) -> Self {
        let Pod { metadata, spec, status } = pod;
        let prefix = format!("{GROUP}/");
        let annotations = metadata.annotations.unwrap_or_default();
        let annotations = annotations.into_iter().filter(|(name, _)| name.starts_with(&prefix));
        let mut labels = metadata.labels.unwrap_or_default();
        let mut containers = spec.init_containers.iter().chain(&spec.containers);
        let phase = status.phase.as_deref();
        Self {
            name: metadata.name.unwrap_or_default(),
            namespace: metadata.namespace.unwrap_or_default(),
            uid: metadata.uid.unwrap_or_default(),
            service_account: spec.service_account_name.unwrap_or_else(|| "default".to_owned()),
            is_scheduled: spec.node_name.is_some_and(|node| !node.is_empty()),
            is_running: phase == Some("Running"),
            is_ending: metadata.deletion_timestamp.is_some()
                || matches!(phase, Some("Succeeded" | "Failed")),
            has_agent: containers.any(|container| container.name == AGENT_CONTAINER),
            injected: None,
            lacks_gateway: spec.volumes.iter().any(|volume| volume.name == OWN_DATA),
            app_name: labels.remove(Label::AppName.as_str()),
            annotations: annotations.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use stoker_testkit::object::gateway_pod;

    use super::*;

    fn reduced(pod: &Full) -> gateway::Pod {
        let json = serde_json::to_value(pod).unwrap();
        serde_json::from_value::<Pod>(json).unwrap().into()
    }

    #[test]
    fn a_pod_keeps_what_makes_it_a_gateway() {
        let pod = reduced(&gateway_pod("ignition-0").cr("plant").injected().running().build());
        assert_eq!((pod.name.as_str(), pod.sync_name()), ("ignition-0", Some("plant")));
        assert!(pod.has_agent && pod.is_running && !pod.is_ending);
        assert_eq!(pod.service_account, "default");
        let plain = reduced(&gateway_pod("ignition-0").cr("plant").build());
        assert!(!plain.has_agent && !plain.is_scheduled && plain.asks_for_agent());
    }
}
