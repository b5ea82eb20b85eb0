//! A control plane, an operator with a policy, and namespaces.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{Namespace as NamespaceObject, Secret};
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use stoker_api::{PodBootstrap, crd};
use stoker_bench::program::{Program, run};
use stoker_bench::suite::Flags;
use stoker_testkit::cluster::{Cluster, Namespace};
use stoker_testkit::https::{Connection, trusting};
use stoker_testkit::process::{self, Guarded};
use tokio::task::JoinSet;

use crate::load::PATH;

const INTERVAL: Duration = Duration::from_millis(100);
const ATTEMPTS: usize = 600;
const KIB_PER_MIB: f64 = 1024.0;
const SECRET: &str = "plant-registry";
const CREATORS: usize = 16;

/// What is measured.
pub(crate) struct World {
    /// The namespace of the operator and of the sources.
    pub(crate) system: Namespace<'static>,
    /// One whose pods are sent to the webhook.
    served: Namespace<'static>,
    /// One whose pods are not.
    pub(crate) unserved: Namespace<'static>,
    pub(crate) client: Client,
    pub(crate) port: u16,
    pub(crate) is_quick: bool,
    pub(crate) kubernetes: String,
    pub(crate) target: PathBuf,
    operator: Option<Guarded>,
}

impl World {
    /// Starts everything, and waits until a pod is adapted.
    pub(crate) async fn begin(flags: &Flags) -> anyhow::Result<Self> {
        let cluster = Cluster::shared();
        let mut world = Self {
            system: cluster.namespace(),
            served: cluster.namespace(),
            unserved: cluster.namespace(),
            client: cluster.client().await,
            port: TcpListener::bind("[::]:0")?.local_addr()?.port(),
            is_quick: flags.quick,
            kubernetes: version(cluster)?,
            target: target()?,
            operator: None,
        };
        for definition in crd::all() {
            world.system.apply(&serde_json::to_string(&definition)?);
        }
        let wait = ["wait", "--for=condition=Established", "--timeout=60s", "crd"];
        let kinds = ["gatewaysyncs.stoker.io", "syncprofiles.stoker.io", "podbootstraps.stoker.io"];
        run(cluster.kubectl().args(wait).args(kinds))?;
        world.system.apply(&world.configuration().to_string());
        world.pull_secret("first").await?;
        world.system.apply(&world.policy().to_string());
        world.restart()?;
        world.serves().await?;
        Ok(world)
    }

    /// Ends the operator, if it runs, and starts it.
    pub(crate) fn restart(&mut self) -> anyhow::Result<()> {
        self.operator = None;
        let program = Program::built("stoker-operator")?;
        let name = self.system.name();
        let mut command = process::command(program.path())?;
        command.args(["--bootstrap", "--leader-elect=false", "--log-level=warn"]);
        command.args(["--receiver-port=0", "--metrics-bind-address=0"]);
        command.args(["--health-probe-bind-address=0", "--certificate-names=127.0.0.1"]);
        command.args([
            format!("--namespace={name}"),
            format!("--webhook-port={}", self.port),
            format!("--webhook-configuration={name}"),
        ]);
        command.env("KUBECONFIG", Cluster::shared().kubeconfig()).stdout(Stdio::null());
        self.operator = Some(Guarded::spawn(command)?);
        Ok(())
    }

    /// Waits until the webhook adapts a pod.
    pub(crate) async fn serves(&self) -> anyhow::Result<()> {
        for _ in 0..ATTEMPTS {
            if self.adapts().await.unwrap_or(false) {
                return Ok(());
            }
            tokio::time::sleep(INTERVAL).await;
        }
        anyhow::bail!("the webhook does not adapt pods")
    }

    async fn adapts(&self) -> anyhow::Result<bool> {
        let mut connection = Connection::open(self.port, trusting(&self.bundle().await?)?).await?;
        let answer = connection.post(PATH, self.review().into()).await?;
        Ok(answer.body.windows(7).any(|part| part == b"\"patch\""))
    }

    /// The CAs that the API server trusts.
    pub(crate) async fn bundle(&self) -> anyhow::Result<String> {
        let api: Api<MutatingWebhookConfiguration> = Api::all(self.client.clone());
        let configuration = api.get(self.system.name()).await?;
        let webhook = configuration.webhooks.into_iter().flatten().next();
        let bundle = webhook.and_then(|webhook| webhook.client_config.ca_bundle);
        Ok(String::from_utf8(bundle.context("there is no caBundle")?.0)?)
    }

    /// Sets the pull secret.
    pub(crate) async fn pull_secret(&self, password: &str) -> anyhow::Result<()> {
        let login = json!({ "auths": { "registry.plant.example": { "auth": password } } });
        let object = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": SECRET },
            "type": "kubernetes.io/dockerconfigjson",
            "stringData": { ".dockerconfigjson": login.to_string() },
        });
        let api: Api<Secret> = Api::namespaced(self.client.clone(), self.system.name());
        let parameters = PatchParams::apply("bench").force();
        api.patch(SECRET, &parameters, &Patch::Apply(&object)).await?;
        Ok(())
    }

    /// Creates namespaces.
    pub(crate) async fn add_namespaces(&self, count: usize) -> anyhow::Result<()> {
        let api: Api<NamespaceObject> = Api::all(self.client.clone());
        let mut tasks = JoinSet::new();
        for creator in 0..CREATORS {
            let (api, prefix) = (api.clone(), self.system.name().to_owned());
            tasks.spawn(async move {
                for number in (creator..count).step_by(CREATORS) {
                    let name = format!("{prefix}-{number}");
                    let object = json!({ "metadata": { "name": name } });
                    let object = serde_json::from_value(object)?;
                    api.create(&PostParams::default(), &object).await?;
                }
                anyhow::Ok(())
            });
        }
        while let Some(task) = tasks.join_next().await {
            task??;
        }
        Ok(())
    }

    /// Returns how many pods the policy counts.
    pub(crate) async fn counted(&self) -> anyhow::Result<usize> {
        let api: Api<PodBootstrap> = Api::all(self.client.clone());
        let pods = api.get("default").await?.status.and_then(|status| status.pods);
        let total = pods.map_or(0, |it| it.current + it.missed + it.stale + it.opted_out);
        Ok(usize::try_from(total)?)
    }

    /// Returns the resident memory of the operator in MiB.
    pub(crate) fn resident(&self) -> anyhow::Result<f64> {
        let operator = self.operator.as_ref().context("the operator runs")?;
        let pid = operator.program_pid().context("the operator runs")?;
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib: f64 = line.context("there is VmRSS")?.trim().trim_end_matches(" kB").parse()?;
        Ok(kib / KIB_PER_MIB)
    }

    /// A usual pod.
    pub(crate) fn pod(name: &str) -> Value {
        let variables = |count: usize| -> Vec<Value> {
            let each = |number| json!({ "name": format!("VARIABLE_{number}"), "value": "value" });
            (0..count).map(each).collect()
        };
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": name,
                "labels": { "app.kubernetes.io/name": "press", "pod-template-hash": "5c689d88bb" },
            },
            "spec": {
                "initContainers": [{ "name": "init", "image": "busybox:1.36" }],
                "containers": [
                    { "name": "app", "image": "nginx:1.27", "env": variables(10) },
                    { "name": "proxy", "image": "ghcr.io/acme/proxy:v1", "env": variables(5) },
                ],
                "volumes": [{ "name": "data", "emptyDir": {} }],
            },
        })
    }

    /// The review of a usual pod, as the API server sends it.
    pub(crate) fn review(&self) -> String {
        let review = json!({
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {
                "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
                "kind": { "group": "", "version": "v1", "kind": "Pod" },
                "resource": { "group": "", "version": "v1", "resource": "pods" },
                "namespace": self.served.name(),
                "operation": "CREATE",
                "userInfo": { "username": "system:serviceaccount:kube-system:replicaset-controller" },
                "object": Self::pod("press-5c689d88bb-x7k2p"),
                "oldObject": null,
                "dryRun": false,
            },
        });
        review.to_string()
    }

    fn policy(&self) -> Value {
        json!({
            "apiVersion": "stoker.io/v1alpha1", "kind": "PodBootstrap",
            "metadata": { "name": "default" },
            "spec": {
                "registries": [
                    { "from": "docker.io", "to": "registry.plant.example/dockerhub" },
                    { "from": "ghcr.io/acme", "to": "registry.plant.example/acme" },
                ],
                "pullSecret": { "name": SECRET, "sourceNamespace": self.system.name() },
                "env": [{ "name": "FIPS_MODE", "value": "1" }],
            },
        })
    }

    /// The webhook configuration of the chart, for one namespace.
    fn configuration(&self) -> Value {
        let served = json!({ "kubernetes.io/metadata.name": self.served.name() });
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": { "name": self.system.name() },
            "webhooks": [{
                "name": "pod-bootstrap.stoker.io",
                "admissionReviewVersions": ["v1"],
                "clientConfig": { "url": format!("https://127.0.0.1:{}{PATH}", self.port) },
                "failurePolicy": "Ignore",
                "sideEffects": "NoneOnDryRun",
                "timeoutSeconds": 1,
                "reinvocationPolicy": "IfNeeded",
                "namespaceSelector": { "matchLabels": served },
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
}

impl Drop for World {
    fn drop(&mut self) {
        let mut kubectl = self.system.kubectl();
        kubectl.args(["delete", "mutatingwebhookconfiguration", self.system.name()]);
        kubectl.stdout(Stdio::null()).stderr(Stdio::null()).status().ok();
    }
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
