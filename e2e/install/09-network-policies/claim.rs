//! In a namespace that denies everything, with the policies of the chart on top: the operator
//! works, the API server reaches the webhook, and a connection that no policy allows fails.

use stoker_testkit::quickstart::{NAMESPACE, OPERATOR_NAMESPACE, POD};
use stoker_testkit::wait::eventually;

use super::World;

const DENY_ALL: &str = "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, \
                        metadata: {name: deny-all, namespace: stoker-system}, \
                        spec: {podSelector: {}, policyTypes: [Ingress, Egress]}}";

// R69: the API server reaches the webhook where it is policed like everyone else.
#[test]
fn c09_the_operator_works_behind_its_network_policies() {
    let Some(world) = super::world() else { return };
    let server = "--output=jsonpath={.subsets[0].ports[0].port}";
    let server = world.cluster(&["get", "endpoints", "kubernetes", "--namespace=default", server]);
    let repo = "--output=jsonpath={.spec.git.repo}";
    world.install("");
    world.start_gateway();
    let repo = world.cluster(&["get", "gatewaysync", super::SYNC, repo]);
    let git = repo.split('/').nth(2).and_then(|host| host.rsplit(':').next()).unwrap();
    world.install(&format!(
        "--set 'networkPolicy.enabled=true,networkPolicy.apiServer.ports={{443,{server}}},\
         git.egressPorts={{{git}}}'"
    ));
    world.apply_as_is(DENY_ALL);
    let list = ["get", "pods", "--output=jsonpath={.items[*].metadata.name}"];
    let addresses = ["get", "pods", "--output=jsonpath={.items[*].status.podIP}"];
    // A pod of before may still be listed when it answers no longer.
    eventually("the pods of before are gone, and nothing is enforced yet", || {
        let addresses = world.operator(&addresses);
        let addresses: Vec<&str> = addresses.split(' ').collect();
        addresses.len() == 2 && addresses.iter().all(|it| reaches(&world, it, 8081, "/healthz"))
    });
    let (pods, addresses) = (world.operator(&list), world.operator(&addresses));
    let pods: Vec<&str> = pods.split(' ').collect();
    let address = addresses.split(' ').next().unwrap();

    let enforced = world.node().enforce_policies(OPERATOR_NAMESPACE);
    // Connections that exist are not policed, so the operator gets new ones, at the same address.
    for pod in &pods {
        world.node().kill_container(OPERATOR_NAMESPACE, pod, "manager");
    }
    let restarts = "--output=jsonpath={.items[*].status.containerStatuses[*].restartCount}";
    eventually("the operator was started again", || {
        world.operator(&["get", "pods", restarts]) == "1 1"
    });
    let rollout = format!("deployment/{}", super::OPERATOR);
    world.operator(&["rollout", "status", &rollout, "--timeout=2m"]);
    world.sync_a_commit("behind-policies");
    eventually("the API server reaches the webhook", || world.injects(NAMESPACE));
    eventually("metrics are allowed", || reaches(&world, address, 8080, "/metrics"));
    assert!(!reaches(&world, address, 8081, "/healthz"), "no policy allows this");
    drop(enforced);
    world.operator(&["delete", "networkpolicy", "deny-all"]);
    world.install("");
}

/// Says whether the gateway's pod gets a response.
fn reaches(world: &World, address: &str, port: u16, path: &str) -> bool {
    let request = format!("printf 'GET {path} HTTP/1.0\\r\\n\\r\\n' | nc -w 3 {address} {port}");
    let mut kubectl = world.quickstart.kubectl();
    kubectl.args(["exec", POD, "--container=gateway", "--", "sh", "-c", &request]);
    String::from_utf8_lossy(&kubectl.output().unwrap().stdout).contains(" 200 ")
}
