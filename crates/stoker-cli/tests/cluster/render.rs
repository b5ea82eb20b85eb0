//! Claims about `render`.

use serde_json::{Value, json};
use stoker_testkit::object::{gateway_pod, gateway_sync};

use crate::world::{World, cluster};

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

/// The operator's Deployment and its defaults, as the chart writes them.
fn operator(world: &World) -> [Value; 2] {
    let watched = format!("--watch-namespaces={}", world.namespace.name());
    let file = "--defaults-file=/etc/stoker/defaults/defaults.json";
    let labels = json!({"app.kubernetes.io/name": "stoker-operator"});
    let defaults = json!({"sync": {"defaults": {"vars": {"site": "north"}, "syncPeriod": 60}}});
    [
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "stoker-defaults"},
            "data": {"defaults.json": defaults.to_string()},
        }),
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "stoker-operator", "labels": labels},
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": {"app": "stoker"}},
                "template": {
                    "metadata": {"labels": {"app": "stoker"}},
                    "spec": {
                        "containers": [{
                            "name": "manager", "image": "stoker.test/none:1", "args": [watched, file],
                            "volumeMounts": [{"name": "d", "mountPath": "/etc/stoker/defaults"}],
                        }],
                        "volumes": [{"name": "d", "configMap": {"name": "stoker-defaults"}}],
                    },
                },
            },
        }),
    ]
}

#[tokio::test]
async fn cluster_wide_defaults_are_applied_or_a_warning_says_why_not() {
    let mut world = World::new();
    let sync = gateway_sync("plant").mapping("services/press", "projects");
    world.create(sync.defaults(|defaults| defaults.sync_period = Some(5)));
    world.apply(&[workload(&json!({"stoker.io/inject": "true"}))]);
    world.apply(&operator(&world));
    let render = |world: &World| world.stoker(&["render", "sts/press", "-o", "json"]).exits(0);
    let run = render(&world);
    let origin = format!("{}/stoker-defaults", world.namespace.name());
    assert_eq!(run.json()["defaults"], origin);
    let settings = &run.json()["settings"];
    assert_eq!((&settings["vars"]["site"], &settings["syncPeriod"]), (&json!("north"), &json!(5)));
    assert!(!run.stderr.contains("defaults"), "{}", run.stderr);
    let text = world.stoker(&["render", "sts/press"]).exits(0).stdout;
    assert!(text.contains(&format!("cluster-wide defaults: ConfigMap {origin}")), "{text}");

    let kinds = |group: &str, kinds: &[&str], verbs: &[&str]| {
        let rule = json!({"apiGroups": [group], "resources": kinds, "verbs": verbs});
        serde_json::from_value(rule).unwrap()
    };
    let rules = vec![
        kinds("stoker.io", &["gatewaysyncs", "syncprofiles"], &["list"]),
        kinds("apps", &["statefulsets"], &["get"]),
    ];
    let user = cluster().user(&world.namespace, rules).await;
    world.as_user(user.kubeconfig());
    let run = render(&world);
    assert_eq!(run.json()["defaults"], Value::Null);
    assert_eq!(run.json()["settings"]["vars"], json!({}));
    run.says(&["no cluster-wide defaults"]);
}
