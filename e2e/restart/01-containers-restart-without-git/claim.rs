//! Containers of a gateway's pod restart while git is down, and the pod is ready again.

use stoker_testkit::quickstart::{NAMESPACE, POD};
use stoker_testkit::wait::eventually;

#[test]
fn c01_gateway_and_agent_restart_in_place_without_git() {
    let Some(world) = super::world() else { return };
    let uid = world.uid();
    let _outage = world.quickstart.cut_git();
    for (list, container) in
        [("containerStatuses", "gateway"), ("initContainerStatuses", "stoker-agent")]
    {
        let count = format!("{{.status.{list}[?(@.name=='{container}')].restartCount}}");
        let before: u32 = world.pod(&count).parse().unwrap();
        world.node().kill_container(NAMESPACE, POD, container);
        eventually("the container is started again", || {
            world.pod(&count).parse::<u32>().is_ok_and(|now| now > before)
        });
        world.wait_ready();
    }
    assert_eq!(world.uid(), uid, "it is still the same pod");
    assert!(world.file("projects/line-1/project.json").contains("Line 1"));
}
