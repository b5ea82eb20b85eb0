//! Fifty gateways of one GatewaySync get a commit at once: all of them have it, and no report is
//! lost.

use std::time::Instant;

use stoker_testkit::git::{Edit, Tree};
use stoker_testkit::quickstart::{NAMESPACE, SYNC};
use stoker_testkit::wait::eventually;

const GATEWAYS: usize = 50;
const SYNCED: &str =
    "{.status.gateways.discovered} {.status.gateways.synced} {.status.lastSyncCommit}";

// R36: 50 agents report at once, none is lost.
#[test]
fn c07_fifty_gateways_get_a_commit_and_all_report_it() {
    let Some(world) = super::world() else { return };
    world.apply(&include_str!("gateways.yaml").replace("NAMESPACE", NAMESPACE));
    world.kubectl(&["rollout", "status", "statefulset/fleet", "--timeout=5m"]);
    world.wait_synced();
    let fresh = Tree::new().file("projects/line-50/project.json", r#"{"title": "Line 50"}"#);
    let commit = world.quickstart.repo().commit(Edit::put(fresh)).unwrap();
    let started = Instant::now();
    let all = GATEWAYS + 1;
    let path = format!("--output=jsonpath={SYNCED}");
    eventually("all gateways have the commit", || {
        world.kubectl(&["get", "gatewaysync", SYNC, &path]) == format!("{all} {all} {commit}")
    });
    eprintln!("{all} gateways have the commit {:?} after it was made", started.elapsed());
    world.kubectl(&["delete", "statefulset", "fleet", "--cascade=foreground", "--timeout=5m"]);
}
