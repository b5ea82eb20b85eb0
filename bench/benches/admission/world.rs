//! A control plane, an operator with the webhook, and a namespace that it serves.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use kube::{Api, Client};
use serde_json::{Value, json};
use stoker_api::crd;
use stoker_bench::finding::{Bar, Finding, Unit};
use stoker_bench::program::{Program, run};
use stoker_bench::suite::Flags;
use stoker_testkit::cluster::{Cluster, Namespace};
use stoker_testkit::https::{Connection, trusting};
use stoker_testkit::object::{gateway_pod, gateway_sync};
use stoker_testkit::process::{self, Guarded};

const INTERVAL: Duration = Duration::from_millis(100);
const ATTEMPTS: usize = 600;
const KIB_PER_MIB: f64 = 1024.0;
const MEMORY_MIB: f64 = 48.0;
/// The Secret with the webhook's certificate.
pub(crate) const SECRET: &str = "stoker-webhook-tls";

/// What is measured.
pub(crate) struct World {
    /// The namespace that the webhook serves.
    pub(crate) served: Namespace<'static>,
    /// One that it does not serve.
    pub(crate) other: Namespace<'static>,
    pub(crate) client: Client,
    pub(crate) port: u16,
    pub(crate) is_quick: bool,
    pub(crate) turns: usize,
    pub(crate) kubernetes: String,
    pub(crate) target: PathBuf,
    operator: Guarded,
}

impl World {
    /// Starts everything, and waits until a pod is injected.
    pub(crate) async fn begin(flags: &Flags) -> anyhow::Result<Self> {
        let cluster = Cluster::shared();
        let served = cluster.namespace();
        let other = cluster.namespace();
        for definition in crd::all() {
            served.apply(&serde_json::to_string(&definition)?);
        }
        let wait = ["wait", "--for=condition=Established", "--timeout=60s", "crd"];
        run(cluster
            .kubectl()
            .args(wait)
            .args(["gatewaysyncs.stoker.io", "syncprofiles.stoker.io"]))?;
        let sync =
            gateway_sync("plant").mapping(".", "projects").token("pat").api_key("key").build();
        served.apply(&serde_json::to_string(&sync)?);
        let port = free_port()?;
        served.apply(&configuration(served.name(), port).to_string());
        let program = Program::built("stoker-operator")?;
        let name = served.name();
        let mut command = process::command(program.path())?;
        command.args([
            "--mode=all",
            "--leader-elect=false",
            "--log-level=warn",
            "--receiver-port=0",
        ]);
        command.args(["--metrics-bind-address=0", "--health-probe-bind-address=0"]);
        command.args([
            format!("--namespace={name}"),
            format!("--watch-namespaces={name}"),
            format!("--webhook-port={port}"),
            format!("--webhook-configuration={name}"),
            "--certificate-names=127.0.0.1".to_owned(),
        ]);
        command.env("KUBECONFIG", cluster.kubeconfig()).stdout(Stdio::null());
        let world = Self {
            client: cluster.client().await,
            port,
            is_quick: flags.quick,
            turns: if flags.quick { 30 } else { 200 },
            kubernetes: version(cluster)?,
            target: target()?,
            operator: Guarded::spawn(command)?,
            served,
            other,
        };
        for _ in 0..ATTEMPTS {
            if let Ok(mut connection) = world.connect().await {
                let answer = connection.post("/mutate-v1-pod", world.review(true).into()).await?;
                if answer.body.windows(5).any(|part| part == b"patch") {
                    return Ok(world);
                }
            }
            tokio::time::sleep(INTERVAL).await;
        }
        anyhow::bail!("the webhook does not inject")
    }

    /// The CAs that the API server trusts.
    pub(crate) async fn bundle(&self) -> anyhow::Result<String> {
        let api: Api<MutatingWebhookConfiguration> = Api::all(self.client.clone());
        let configuration = api.get(self.served.name()).await?;
        let webhook = configuration.webhooks.into_iter().flatten().next();
        let bundle = webhook.and_then(|webhook| webhook.client_config.ca_bundle);
        Ok(String::from_utf8(bundle.context("there is no caBundle")?.0)?)
    }

    /// Opens a connection to the webhook.
    pub(crate) async fn connect(&self) -> anyhow::Result<Connection> {
        let trusted = trusting(&self.bundle().await?)?;
        Ok(Connection::open(self.port, trusted).await?)
    }

    /// Opens many connections.
    pub(crate) async fn connect_all(&self, count: usize) -> anyhow::Result<Vec<Connection>> {
        let trusted = trusting(&self.bundle().await?)?;
        let mut connections = Vec::with_capacity(count);
        for _ in 0..count {
            connections.push(Connection::open(self.port, Arc::clone(&trusted)).await?);
        }
        Ok(connections)
    }

    /// The review of a usual gateway's pod, as the API server sends it.
    pub(crate) fn review(&self, asks: bool) -> String {
        let mut pod =
            serde_json::to_value(gateway_pod("ignition-0").seeded().fs_group(2003).build())
                .expect("a pod is plain values");
        if !asks {
            pod["metadata"]["annotations"] = json!({ "example.com/team": "press" });
        }
        let review = json!({
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {
                "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
                "kind": { "group": "", "version": "v1", "kind": "Pod" },
                "resource": { "group": "", "version": "v1", "resource": "pods" },
                "namespace": self.served.name(),
                "operation": "CREATE",
                "userInfo": { "username": "system:serviceaccount:kube-system:statefulset-controller" },
                "object": pod,
                "oldObject": null,
                "dryRun": false,
            },
        });
        review.to_string()
    }

    /// The most memory that the operator has had.
    pub(crate) fn memory(&self) -> anyhow::Result<Finding> {
        let pid = self.operator.program_pid().context("the operator runs")?;
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib: f64 = line.context("there is VmHWM")?.trim().trim_end_matches(" kB").parse()?;
        let claim = "operator under this load, most resident memory".to_owned();
        let bar = Bar { id: "memory", claim, limit: MEMORY_MIB, unit: Unit::Mebibytes };
        Ok(bar.judge(kib / KIB_PER_MIB, "VmHWM, controller included".to_owned()))
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let mut kubectl = self.served.kubectl();
        kubectl.args(["delete", "mutatingwebhookconfiguration", self.served.name()]);
        kubectl.stdout(Stdio::null()).stderr(Stdio::null()).status().ok();
    }
}

/// The webhook configuration of the chart, for one namespace.
fn configuration(namespace: &str, port: u16) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": { "name": namespace },
        "webhooks": [{
            "name": "bench.pod-inject.stoker.io",
            "admissionReviewVersions": ["v1"],
            "clientConfig": { "url": format!("https://127.0.0.1:{port}/mutate-v1-pod") },
            "failurePolicy": "Ignore",
            "sideEffects": "NoneOnDryRun",
            "timeoutSeconds": 2,
            "reinvocationPolicy": "IfNeeded",
            "matchConditions": [{
                "name": "asks-for-injection",
                "expression": "has(object.metadata.annotations) && 'stoker.io/inject' in \
                    object.metadata.annotations && \
                    object.metadata.annotations['stoker.io/inject'] == 'true'",
            }],
            "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": namespace } },
            "rules": [{
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["pods"],
                "scope": "Namespaced",
            }],
        }],
    })
}

fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind("[::]:0")?.local_addr()?.port())
}

fn version(cluster: &Cluster) -> anyhow::Result<String> {
    let ran = run(cluster.kubectl().args(["get", "--raw", "/version"]))?;
    let version: Value = serde_json::from_slice(&ran.stdout)?;
    Ok(format!("Kubernetes {}", version["gitVersion"].as_str().unwrap_or_default()))
}

/// Cargo's target directory: this program is in `release/deps` below it.
fn target() -> anyhow::Result<PathBuf> {
    let me = std::env::current_exe().context("failed to find this program")?;
    Ok(me.ancestors().nth(3).context("this program is in a target directory")?.to_owned())
}
