//! A gateway always comes up again: without git, the operator or the API server, and whatever is
//! killed. It finds its files when it first starts. And fifty of them get a commit at once.
//!
//! The claims share one installation and one gateway, made by the first of them, and take turns.

#![expect(clippy::unwrap_used, reason = "a claim that can't go on has failed")]

#[path = "01-containers-restart-in-an-outage/claim.rs"]
mod c01;
#[path = "02-a-pod-returns-without-git/claim.rs"]
mod c02;
#[path = "03-a-pod-returns-without-operator/claim.rs"]
mod c03;
#[path = "04-a-killed-worker-mixes-no-files/claim.rs"]
mod c04;
#[path = "05-a-killed-container-is-ready-again/claim.rs"]
mod c05;
#[path = "06-kubelet-and-containerd-come-back/claim.rs"]
mod c06;
#[path = "07-fifty-gateways-get-a-commit/claim.rs"]
mod c07;
#[path = "08-files-are-complete-before-the-gateway-starts/claim.rs"]
mod c08;

use std::fs;
use std::path::PathBuf;
use std::sync::MutexGuard;

use stoker_e2e::Shared;
use stoker_testkit::node::{Node, agent_processes, succeed};
use stoker_testkit::quickstart::{
    self, NAMESPACE, OPERATOR, OPERATOR_NAMESPACE, POD, Quickstart, SYNC,
};
use stoker_testkit::wait::eventually;

/// The gateway of the quickstart, but with a volume that outlives its pod.
const GATEWAY: &str = include_str!("../../docs/quickstart/gateway.yaml");
const VOLUME: &str = "emptyDir: {}";
const CLAIM: &str = "persistentVolumeClaim: {claimName: data}";

/// The names of the pod's init containers, sidecars among them.
const INIT_CONTAINERS: &str = "{.spec.initContainers[*].name}";

/// The containers of a gateway's pod, with the list of the status that they are in.
const CONTAINERS: [(&str, &str); 2] =
    [("containerStatuses", "gateway"), ("initContainerStatuses", "stoker-agent")];

/// An operator, a git server and a gateway that is synced.
struct World {
    quickstart: Quickstart<'static>,
    data: PathBuf,
}

/// The operator has no pods until this value is dropped.
struct Stopped<'a> {
    world: &'a World,
    replicas: String,
}

/// The world, for one claim at a time; `None` where this machine can't have a node.
fn world() -> Option<MutexGuard<'static, World>> {
    static WORLD: Shared<World> = Shared::new();
    WORLD.get(World::begin)
}

impl World {
    fn begin(node: &'static Node) -> Self {
        let quickstart = Quickstart::begin(node, quickstart::sample());
        quickstart.run(1..=3);
        let data = node.cluster().directory().join("plant-data");
        fs::remove_dir_all(&data).ok(); // of an earlier run, if any
        fs::create_dir(&data).unwrap();
        let world = Self { quickstart, data };
        world.kubectl(&["delete", "persistentvolume", "plant-data", "--ignore-not-found"]);
        let directory = world.data.display().to_string();
        world.apply(&include_str!("volume.yaml").replace("DIRECTORY", &directory));
        assert!(GATEWAY.contains(VOLUME), "the page's gateway has the volume that we replace");
        world.apply(&GATEWAY.replace(VOLUME, CLAIM));
        eventually("the gateway has a pod", || !world.uid().is_empty());
        world.wait_ready();
        world.wait_synced();
        world
    }

    fn node(&self) -> &'static Node {
        self.quickstart.node()
    }

    /// A file of the gateway's data directory.
    fn file(&self, path: &str) -> String {
        fs::read_to_string(self.data.join(path)).unwrap_or_default()
    }

    /// Deletes the gateway's pod and waits until its successor exists.
    fn recreate_pod(&self) {
        let before = self.uid();
        self.kubectl(&["delete", "pod", POD, "--timeout=60s"]);
        eventually("the pod is created again", || {
            let now = self.uid();
            !now.is_empty() && now != before
        });
    }

    /// Recreates the gateway's pod and waits until it is synced: the kubelet delays the restarts of
    /// a container that was killed before. Returns its UID.
    fn fresh_pod(&self) -> String {
        self.recreate_pod();
        self.wait_ready();
        self.wait_synced();
        self.uid()
    }

    /// Stops the operator.
    fn stop_operator(&self) -> Stopped<'_> {
        let replicas = self.operator(&["get", "--output=jsonpath={.spec.replicas}"]);
        self.operator(&["scale", "--replicas=0"]);
        // A pod that is being deleted still answers the API server for some seconds.
        let pods = ["get", "pods", "--output=name", "--namespace", OPERATOR_NAMESPACE];
        eventually("the operator is gone", || {
            succeed(self.node().cluster().kubectl().args(pods)).is_empty()
        });
        Stopped { world: self, replicas }
    }

    /// `kubectl <words> deployment/<operator>`.
    fn operator(&self, words: &[&str]) -> String {
        let mut kubectl = self.node().cluster().kubectl();
        kubectl.args(words[0].split(' ')).arg(format!("deployment/{OPERATOR}"));
        succeed(kubectl.args(&words[1..]).args(["--namespace", OPERATOR_NAMESPACE]))
    }

    /// How often a container of the gateway's pod was restarted.
    fn restarts(&self, list: &str, container: &str) -> u32 {
        let count = format!("{{.status.{list}[?(@.name=='{container}')].restartCount}}");
        self.pod(&count).parse().unwrap_or(0)
    }

    /// The processes of the gateway's agent: those with this word among their arguments, or all.
    fn agent(word: &str) -> Vec<u32> {
        agent_processes(NAMESPACE, POD, word)
    }

    fn wait_ready(&self) {
        self.kubectl(&["wait", "pod", POD, "--for=condition=Ready", "--timeout=90s"]);
    }

    fn wait_synced(&self) {
        self.kubectl(&["wait", "gatewaysync", SYNC, "--for=condition=Ready", "--timeout=90s"]);
    }

    /// A field of the gateway's pod, empty where there is none.
    fn pod(&self, path: &str) -> String {
        let output = format!("--output=jsonpath={path}");
        self.kubectl(&["get", "pod", POD, "--ignore-not-found", &output])
    }

    fn uid(&self) -> String {
        self.pod("{.metadata.uid}")
    }

    /// A field of what the GatewaySync's status says about the gateway.
    fn gateway(&self, field: &str) -> String {
        let path = format!("{{.status.discoveredGateways[?(@.podName=='{POD}')].{field}}}");
        self.kubectl(&["get", "gatewaysync", SYNC, &format!("--output=jsonpath={path}")])
    }

    fn kubectl(&self, arguments: &[&str]) -> String {
        succeed(self.quickstart.kubectl().args(arguments))
    }

    fn apply(&self, manifest: &str) {
        stoker_e2e::apply(self.quickstart.kubectl(), manifest);
    }
}

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.world.operator(&["scale", &format!("--replicas={}", self.replicas)]);
        self.world.operator(&["rollout status", "--timeout=90s"]);
    }
}
