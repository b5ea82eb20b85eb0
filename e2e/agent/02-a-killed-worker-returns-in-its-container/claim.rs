//! A worker that is killed is started again inside the container: the kubelet does not restart it,
//! and the pod stays ready. The worker has half of the container's memory and is the first to go.

use std::fs;

use stoker_testkit::node::{agent_processes, signal};
use stoker_testkit::wait::eventually;

use super::{POD, Setup, worker};

// R14: the worker dies, the gateway's pod stays ready.
#[test]
fn c02_a_killed_worker_returns_and_its_container_stays() {
    let Some(world) = super::World::begin() else { return };
    let namespace = world.node.cluster().namespace();
    let security = "{runAsUser: 2003, fsGroup: 2003}";
    let pod = world.start_synced(&namespace, &Setup { security, ..Setup::default() });
    let before = worker(&namespace, POD);
    let read = |file: &str| fs::read_to_string(format!("/proc/{before}/{file}")).unwrap();
    let limits = read("limits");
    let limit = limits.lines().find(|line| line.starts_with("Max data size")).unwrap();
    let half = (128 << 20).to_string();
    assert!(limit.contains(&half), "{limit}");
    assert_eq!(read("oom_score_adj").trim(), "1000");
    signal(before, "KILL");
    let workers = || agent_processes(namespace.name(), POD, "worker");
    eventually("another worker", || matches!(workers()[..], [other] if other != before));
    assert_eq!(pod.field("{.status.containerStatuses[0].restartCount}"), "0");
    let ready = "{.status.conditions[?(@.type=='Ready')].status}";
    assert_eq!(pod.field(ready), "True");
}
