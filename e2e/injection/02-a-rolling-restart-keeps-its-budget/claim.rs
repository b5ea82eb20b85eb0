//! Two gateways under a `PodDisruptionBudget`: of two evictions at once one is refused, and a rolling
//! restart comes to its end with an agent in every pod.

use std::process::Output;

use stoker_e2e::piped;
use stoker_testkit::wait::eventually;

use super::{INIT_CONTAINERS, SEEDED, World};

const PODS: [&str; 2] = ["ignition-gateway-0", "ignition-gateway-1"];
const SET: &str = "statefulset/ignition-gateway";
const ROLLED_OUT: [&str; 4] = ["rollout", "status", SET, "--timeout=2m"];
const ALLOWED: [&str; 4] =
    ["get", "pdb", "gateway", "--output=jsonpath={.status.disruptionsAllowed}"];

#[test]
fn c02_a_rolling_restart_and_evictions_keep_the_budget() {
    let Some(world) = super::world() else { return };
    world.apply(include_str!("budget.yaml"));
    world.kubectl(&["scale", SET, "--replicas=2"]);
    world.kubectl(&ROLLED_OUT);
    eventually("the budget allows one", || world.kubectl(&ALLOWED) == "1");
    assert!(evict(&world, PODS[1]).status.success());
    let refused = evict(&world, PODS[0]);
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && words.contains("disruption budget"), "{words}");
    world.kubectl(&ROLLED_OUT);
    world.kubectl(&["rollout", "restart", SET]);
    world.kubectl(&ROLLED_OUT);
    for pod in PODS {
        assert_eq!(world.kubectl(&["get", "pod", pod, INIT_CONTAINERS]), SEEDED, "{pod}");
    }
    world.kubectl(&["delete", "pdb", "gateway"]);
    world.kubectl(&["scale", SET, "--replicas=1"]);
    world.kubectl(&["wait", "pod", PODS[1], "--for=delete", "--timeout=60s"]);
}

fn evict(world: &World, pod: &str) -> Output {
    let path = format!("/api/v1/namespaces/plant/pods/{pod}/eviction");
    let eviction = format!(
        r#"{{"apiVersion":"policy/v1","kind":"Eviction","metadata":{{"name":"{pod}","namespace":"plant"}}}}"#
    );
    let mut kubectl = world.quickstart.kubectl();
    piped(kubectl.args(["create", "--raw", &path, "--filename=-"]), &eviction)
}
