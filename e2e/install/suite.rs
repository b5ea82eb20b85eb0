//! An installation: upgraded from older ones, in its modes, and without Helm.
//!
//! The claims share one node and take turns. Each of them starts from what another one left, which
//! is an installation of this chart or none.

#![expect(clippy::unwrap_used, reason = "a claim that can't go on has failed")]

#[path = "01-helm-test-and-metrics/claim.rs"]
mod c01;
#[path = "02-from-the-go-operator/claim.rs"]
mod c02;
#[path = "03-from-first-light-and-back/claim.rs"]
mod c03;
#[path = "04-a-killed-leader/claim.rs"]
mod c04;
#[path = "05-a-part-of-a-cluster/claim.rs"]
mod c05;
#[path = "06-certificates-of-cert-manager/claim.rs"]
mod c06;
#[path = "07-a-deleted-namespace/claim.rs"]
mod c07;
#[path = "08-without-helm/claim.rs"]
mod c08;
#[path = "09-network-policies/claim.rs"]
mod c09;
mod certificate;

use std::process::Command;
use std::sync::MutexGuard;

use stoker_e2e::Shared;
use stoker_testkit::git::{Edit, Tree};
use stoker_testkit::node::{Node, succeed};
use stoker_testkit::quickstart::{
    self, NAMESPACE, OPERATOR, OPERATOR_NAMESPACE, POD, Quickstart, SYNC,
};
use stoker_testkit::wait::eventually;

/// This repository's chart, installed or upgraded to.
const UPGRADE: &str = "upgrade --install stoker-operator charts/stoker-operator \
                       --namespace stoker-system --create-namespace --wait --timeout 2m";

/// A pod that asks for an agent, as a gateway does.
const GATEWAY_POD: &str = include_str!("pod.yaml");

/// A node with Stoker's images and a git server.
struct World {
    quickstart: Quickstart<'static>,
}

/// The world, for one claim at a time; `None` where this machine can't have a node.
fn world() -> Option<MutexGuard<'static, World>> {
    static WORLD: Shared<World> = Shared::new();
    WORLD.get(|node| World { quickstart: Quickstart::begin(node, quickstart::sample()) })
}

impl World {
    fn node(&self) -> &'static Node {
        self.quickstart.node()
    }

    /// Installs the chart with these flags, or upgrades what is installed.
    fn install(&self, flags: &str) {
        self.quickstart.helm(&format!("{UPGRADE} --reset-values {flags}"));
    }

    /// Removes the operator, as far as it is installed. Gateways stay.
    fn uninstall(&self) {
        self.quickstart.helm(
            "uninstall stoker-operator --namespace stoker-system --ignore-not-found --wait --timeout 2m",
        );
    }

    /// Starts the gateway of the quickstart, if there is none, and waits until it is synced.
    fn start_gateway(&self) {
        let found = self.cluster(&["get", "namespace", NAMESPACE, "--ignore-not-found"]);
        if found.is_empty() {
            self.quickstart.run(2..=3);
            // A webhook that has just started may not be reached yet, and misses the pod.
            eventually("pods get an agent", || self.injects(NAMESPACE));
            self.quickstart.run(4..=4);
        }
        self.cluster(&["wait", "gatewaysync", SYNC, "--for=condition=Ready", "--timeout=90s"]);
    }

    /// Makes a commit and waits until the gateway has it.
    fn sync_a_commit(&self, line: &str) {
        let file = Tree::new().file(format!("projects/{line}/project.json"), "{}");
        let commit = self.quickstart.repo().commit(Edit::put(file)).unwrap().to_string();
        eventually("the gateway has the commit", || self.synced_commit() == commit);
    }

    fn synced_commit(&self) -> String {
        self.cluster(&["get", "gatewaysync", SYNC, "--output=jsonpath={.status.lastSyncCommit}"])
    }

    /// The gateway's pod, and how often its containers were started.
    fn gateway(&self) -> String {
        let path = "--output=jsonpath={.metadata.uid} {.status.containerStatuses[*].restartCount} \
                    {.status.initContainerStatuses[*].restartCount}";
        self.cluster(&["get", "pod", POD, path])
    }

    /// Says whether a pod that is created now, as a dry run, gets an agent.
    fn injects(&self, namespace: &str) -> bool {
        let names = "--output=jsonpath={.spec.initContainers[*].name}";
        let flags = ["create", "--dry-run=server", "--filename=-", "--namespace", namespace, names];
        let mut kubectl = self.node().cluster().kubectl();
        piped(kubectl.args(flags), &GATEWAY_POD.replace("NAME", "tried")).contains("stoker-agent")
    }

    /// `kubectl` in the namespace of the gateway.
    fn cluster(&self, arguments: &[&str]) -> String {
        succeed(self.quickstart.kubectl().args(arguments))
    }

    /// `kubectl` in the namespace of the operator.
    fn operator(&self, arguments: &[&str]) -> String {
        let mut kubectl = self.node().cluster().kubectl();
        succeed(kubectl.args(["--namespace", OPERATOR_NAMESPACE]).args(arguments))
    }

    /// Applies objects that name no namespace to that of the gateway.
    fn apply(&self, manifest: &str) {
        stoker_e2e::apply(self.quickstart.kubectl(), manifest);
    }

    /// Applies objects to the namespaces that they name.
    fn apply_as_is(&self, manifest: &str) {
        stoker_e2e::apply(self.node().cluster().kubectl(), manifest);
    }
}

/// Runs a command with this input and returns what it printed.
fn piped(command: &mut Command, input: &str) -> String {
    let output = stoker_e2e::piped(command, input);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}
