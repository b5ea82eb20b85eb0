//! Containers of a gateway's pod restart while git, the operator or the API server is away, and the
//! gateway is in service again.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use stoker_testkit::node::Component;
use stoker_testkit::quickstart::{NAMESPACE, POD};
use stoker_testkit::wait::eventually;

use super::{CONTAINERS, World};

// R13: git is down.
#[test]
fn c01_gateway_and_agent_restart_in_place_without_git() {
    let Some(world) = super::world() else { return };
    let uid = world.fresh_pod();
    let _outage = world.quickstart.cut_git();
    restart_both(&world);
    assert_eq!(world.uid(), uid, "it is still the same pod");
    assert!(world.file("projects/line-1/project.json").contains("Line 1"));
}

// R13: the operator is down.
#[test]
fn c01_gateway_and_agent_restart_in_place_without_the_operator() {
    let Some(world) = super::world() else { return };
    let uid = world.fresh_pod();
    let outage = world.stop_operator();
    restart_both(&world);
    assert_eq!(world.uid(), uid, "it is still the same pod");
    drop(outage);
    world.wait_synced();
}

// C1, R13: the API server does not respond. The kubelet restarts containers without it.
#[test]
fn c01_gateway_and_agent_restart_in_place_without_the_api_server() {
    let Some(world) = super::world() else { return };
    let uid = world.fresh_pod();
    let gateway = world.node().forward(&format!("{}:8088", world.pod("{.status.podIP}")));
    let before = World::agent("worker");
    let ids = CONTAINERS.map(|(_, name)| world.node().container_id(NAMESPACE, POD, name));
    eventually("the gateway responds", || responds(gateway));
    let outage = world.node().suspend(Component::ApiServer);
    for id in ids {
        world.node().kill_task(&id);
    }
    eventually("the gateway responds again", || responds(gateway));
    let is_new = |worker: &u32| !before.contains(worker);
    eventually("the agent runs again", || World::agent("worker").iter().any(is_new));
    drop(outage);
    world.wait_ready();
    assert_eq!(world.uid(), uid, "it is still the same pod");
    world.wait_synced();
}

fn restart_both(world: &World) {
    for (list, container) in CONTAINERS {
        let before = world.restarts(list, container);
        world.node().kill_container(NAMESPACE, POD, container);
        eventually("the container is started again", || world.restarts(list, container) > before);
        world.wait_ready();
    }
}

/// Says whether the gateway serves its status. A connection that is refused counts as no.
fn responds(gateway: SocketAddr) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(gateway)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /StatusPing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        Ok(response)
    };
    ask().is_ok_and(|response| response.contains("RUNNING"))
}
