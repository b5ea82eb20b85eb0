//! Claims about `stoker bootstrap`.

use serde_json::{Value, json};
use stoker_testkit::node::succeed;

use crate::world::{World, cluster};

const MARK: &str = "0123456789ab";

fn policy() -> Value {
    json!({
        "apiVersion": "stoker.io/v1alpha1", "kind": "PodBootstrap",
        "metadata": { "name": "default" },
        "spec": {
            "registries": [{ "from": "docker.io", "to": "registry.plant.example/dockerhub" }],
            "pullSecret": { "name": "plant-registry", "sourceNamespace": "stoker-system" },
        },
    })
}

/// The webhook as the chart installs it, for one namespace. Nothing listens there.
fn configuration(namespace: &str) -> Value {
    let rule = json!({
        "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"],
        "operations": ["CREATE"], "scope": "Namespaced",
    });
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": { "name": "bootstrap-cli-test" },
        "webhooks": [{
            "name": "pod-bootstrap.stoker.io",
            "admissionReviewVersions": ["v1"],
            "clientConfig": { "url": "https://127.0.0.1:1/bootstrap-v1-pod" },
            "failurePolicy": "Ignore",
            "sideEffects": "NoneOnDryRun",
            "timeoutSeconds": 1,
            "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": namespace } },
            "rules": [rule],
        }],
    })
}

fn pod(name: &str, annotations: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "annotations": annotations },
        "spec": { "containers": [{ "name": "app", "image": "nginx:1.27" }] },
    })
}

#[test]
fn status_lists_missed_pods_and_explain_names_what_decides() {
    let world = World::new();
    let objects = ["podbootstrap/default", "mutatingwebhookconfiguration/bootstrap-cli-test"];
    let remove =
        || succeed(cluster().kubectl().args(["delete", "--ignore-not-found"]).args(objects));
    remove(); // what an earlier run left
    let absent = world.stoker(&["bootstrap", "status"]);
    assert_eq!(absent.code, 1, "{absent:?}");
    assert!(absent.stderr.contains("there is no PodBootstrap named \"default\""), "{absent:?}");
    let line = world.namespace.name();
    world.apply(&[policy()]);
    let absent = world.stoker(&["bootstrap", "status"]);
    assert!(absent.stderr.contains("bootstrap.enabled"), "{absent:?}");
    world.apply(&[
        configuration(line),
        pod("missed", &json!({})),
        pod("current", &json!({ "stoker.io/bootstrapped": MARK })),
        pod("stale", &json!({ "stoker.io/bootstrapped": "older" })),
        pod("off", &json!({ "stoker.io/bootstrap": "disabled" })),
        pod("partly", &json!({ "stoker.io/bootstrap-registry": "disabled" })),
    ]);
    let condition = json!({
        "type": "Ready", "status": "True", "reason": "PolicyActive",
        "message": "the policy is in force", "lastTransitionTime": "2026-11-17T00:00:00Z",
    });
    let status = json!({ "status": { "mark": MARK, "conditions": [condition] } });
    let mut patch = cluster().kubectl();
    patch.args(["patch", "podbootstrap", "default", "--subresource=status", "--type=merge"]);
    succeed(patch.args(["--patch", &status.to_string()]));

    let shown = world.stoker(&["bootstrap", "status"]);
    assert_eq!(shown.code, 0, "{shown:?}");
    assert!(shown.stdout.contains("Ready: True (PolicyActive)"), "{shown:?}");
    let counts = "pods: 1 current, 2 missed, 1 stale, 1 opted out";
    assert!(shown.stdout.contains(counts), "{shown:?}");
    for row in ["missed  LINE/missed", "missed  LINE/partly", "stale  LINE/stale"] {
        assert!(shown.stdout.contains(&row.replace("LINE", line)), "{row}: {shown:?}");
    }
    assert!(shown.stdout.contains("next: restart their workloads"), "{shown:?}");
    let json = world.stoker(&["bootstrap", "status", "-o", "json"]);
    let document: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(document["status"], "behind");
    assert_eq!(document["listed"].as_array().unwrap().len(), 3);

    let shown = world.stoker(&["bootstrap", "explain", "missed"]);
    assert!(shown.stdout.starts_with(&format!("{line}/missed: missed\n")), "{shown:?}");
    let image = "/spec/containers/0/image: \"registry.plant.example/dockerhub/library/nginx:1.27\"";
    assert!(shown.stdout.contains(image), "{shown:?}");
    let shown = world.stoker(&["bootstrap", "explain", "partly"]);
    let decides = "registry: off, decided by annotation stoker.io/bootstrap-registry of the pod";
    assert!(shown.stdout.contains(decides), "{shown:?}");
    let shown = world.stoker(&["bootstrap", "explain", "off"]);
    let decides = "registry: off, decided by annotation stoker.io/bootstrap of the pod";
    assert!(shown.stdout.contains(decides), "{shown:?}");
    let annotate = ["annotate", "namespace", line, "stoker.io/bootstrap-pull-secret=disabled"];
    succeed(cluster().kubectl().args(annotate));
    let shown = world.stoker(&["bootstrap", "explain", "missed"]);
    let decides =
        "pull secret: off, decided by annotation stoker.io/bootstrap-pull-secret of the namespace";
    assert!(shown.stdout.contains(decides), "{shown:?}");
    let nowhere = world.stoker(&["bootstrap", "explain", "nowhere"]);
    assert!(nowhere.stderr.contains("there is no pod"), "{nowhere:?}");
    remove();
}
