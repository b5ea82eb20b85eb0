//! A pod that is created while the operator is down comes up without an agent, and the operator
//! reports it as soon as it is back.

use std::time::{Duration, Instant};

use stoker_testkit::node::succeed;
use stoker_testkit::quickstart::{OPERATOR, OPERATOR_NAMESPACE};
use stoker_testkit::wait::eventually;

use super::{INIT_CONTAINERS, World};

/// How late the report may be after the operator's return.
const LIMIT: Duration = Duration::from_secs(10);

#[test]
fn c03_a_pod_without_agent_is_reported_when_the_operator_returns() {
    let Some(world) = super::world() else { return };
    let replicas = operator(&world, &["get", "--output=jsonpath={.spec.replicas}"]);
    operator(&world, &["scale", "--replicas=0"]);
    // A pod that is being deleted still answers the API server for some seconds.
    let pods = ["get", "pods", "--output=name", "--namespace", OPERATOR_NAMESPACE];
    eventually("the operator is gone", || {
        succeed(world.node().cluster().kubectl().args(pods)).is_empty()
    });

    world.recreate_pod();
    world.wait_ready();
    assert!(!world.pod(INIT_CONTAINERS).contains("stoker-agent"), "nothing was injected");

    operator(&world, &["scale", &format!("--replicas={replicas}")]);
    operator(&world, &["rollout status", "--timeout=90s"]);
    let returned = Instant::now();
    eventually("the gateway is reported", || world.gateway("syncStatus") == "MissingSidecar");
    let took = returned.elapsed();
    assert!(took <= LIMIT, "MissingSidecar {took:?} after the operator's return");

    world.recreate_pod();
    world.wait_ready();
    assert!(world.pod(INIT_CONTAINERS).contains("stoker-agent"), "the next pod has an agent");
    world.wait_synced();
}

/// `kubectl <words> deployment/<operator>`.
fn operator(world: &World, words: &[&str]) -> String {
    let mut kubectl = world.node().cluster().kubectl();
    kubectl.args(words[0].split(' ')).arg(format!("deployment/{OPERATOR}"));
    succeed(kubectl.args(&words[1..]).args(["--namespace", OPERATOR_NAMESPACE]))
}
