//! A namespace with an operator of its own, and what people and agents do there.

use std::fmt::Debug;
use std::fs;
use std::future::Future;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret, ServiceAccount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Client, Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use stoker_api::condition::{ConditionType, SyncStatus};
use stoker_api::contract::metadata::Metadata;
use stoker_api::contract::report::Report;
use stoker_api::gatewaysync::GatewaySyncStatus;
use stoker_api::names::{self, Annotation};
use stoker_api::word::Commit;
use stoker_api::{GatewaySync, crd};
use stoker_core::applied::{self, Applied};
use stoker_core::gateway::name_of;
use stoker_testkit::cluster::{Cluster, Namespace};
use stoker_testkit::git::{Oid, Tree};
use stoker_testkit::node::succeed;
use stoker_testkit::object::{GatewaySyncBuilder, gateway_pod, gateway_sync};
use stoker_testkit::process::{self, Guarded};
use stoker_testkit::proxy::FaultProxy;
use tempfile::TempDir;

/// Long for a crowded machine, and short for what would never happen.
const WITHIN: Duration = Duration::from_mins(1);
const INTERVAL: Duration = Duration::from_millis(20);

/// A namespace with an operator of its own.
pub(crate) struct World {
    pub(crate) namespace: Namespace<'static>,
    pub(crate) client: Client,
    operator: Option<Guarded>,
    loopback: Loopback,
    flags: Vec<String>,
    kubeconfig: PathBuf,
    files: TempDir,
}

/// Whether git servers on loopback may be asked. Those of tests are there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loopback {
    Allowed,
    Refused,
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

impl World {
    /// Starts a controller for a namespace of its own.
    pub(crate) async fn start() -> Self {
        Self::with(&[]).await
    }

    /// Starts a controller with further flags.
    pub(crate) async fn with(flags: &[&str]) -> Self {
        Self::begin(Loopback::Allowed, flags).await
    }

    /// Prepares a namespace whose controller reaches the API server through a proxy, and does not
    /// start it yet.
    pub(crate) async fn behind(proxy: &FaultProxy, flags: &[&str]) -> Self {
        let mut world = Self::prepare(Loopback::Allowed, flags).await;
        world.connect_by(proxy);
        world
    }

    /// Lets the controllers that are started from now on reach the API server through a proxy.
    pub(crate) fn connect_by(&mut self, proxy: &FaultProxy) {
        self.kubeconfig = self.files.path().join("proxy.kubeconfig");
        fs::write(&self.kubeconfig, proxy.kubeconfig()).unwrap();
    }

    /// Starts a controller that may not ask git servers on loopback.
    pub(crate) async fn without_loopback() -> Self {
        Self::begin(Loopback::Refused, &[]).await
    }

    /// Prepares a namespace without a controller.
    pub(crate) async fn idle(flags: &[&str]) -> Self {
        Self::prepare(Loopback::Allowed, flags).await
    }

    async fn begin(loopback: Loopback, flags: &[&str]) -> Self {
        let mut world = Self::prepare(loopback, flags).await;
        world.restart();
        world
    }

    async fn prepare(loopback: Loopback, flags: &[&str]) -> Self {
        let namespace = cluster().namespace();
        let client = cluster().client().await;
        let flags = flags.iter().map(ToString::to_string).collect();
        let (kubeconfig, files) = (cluster().kubeconfig().to_owned(), tempfile::tempdir().unwrap());
        Self { namespace, client, operator: None, loopback, flags, kubeconfig, files }
    }

    /// Returns what the controllers of this world have logged.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.files.path().join("log")).unwrap_or_default()
    }

    /// Starts one more controller beside the one that runs.
    pub(crate) fn another(&self, flags: &[&str]) -> Guarded {
        let mut command = self.command();
        command.args(flags);
        Guarded::spawn(command).unwrap()
    }

    fn command(&self) -> Command {
        let name = self.namespace.name();
        let mut command = process::command(env!("CARGO_BIN_EXE_stoker-operator")).unwrap();
        command.args(["--mode=controller", "--log-format=text"]);
        if !self.flags.iter().any(|flag| flag.starts_with("--lease-seconds")) {
            command.arg("--leader-elect=false");
        }
        command.args(["--metrics-bind-address=0", "--health-probe-bind-address=0"]);
        if self.loopback == Loopback::Allowed {
            command.arg("--allow-loopback-git");
        }
        command.args([format!("--namespace={name}"), format!("--watch-namespaces={name}")]);
        command.args(&self.flags).env("KUBECONFIG", &self.kubeconfig);
        let log = self.files.path().join("log");
        let log = fs::File::options().create(true).append(true).open(log).unwrap();
        command.stdout(Stdio::null()).stderr(log);
        command
    }

    /// Gives the controllers that are started from now on one more flag.
    pub(crate) fn flag(&mut self, flag: String) {
        self.flags.push(flag);
    }

    /// Kills the controller, if it runs, and starts it again.
    pub(crate) fn restart(&mut self) {
        self.stop();
        self.operator = Some(Guarded::spawn(self.command()).unwrap());
    }

    /// Kills the controller.
    pub(crate) fn stop(&mut self) {
        self.operator = None;
    }

    /// Returns the most memory that the controller ever had, in MiB.
    pub(crate) fn peak_memory(&self) -> u64 {
        let pid = self.operator.as_ref().unwrap().program_pid().unwrap();
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_ascii_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
    }

    /// Returns the arguments and the environment of the controller, as everyone on its node sees them.
    pub(crate) fn command_line(&self) -> String {
        let pid = self.operator.as_ref().unwrap().program_pid().unwrap();
        let read = |file: &str| fs::read(format!("/proc/{pid}/{file}")).unwrap();
        String::from_utf8_lossy(&[read("cmdline"), read("environ")].concat()).into_owned()
    }

    /// Returns access to objects of the namespace.
    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), self.namespace.name())
    }

    /// Creates an object.
    pub(crate) async fn create<K>(&self, object: &K) -> K
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + Serialize
            + DeserializeOwned,
    {
        self.api::<K>().create(&PostParams::default(), object).await.unwrap()
    }

    /// Creates a GatewaySync.
    pub(crate) async fn sync(&self, builder: GatewaySyncBuilder) -> GatewaySync {
        self.create(&builder.build()).await
    }

    /// Merges a patch into a GatewaySync.
    pub(crate) async fn patch(&self, name: &str, patch: Value) {
        let api = self.api::<GatewaySync>();
        api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    /// Annotates a GatewaySync.
    pub(crate) async fn annotate(&self, name: &str, annotation: Annotation, value: &str) {
        let patch = json!({ "metadata": { "annotations": { annotation.as_str(): value } } });
        self.patch(name, patch).await;
    }

    /// Asks the controller to ask the remote, as the receiver does.
    pub(crate) async fn recheck(&self, name: &str) {
        let annotations = json!({
            Annotation::RecheckAt.as_str(): jiff::Timestamp::now().to_string(),
            Annotation::RecheckBy.as_str(): "github",
        });
        self.patch(name, json!({ "metadata": { "annotations": annotations } })).await;
    }

    /// Returns a GatewaySync.
    pub(crate) async fn get(&self, name: &str) -> GatewaySync {
        self.api::<GatewaySync>().get(name).await.unwrap()
    }

    /// Returns what agents are given.
    pub(crate) async fn metadata(&self, name: &str) -> Option<Metadata> {
        let map = names::metadata_config_map(name);
        let map = self.api::<ConfigMap>().get_opt(&map).await.unwrap()?;
        Some(Metadata::from_data(&map.data.unwrap_or_default()).unwrap())
    }

    /// Waits until a GatewaySync is as it should be, and returns it.
    pub(crate) async fn until(
        &self,
        name: &str,
        what: &str,
        holds: impl Fn(&GatewaySyncStatus) -> bool,
    ) -> GatewaySync {
        let started = Instant::now();
        loop {
            let sync = self.get(name).await;
            let status = sync.status.clone().unwrap_or_default();
            if holds(&status) {
                return sync;
            }
            assert!(started.elapsed() < WITHIN, "in vain: {what}: {status:#?}");
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// Waits until a condition has this reason.
    pub(crate) async fn until_reason(
        &self,
        name: &str,
        kind: ConditionType,
        reason: &str,
    ) -> Condition {
        let what = format!("{kind} has the reason {reason}");
        let is = |status: &GatewaySyncStatus| reason_of(status, kind).as_deref() == Some(reason);
        let sync = self.until(name, &what, is).await;
        condition(&sync.status.unwrap(), kind).unwrap().clone()
    }

    /// Waits until agents are given this commit.
    pub(crate) async fn until_announced(&self, name: &str, commit: &Oid) -> Metadata {
        let wanted = Commit::parse(commit.as_str()).unwrap();
        eventually(&format!("{wanted} is announced"), || async {
            let metadata = self.metadata(name).await?;
            (metadata.commit.as_ref() == Some(&wanted)).then_some(metadata)
        })
        .await
    }

    /// Creates a pod with an agent that runs, and returns it.
    pub(crate) async fn gateway(&self, pod: &str, sync: &str) -> Pod {
        self.pod(gateway_pod(pod).cr(sync).injected().build()).await
    }

    /// Creates a pod that a node has taken, and lets it run.
    pub(crate) async fn pod(&self, mut pod: Pod) -> Pod {
        pod.spec.as_mut().unwrap().node_name = Some("node".to_owned());
        let accounts = self.api::<ServiceAccount>();
        eventually("the namespace has its service account", || async {
            accounts.get_opt("default").await.unwrap()
        })
        .await;
        let created = self.create(&pod).await;
        let running = json!({ "status": { "phase": "Running" } });
        let api = self.api::<Pod>();
        let name = created.name_any();
        api.patch_status(&name, &PatchParams::default(), &Patch::Merge(running)).await.unwrap();
        created
    }

    /// Reports as the agent of a pod that has applied what it was given.
    pub(crate) async fn report_synced(&self, pod: &Pod, sync: &str) {
        self.report(sync, &self.synced(pod, sync).await).await;
    }

    /// The report of an agent that has what is announced.
    pub(crate) async fn synced(&self, pod: &Pod, sync: &str) -> Report {
        let metadata = self.metadata(sync).await.unwrap();
        let annotations = pod.annotations();
        let get = |annotation: Annotation| annotations.get(annotation.as_str()).map(String::as_str);
        let profile = get(Annotation::Profile).unwrap_or("default");
        let target = metadata.target_of(&pod.name_any()).unwrap();
        let hash = applied::hash(&Applied {
            url: &metadata.git_url,
            commit: &target.commit,
            profile: &metadata.profiles[profile],
            exclude_patterns: get(Annotation::ExcludePatterns),
            gateway_name: get(Annotation::GatewayName),
        });
        Report {
            applied: Some(hash),
            commit: Some(target.commit),
            git_ref: Some(target.git_ref),
            synced_at: Some(jiff::Timestamp::now()),
            agent_version: "test".to_owned(),
            ..report_of(pod, SyncStatus::Synced)
        }
    }

    /// Writes a report as an agent does.
    pub(crate) async fn report(&self, sync: &str, report: &Report) {
        self.report_text(sync, &report.pod_name, &report.to_value()).await;
    }

    /// Writes any text as the report of a pod.
    pub(crate) async fn report_text(&self, sync: &str, pod: &str, text: &str) {
        let shards = self.metadata(sync).await.unwrap().status_shards;
        let shard = names::status_shard(pod, shards);
        let name = names::status_config_map(sync, shard);
        let patch = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "data": { pod: text },
        });
        let manager = PatchParams::apply(&format!("stoker-agent-{pod}")).force();
        self.api::<ConfigMap>().patch(&name, &manager, &Patch::Apply(patch)).await.unwrap();
    }

    /// Writes a Secret.
    pub(crate) async fn secret(&self, secret: &Secret) {
        let manager = PatchParams::apply("test").force();
        let api = self.api::<Secret>();
        api.patch(&secret.name_any(), &manager, &Patch::Apply(secret)).await.unwrap();
    }

    /// Deletes a GatewaySync and waits until it is gone; returns how long that took.
    pub(crate) async fn delete(&self, name: &str) -> Duration {
        let api = self.api::<GatewaySync>();
        api.delete(name, &DeleteParams::default()).await.unwrap();
        let started = Instant::now();
        eventually("the GatewaySync is gone", || async {
            api.get_opt(name).await.unwrap().is_none().then_some(())
        })
        .await;
        started.elapsed()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.log());
        }
    }
}

/// Starts a GatewaySync that asks its remote only when it is told to.
pub(crate) fn quiet_sync(name: &str, url: &str) -> GatewaySyncBuilder {
    gateway_sync(name).repo(url).mapping("projects", "projects").polling("1h")
}

/// Begins the report of a pod's agent.
pub(crate) fn report_of(pod: &Pod, status: SyncStatus) -> Report {
    let name = pod.name_any();
    Report::new(name_of(None, None, &name), &name, &pod.uid().unwrap(), status)
}

/// Returns the content of a repository with one file.
pub(crate) fn version(text: &str) -> Tree {
    Tree::new().file("projects/a.json", text)
}

/// Waits until there is a value.
pub(crate) async fn eventually<T, F: Future<Output = Option<T>>>(
    what: &str,
    mut look: impl FnMut() -> F,
) -> T {
    let started = Instant::now();
    loop {
        if let Some(value) = look().await {
            return value;
        }
        assert!(started.elapsed() < WITHIN, "in vain: {what}");
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Finds a condition.
pub(crate) fn condition(status: &GatewaySyncStatus, kind: ConditionType) -> Option<&Condition> {
    status.conditions.iter().find(|condition| condition.type_ == kind.as_str())
}

/// Returns the reason of a condition.
pub(crate) fn reason_of(status: &GatewaySyncStatus, kind: ConditionType) -> Option<String> {
    condition(status, kind).map(|condition| condition.reason.clone())
}

/// Says whether a condition is True.
pub(crate) fn is_true(status: &GatewaySyncStatus, kind: ConditionType) -> bool {
    condition(status, kind).is_some_and(|condition| condition.status == "True")
}
