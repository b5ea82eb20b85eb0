//! Pod bootstrap on a real node: images and certificates that containers really get.

#![expect(clippy::unwrap_used, reason = "a claim that can't go on has failed")]

#[path = "01-a-public-name-starts-from-the-private-image/claim.rs"]
mod c01;
#[path = "02-a-container-finds-the-certificates/claim.rs"]
mod c02;

use std::sync::MutexGuard;

use stoker_e2e::{Shared, apply};
use stoker_testkit::cluster::Namespace;
use stoker_testkit::image::Image;
use stoker_testkit::node::{Node, Pod, succeed};
use stoker_testkit::quickstart::{self, Quickstart};
use stoker_testkit::wait::eventually;

/// What containerd knows the image by. No registry answers here: nothing can be pulled.
const PRIVATE: &str = "registry.plant.example/dockerhub/library/press:1";
/// What pods call it.
const PUBLIC: &str = "press:1";
const INSTALL: &str = "upgrade --install stoker-operator charts/stoker-operator \
                       --namespace stoker-system --create-namespace --wait --timeout 2m \
                       --set bootstrap.enabled=true";

/// A node with Stoker, a policy and its sources.
struct World {
    quickstart: Quickstart<'static>,
    certificate: String,
}

/// The world, for one claim at a time; `None` where this machine can't have a node.
fn world() -> Option<MutexGuard<'static, World>> {
    static WORLD: Shared<World> = Shared::new();
    WORLD.get(World::begin)
}

impl World {
    fn begin(node: &'static Node) -> Self {
        let quickstart = Quickstart::begin(node, quickstart::sample());
        let image = Image::named(PRIVATE).with_busybox().expect("busybox is on this machine");
        node.load(&image.entrypoint(["/bin/sh", "-c"]));
        quickstart.helm(INSTALL);
        let certificate = rcgen::generate_simple_self_signed(["plant.example".to_owned()]).unwrap();
        let world = Self { quickstart, certificate: certificate.cert.pem() };
        let indented = world.certificate.replace('\n', "\n    ");
        let manifest = include_str!("policy.yaml").replace("CERTIFICATE", &indented);
        apply(node.cluster().kubectl(), &manifest);
        world
    }

    fn node(&self) -> &'static Node {
        self.quickstart.node()
    }

    /// Starts a pod in a namespace that has its copies, and waits until it is ready.
    fn start<'a>(&self, namespace: &'a Namespace<'a>, pod: &str) -> Pod<'a> {
        eventually("the namespace has its copies", || {
            let get = ["get", "secret/plant-registry", "configmap/stoker-ca-bundle"];
            let found = namespace.kubectl().args(get).output().unwrap();
            found.status.success()
        });
        // Endpoints that have just changed may not lead to the webhook yet: a missed pod is created
        // again.
        let path = "--output=jsonpath={.metadata.annotations.stoker\\.io/bootstrapped}";
        eventually("the pod is bootstrapped", || {
            let delete = ["delete", "pod", "press", "--ignore-not-found", "--now"];
            succeed(namespace.kubectl().args(delete));
            namespace.apply(pod);
            !succeed(namespace.kubectl().args(["get", "pod", "press", path])).is_empty()
        });
        let pod = self.node().pod(namespace, "press");
        pod.wait_ready();
        pod
    }
}
