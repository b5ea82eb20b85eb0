//! All processes of the agent's container are killed at once, as the kernel does on cgroup v2 when
//! the container runs out of memory. The container restarts, and the pod is ready soon after.

use stoker_testkit::node::signal;
use stoker_testkit::wait::eventually;

use super::World;

const AGENT: (&str, &str) = ("initContainerStatuses", "stoker-agent");
const STARTED: &str =
    "{.status.initContainerStatuses[?(@.name=='stoker-agent')].state.running.startedAt}";
const READY_SINCE: &str = "{.status.conditions[?(@.type=='Ready')].lastTransitionTime}";
/// Both times are whole seconds.
const LIMIT: u32 = 2;

// R14: the pod is ready again within seconds of the container's restart.
#[test]
fn c05_a_container_that_is_killed_whole_is_ready_seconds_after_its_restart() {
    let Some(world) = super::world() else { return };
    world.fresh_pod();
    let before = world.restarts(AGENT.0, AGENT.1);
    for process in World::agent("") {
        signal(process, "KILL");
    }
    eventually("the container is started again", || world.restarts(AGENT.0, AGENT.1) > before);
    world.wait_ready();
    let (started, ready) = (second(&world.pod(STARTED)), second(&world.pod(READY_SINCE)));
    let took = (ready + 86_400 - started) % 86_400;
    assert!(took <= LIMIT, "ready {took} s after the restart");
    world.wait_synced();
}

/// The second of the day of a timestamp such as `2026-11-16T10:30:05Z`.
fn second(timestamp: &str) -> u32 {
    let (_, time) = timestamp.trim_end_matches('Z').split_once('T').unwrap();
    time.split(':').fold(0, |seconds, part| seconds * 60 + part.parse::<u32>().unwrap())
}
