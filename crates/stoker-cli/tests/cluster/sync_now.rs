//! Claims about `sync-now`.

use serde_json::{Value, json};
use stoker_testkit::leak::Canary;
use stoker_testkit::object::{GatewaySyncBuilder, gateway_sync};

use crate::run::Run;
use crate::world::{World, cluster};

const COMMIT: &str = "8d1c8b69c3fce7bea45c73efd06983e3c419a92f";

fn plant() -> GatewaySyncBuilder {
    gateway_sync("plant").mapping(".", "projects")
}

/// The status of a GatewaySync with one gateway in this state.
fn status(handled: &str, ready: (&str, &str), gateway: (&str, &str)) -> Value {
    json!({
        "lastHandledRecheckAt": handled,
        "resolvedCommit": COMMIT,
        "conditions": [{
            "type": "Ready", "status": ready.0, "reason": ready.1, "message": "as the test says",
            "lastTransitionTime": "2026-11-16T12:00:00Z",
        }],
        "discoveredGateways": [{
            "name": "north", "namespace": "x", "podName": "ignition-0",
            "syncStatus": gateway.0, "syncedCommit": gateway.1,
        }],
    })
}

#[test]
fn it_writes_what_a_push_event_writes_and_leaves_the_spec_alone() {
    let world = World::new();
    world.create(plant());
    let before = world.sync("plant")["metadata"]["generation"].clone();
    let run = world.stoker(&["sync-now", "plant"]).exits(0);
    let name = world.namespace.name();
    assert_eq!(run.stdout, format!("requested main for {name}/plant\n"));
    let asked = world.sync("plant");
    let annotations = asked["metadata"]["annotations"].as_object().unwrap();
    assert_eq!(annotations["stoker.io/recheck-by"], "cli");
    assert!(!annotations.contains_key("stoker.io/requested-ref"), "{annotations:?}");
    let run = world.stoker(&["sync-now", "plant", "--ref", "refs/tags/v2", "-o", "json"]).exits(0);
    assert_eq!(
        run.json(),
        json!({
            "status": "requested", "namespace": name, "name": "plant", "ref": "v2",
            "commit": null, "gateways": [], "error": null,
        })
    );
    let requested = world.sync("plant")["metadata"]["annotations"].clone();
    assert_eq!(requested["stoker.io/requested-ref"], "v2");
    assert_eq!(requested["stoker.io/requested-for"], "main");
    assert_eq!(requested["stoker.io/requested-by"], "cli");
    // A second request for the same ref changes only `recheck-at` and `recheck-by`.
    world.stoker(&["sync-now", "plant", "--ref", "v2"]).exits(0);
    let again = world.sync("plant");
    assert_eq!(
        again["metadata"]["annotations"]["stoker.io/requested-at"],
        requested["stoker.io/requested-at"]
    );
    assert_ne!(
        again["metadata"]["annotations"]["stoker.io/recheck-at"],
        requested["stoker.io/recheck-at"]
    );
    assert_eq!(again["metadata"]["generation"], before);
}

#[test]
fn wait_has_a_line_per_gateway_and_ends_when_all_are_there() {
    let world = World::new();
    world.create(plant());
    let old = ("Syncing", "b8dbb0c50000000000000000000000000000000b");
    let running = world.start(&["sync-now", "plant", "--wait"]);
    let asked = world.annotation("plant", "stoker.io/recheck-at");
    // Ready from before the request says nothing.
    world.publish("plant", &status("2026-01-01T00:00:00Z", ("True", "AllSynced"), old));
    world.publish("plant", &status(&asked, ("False", "GatewaysSyncing"), old));
    std::thread::sleep(std::time::Duration::from_millis(1500));
    world.publish("plant", &status(&asked, ("True", "AllSynced"), ("Synced", COMMIT)));
    let run = Run::of(running.output().unwrap()).exits(0);
    assert_eq!(run.stdout, "synced: main at 8d1c8b6, 1 gateway\n");
    let lines: Vec<&str> = run.stderr.lines().skip(1).collect();
    assert_eq!(
        lines,
        ["north (ignition-0): Syncing at b8dbb0c", "north (ignition-0): Synced at 8d1c8b6"]
    );
}

#[test]
fn what_does_not_get_there_is_a_failure_with_its_gateways() {
    let world = World::new();
    world.create(plant());
    let running = world.start(&["sync-now", "plant", "--ref", "v9", "--wait", "-o", "json"]);
    let asked = world.annotation("plant", "stoker.io/recheck-at");
    let ready = ("False", "RefResolutionFailed");
    world.publish("plant", &status(&asked, ready, ("Synced", COMMIT)));
    let result = Run::of(running.output().unwrap()).exits(1).json();
    assert_eq!(result["status"], "failed");
    assert_eq!(result["error"]["reason"], "RefResolutionFailed");
    assert_eq!(result["gateways"][0]["pod"], "ignition-0");
    // Without a controller nothing happens.
    let words = ["sync-now", "plant", "--ref", "v8", "--wait", "--timeout", "1s", "-o", "json"];
    let result = world.stoker(&words).exits(1).json();
    assert_eq!(result["error"]["reason"], "WaitTimedOut");
    assert!(result["error"]["message"].as_str().unwrap().contains("operator"), "{result}");
}

#[tokio::test]
async fn errors_name_the_object_and_the_next_step() {
    let mut world = World::new();
    world.create(plant());
    let result = world.stoker(&["sync-now", "pant", "-o", "json"]).exits(1).json();
    assert_eq!(result["error"]["reason"], "GatewaySyncNotFound");
    assert!(result["error"]["hint"].as_str().unwrap().contains("plant"), "{result}");
    let run = world.stoker(&["sync-now", "plant", "--ref", "a..b"]).exits(2);
    run.says(&["a..b"]);
    let run = world.stoker(&["sync-now", "plant", "--context", "elsewhere"]).exits(2);
    run.says(&["no context \"elsewhere\"", "hint: choose one with --context: "]);
    let user = cluster().user(&world.namespace, Vec::new()).await;
    world.as_user(user.kubeconfig());
    let result = world.stoker(&["sync-now", "plant", "-o", "json"]).exits(1).json();
    assert_eq!(result["error"]["reason"], "ClusterForbidden", "{result}");
    assert!(result["error"]["message"].as_str().unwrap().contains(user.name()), "{result}");
    assert!(result["error"]["hint"].as_str().unwrap().contains("kubectl auth whoami"), "{result}");
}

#[test]
fn a_cluster_that_is_away_and_a_missing_kubeconfig_are_explained() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("config");
    let mut world = World::new();
    world.as_user(&file);
    let run = world.stoker(&["sync-now", "plant", "-o", "json"]).exits(1);
    assert_eq!(run.json()["error"]["reason"], "KubeconfigUnusable");
    run.says(&["KUBECONFIG"]);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let text = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "away",
        "clusters": [{ "name": "away", "cluster": { "server": format!("https://{address}") } }],
        "contexts": [{ "name": "away", "context": { "cluster": "away", "user": "away" } }],
        "users": [{ "name": "away", "user": { "token": "canary-token" } }],
    });
    std::fs::write(&file, text.to_string()).unwrap();
    let run = world.stoker(&["sync-now", "plant", "-o", "json"]).exits(1);
    assert_eq!(run.json()["error"]["reason"], "ClusterUnreachable", "{run:?}");
    run.says(&[&address.to_string(), "kubectl cluster-info --context away"]);
    run.hides(&Canary::new(["canary-token"]));
}
