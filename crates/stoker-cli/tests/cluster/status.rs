//! Claims about `status`.

use std::io::{BufRead as _, BufReader};

use serde_json::{Value, json};
use stoker_testkit::object::gateway_sync;

use crate::world::World;

const COMMIT: &str = "8d1c8b69c3fce7bea45c73efd06983e3c419a92f";

fn published(ready: &str, reason: &str, message: &str) -> Value {
    json!({
        "resolvedCommit": COMMIT,
        "gateways": {"discovered": 1, "synced": i32::from(ready == "True"), "behind": 0, "failed": 0},
        "conditions": [{
            "type": "Ready", "status": ready, "reason": reason, "message": message,
            "observedGeneration": 1, "lastTransitionTime": "2026-11-16T12:00:00Z",
        }],
        "discoveredGateways": [{
            "name": "press", "namespace": "x", "podName": "press-0",
            "syncStatus": if ready == "True" { "Synced" } else { "Error" },
            "syncedCommit": COMMIT, "lastSyncTime": "2026-11-16T12:00:00Z",
            "message": "no space left",
        }],
    })
}

#[test]
fn a_fleet_is_a_table_and_the_exit_code_says_whether_all_is_well() {
    let world = World::new();
    let run = world.stoker(&["status"]).exits(0);
    assert_eq!(run.stdout, "no GatewaySyncs here\n");
    world.create(gateway_sync("plant").mapping(".", "projects"));
    // A GatewaySync that no controller has seen is not Ready.
    world.stoker(&["status"]).exits(1);
    world.publish("plant", &published("True", "AllSynced", "1 gateway(s) synced"));
    let run = world.stoker(&["status"]).exits(0);
    let columns: Vec<&str> = run.stdout.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(columns[..5], ["plant", "True", "1/1", "main", "8d1c8b6"]);
    assert!(!run.stdout.contains('\u{1b}'), "colours in a pipe: {}", run.stdout);

    world.publish("plant", &published("False", "GatewaysFailed", "0/1 synced"));
    let run = world.stoker(&["status", "plant"]).exits(1);
    assert!(run.stdout.contains("GatewaysFailed: 0/1 synced"), "{}", run.stdout);
    assert!(run.stdout.contains("press-0 (press)  Error"), "{}", run.stdout);
    let next = format!("next: stoker doctor plant -n {}", world.namespace.name());
    assert!(run.stdout.contains(&next), "{}", run.stdout);
    let rows = world.stoker(&["status", "-o", "json"]).exits(1).json();
    assert_eq!(rows[0]["ready"], "False");
    assert_eq!(rows[0]["gateways"][0]["status"], "Error");
}

#[test]
fn a_status_of_an_older_spec_is_not_ready() {
    let world = World::new();
    world.create(gateway_sync("plant").mapping(".", "projects"));
    world.publish("plant", &published("True", "AllSynced", "1 gateway(s) synced"));
    world.create(gateway_sync("plant").mapping(".", "config"));
    let run = world.stoker(&["status"]).exits(1);
    assert!(run.stdout.contains("has not seen the present spec"), "{}", run.stdout);
}

#[test]
fn watch_draws_again_when_something_changes() {
    let world = World::new();
    world.create(gateway_sync("plant").mapping(".", "projects"));
    let mut running = world.start(&["status", "--watch"]);
    let mut lines = BufReader::new(running.take_stdout().unwrap()).lines().map_while(Result::ok);
    assert!(lines.by_ref().any(|line| line.contains("has not reported yet")));
    world.publish("plant", &published("True", "AllSynced", "1 gateway(s) synced"));
    assert!(lines.any(|line| line.contains("1 gateway(s) synced")));
    running.kill().unwrap();
}
