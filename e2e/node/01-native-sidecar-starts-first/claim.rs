//! A native sidecar runs after the init containers before it, and the gateway only after its probe.

#[test]
fn c01_a_native_sidecar_starts_between_init_and_gateway() {
    let Some(node) = super::node() else { return };
    let namespace = node.cluster().namespace();
    namespace.apply(include_str!("pod.yaml"));
    let pod = node.pod(&namespace, "gateway");
    pod.wait_ready();
    let order = pod.exec("gateway", &["cat", "/shared/order"]);
    assert_eq!(String::from_utf8_lossy(&order.stdout), "seed\nsidecar\ngateway\n");
}
