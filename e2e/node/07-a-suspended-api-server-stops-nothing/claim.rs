//! The API server can be suspended, killed and started again under pods that run on.

use std::process::Output;

use stoker_testkit::node::{Component, Node};

const POD: &str = r#"
apiVersion: v1
kind: Pod
metadata: {name: steady}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: "stoker.test/shell:1", args: ["sleep 3600"]}
"#;

fn version(node: &Node) -> Output {
    node.cluster()
        .kubectl()
        .args(["get", "--raw", "/version", "--request-timeout=2s"])
        .output()
        .unwrap()
}

#[test]
fn c07_pods_run_on_while_the_api_server_is_suspended_or_dead() {
    let Some((node, _alone)) = super::node_to_break() else { return };
    let namespace = node.cluster().namespace();
    namespace.apply(POD);
    let pod = node.pod(&namespace, "steady");
    pod.wait_ready();

    let suspended = node.suspend(Component::ApiServer);
    assert!(!version(node).status.success(), "a suspended API server does not respond");
    drop(suspended);
    assert!(version(node).status.success(), "it responds when it runs again");

    node.kill(Component::ApiServer);
    assert!(!version(node).status.success(), "a dead API server does not respond");
    node.start_again(Component::ApiServer);
    pod.wait_ready();
    assert_eq!(pod.field("{.status.containerStatuses[0].restartCount}"), "0");
}
