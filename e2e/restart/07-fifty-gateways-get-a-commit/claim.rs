//! Fifty gateways of one GatewaySync get a commit at once: all of them have it, and no report is
//! lost.

use std::time::Instant;

use stoker_testkit::git::{Edit, Tree};
use stoker_testkit::quickstart::{NAMESPACE, SYNC};
use stoker_testkit::wait::eventually;

const SYNCED: &str =
    "{.status.gateways.discovered} {.status.gateways.synced} {.status.lastSyncCommit}";
/// What fifty agents usually ask for is more than a small node has.
const SMALL: &str = r#"{"spec":{"agent":{"resources":{"requests":{"cpu":"1m","memory":"8Mi"}}}}}"#;
const USUAL: &str = r#"{"spec":{"agent":null}}"#;

/// Fifty keep two cores busy for minutes: that many are for `--long`.
fn gateways() -> usize {
    if std::env::var_os("STOKER_LONG").is_some() { 50 } else { 8 }
}

// R36: 50 agents report at once, none is lost.
#[test]
fn c07_fifty_gateways_get_a_commit_and_all_report_it() {
    let Some(world) = super::world() else { return };
    let gateways = gateways();
    let patch = |patch| world.kubectl(&["patch", "gatewaysync", SYNC, "--type=merge", "-p", patch]);
    patch(SMALL);
    world.apply(
        &include_str!("gateways.yaml")
            .replace("NAMESPACE", NAMESPACE)
            .replace("REPLICAS", &gateways.to_string()),
    );
    // Where fifty pods at once keep a small machine busy, the webhook may be too late for some: they
    // come up without an agent, and their successors have one.
    let are_complete = (0..5).any(|_| {
        world.kubectl(&["rollout", "status", "statefulset/fleet", "--timeout=8m"]);
        let without = ["pods", "--selector=app=fleet,stoker.io/agent!=true"];
        let is_complete =
            world.kubectl(&[&["get", "--output=name"], &without[..]].concat()).is_empty();
        world.kubectl(&[&["delete", "--timeout=2m"], &without[..]].concat());
        is_complete
    });
    assert!(are_complete, "all gateways have an agent");
    let all = gateways + 1;
    let count = format!("--for=jsonpath={{.status.gateways.synced}}={all}");
    world.kubectl(&["wait", "gatewaysync", SYNC, &count, "--timeout=5m"]);
    let fresh = Tree::new().file("projects/line-50/project.json", r#"{"title": "Line 50"}"#);
    let commit = world.quickstart.repo().commit(Edit::put(fresh)).unwrap();
    let started = Instant::now();
    let synced = format!("--for=jsonpath={{.status.lastSyncCommit}}={commit}");
    world.kubectl(&["wait", "gatewaysync", SYNC, &synced, "--timeout=5m"]);
    let seconds = started.elapsed().as_secs();
    let output = format!("--output=jsonpath={SYNCED}");
    eventually("all gateways have the commit", || {
        world.kubectl(&["get", "gatewaysync", SYNC, &output]) == format!("{all} {all} {commit}")
    });
    eprintln!("{all} gateways have a commit {seconds} s after it was made; polling is every 5 s");
    world.kubectl(&["delete", "statefulset", "fleet", "--cascade=foreground", "--timeout=5m"]);
    patch(USUAL);
}
