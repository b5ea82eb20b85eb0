//! Claims about `pause` and `resume`.

use serde_json::json;
use stoker_testkit::object::gateway_sync;

use crate::world::World;

#[test]
fn one_gatewaysync_is_paused_and_resumed() {
    let world = World::new();
    world.create(gateway_sync("plant").mapping(".", "projects"));
    let name = world.namespace.name().to_owned();
    let run = world.stoker(&["pause", "plant", "--reason", "audit"]).exits(0);
    assert_eq!(run.stdout, format!("paused {name}/plant\n"));
    let paused = world.sync("plant");
    assert_eq!(paused["spec"]["paused"], true);
    let cause = &paused["metadata"]["annotations"]["kubernetes.io/change-cause"];
    assert_eq!(cause, "paused: audit");
    let document = world.stoker(&["resume", "plant", "-o", "json"]).exits(0).json();
    assert_eq!(document["status"], "resumed");
    let resumed = world.sync("plant");
    assert!(resumed["spec"]["paused"].is_null(), "{resumed}");
    assert!(resumed["metadata"]["annotations"]["kubernetes.io/change-cause"].is_null());
    let run = world.stoker(&["pause", "pant"]).exits(1);
    run.says(&["plant"]);
    world.stoker(&["pause"]).exits(2);
}

#[test]
fn the_emergency_stop_is_a_configmap_in_the_operators_namespace() {
    let world = World::new();
    let name = world.namespace.name().to_owned();
    let place = ["--operator-namespace", &name];
    world.stoker(&[&["pause", "--all", "--reason", "fire"], &place[..]].concat()).exits(0);
    let stop = || world.get("configmap", "stoker-pause")["data"].clone();
    assert_eq!(stop(), json!({"paused": "true", "reason": "fire"}));
    world.stoker(&[&["resume", "--all"], &place[..]].concat()).exits(0);
    assert_eq!(stop(), json!({"paused": "false", "reason": ""}));
}
