//! A namespace can be deleted while its gateways run and the operator serves them.

use stoker_testkit::quickstart::NAMESPACE;

#[test]
fn c07_a_namespace_with_gateways_can_be_deleted() {
    let Some(world) = super::world() else { return };
    world.install("");
    world.start_gateway();
    world.cluster(&["delete", "namespace", NAMESPACE, "--timeout=90s"]);
    let all = ["get", "gatewaysyncs", "--all-namespaces", "--output=name"];
    assert_eq!(world.cluster(&all), "");
    // The operator is well afterwards.
    world.start_gateway();
}
