//! Facts -> [`Finding`]s: what is wrong with an installation, and the command that fixes it.
//!
//! Facts are objects as the API server returns them. Findings come from the objects themselves
//! where possible, and only else from a status: so they are right while the controller is down.
//! Nothing here reads the text of a message.

mod command;
mod definition;
mod installation;
mod pod;
mod sync;
mod trial;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::Serialize;
use stoker_api::GatewaySync;
use stoker_api::contract::report::Report;

pub use definition::{Outdated, judge as judge_definition};
pub use installation::{CERTIFICATE_SUFFIXES, WEBHOOK, certificate_owner};
pub use pod::PodFacts;
pub use sync::secret_references;
pub use trial::{has_agent, trial_pod};

/// The name of an object in its namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

/// Everything that was read. What could not be read is absent, and named in `unread`.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The present time, by the clock of the API server.
    pub now: Timestamp,
    /// The custom resource definitions by name; absent where none were read.
    pub definitions: Option<BTreeMap<String, CustomResourceDefinition>>,
    /// The Deployments of the operator; absent where none were read.
    pub operators: Option<Vec<Deployment>>,
    /// The Leases in the namespaces of the operator.
    pub leases: Vec<Lease>,
    /// The webhook configurations that inject agents; absent where none were read.
    pub webhooks: Option<Vec<MutatingWebhookConfiguration>>,
    /// The Secrets with the certificates of webhooks.
    pub certificates: BTreeMap<Key, Certificate>,
    /// Namespaces in which a pod was created as a dry run, and whether it got an agent.
    pub trials: BTreeMap<String, bool>,
    /// The labels of namespaces.
    pub namespaces: BTreeMap<String, BTreeMap<String, String>>,
    /// The namespaces with an emergency stop, and its reason.
    pub emergency: BTreeMap<String, String>,
    /// The GatewaySyncs.
    pub syncs: Vec<GatewaySync>,
    /// The SyncProfiles.
    pub sync_profiles: BTreeSet<Key>,
    /// Pods that ask for an agent, have one, or name a GatewaySync.
    pub pods: Vec<PodFacts>,
    /// The keys of Secrets; none where the Secret does not exist. Secrets that could not be read
    /// are absent.
    pub secrets: BTreeMap<Key, Option<BTreeSet<String>>>,
    /// What agents reported, by pod.
    pub reports: BTreeMap<Key, Report>,
    /// The claims of gateways.
    pub claims: BTreeMap<Key, PersistentVolumeClaim>,
    /// The service accounts that are bound to the Role of a GatewaySync's agents, by GatewaySync.
    /// Absent where the bindings could not be read.
    pub bound: Option<BTreeMap<Key, BTreeSet<String>>>,
    /// What could not be read.
    pub unread: Vec<Unread>,
}

/// What is known about the certificate of a webhook.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Certificate {
    /// The certificate of the CA, as PEM.
    pub ca: String,
    /// When the certificate ends, where that is known.
    pub ends: Option<Timestamp>,
}

/// Something that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// The resource, such as `secrets`.
    pub resource: String,
    /// The namespace; none for all of them.
    pub namespace: Option<String>,
    /// Why.
    pub message: String,
    /// Whether a right is missing.
    pub is_forbidden: bool,
}

/// One thing that is wrong.
#[derive(Serialize, Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// One word for scripts.
    pub code: Code,
    /// The object, such as `GatewaySync line/press`.
    pub object: String,
    /// What is wrong.
    pub message: String,
    /// The command that fixes it.
    pub fix: String,
}

/// How much a finding matters.
#[derive(Serialize, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// Something does not work.
    Problem,
    /// Everything works, but something should be known.
    Note,
}

/// What kind of finding it is.
#[derive(Serialize, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// A right is missing, or the API server failed.
    Unreadable,
    /// A custom resource definition does not exist.
    DefinitionMissing,
    /// A custom resource definition is of an older version.
    DefinitionOutdated,
    /// No operator is installed.
    OperatorMissing,
    /// The operator has no replicas.
    OperatorScaledDown,
    /// No replica of the operator is ready.
    OperatorNotReady,
    /// No operator renews its Lease.
    LeaseExpired,
    /// No webhook injects agents.
    WebhookMissing,
    /// The webhook's configuration does not trust its certificate.
    CaBundleWrong,
    /// The webhook's certificate ended.
    CertificateExpired,
    /// The API server does not reach the webhook.
    WebhookUnreachable,
    /// The webhook is not called for a namespace in which pods ask for an agent.
    NamespaceNotLabelled,
    /// The versions of two programs are too far apart.
    VersionSkew,
    /// The clock of a node is wrong.
    ClockSkew,
    /// Every GatewaySync is stopped.
    EmergencyStop,
    /// A GatewaySync is paused.
    Paused,
    /// A Secret does not exist.
    SecretMissing,
    /// A Secret lacks a key.
    SecretKeyMissing,
    /// A profile is invalid.
    ProfilesInvalid,
    /// A requested ref is not on the remote.
    RequestedRefUnknown,
    /// The ref is not on the remote.
    RefUnknown,
    /// The remote refused the credentials.
    AuthenticationFailed,
    /// The remote can't be reached.
    RemoteUnreachable,
    /// The host key of the git server is not verified against a given one.
    HostKeyNotGiven,
    /// The receiver has no secret.
    ReceiverSecretMissing,
    /// No pod names the GatewaySync.
    NoGateways,
    /// The deletion of a GatewaySync does not end.
    DeletionStuck,
    /// A mass deletion waits for confirmation.
    DeletionBlocked,
    /// A pod names a GatewaySync that does not exist.
    SyncUnknown,
    /// A pod names a profile that does not exist.
    ProfileUnknown,
    /// A pod asks for an agent and has none.
    AgentMissing,
    /// The service account of a pod lacks the rights of agents.
    AgentNotBound,
    /// A pod must be restarted before a change takes effect.
    RestartNeeded,
    /// A pod is paused.
    PodPaused,
    /// The data volume is full.
    VolumeFull,
    /// An open Designer holds a sync up.
    DesignerOpen,
    /// The gateway refused the API key.
    ApiKeyRefused,
    /// The API key lacks a permission.
    ApiKeyForbidden,
    /// The agent reported another fault.
    GatewayFailed,
}

impl Key {
    /// Names an object.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

impl Facts {
    /// Returns everything that is wrong, the most important first.
    pub fn findings(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        installation::examine(self, &mut found);
        for sync in &self.syncs {
            sync::examine(self, sync, &mut found);
        }
        for pod in &self.pods {
            pod::examine(self, pod, &mut found);
        }
        found.sort();
        found.dedup();
        found
    }

    /// Keeps what concerns one GatewaySync: itself, its pods, and the installation.
    #[must_use]
    pub fn only(mut self, sync: &Key) -> Self {
        self.syncs.retain(|it| sync::key(it) == *sync);
        let is_of = |pod: &PodFacts| pod.sync_key().is_none_or(|key| key == *sync);
        self.pods.retain(|pod| pod.namespace == sync.namespace && is_of(pod));
        self
    }

    fn sync(&self, key: &Key) -> Option<&GatewaySync> {
        self.syncs.iter().find(|sync| sync::key(sync) == *key)
    }

    /// Says whether an operator is at work: it renews its Lease, or has ready replicas without one.
    fn has_operator(&self) -> bool {
        let operators = self.operators.iter().flatten();
        let mut ready = operators.filter_map(|it| it.status.as_ref()?.ready_replicas);
        ready.any(|count| count > 0)
    }
}

#[cfg(test)]
mod tests;
