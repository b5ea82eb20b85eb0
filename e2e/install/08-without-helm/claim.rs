//! The manifests that are rendered from the chart install the operator, and remove what it holds,
//! by the commands of `docs/install.md`.

use std::path::PathBuf;

use stoker_testkit::images;
use stoker_testkit::page::{Page, Shell};
use stoker_testkit::quickstart::{NAMESPACE, SYNC};
use stoker_testkit::wait::eventually;

#[test]
fn c08_the_manifests_install_and_release_yaml_removes() {
    let Some(world) = super::world() else { return };
    world.install("");
    world.start_gateway();
    let before = world.gateway();
    world.uninstall();
    let environment = world.quickstart.environment();
    let shell = Shell::new(manifests()).after(&format!(". {}", environment.display()));
    let page = Page::read("docs/install.md");
    let rollout = format!("deployment/{}", super::OPERATOR);

    shell.follow(page.section("Without Helm"));
    let kustomized = shell.run("kubectl diff --server-side --force-conflicts --kustomize .");
    assert_eq!(kustomized.code, 0, "it has the same objects: {}", kustomized.output);
    world.operator(&["rollout", "status", &rollout, "--timeout=2m"]);
    world.sync_a_commit("without-helm");
    eventually("pods get an agent", || world.injects(NAMESPACE));

    shell.follow(page.section("Remove it"));

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
