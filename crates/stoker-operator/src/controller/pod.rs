//! A pod, reduced to what the controller needs while it is decoded.

use std::borrow::Cow;

use k8s_openapi::api::core::v1::Pod as Full;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::{Deserialize, Deserializer};
use stoker_api::names::{Annotation, Label};
use stoker_core::admission::{self, Placement, PodMetadata, PodSpec, Text};
use stoker_core::gateway::{self, Injected};

/// The service account of pods that name none.
const DEFAULT_ACCOUNT: &str = "default";

/// What is kept of a pod, and the metadata that a watch needs.
#[derive(Debug, Clone)]
pub(crate) struct Pod {
    metadata: ObjectMeta,
    kept: gateway::Pod,
}

/// A pod while it is decoded. It borrows what it can.
#[derive(Deserialize)]
struct Decoded<'a> {
    #[serde(default)]
    metadata: ObjectMeta,
    #[serde(borrow, default)]
    spec: PodSpec<'a>,
    #[serde(borrow, default)]
    status: Status<'a>,
}

#[derive(Default, Deserialize)]
struct Status<'a> {
    #[serde(borrow, default)]
    phase: Option<Text<'a>>,
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

impl<'de> Deserialize<'de> for Pod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Decoded { mut metadata, spec, status } = Decoded::deserialize(deserializer)?;
        metadata.managed_fields = None;
        let view = admission::Pod { metadata: borrowed(&metadata), spec };
        let kept = keep(&metadata, &view, status.phase.as_deref());
        metadata.annotations = None;
        metadata.labels = None;
        Ok(Self { metadata, kept })
    }
}

/// Returns what the webhook reads of a pod's metadata.
fn borrowed(metadata: &ObjectMeta) -> PodMetadata<'_> {
    let pairs = metadata.annotations.iter().flatten();
    let annotations = pairs.map(|(name, value)| (Text::from(&**name), Text::from(&**value)));
    PodMetadata { annotations: annotations.collect(), ..PodMetadata::default() }
}

fn keep(metadata: &ObjectMeta, pod: &admission::Pod<'_>, phase: Option<&str>) -> gateway::Pod {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let annotations = metadata.annotations.iter().flatten();
    let labels = metadata.labels.as_ref();
    let image = pod.agent_image();
    let account = pod.spec.service_account_name.as_deref().unwrap_or(DEFAULT_ACCOUNT);
    gateway::Pod {
        name: text(&metadata.name),
        namespace: text(&metadata.namespace),
        uid: text(&metadata.uid),
        service_account: account.to_owned(),
        is_scheduled: pod.spec.node_name.as_deref().is_some_and(|node| !node.is_empty()),
        is_running: phase == Some("Running"),
        is_ending: metadata.deletion_timestamp.is_some()
            || matches!(phase, Some("Succeeded" | "Failed")),
        has_agent: image.is_some(),
        injected: image.map(|image| {
            Box::new(Injected { image: image.to_owned(), placement: Placement::of(pod) })
        }),
        lacks_gateway: pod.lacks_gateway(),
        app_name: labels.and_then(|labels| labels.get(Label::AppName.as_str()).cloned()),
        annotations: annotations
            .filter_map(|(name, value)| Some((Annotation::find(name)?, value.clone())))
            .collect(),
    }
}

/// Returns what is kept of a whole pod; none where it can't be read.
pub(crate) fn reduced(pod: &Full) -> Option<gateway::Pod> {
    let json = serde_json::to_value(pod).ok()?;
    serde_json::from_value::<Pod>(json).ok().map(Into::into)
}

impl From<Pod> for gateway::Pod {
    fn from(pod: Pod) -> Self {
        pod.kept
    }
}

#[cfg(test)]
mod tests {
    use stoker_testkit::object::gateway_pod;

    use super::*;

    #[test]
    fn a_pod_keeps_what_makes_it_a_gateway() {
        let pod =
            reduced(&gateway_pod("ignition-0").cr("plant").injected().running().build()).unwrap();
        assert_eq!((pod.name.as_str(), pod.sync_name()), ("ignition-0", Some("plant")));
        assert!(pod.has_agent && pod.is_running && !pod.is_ending);
        assert_eq!(pod.service_account, "default");
        let plain = reduced(&gateway_pod("ignition-0").cr("plant").build()).unwrap();
        assert!(!plain.has_agent && !plain.is_scheduled && plain.asks_for_agent());
    }
}
