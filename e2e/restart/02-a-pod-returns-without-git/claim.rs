//! A pod that is deleted while git is down comes up on its old volume, and syncs when git returns.

use stoker_testkit::git::{Edit, Tree};
use stoker_testkit::wait::eventually;

use super::INIT_CONTAINERS;

// R13: git is down when the pod is created.
#[test]
fn c02_a_pod_on_its_old_volume_comes_up_without_git() {
    let Some(world) = super::world() else { return };
    let outage = world.quickstart.cut_git();
    world.recreate_pod();
    world.wait_ready();
    assert!(world.pod(INIT_CONTAINERS).contains("stoker-agent"));
    assert!(world.file("projects/line-1/project.json").contains("Line 1"));

    let fresh = Tree::new().file("projects/line-3/project.json", r#"{"title": "Line 3"}"#);
    let commit = world.quickstart.repo().commit(Edit::put(fresh)).unwrap().to_string();
    drop(outage);
    eventually("the commit of the outage arrives", || world.gateway("syncedCommit") == commit);
    assert!(world.file("projects/line-3/project.json").contains("Line 3"));
    world.wait_synced();
}
