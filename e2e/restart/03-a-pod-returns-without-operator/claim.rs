//! A pod that is created while the operator is down comes up without an agent, and the operator
//! reports it as soon as it is back.

use std::time::{Duration, Instant};

use stoker_testkit::wait::eventually;

use super::INIT_CONTAINERS;

/// How late the report may be after the operator's return.
const LIMIT: Duration = Duration::from_secs(10);

// R3: a pod without agent is reported.
#[test]
fn c03_a_pod_without_agent_is_reported_when_the_operator_returns() {
    let Some(world) = super::world() else { return };
    let outage = world.stop_operator();
    world.recreate_pod();
    world.wait_ready();
    assert!(!world.pod(INIT_CONTAINERS).contains("stoker-agent"), "nothing was injected");

    drop(outage);
    let returned = Instant::now();
    eventually("the gateway is reported", || world.gateway("syncStatus") == "MissingSidecar");
    let took = returned.elapsed();
    assert!(took <= LIMIT, "MissingSidecar {took:?} after the operator's return");

    world.recreate_pod();
    world.wait_ready();
    assert!(world.pod(INIT_CONTAINERS).contains("stoker-agent"), "the next pod has an agent");
    world.wait_synced();
}
