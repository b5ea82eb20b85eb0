//! With `watchNamespaces` the operator serves these namespaces, has rights only in them, and its
//! webhook is called for no other.

use stoker_testkit::quickstart::{NAMESPACE, SYNC};

const STRANGER: &str =
    include_str!("../../quickstart/02-nothing-holds-on-after-uninstall/stranger.yaml");
const ACCOUNT: &str = "--as=system:serviceaccount:stoker-system:stoker-operator-controller-manager";

#[test]
fn c05_an_operator_of_one_namespace_leaves_the_others_alone() {
    let Some(world) = super::world() else { return };
    world.install("");
    world.start_gateway();
    let before = world.gateway();
    world.install(&format!("--set watchNamespaces={{{NAMESPACE}}}"));
    world.apply_as_is(STRANGER);
    world.cluster(&["label", "namespace", "stranger", "stoker.io/injection=enabled"]);
    // A commit passes through the whole operator; by then it would have noticed the stranger, too.
    world.sync_a_commit("one-namespace");
    let finalizers = "--output=jsonpath={.metadata.finalizers}{.status}";
    let stranger = ["get", "gatewaysync", "stranger", "--namespace=stranger", finalizers];
    assert_eq!(world.cluster(&stranger), "", "the other GatewaySync is not touched");
    assert!(world.injects(NAMESPACE));
    assert!(!world.injects("stranger"));
    for (namespace, expected) in [(NAMESPACE, "yes"), ("stranger", "no")] {
        let mut ask = world.node().cluster().kubectl();
        ask.args(["auth", "can-i", "get", "secrets", "--namespace", namespace, ACCOUNT]);
        let answer = ask.output().unwrap().stdout;
        assert_eq!(String::from_utf8_lossy(&answer).trim(), expected, "{namespace}");
    }
    world.cluster(&["delete", "gatewaysync", "stranger", "--namespace=stranger", "--timeout=30s"]);
    world.cluster(&["delete", "namespace", "stranger", "--wait=false"]);
    world.install("");
    world.cluster(&["wait", "gatewaysync", SYNC, "--for=condition=Ready", "--timeout=60s"]);
    assert_eq!(world.gateway(), before, "the gateway runs on");
}
