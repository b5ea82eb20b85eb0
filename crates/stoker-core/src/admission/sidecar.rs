//! The agent's container: a native sidecar under the restricted Pod Security Standard.
//!
//! It has no readiness probe: a native sidecar counts in the pod's readiness, and nothing of ours
//! may take a gateway out of its Service.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use stoker_api::contract::env::Env;
use stoker_api::contract::mount::Volume;
use stoker_api::gatewaysync::Agent as AgentSpec;
use stoker_api::names::{AGENT_CONTAINER, Port};
use stoker_api::word::ProfileName;

use super::Chosen;
use super::asked::Asked;
use super::data::Data;
use super::expansion::DOWNWARD;
use super::image::Image;
use super::pod::Pod;
use super::resource;
use super::volume::{Placed, SecretMount};
use super::warning::Findings;

/// Native sidecars of service meshes: the network works only after them.
const MESHES: [&str; 2] = ["istio-proxy", "linkerd-proxy"];
/// The name of the port with the agent's metrics.
const METRICS_PORT_NAME: &str = "stoker-metrics";

/// Everything that the agent of one pod is made from.
pub(super) struct Agent<'a> {
    pub(super) pod: &'a Pod<'a>,
    pub(super) asked: &'a Asked<'a>,
    pub(super) chosen: Chosen<'a>,
    pub(super) image: Image,
    pub(super) data: &'a Data<'a>,
}

struct Ports {
    health: u16,
    metrics: u16,
}

impl Agent<'_> {
    /// Returns the user that the agent will run as, where the pod says one.
    pub(super) fn user(&self) -> Option<i64> {
        let own = self.data.gateway.and_then(|gateway| gateway.security_context.run_as_user);
        own.or(self.pod.spec.security_context.run_as_user)
    }

    /// Returns the mode of files from Secrets.
    ///
    /// With an `fsGroup` the kubelet lets the group read. Without one, only root could read 0400.
    pub(super) fn secret_mode(&self) -> u32 {
        let is_readable = self.pod.fs_group().is_some() || self.user() == Some(0);
        if is_readable { 0o400 } else { 0o444 }
    }

    /// Returns where the agent goes among the init containers.
    pub(super) fn position(&self) -> usize {
        if self.asked.is_first {
            return 0;
        }
        let comes_before = |container: &super::pod::Container<'_>| {
            let is_mesh = container.is_sidecar() && MESHES.contains(&&*container.name);
            is_mesh || container.mounts(self.data.volume)
        };
        let last = self.pod.spec.init_containers.iter().rposition(comes_before);
        last.map_or(0, |last| last + 1)
    }

    fn spec(&self) -> Option<&AgentSpec> {
        self.chosen.sync?.spec.agent.as_ref()
    }

    fn ports(&self) -> Ports {
        let (health, metrics) = if self.pod.spec.host_network {
            let first = host_port(self.pod);
            (first, first + 1)
        } else {
            (Port::AgentHealth.number(), Port::AgentMetrics.number())
        };
        let declared = self.pod.all_containers().flat_map(|container| &container.ports);
        let used: BTreeSet<i64> =
            declared.flat_map(|port| [port.container_port, port.host_port]).flatten().collect();
        let free = |from: u16, except: Option<u16>| {
            (from..=u16::MAX)
                .find(|port| Some(*port) != except && !used.contains(&i64::from(*port)))
                .unwrap_or(from)
        };
        let health = free(health, None);
        Ports { health, metrics: free(metrics, Some(health)) }
    }
}

/// Returns a port for a pod in the network of its node, where other pods have agents, too.
fn host_port(pod: &Pod<'_>) -> u16 {
    let hash = Sha256::digest(pod.display_name());
    // Below the ephemeral ports of Linux, and above what services use.
    20_000 + u16::from_be_bytes([hash[0], hash[1]]) % 5_000 * 2
}

/// Returns the ports that are declared: none in the network of the node, where they would be
/// reserved.
fn declared(agent: &Agent<'_>, ports: &Ports) -> Value {
    if agent.pod.spec.host_network {
        return json!([]);
    }
    json!([{ "name": METRICS_PORT_NAME, "containerPort": ports.metrics, "protocol": "TCP" }])
}

/// Builds the container.
pub(super) fn build(
    agent: &Agent<'_>,
    placed: &[Placed],
    secrets: &[SecretMount],
    findings: &mut Findings,
) -> Value {
    let ports = agent.ports();
    json!({
        "name": AGENT_CONTAINER,
        "image": agent.image.to_string(),
        "imagePullPolicy": agent.image.pull_policy.as_str(),
        "restartPolicy": "Always",
        "env": environment(agent, secrets, &ports),
        "ports": declared(agent, &ports),
        "resources": resource::build(agent.spec().and_then(|spec| spec.resources.as_ref()), findings),
        "securityContext": security_context(agent),
        "startupProbe": {
            "httpGet": { "path": "/startupz", "port": ports.health },
            "periodSeconds": 1,
            "timeoutSeconds": 5,
            "failureThreshold": i32::MAX,
        },
        "livenessProbe": {
            "httpGet": { "path": "/healthz", "port": ports.health },
            "periodSeconds": 10,
            "timeoutSeconds": 5,
            "failureThreshold": 6,
        },
        "volumeMounts": mounts(agent, placed),
    })
}

fn environment(agent: &Agent<'_>, secrets: &[SecretMount], ports: &Ports) -> Vec<Value> {
    let Agent { asked, chosen, data, .. } = agent;
    let gateway = chosen.sync.and_then(|sync| sync.spec.gateway.as_ref());
    let mut env = data.variables.clone();
    let mut add = |name: Env, value: &str| {
        env.push(json!({ "name": name.as_str(), "value": literal(value) }));
    };
    add(Env::CrName, chosen.name);
    add(Env::GatewayName, asked.gateway_name.unwrap_or_default());
    match (asked.sync_profile, asked.profile, asked.service_path) {
        (Some(name), _, _) => add(Env::SyncProfile, name),
        (None, Some(name), _) => add(Env::Profile, name),
        (None, None, Some(_)) => {}
        (None, None, None) => add(Env::Profile, ProfileName::DEFAULT),
    }
    if let Some(path) = asked.service_path {
        add(Env::ServicePath, path);
    }
    add(Env::RepoPath, Volume::SyncRepo.path());
    add(Env::DataPath, data.path);
    let port = asked.gateway_port.map(i32::from).or_else(|| gateway.and_then(|it| it.port));
    add(Env::GatewayPort, &port.unwrap_or(Port::Gateway.number().into()).to_string());
    let tls = asked.gateway_tls.or_else(|| gateway.and_then(|it| it.tls));
    add(Env::GatewayTls, if tls.unwrap_or(false) { "true" } else { "false" });
    for secret in secrets {
        if let (Some(variable), Some(key)) = (secret.variable, &secret.key) {
            add(variable, &secret.volume.file(key));
        }
    }
    if let Some(period) = asked.sync_period {
        add(Env::SyncPeriod, &period.to_string());
    }
    if let Some(deadline) = agent.spec().and_then(|spec| spec.startup_deadline.as_deref()) {
        add(Env::StartupDeadline, deadline);
    }
    add(Env::HealthPort, &ports.health.to_string());
    add(Env::MetricsPort, &ports.metrics.to_string());
    let downward = DOWNWARD.map(|(name, field)| {
        json!({ "name": name.as_str(), "valueFrom": { "fieldRef": { "fieldPath": field } } })
    });
    env.splice(0..0, downward);
    env
}

/// Keeps a value as it is: Kubernetes would replace `$(NAME)`, and reads `$$` as `$`.
fn literal(value: &str) -> String {
    value.replace('$', "$$")
}

fn security_context(agent: &Agent<'_>) -> Value {
    let mut context = json!({
        "allowPrivilegeEscalation": false,
        "capabilities": { "drop": ["ALL"] },
        "readOnlyRootFilesystem": true,
        // A gateway that runs as root has an agent that does: it must be able to write its files.
        "runAsNonRoot": agent.user() != Some(0),
        "seccompProfile": { "type": "RuntimeDefault" },
    });
    let own = agent.data.gateway.map(|gateway| gateway.security_context).unwrap_or_default();
    for (field, id) in [("runAsUser", own.run_as_user), ("runAsGroup", own.run_as_group)] {
        if let Some(id) = id {
            context[field] = json!(id);
        }
    }
    context
}

fn mounts(agent: &Agent<'_>, placed: &[Placed]) -> Vec<Value> {
    let data = agent.data;
    let mut mounts = Vec::new();
    if data.gateway.is_some() {
        let mut mount = json!({ "name": data.volume, "mountPath": data.path });
        if let Some(path) = data.sub_path {
            mount["subPath"] = json!(path);
        }
        if let Some(expression) = data.sub_path_expr {
            mount["subPathExpr"] = json!(expression);
        }
        mounts.push(mount);
    }
    for volume in placed {
        let mut mount = json!({ "name": volume.name, "mountPath": volume.path });
        if volume.is_read_only {
            mount["readOnly"] = json!(true);
        }
        mounts.push(mount);
    }
    mounts
}
