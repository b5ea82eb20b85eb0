//! One pod of a gateway: what it asks for, what it has, and what its agent reported.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use semver::Version;
use serde_json::json;
use stoker_api::GatewaySync;
use stoker_api::condition::{Reason, SyncStatus};
use stoker_api::contract::report::Report;
use stoker_api::gatewaysync::{DesignerSessionPolicy, DiscoveredGateway, Gateway};
use stoker_api::names::{self, AGENT_CONTAINER, Annotation, GROUP, TRUE};
use stoker_api::word::ProfileName;

use super::sync::{has_confirmed, is_ahead};
use super::{Code, Facts, Finding, Key, Severity, command};
use crate::view::Target;

/// The label that ties a pod to the `ReplicaSet` of a Deployment.
const TEMPLATE_HASH: &str = "pod-template-hash";

/// What the doctor knows of a pod.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PodFacts {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// The workload whose template it comes from.
    pub owner: Option<Owner>,
    /// Its annotations of Stoker.
    pub annotations: BTreeMap<String, String>,
    /// Whether it has the agent's container.
    pub has_agent: bool,
    /// Its service account.
    pub service_account: String,
    /// The claims that it mounts, in the order of its volumes.
    pub claims: Vec<String>,
    /// Its node.
    pub node: Option<String>,
    /// Whether it is being deleted, or has ended.
    pub is_ending: bool,
}

/// The workload whose template a pod comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Its kind, as `kubectl` takes it.
    pub kind: String,
    /// Its name.
    pub name: String,
}

impl PodFacts {
    /// Reduces a pod; none where it has nothing to do with Stoker.
    pub fn of(pod: &Pod) -> Option<Self> {
        let annotations = pod.metadata.annotations.iter().flatten();
        let prefix = format!("{GROUP}/");
        let ours = annotations.filter(|(name, _)| name.starts_with(&prefix));
        let spec = pod.spec.as_ref()?;
        let containers = spec.init_containers.iter().flatten().chain(&spec.containers);
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        let facts = Self {
            namespace: pod.metadata.namespace.clone()?,
            name: pod.metadata.name.clone()?,
            uid: pod.metadata.uid.clone().unwrap_or_default(),
            owner: owner(pod),
            annotations: ours.map(|(name, value)| (name.clone(), value.clone())).collect(),
            has_agent: containers.into_iter().any(|it| it.name == AGENT_CONTAINER),
            service_account: spec.service_account_name.clone().unwrap_or_default(),
            claims: claims(spec),
            node: spec.node_name.clone(),
            is_ending: pod.metadata.deletion_timestamp.is_some()
                || matches!(phase, Some("Succeeded" | "Failed")),
        };
        let is_ours = facts.has_agent || facts.asks_for_agent() || facts.sync_key().is_some();
        is_ours.then_some(facts)
    }

    /// Says whether it asks for an agent.
    pub fn asks_for_agent(&self) -> bool {
        self.annotation(Annotation::Inject) == Some(TRUE)
    }

    /// Returns the GatewaySync that it names.
    pub fn sync_key(&self) -> Option<Key> {
        Some(Key::new(&self.namespace, self.annotation(Annotation::CrName)?))
    }

    fn annotation(&self, annotation: Annotation) -> Option<&str> {
        let value = self.annotations.get(annotation.as_str()).map(String::as_str);
        value.filter(|value| !value.is_empty())
    }
}

fn owner(pod: &Pod) -> Option<Owner> {
    let owners = pod.metadata.owner_references.iter().flatten();
    let controller = owners.into_iter().find(|owner| owner.controller == Some(true))?;
    let hash = pod.metadata.labels.as_ref().and_then(|labels| labels.get(TEMPLATE_HASH));
    let deployment = hash.and_then(|hash| controller.name.strip_suffix(hash.as_str()));
    let deployment = deployment.and_then(|name| name.strip_suffix('-'));
    Some(match deployment {
        Some(name) => Owner { kind: "deployment".to_owned(), name: name.to_owned() },
        None => Owner { kind: controller.kind.to_lowercase(), name: controller.name.clone() },
    })
}

fn claims(spec: &k8s_openapi::api::core::v1::PodSpec) -> Vec<String> {
    let volumes = spec.volumes.iter().flatten();
    let claims = volumes.filter_map(|volume| volume.persistent_volume_claim.as_ref());
    claims.map(|claim| claim.claim_name.clone()).collect()
}

struct Patient<'a> {
    facts: &'a Facts,
    pod: &'a PodFacts,
    found: &'a mut Vec<Finding>,
}

pub(super) fn examine(facts: &Facts, pod: &PodFacts, found: &mut Vec<Finding>) {
    if pod.is_ending {
        return;
    }
    let mut patient = Patient { facts, pod, found };
    patient.agent();
    let Some(key) = pod.sync_key() else { return };
    match facts.sync(&key) {
        Some(sync) => patient.of_sync(sync),
        None => patient.without_sync(&key),
    }
}

impl Patient<'_> {
    fn add(&mut self, severity: Severity, code: Code, message: String, fix: String) {
        let object = format!("Pod {}/{}", self.pod.namespace, self.pod.name);
        self.found.push(Finding { severity, code, object, message, fix });
    }

    fn problem(&mut self, code: Code, message: impl Into<String>, fix: String) {
        self.add(Severity::Problem, code, message.into(), fix);
    }

    fn agent(&mut self) {
        if self.pod.asks_for_agent() && !self.pod.has_agent {
            let message = "asks for an agent and has none: it was created while the webhook was \
                           not called";
            self.problem(Code::AgentMissing, message, command::restart(self.pod));
        }
        if self.pod.annotation(Annotation::Paused) == Some(TRUE) {
            let PodFacts { namespace, name, .. } = self.pod;
            let fix = format!("kubectl annotate pod {name} -n {namespace} {}-", Annotation::Paused);
            self.problem(Code::PodPaused, "is paused by its annotation", fix);
        }
    }

    fn without_sync(&mut self, wanted: &Key) {
        let in_namespace =
            |sync: &&GatewaySync| sync.metadata.namespace.as_deref() == Some(&*wanted.namespace);
        let existing = self.facts.syncs.iter().find(in_namespace);
        let existing = existing.and_then(|sync| sync.metadata.name.as_deref());
        let fix = command::annotate_gateway(
            self.pod,
            Annotation::CrName,
            existing.unwrap_or("GATEWAYSYNC"),
        );
        let message = format!("names GatewaySync {:?}, which does not exist", wanted.name);
        self.problem(Code::SyncUnknown, message, fix);
    }

    fn of_sync(&mut self, sync: &GatewaySync) {
        self.profile(sync);
        self.rights(sync);
        let listed = sync.status.iter().flat_map(|status| &status.discovered_gateways);
        let listed = listed.into_iter().find(|gateway| gateway.pod_name == self.pod.name);
        if let Some(listed) = listed {
            self.restart(listed);
            self.version(listed);
        }
        let report = self.facts.reports.get(&Key::new(&self.pod.namespace, &self.pod.name));
        if let Some(report) = report.filter(|report| report.pod_uid == self.pod.uid) {
            self.report(sync, report);
        }
    }

    fn profile(&mut self, sync: &GatewaySync) {
        if let Some(name) = self.pod.annotation(Annotation::SyncProfile) {
            if !self.facts.sync_profiles.contains(&Key::new(&self.pod.namespace, name)) {
                let message = format!("names SyncProfile {name:?}, which does not exist");
                let fix = command::annotate_gateway(self.pod, Annotation::SyncProfile, "");
                self.problem(Code::ProfileUnknown, message, fix);
            }
            return;
        }
        let chosen = self.pod.annotation(Annotation::Profile);
        if chosen.is_none() && self.pod.annotation(Annotation::ServicePath).is_some() {
            return;
        }
        let name = chosen.unwrap_or(ProfileName::DEFAULT);
        let profiles = sync.spec.sync.as_ref().map(|sync| &sync.profiles);
        if profiles.is_some_and(|profiles| profiles.contains_key(name)) {
            return;
        }
        let existing: Vec<&str> =
            profiles.into_iter().flat_map(|profiles| profiles.keys().map(String::as_str)).collect();
        let instead = existing.first().copied().unwrap_or(ProfileName::DEFAULT);
        let fix = command::annotate_gateway(self.pod, Annotation::Profile, instead);
        let message =
            format!("uses profile {name:?}, which does not exist, only [{}]", existing.join(", "));
        self.problem(Code::ProfileUnknown, message, fix);
    }

    fn rights(&mut self, sync: &GatewaySync) {
        let Some(bound) = &self.facts.bound else { return };
        let account = match &*self.pod.service_account {
            "" => "default",
            account => account,
        };
        let key = super::sync::key(sync);
        let is_bound = bound.get(&key).is_some_and(|accounts| accounts.contains(account));
        if !self.pod.has_agent || is_bound {
            return;
        }
        let role = names::agent_role(&key.name);
        let namespace = &key.namespace;
        let fix = format!(
            "kubectl create rolebinding {role}-{account} -n {namespace} --role={role} \
             --serviceaccount={namespace}:{account}"
        );
        let message = format!("its service account {account:?} is not bound to the Role {role:?}");
        self.problem(Code::AgentNotBound, message, fix);
    }

    fn restart(&mut self, listed: &DiscoveredGateway) {
        if let Some(reason) = &listed.restart_needed {
            let message = format!("must be restarted: {reason}");
            self.add(Severity::Note, Code::RestartNeeded, message, command::restart(self.pod));
        }
    }

    /// An agent may be one minor version older or newer than the operator.
    fn version(&mut self, listed: &DiscoveredGateway) {
        let operators = self.facts.operators.iter().flatten();
        let version = operators.into_iter().find_map(|operator| {
            let labels = operator.metadata.labels.as_ref()?;
            Version::parse(labels.get("app.kubernetes.io/version")?).ok()
        });
        let agent = listed.agent_version.as_deref().and_then(|it| Version::parse(it).ok());
        let (Some(operator), Some(agent)) = (version, agent) else { return };
        if operator.major != agent.major || operator.minor.abs_diff(agent.minor) > 1 {
            let message = format!("its agent is version {agent}, the operator is {operator}");
            self.problem(Code::VersionSkew, message, command::restart(self.pod));
        }
    }

    fn report(&mut self, sync: &GatewaySync, report: &Report) {
        if report.synced_at.is_some_and(|at| is_ahead(at, self.facts)) {
            let node = self.pod.node.as_deref().unwrap_or("its node");
            let message = format!("the clock of {node} is ahead of the API server's");
            let fix = format!("timedatectl set-ntp true # on {node}");
            self.problem(Code::ClockSkew, message, fix);
        }
        if let Some(blocked) = &report.deletion_blocked
            && !has_confirmed(sync, blocked.commit.as_str())
        {
            let message = format!(
                "commit {} would delete {} of {} files, and waits for confirmation",
                blocked.commit.short(),
                blocked.deletes,
                blocked.of
            );
            let fix =
                Target::of(sync).annotate(Annotation::AllowMassDelete, blocked.commit.as_str());
            self.problem(Code::DeletionBlocked, message, fix);
        } else if matches!(report.sync_status, SyncStatus::Error | SyncStatus::Degraded) {
            self.failure(sync, report);
        }
    }

    fn failure(&mut self, sync: &GatewaySync, report: &Report) {
        let message = report.message.clone();
        let PodFacts { namespace, name, .. } = self.pod;
        match report.reason {
            Some(Reason::DiskFull) => self.volume(message),
            Some(Reason::DesignerSessionActive | Reason::DesignerStateUnknown) => {
                self.designer(sync, message);
            }
            Some(
                reason @ (Reason::GatewayUnauthorized
                | Reason::GatewayForbidden
                | Reason::GatewayKeyMissing
                | Reason::GatewayKeyUnusable),
            ) => {
                let api = sync.spec.gateway.as_ref().and_then(Gateway::api_key);
                let fix = if let Some(secret) = &api {
                    command::write_secret(namespace, secret)
                } else {
                    let api = json!({"secretName": "gateway-api-key"});
                    let patch = json!({"spec": {"gateway": {"api": api}}});
                    command::patch_sync(&super::sync::key(sync), &patch)
                };
                let code = match reason {
                    Reason::GatewayForbidden => Code::ApiKeyForbidden,
                    _ => Code::ApiKeyRefused,
                };
                self.problem(code, message, fix);
            }
            // A confirmed deletion is under way; the others have findings of their own.
            Some(Reason::DeletionBlocked | Reason::ProfileNotFound | Reason::SecretNotFound) => {}
            _ => {
                let fix =
                    format!("stoker logs {} -n {namespace} --pod {name}", Target::of(sync).name);
                self.problem(Code::GatewayFailed, message, fix);
            }
        }
    }

    fn volume(&mut self, message: String) {
        let namespace = &self.pod.namespace;
        let claims = self.pod.claims.iter();
        let mut known = claims
            .filter_map(|name| Some((name, self.facts.claims.get(&Key::new(namespace, name))?)));
        let fix = match known.next() {
            Some((_, claim)) if is_growing(claim) => return,
            Some((name, claim)) => {
                let size = requested(claim).map_or_else(|| "20Gi".to_owned(), doubled);
                let patch = json!({"spec": {"resources": {"requests": {"storage": size}}}});
                format!("kubectl patch pvc {name} -n {namespace} --type=merge -p '{patch}'")
            }
            None => command::restart(self.pod),
        };
        self.problem(Code::VolumeFull, message, fix);
    }

    fn designer(&mut self, sync: &GatewaySync, message: String) {
        let profile = self.pod.annotation(Annotation::Profile).unwrap_or(ProfileName::DEFAULT);
        let spec = sync.spec.sync.as_ref();
        let own = spec.and_then(|sync| sync.profiles.get(profile));
        let own = own.and_then(|profile| profile.overrides.designer_session_policy);
        let common = spec.and_then(|sync| sync.defaults.as_ref()?.designer_session_policy);
        if own.or(common).unwrap_or(DesignerSessionPolicy::Proceed)
            == DesignerSessionPolicy::Proceed
        {
            return;
        }
        let policy = json!({"designerSessionPolicy": DesignerSessionPolicy::Proceed.as_str()});
        let patch = match own {
            Some(_) => json!({"spec": {"sync": {"profiles": {profile: policy}}}}),
            None => json!({"spec": {"sync": {"defaults": policy}}}),
        };
        let fix = command::patch_sync(&super::sync::key(sync), &patch);
        self.problem(Code::DesignerOpen, message, fix);
    }
}

fn requested(claim: &PersistentVolumeClaim) -> Option<&str> {
    let requests = claim.spec.as_ref()?.resources.as_ref()?.requests.as_ref()?;
    Some(&*requests.get("storage")?.0)
}

/// Says whether more is requested than the volume has.
fn is_growing(claim: &PersistentVolumeClaim) -> bool {
    let capacity = claim.status.as_ref().and_then(|status| status.capacity.as_ref());
    let capacity = capacity.and_then(|capacity| bytes(&capacity.get("storage")?.0));
    let wanted = requested(claim).and_then(bytes);
    wanted.zip(capacity).is_some_and(|(wanted, has)| wanted > has)
}

/// Doubles a quantity, in its own unit.
fn doubled(quantity: &str) -> String {
    let (number, unit) = split(quantity);
    number.parse::<u64>().map_or_else(|_| "20Gi".to_owned(), |it| format!("{}{unit}", it * 2))
}

fn bytes(quantity: &str) -> Option<u128> {
    let (number, unit) = split(quantity);
    let factor: u128 = match unit {
        "" => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        _ => return None,
    };
    Some(number.parse::<u128>().ok()? * factor)
}

fn split(quantity: &str) -> (&str, &str) {
    let end = quantity.find(|char: char| !char.is_ascii_digit()).unwrap_or(quantity.len());
    quantity.split_at(end)
}
