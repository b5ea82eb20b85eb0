//! The kubelet and containerd are killed under a running gateway: a commit arrives all the same, and
//! after their return the pod is the same and ready.

use stoker_testkit::git::{Edit, Tree};
use stoker_testkit::node::Component;
use stoker_testkit::wait::eventually;

use super::CONTAINERS;

#[test]
fn c06_a_commit_arrives_while_kubelet_and_containerd_are_dead() {
    let Some(world) = super::world() else { return };
    let uid = world.fresh_pod();
    let restarts = || CONTAINERS.map(|(list, name)| world.restarts(list, name));
    let before = restarts();
    for component in [Component::Kubelet, Component::Containerd] {
        world.node().kill(component);
    }
    let file = "projects/line-1/without-kubelet.json";
    world.quickstart.repo().commit(Edit::put(Tree::new().file(file, "{}"))).unwrap();
    eventually("the commit arrives", || world.file(file) == "{}");
    for component in [Component::Containerd, Component::Kubelet] {
        world.node().start_again(component);
    }
    world.wait_ready();
    assert_eq!((world.uid(), restarts()), (uid, before), "nothing was restarted");
    world.wait_synced();
}
