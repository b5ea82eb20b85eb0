//! The manifests that are rendered from the chart install the operator, and remove what it holds.

use std::path::PathBuf;

use stoker_testkit::images;
use stoker_testkit::quickstart::{CLUSTER_KINDS, NAMESPACE, OPERATOR_NAMESPACE, SYNC};
use stoker_testkit::wait::eventually;

#[test]
fn c08_the_kustomization_installs_and_release_yaml_removes() {
    let Some(world) = super::world() else { return };
    world.install("");
    world.start_gateway();
    let before = world.gateway();
    world.uninstall();
    let directory = manifests();
    let directory = directory.to_str().unwrap();
    let rollout = format!("deployment/{}", super::OPERATOR);

    world.operator(&["apply", "--server-side", "--force-conflicts", "--kustomize", directory]);
    world.operator(&["rollout", "status", &rollout, "--timeout=2m"]);
    world.sync_a_commit("without-helm");
    eventually("pods get an agent", || world.injects(NAMESPACE));

    world.operator(&["apply", "--filename", &format!("{directory}/release.yaml")]);
    let job = ["wait", "job/stoker-operator-release", "--for=condition=Complete", "--timeout=3m"];
    world.operator(&job);
    world.cluster(&["delete", "namespace", OPERATOR_NAMESPACE, "--timeout=90s"]);
    let ours = "--selector=app.kubernetes.io/instance=stoker-operator";
    world.cluster(&["delete", CLUSTER_KINDS, ours]);

    assert_eq!(world.gateway(), before, "the gateway runs on");
    world.cluster(&["delete", "gatewaysync", SYNC, "--timeout=30s"]);
    world.cluster(&["delete", "namespace", NAMESPACE, "--timeout=90s"]);
}

/// `cargo xtask manifests` writes them beside the images.
fn manifests() -> PathBuf {
    let directory = images::directory().with_file_name("manifests");
    assert!(directory.is_dir(), "render the manifests with `cargo xtask manifests`");
    directory
}
