//! Claims about `render`.

use serde_json::{Value, json};
use stoker_testkit::object::{gateway_pod, gateway_sync};

use crate::world::World;

fn workload(annotations: &Value) -> Value {
    let pod = serde_json::to_value(gateway_pod("x").build()).unwrap();
    json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "press"},
        "spec": {
            "replicas": 0,
            "serviceName": "press",
            "selector": {"matchLabels": {"app": "press"}},
            "template": {
                "metadata": {"labels": {"app": "press"}, "annotations": annotations},
                "spec": pod["spec"],
            },
        },
    })
}

#[test]
fn it_says_what_the_webhook_would_do_and_why() {
    let world = World::new();
    world.create(gateway_sync("plant").mapping("services/press", "projects"));
    world.apply(&[workload(&json!({"stoker.io/inject": "true"}))]);
    let run = world.stoker(&["render", "statefulset/press"]).exits(0);
    for part in [
        "/press: injected",
        "GatewaySync plant is the only one in the namespace",
        "neither stoker.io/profile nor stoker.io/sync-profile: profile default",
        "services/press -> projects",
        "add /spec/initContainers",
    ] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
    let answer = world.stoker(&["render", "sts/press", "-o", "json"]).exits(0).json();
    assert_eq!(answer["gatewaySync"], "plant");
    assert_eq!(answer["patch"][0]["op"], "add");

    world.apply(&[workload(&json!({}))]);
    let run = world.stoker(&["render", "statefulset/press"]).exits(0);
    assert!(run.stdout.contains("/press: ignored"), "{}", run.stdout);
    assert!(run.stdout.contains("does not ask for an agent"), "{}", run.stdout);
    let run = world.stoker(&["render", "statefulset/pres"]).exits(1);
    run.says(&["has no StatefulSet \"pres\""]);
    world.stoker(&["render", "service/press"]).exits(2);
}
