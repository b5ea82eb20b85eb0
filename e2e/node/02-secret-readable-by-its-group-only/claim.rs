//! A Secret volume of mode 0400 is readable where the pod's fsGroup widens it, and nowhere else.

#[test]
fn c02_a_secret_is_readable_by_the_right_user_only() {
    let Some(node) = super::node() else { return };
    let namespace = node.cluster().namespace();
    namespace.apply(include_str!("pod.yaml"));
    let gateway = node.pod(&namespace, "gateway");
    gateway.wait_ready();
    let read = gateway.exec("owner", &["cat", "/key/apiKey"]);
    assert_eq!(String::from_utf8_lossy(&read.stdout), "plant:open-sesame");
    assert!(!gateway.exec("stranger", &["ls", "/key"]).status.success(), "not mounted there");

    let outsider = node.pod(&namespace, "outsider");
    outsider.wait_ready();
    let refused = outsider.exec("outsider", &["cat", "/key/apiKey"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("Permission denied"));
}
