//! Pods of gateways, as the official chart makes them, or a little differently.

use k8s_openapi::api::core::v1::{
    Container, EmptyDirVolumeSource, Pod, PodCondition, PodSecurityContext, PodSpec, Volume,
    VolumeMount,
};
use stoker_api::names::{AGENT_CONTAINER, Annotation, Label, TRUE};

/// The gateway's container in the official chart.
const GATEWAY_CONTAINER: &str = "gateway";
/// An image of a gateway.
const GATEWAY_IMAGE: &str = "inductiveautomation/ignition:8.3.6";
/// Where the official image keeps a gateway's data.
pub const DATA_PATH: &str = "/usr/local/bin/ignition/data";

const DATA_VOLUME: &str = "data";

/// Builds a pod.
#[derive(Clone, Debug)]
pub struct PodBuilder {
    pod: Pod,
    spec: PodSpec,
}

/// Starts a pod with a gateway and its data volume that asks for an agent.
pub fn gateway_pod(name: &str) -> PodBuilder {
    let gateway = container(GATEWAY_CONTAINER, GATEWAY_IMAGE, DATA_PATH);
    let data = Volume {
        name: DATA_VOLUME.to_owned(),
        empty_dir: Some(EmptyDirVolumeSource::default()),
        ..Volume::default()
    };
    let spec =
        PodSpec { containers: vec![gateway], volumes: Some(vec![data]), ..PodSpec::default() };
    let pod = Pod { metadata: super::named(name), ..Pod::default() };
    PodBuilder { pod, spec }.annotation(Annotation::Inject, TRUE)
}

impl PodBuilder {
    /// Puts it into a namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.pod.metadata.namespace = Some(namespace.to_owned());
        self
    }

    /// Chooses a GatewaySync.
    #[must_use]
    pub fn cr(self, name: &str) -> Self {
        self.annotation(Annotation::CrName, name)
    }

    /// Chooses an embedded profile.
    #[must_use]
    pub fn profile(self, name: &str) -> Self {
        self.annotation(Annotation::Profile, name)
    }

    /// Chooses a SyncProfile object.
    #[must_use]
    pub fn sync_profile(self, name: &str) -> Self {
        self.annotation(Annotation::SyncProfile, name)
    }

    /// Names the gateway.
    #[must_use]
    pub fn gateway_name(self, name: &str) -> Self {
        self.annotation(Annotation::GatewayName, name)
    }

    /// Annotates the pod.
    #[must_use]
    pub fn annotation(mut self, annotation: Annotation, value: &str) -> Self {
        super::put(&mut self.pod.metadata.annotations, annotation.as_str(), value);
        self
    }

    /// Takes an annotation away, [`Annotation::Inject`] for one.
    #[must_use]
    pub fn without_annotation(mut self, annotation: Annotation) -> Self {
        self.pod.metadata.annotations.get_or_insert_default().remove(annotation.as_str());
        self
    }

    /// Labels the pod.
    #[must_use]
    pub fn label(mut self, label: &str, value: &str) -> Self {
        super::put(&mut self.pod.metadata.labels, label, value);
        self
    }

    /// Runs as this service account.
    #[must_use]
    pub fn service_account(self, name: &str) -> Self {
        self.spec(|spec| spec.service_account_name = Some(name.to_owned()))
    }

    /// Gives the volumes to this group.
    #[must_use]
    pub fn fs_group(self, group: i64) -> Self {
        self.spec(|spec| {
            let context = spec.security_context.get_or_insert_with(PodSecurityContext::default);
            context.fs_group = Some(group);
        })
    }

    /// Changes the gateway's own container.
    #[must_use]
    pub fn gateway(self, change: impl FnOnce(&mut Container)) -> Self {
        self.spec(|spec| change(&mut spec.containers[0]))
    }

    /// Adds the official chart's step that seeds an empty data volume from the image.
    #[must_use]
    pub fn seeded(self) -> Self {
        self.init_container(container("preconfigure", GATEWAY_IMAGE, "/data"))
    }

    /// Adds an init container, behind those that are there.
    #[must_use]
    pub fn init_container(self, container: Container) -> Self {
        self.spec(|spec| spec.init_containers.get_or_insert_default().push(container))
    }

    /// Looks like a pod that the webhook has been at: agent, annotation and label.
    #[must_use]
    pub fn injected(self) -> Self {
        let mut agent = container(AGENT_CONTAINER, "stoker-agent:test", DATA_PATH);
        agent.restart_policy = Some("Always".to_owned());
        self.init_container(agent)
            .annotation(Annotation::Injected, TRUE)
            .label(Label::Agent.as_str(), TRUE)
    }

    /// Looks like a pod that runs and is ready.
    #[must_use]
    pub fn running(mut self) -> Self {
        let ready = PodCondition {
            type_: "Ready".to_owned(),
            status: "True".to_owned(),
            ..PodCondition::default()
        };
        let status = self.pod.status.get_or_insert_default();
        status.phase = Some("Running".to_owned());
        status.conditions = Some(vec![ready]);
        self
    }

    /// Sets whatever has no verb of its own.
    #[must_use]
    pub fn spec(mut self, change: impl FnOnce(&mut PodSpec)) -> Self {
        change(&mut self.spec);
        self
    }

    /// Returns the pod.
    pub fn build(self) -> Pod {
        Pod { spec: Some(self.spec), ..self.pod }
    }
}

fn container(name: &str, image: &str, data_path: &str) -> Container {
    let data = VolumeMount {
        name: DATA_VOLUME.to_owned(),
        mount_path: data_path.to_owned(),
        ..VolumeMount::default()
    };
    Container {
        name: name.to_owned(),
        image: Some(image.to_owned()),
        volume_mounts: Some(vec![data]),
        ..Container::default()
    }
}
