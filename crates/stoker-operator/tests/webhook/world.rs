//! A namespace with a webhook of its own.

use std::fmt::Debug;
use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Client, Resource};
use rustix::process::Signal;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use stoker_api::names::AGENT_CONTAINER;
use stoker_api::{GatewaySync, crd};
use stoker_testkit::cluster::{Cluster, Namespace};
use stoker_testkit::node::succeed;
use stoker_testkit::object::{GatewaySyncBuilder, PodBuilder, gateway_pod};
use stoker_testkit::process::{self, Guarded};
use tempfile::NamedTempFile;

use crate::http;

const WITHIN: Duration = Duration::from_mins(1);
const INTERVAL: Duration = Duration::from_millis(20);

/// A namespace with a webhook of its own, which serves only that namespace.
pub(crate) struct World {
    pub(crate) namespace: Namespace<'static>,
    pub(crate) client: Client,
    pub(crate) receiver: u16,
    pub(crate) webhook: u16,
    health: u16,
    operator: Option<Guarded>,
    parts: Parts,
    flags: Vec<String>,
    kubeconfig: PathBuf,
    log: NamedTempFile,
}

/// What runs in the operator's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parts {
    /// Webhook and receiver. Only warnings are logged.
    Webhook,
    /// The controller as well.
    All,
}

/// The run's cluster with our definitions in it.
pub(crate) fn cluster() -> &'static Cluster {
    static INSTALLED: Once = Once::new();
    let cluster = Cluster::shared();
    INSTALLED.call_once(|| {
        let namespace = cluster.namespace();
        for definition in crd::all() {
            namespace.apply(&serde_json::to_string(&definition).unwrap());
        }
        let established = ["wait", "--for=condition=Established", "--timeout=30s", "crd"];
        let crds = ["gatewaysyncs.stoker.io", "syncprofiles.stoker.io"];
        succeed(cluster.kubectl().args(established).args(crds));
    });
    cluster
}

/// A port that is free at this moment, and below those that the kernel gives to connections: tests
/// open thousands of them.
fn port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let begin = std::process::id().wrapping_mul(97);
    loop {
        let next = begin.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = 12_000 + u16::try_from(next % 18_000).unwrap();
        if TcpListener::bind(("::", port)).is_ok() {
            return port;
        }
    }
}

impl World {
    /// Starts a webhook for a namespace of its own, and waits until it is ready.
    pub(crate) async fn start() -> Self {
        Self::with(&[]).await
    }

    /// Starts a webhook with further flags.
    pub(crate) async fn with(flags: &[String]) -> Self {
        Self::through(cluster().kubeconfig(), flags).await
    }

    /// Starts a webhook that reaches the API server in another way.
    pub(crate) async fn through(kubeconfig: &Path, flags: &[String]) -> Self {
        let mut world = Self::prepared(kubeconfig, Parts::Webhook, flags).await;
        world.restart();
        world.ready().await;
        world
    }

    /// Installs the webhook configuration, and starts nothing.
    pub(crate) async fn prepare(parts: Parts, flags: &[String]) -> Self {
        Self::prepared(cluster().kubeconfig(), parts, flags).await
    }

    async fn prepared(kubeconfig: &Path, parts: Parts, flags: &[String]) -> Self {
        let namespace = cluster().namespace();
        let client = cluster().client().await;
        let world = Self {
            namespace,
            client,
            receiver: port(),
            webhook: port(),
            health: port(),
            operator: None,
            parts,
            flags: flags.to_vec(),
            kubeconfig: kubeconfig.to_owned(),
            log: NamedTempFile::new().unwrap(),
        };
        world.configure();
        world
    }

    /// The name of the webhook configuration.
    pub(crate) fn configuration(&self) -> String {
        format!("stoker-{}", self.namespace.name())
    }

    /// Installs the webhook configuration, as the chart does, for this namespace only.
    pub(crate) fn configure(&self) {
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": { "name": self.configuration() },
            "webhooks": [{
                "name": "pod-inject.stoker.io",
                "admissionReviewVersions": ["v1"],
                "clientConfig": { "url": format!("https://127.0.0.1:{}/mutate-v1-pod", self.webhook) },
                "failurePolicy": "Ignore",
                "sideEffects": "None",
                "timeoutSeconds": 2,
                "reinvocationPolicy": "IfNeeded",
                "matchConditions": [{
                    "name": "asks",
                    "expression": "has(object.metadata.annotations) && object.metadata.annotations[?'stoker.io/inject'].orValue('') == 'true'",
                }],
                "namespaceSelector": {
                    "matchLabels": { "kubernetes.io/metadata.name": self.namespace.name() },
                },
                "rules": [{
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE"],
                    "resources": ["pods"],
                    "scope": "Namespaced",
                }],
            }],
        });
        self.namespace.apply(&configuration.to_string());
    }

    /// Kills the operator, if it runs, and starts it again.
    pub(crate) fn restart(&mut self) {
        self.stop();
        let name = self.namespace.name();
        let mut command = process::command(program()).unwrap();
        command.args(match self.parts {
            Parts::Webhook => ["--mode=webhook", "--log-level=warn", "--leader-elect=true"],
            Parts::All => ["--mode=all", "--log-level=info", "--leader-elect=false"],
        });
        command.arg("--log-format=text");
        command.arg("--metrics-bind-address=0");
        command.args([
            format!("--namespace={name}"),
            format!("--watch-namespaces={name}"),
            format!("--webhook-port={}", self.webhook),
            format!("--receiver-port={}", self.receiver),
            format!("--health-probe-bind-address=127.0.0.1:{}", self.health),
            format!("--webhook-configuration={}", self.configuration()),
            "--certificate-names=127.0.0.1".to_owned(),
        ]);
        command.args(&self.flags).env("KUBECONFIG", &self.kubeconfig);
        command.stdout(Stdio::null());
        if self.parts == Parts::All {
            command.stderr(File::create(self.log.path()).unwrap());
        }
        self.operator = Some(Guarded::spawn(command).unwrap());
    }

    /// Starts an operator with all parts, one of several: who leads is for them to find out. Returns
    /// it and the port of its receiver.
    pub(crate) fn replica(&self) -> (Guarded, u16) {
        let (name, receiver) = (self.namespace.name(), port());
        let mut command = process::command(program()).unwrap();
        command.args(["--mode=all", "--log-level=warn", "--leader-elect=true"]);
        command.args(["--metrics-bind-address=0", "--health-probe-bind-address=0"]);
        command.args([
            format!("--namespace={name}"),
            format!("--watch-namespaces={name}"),
            format!("--webhook-port={}", port()),
            format!("--receiver-port={receiver}"),
            format!("--webhook-configuration={}", self.configuration()),
            "--certificate-names=127.0.0.1".to_owned(),
        ]);
        command.args(&self.flags).env("KUBECONFIG", &self.kubeconfig).stdout(Stdio::null());
        (Guarded::spawn(command).unwrap(), receiver)
    }

    /// Returns what an operator with all parts logged since it was started.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.log.path()).unwrap()
    }

    /// Sends a signal to the operator.
    pub(crate) fn signal(&self, signal: Signal) {
        self.operator.as_ref().unwrap().signal(signal).unwrap();
    }

    /// Kills the operator.
    pub(crate) fn stop(&mut self) {
        self.operator = None;
    }

    /// Asks the operator to end, and waits until it has.
    pub(crate) fn terminate(&mut self) {
        let mut operator = self.operator.take().unwrap();
        operator.signal(Signal::TERM).unwrap();
        operator.wait().unwrap();
    }

    /// Returns the most memory that the operator has had, in KiB.
    pub(crate) fn peak_memory(&self) -> u64 {
        let pid = self.operator.as_ref().and_then(Guarded::program_pid).unwrap();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Says whether the operator is ready.
    pub(crate) async fn is_ready(&self) -> bool {
        http::get(self.health, "/readyz").await.is_ok_and(|response| response.status == 200)
    }

    /// Waits until the operator is ready.
    pub(crate) async fn ready(&self) {
        until("the webhook is ready", async || self.is_ready().await.then_some(())).await;
    }

    /// Returns access to objects of the namespace.
    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), self.namespace.name())
    }

    /// Creates an object.
    pub(crate) async fn create<K>(&self, object: &K) -> kube::Result<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + Serialize
            + DeserializeOwned,
    {
        self.api::<K>().create(&PostParams::default(), object).await
    }

    /// Creates a GatewaySync.
    pub(crate) async fn sync(&self, builder: GatewaySyncBuilder) -> GatewaySync {
        self.create(&builder.build()).await.unwrap()
    }

    /// Says whether a pod would get the agent now.
    pub(crate) async fn injects(&self) -> bool {
        let parameters = PostParams { dry_run: true, ..PostParams::default() };
        let pod = gateway_pod("dry-run").build();
        agent(&self.api::<Pod>().create(&parameters, &pod).await.unwrap()).is_some()
    }

    /// Patches the first webhook of the configuration.
    pub(crate) fn reconfigure(&self, patch: &Value) {
        let mut command = cluster().kubectl();
        command.args(["patch", "mutatingwebhookconfiguration", &self.configuration()]);
        succeed(command.args(["--type=json", "--patch", &patch.to_string()]));
    }

    /// Creates a pod.
    pub(crate) async fn pod(&self, builder: PodBuilder) -> kube::Result<Pod> {
        self.create(&builder.build()).await
    }

    /// Puts a label on the namespace.
    pub(crate) fn label(&self, label: &str) {
        succeed(cluster().kubectl().args(["label", "namespace", self.namespace.name(), label]));
    }

    /// Reads the webhook configuration.
    pub(crate) fn webhook_configuration(&self) -> Value {
        let mut command = cluster().kubectl();
        command.args(["get", "mutatingwebhookconfiguration", &self.configuration(), "-o", "json"]);
        serde_json::from_slice(&command.output().unwrap().stdout).unwrap()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop();
        let mut command = cluster().kubectl();
        command.args(["delete", "mutatingwebhookconfiguration", &self.configuration()]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().ok();
    }
}

/// The program: the one that `STOKER_OPERATOR` names, or the one that was built for the tests.
fn program() -> PathBuf {
    let built = env!("CARGO_BIN_EXE_stoker-operator");
    std::env::var_os("STOKER_OPERATOR").map_or_else(|| built.into(), PathBuf::from)
}

/// Returns the agent's container.
pub(crate) fn agent(pod: &Pod) -> Option<Value> {
    let containers = pod.spec.as_ref()?.init_containers.as_ref()?;
    let agent = containers.iter().find(|it| it.name == AGENT_CONTAINER)?;
    Some(serde_json::to_value(agent).unwrap())
}

/// Waits until something holds.
pub(crate) async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(seen) = look().await {
            return seen;
        }
        assert!(begun.elapsed() < WITHIN, "{what}: not within {WITHIN:?}");
        tokio::time::sleep(INTERVAL).await;
    }
}
