//! The workload of a pod: who creates it again, and whether this is a good moment.

use std::fmt::{self, Display, Formatter};

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference};

const POD_TEMPLATE_HASH: &str = "pod-template-hash";
const CONTROLLER_REVISION_HASH: &str = "controller-revision-hash";

/// An object of `apps/v1` that creates pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Its kind.
    pub kind: OwnerKind,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
}

/// A kind that creates pods again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnerKind {
    /// Creates ReplicaSets, which create pods.
    Deployment,
    /// Creates pods that are all alike.
    ReplicaSet,
    /// Creates pods with names that stay.
    StatefulSet,
    /// Creates a pod per node.
    DaemonSet,
}

/// A workload, as far as evictions need it.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// Which one.
    pub owner: Owner,
    /// How many pods it wants.
    pub desired: i32,
    /// How many of them are ready.
    pub ready: i32,
    /// Whether old and new pods exist side by side, or soon will.
    pub is_rolling_out: bool,
    /// The revision that new pods get, where the workload says it.
    pub revision: Option<String>,
    /// What new pods are made from.
    pub template: PodTemplateSpec,
    /// Which pods are its own.
    pub selector: LabelSelector,
}

impl OwnerKind {
    /// Returns the kind as manifests spell it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::ReplicaSet => "ReplicaSet",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
        }
    }
}

impl Display for Owner {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.kind.as_str(), self.name)
    }
}

/// Returns the object that creates a pod, or a ReplicaSet, again.
pub fn owner_of(metadata: &ObjectMeta) -> Option<Owner> {
    let references = metadata.owner_references.iter().flatten();
    let is_controller = |it: &&OwnerReference| it.controller == Some(true);
    let reference = references.into_iter().find(is_controller)?;
    let (group, _) = reference.api_version.split_once('/')?;
    let kinds = [
        OwnerKind::Deployment,
        OwnerKind::ReplicaSet,
        OwnerKind::StatefulSet,
        OwnerKind::DaemonSet,
    ];
    let kind = kinds.into_iter().find(|kind| kind.as_str() == reference.kind)?;
    (group == "apps").then(|| Owner {
        kind,
        name: reference.name.clone(),
        uid: reference.uid.clone(),
    })
}

impl Workload {
    /// Says whether a rollout keeps this pod from being evicted: its successor would be made from
    /// another template.
    pub(super) fn is_rolling_out_for(&self, pod: &Pod) -> bool {
        let label =
            self.template_label().and_then(|label| pod.metadata.labels.as_ref()?.get(label));
        let is_outdated = self.revision.is_some() && label != self.revision.as_ref();
        self.is_rolling_out || is_outdated
    }

    /// Returns the label of pods that names their template.
    pub(super) fn template_label(&self) -> Option<&'static str> {
        match self.owner.kind {
            OwnerKind::Deployment => Some(POD_TEMPLATE_HASH),
            OwnerKind::ReplicaSet => None,
            OwnerKind::StatefulSet | OwnerKind::DaemonSet => Some(CONTROLLER_REVISION_HASH),
        }
    }

    fn new(
        kind: OwnerKind,
        metadata: &ObjectMeta,
        template: Option<PodTemplateSpec>,
        selector: LabelSelector,
    ) -> Self {
        let owner = Owner {
            kind,
            name: metadata.name.clone().unwrap_or_default(),
            uid: metadata.uid.clone().unwrap_or_default(),
        };
        Self {
            owner,
            desired: 0,
            ready: 0,
            is_rolling_out: metadata.deletion_timestamp.is_some(),
            revision: None,
            template: template.unwrap_or_default(),
            selector,
        }
    }

    fn is_unobserved(metadata: &ObjectMeta, observed: Option<i64>) -> bool {
        observed.unwrap_or_default() < metadata.generation.unwrap_or_default()
    }
}

impl From<Deployment> for Workload {
    fn from(object: Deployment) -> Self {
        let (spec, status) = (object.spec.unwrap_or_default(), object.status.unwrap_or_default());
        let mut workload =
            Self::new(OwnerKind::Deployment, &object.metadata, Some(spec.template), spec.selector);
        let desired = spec.replicas.unwrap_or(1);
        let updated = status.updated_replicas.unwrap_or_default();
        workload.desired = desired;
        workload.ready = status.ready_replicas.unwrap_or_default();
        workload.is_rolling_out |=
            Self::is_unobserved(&object.metadata, status.observed_generation)
                || updated != desired
                || status.replicas.unwrap_or_default() != desired;
        workload
    }
}

impl From<ReplicaSet> for Workload {
    fn from(object: ReplicaSet) -> Self {
        let (spec, status) = (object.spec.unwrap_or_default(), object.status.unwrap_or_default());
        let mut workload =
            Self::new(OwnerKind::ReplicaSet, &object.metadata, spec.template, spec.selector);
        workload.desired = spec.replicas.unwrap_or(1);
        workload.ready = status.ready_replicas.unwrap_or_default();
        workload.is_rolling_out |=
            Self::is_unobserved(&object.metadata, status.observed_generation)
                || status.replicas != workload.desired;
        workload
    }
}

impl From<StatefulSet> for Workload {
    fn from(object: StatefulSet) -> Self {
        let (spec, status) = (object.spec.unwrap_or_default(), object.status.unwrap_or_default());
        let mut workload =
            Self::new(OwnerKind::StatefulSet, &object.metadata, Some(spec.template), spec.selector);
        workload.desired = spec.replicas.unwrap_or(1);
        workload.ready = status.ready_replicas.unwrap_or_default();
        // The revisions also differ under OnDelete and behind a partition: people decide there when
        // a pod gets the new template.
        workload.is_rolling_out |=
            Self::is_unobserved(&object.metadata, status.observed_generation)
                || status.current_revision != status.update_revision
                || status.replicas != workload.desired;
        workload.revision = status.update_revision;
        workload
    }
}

impl From<DaemonSet> for Workload {
    fn from(object: DaemonSet) -> Self {
        let (spec, status) = (object.spec.unwrap_or_default(), object.status.unwrap_or_default());
        let mut workload =
            Self::new(OwnerKind::DaemonSet, &object.metadata, Some(spec.template), spec.selector);
        workload.desired = status.desired_number_scheduled;
        workload.ready = status.number_ready;
        workload.is_rolling_out |=
            Self::is_unobserved(&object.metadata, status.observed_generation)
                || status.updated_number_scheduled.unwrap_or_default() != workload.desired;
        workload
    }
}
