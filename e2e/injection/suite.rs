//! Injection by Service, on a real node, with the webhook as a Deployment of its own.
//!
//! The claims share one installation, made by the first of them, and take turns.

#[path = "01-files-come-before-the-gateway/claim.rs"]
mod c01;
#[path = "02-a-rolling-restart-keeps-its-budget/claim.rs"]
mod c02;
#[path = "03-a-rotation-misses-no-pod/claim.rs"]
mod c03;
#[path = "04-pods-are-injected-without-controller/claim.rs"]
mod c04;

use std::sync::MutexGuard;

use stoker_e2e::Shared;
use stoker_testkit::node::{Node, succeed};
use stoker_testkit::quickstart::{self, OPERATOR, OPERATOR_NAMESPACE, POD, Quickstart};
use stoker_testkit::wait::eventually;

const INIT_CONTAINERS: &str = "--output=jsonpath={.spec.initContainers[*].name}";
/// The gateway's pod: the step that seeds its volume, then the agent.
const SEEDED: &str = "preconfigure stoker-agent";

/// An operator whose webhook is a Deployment of its own, and a gateway.
struct World {
    quickstart: Quickstart<'static>,
}

/// The world, for one claim at a time; `None` where this machine can't have a node.
fn world() -> Option<MutexGuard<'static, World>> {
    static WORLD: Shared<World> = Shared::new();
    WORLD.get(World::begin)
}

impl World {
    fn begin(node: &'static Node) -> Self {
        let quickstart = Quickstart::begin(node, quickstart::sample());
        quickstart.helm(
            "install stoker-operator charts/stoker-operator --namespace stoker-system \
             --create-namespace --set webhook.separate=true --wait --timeout 2m",
        );
        let world = Self { quickstart };
        // Helm waits until pods are Ready, and nodes hear of them a moment later.
        world.operator(&["rollout", "status", "deployment/stoker-operator-webhook"]);
        world.quickstart.run(2..=4);
        world
    }

    /// `kubectl` in the namespace of the gateway.
    fn kubectl(&self, arguments: &[&str]) -> String {
        succeed(self.quickstart.kubectl().args(arguments))
    }

    /// `kubectl` in the namespace of the operator.
    fn operator(&self, arguments: &[&str]) -> String {
        let mut kubectl = self.quickstart.node().cluster().kubectl();
        succeed(kubectl.args(["--namespace", OPERATOR_NAMESPACE]).args(arguments))
    }

    fn apply(&self, manifest: &str) {
        stoker_e2e::apply(self.quickstart.kubectl(), manifest);
    }

    /// Deletes the gateway's pod; its successor is ready and has the agent after the seed step.
    fn recreate(&self) {
        let uid = || {
            let uid = "--output=jsonpath={.metadata.uid}";
            self.kubectl(&["get", "pod", POD, "--ignore-not-found", uid])
        };
        let before = uid();
        self.kubectl(&["delete", "pod", POD, "--timeout=60s"]);
        eventually("the pod is created again", || {
            let now = uid();
            !now.is_empty() && now != before
        });
        assert_eq!(self.kubectl(&["get", "pod", POD, INIT_CONTAINERS]), SEEDED);
        self.kubectl(&["wait", "pod", POD, "--for=condition=Ready", "--timeout=90s"]);
    }
}
