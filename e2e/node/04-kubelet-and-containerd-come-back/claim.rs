//! Killing the kubelet or containerd does not stop a pod, and pods start again after their return.

use stoker_testkit::node::Component;

const POD: &str = r#"
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: "stoker.test/shell:1", args: ["echo started; sleep 3600"]}
"#;

#[test]
fn c04_pods_outlive_the_kubelet_and_containerd_and_new_ones_start_after_them() {
    let Some((node, _alone)) = super::node_to_break() else { return };
    let namespace = node.cluster().namespace();
    namespace.apply(&POD.replace("NAME", "before"));
    let before = node.pod(&namespace, "before");
    before.wait_ready();
    let started = before.field("{.status.containerStatuses[0].state.running.startedAt}");

    node.kill(Component::Kubelet);
    node.kill(Component::Containerd);
    node.start_again(Component::Containerd);
    node.start_again(Component::Kubelet);

    namespace.apply(&POD.replace("NAME", "after"));
    let after = node.pod(&namespace, "after");
    after.wait_ready();
    assert_eq!(after.logs("main"), "started\n");
    assert_eq!(before.field("{.status.containerStatuses[0].state.running.startedAt}"), started);
    assert_eq!(before.field("{.status.containerStatuses[0].restartCount}"), "0");
}
