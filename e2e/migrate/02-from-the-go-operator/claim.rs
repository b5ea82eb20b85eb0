//! A namespace of the Go operator is taken over: `migrate` finds nothing to drop, and the pod's
//! restart, which replaces the agent, touches no file of the gateway.

use std::fs;

use stoker_testkit::node::succeed;
use stoker_testkit::wait::eventually;

use crate::Site;

#[test]
fn c02_a_namespace_of_the_go_operator_moves_without_a_changed_byte() {
    let Some(world) = super::world() else { return };
    let site = Site::begin(&world, "plant");
    let commit = world.repo().git(["rev-parse", "main"]).unwrap();
    let commit = String::from_utf8(commit).unwrap();
    let manifest = include_str!("gateway.yaml").replace("REPOSITORY", world.url());
    site.namespace.apply(&manifest.replace("COMMIT", commit.trim()));
    site.wait_for_pod_after("");
    eventually("its gateway is listed", || site.gateway("syncStatus") == "Synced");
    assert!(site.gateway("restartNeeded").contains("Go operator"));
    let (pod, before) = (site.pod(), site.files());
    assert!(before.len() >= 5, "{before:?}");

    let get = ["get", "gatewaysyncs", "--output=yaml"];
    fs::write(site.file("before.yaml"), succeed(site.namespace.kubectl().args(get))).unwrap();
    let said = site.migrate(&["--file", site.file("before.yaml").to_str().unwrap()]);
    assert_eq!(said, "", "nothing is dropped");
    site.apply_migrated();
    site.kubectl(&["delete", "pod", "plant-0", "--timeout=60s"]);
    site.wait_for_pod_after(&pod);

    site.wait_served_by_our_agent();
    assert_eq!(site.files(), before);
    site.wait_for_next_commit();
}
