//! The doctor's faults: each is seeded, found, fixed by the command that was printed, and gone.
//!
//! The controller and the agents are played by writing what they would write.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stoker_api::condition::{Reason, SyncStatus};
use stoker_api::contract::report::{DeletionBlocked, Report};
use stoker_api::names::Annotation;
use stoker_api::word::{Commit, GatewayName};
use stoker_testkit::object::{GatewaySyncBuilder, PodBuilder, gateway_pod, gateway_sync};
use stoker_testkit::proxy::{self, FaultProxy, Match};

use crate::world::World;

/// What the controllers of Kubernetes need to follow a command.
const WITHIN: Duration = Duration::from_mins(1);
const INTERVAL: Duration = Duration::from_millis(200);
const COMMIT: &str = "8d1c8b69c3fce7bea45c73efd06983e3c419a92f";

/// A fault: its code, and what brings it about.
type Fault = (&'static str, fn(&World));

// The issue asks for 15.
const FAULTS: [Fault; 18] = [
    ("NamespaceNotLabelled", namespace_not_labelled),
    ("EmergencyStop", emergency_stop),
    ("OperatorScaledDown", operator_scaled_down),
    // Of an installation with a `nameOverride`.
    ("OperatorScaledDown", renamed_operator_scaled_down),
    ("SecretMissing", |world| world.create(plant().token("git-token"))),
    ("SecretKeyMissing", secret_key_missing),
    ("Paused", |world| world.create(plant().paused())),
    ("RequestedRefUnknown", requested_ref_unknown),
    ("ReceiverSecretMissing", receiver_secret_missing),
    ("DeletionStuck", deletion_stuck),
    ("SyncUnknown", sync_unknown),
    ("ProfileUnknown", profile_unknown),
    ("AgentMissing", agent_missing),
    ("AgentNotBound", |world| world.create_pod(plant(), press().injected())),
    ("PodPaused", pod_paused),
    ("DeletionBlocked", deletion_blocked),
    ("DesignerOpen", designer_open),
    ("VolumeFull", volume_full),
];

#[test]
fn every_fault_is_found_and_the_printed_command_clears_it() {
    for (code, seed) in FAULTS {
        found_and_cleared(code, seed);
    }
}

fn found_and_cleared(code: &str, seed: fn(&World)) {
    let world = World::new();
    seed(&world);
    let finding = world.finding(code, true).unwrap();
    let fix = finding["fix"].as_str().unwrap();
    let run = world.paste(fix);
    assert_eq!(run.code, 0, "{code}: {fix}: {run:#?}");
    assert_eq!(world.finding(code, false), None, "{code}: {fix}");
    let mut delete = world.namespace.kubectl();
    delete.args(["delete", "mutatingwebhookconfiguration", "--ignore-not-found"]);
    delete.arg(format!("{}-pod-injection", world.namespace.name())).output().unwrap();
}

#[tokio::test]
async fn without_rights_it_says_what_it_could_not_check() {
    let mut world = World::new();
    world.create(plant().token("git-token"));
    let rule = serde_json::from_value(json!({
        "apiGroups": ["stoker.io"], "resources": ["gatewaysyncs"], "verbs": ["get", "list"],
    }));
    let user = crate::world::cluster().user(&world.namespace, vec![rule.unwrap()]).await;
    world.as_user(user.kubeconfig());
    let found = world.stoker(&["doctor", "-o", "json"]).exits(0).json();
    assert_eq!(found["status"], "healthy");
    let unread: Vec<&str> = found["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["code"] == "Unreadable")
        .map(|it| it["object"].as_str().unwrap())
        .collect();
    for resource in ["pods", "secrets", "configmaps", "deployments"] {
        assert!(unread.contains(&resource), "{resource}: {unread:?}");
    }
}

#[tokio::test]
async fn a_cluster_without_stoker_gets_the_command_that_installs_it() {
    let mut world = World::new();
    let server = FaultProxy::start(crate::world::cluster().config().await).unwrap();
    for resource in ["gatewaysyncs", "syncprofiles", "customresourcedefinitions"] {
        server.fault(Match::any().resource(resource), proxy::Fault::Status(404));
    }
    let file = world.file("proxy.yaml");
    std::fs::write(&file, server.kubeconfig()).unwrap();
    world.as_user(&file);
    let run = world.stoker(&["doctor"]).exits(1);
    assert!(run.stdout.contains("gatewaysyncs.stoker.io: DefinitionMissing"), "{run:?}");
    assert!(run.stdout.contains("fix: helm upgrade "), "{run:?}");
    assert!(!run.stdout.contains("syncprofiles: Unreadable"), "{run:?}");
}

#[test]
fn a_bundle_has_the_findings_and_no_secret() {
    let world = World::new();
    world.create(plant().token("git-token").defaults(|defaults| {
        defaults.vars = Some([("password".to_owned(), "hunter2".to_owned())].into());
    }));
    world.apply(&[json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "git-token"},
        "stringData": {"other": "hunter2"},
    })]);
    let file = world.file("support.tar");
    world.stoker(&["doctor", "--bundle", file.to_str().unwrap()]).exits(1);
    let archive = String::from_utf8(std::fs::read(file).unwrap()).unwrap();
    assert!(archive.contains("SecretKeyMissing") && archive.contains("stoker-support/status.json"));
    assert!(!archive.contains("hunter2") && !archive.contains("aHVudGVyMg"));
}

impl World {
    /// Waits until a finding of this namespace is there, or gone.
    fn finding(&self, code: &str, is_wanted: bool) -> Option<Value> {
        let begun = Instant::now();
        loop {
            let document = self.stoker(&["doctor", "-o", "json"]).json();
            let findings = document["findings"].as_array().unwrap();
            let is_here = |it: &&Value| {
                let object = it["object"].as_str().unwrap();
                it["code"] == code && object.contains(self.namespace.name())
            };
            let found = findings.iter().find(is_here).cloned();
            if found.is_some() == is_wanted {
                return found;
            }
            assert!(begun.elapsed() < WITHIN, "{code}, wanted {is_wanted}: {document:#}");
            std::thread::sleep(INTERVAL);
        }
    }

    fn create_pod(&self, sync: GatewaySyncBuilder, pod: PodBuilder) {
        self.create(sync);
        // Pods need the account of the namespace, which a controller makes.
        let begun = Instant::now();
        while self.get("serviceaccount", "default").is_null() {
            assert!(begun.elapsed() < WITHIN, "no service account");
            std::thread::sleep(INTERVAL);
        }
        self.apply(&[serde_json::to_value(pod.build()).unwrap()]);
    }

    /// Reports as the agent of the pod.
    fn report(&self, change: impl FnOnce(&mut Report)) {
        let uid = self.get("pod", "press-0")["metadata"]["uid"].as_str().unwrap().to_owned();
        let name = GatewayName::parse("press").unwrap();
        let mut report = Report::new(name, "press-0", &uid, SyncStatus::Error);
        change(&mut report);
        self.apply(&[json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": "stoker-status-plant-0",
                "labels": {"app.kubernetes.io/managed-by": "stoker", "stoker.io/cr-name": "plant"},
            },
            "data": {"press-0": report.to_value()},
        })]);
    }

    fn condition(&self, kind: &str, reason: &str) {
        self.publish(
            "plant",
            &json!({"conditions": [{
                "type": kind, "status": "False", "reason": reason, "message": "as the test says",
                "lastTransitionTime": "2026-11-16T12:00:00Z",
            }]}),
        );
    }
}

fn plant() -> GatewaySyncBuilder {
    gateway_sync("plant").mapping(".", "projects")
}

fn press() -> PodBuilder {
    gateway_pod("press-0").cr("plant")
}

fn operator(replicas: u32) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "stoker", "labels": {"app.kubernetes.io/name": "stoker-operator"}},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": "stoker"}},
            "template": {
                "metadata": {"labels": {"app": "stoker"}},
                "spec": {"containers": [{"name": "manager", "image": "stoker-operator:test"}]},
            },
        },
    })
}

fn namespace_not_labelled(world: &World) {
    let name = world.namespace.name();
    world.create_pod(plant(), press().injected());
    world.apply(&[json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": format!("{name}-pod-injection")},
        "webhooks": [{
            "name": "pod-inject.stoker.io", "admissionReviewVersions": ["v1"],
            "sideEffects": "None", "failurePolicy": "Ignore", "timeoutSeconds": 1,
            "clientConfig": {"service": {"name": "absent", "namespace": name}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"],
                "operations": ["CREATE"]}],
            "namespaceSelector": {"matchLabels": {
                "kubernetes.io/metadata.name": name, "stoker.io/injection": "enabled"}},
        }],
    })]);
}

fn emergency_stop(world: &World) {
    world.create(plant());
    world.apply(&[
        operator(1),
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "stoker-pause"},
            "data": {"paused": "true", "reason": "fire"},
        }),
    ]);
}

fn operator_scaled_down(world: &World) {
    world.apply(&[operator(0)]);
}

fn renamed_operator_scaled_down(world: &World) {
    let mut operator = operator(0);
    operator["metadata"]["labels"] = json!({
        "app.kubernetes.io/name": "plant-sync", "control-plane": "controller-manager",
        "helm.sh/chart": "stoker-operator-0.1.0",
    });
    world.apply(&[operator]);
}

fn secret_key_missing(world: &World) {
    world.create(plant().api_key("api"));
    world.apply(&[json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "api"},
        "stringData": {"other": "x"},
    })]);
}

fn requested_ref_unknown(world: &World) {
    world.create(plant().annotation(Annotation::RequestedRef, "v9"));
    world.condition("RefResolved", "RefResolutionFailed");
}

fn receiver_secret_missing(world: &World) {
    world.create(plant());
    world.condition("WebhookReady", "NoSecret");
}

fn deletion_stuck(world: &World) {
    let mut sync = serde_json::to_value(plant().build()).unwrap();
    sync["metadata"]["finalizers"] = json!(["stoker.io/finalizer"]);
    world.apply(&[sync]);
    let mut delete = world.namespace.kubectl();
    delete.args(["delete", "gatewaysync", "plant", "--wait=false"]).output().unwrap();
}

/// A workload of gateways whose pods are replaced without waiting for them.
fn workload(pod: PodBuilder, strategy: &str) -> Value {
    let mut template = serde_json::to_value(pod.build()).unwrap();
    template["metadata"]["labels"]["app"] = json!("press");
    template["metadata"].as_object_mut().unwrap().remove("name");
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "press"},
        "spec": {
            "replicas": 1, "serviceName": "press", "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": strategy},
            "selector": {"matchLabels": {"app": "press"}},
            "template": {"metadata": template["metadata"], "spec": template["spec"]},
        },
    })
}

fn sync_unknown(world: &World) {
    world.create(plant());
    world.apply(&[workload(press().cr("plnat").injected(), "RollingUpdate")]);
}

fn profile_unknown(world: &World) {
    world.create_pod(plant(), press().profile("blue").injected());
}

/// The webhook was away when the pod was created, and is back.
fn agent_missing(world: &World) {
    world.create(plant());
    world.apply(&[workload(press(), "OnDelete")]);
    let begun = Instant::now();
    while world.get("pod", "press-0").is_null() {
        assert!(begun.elapsed() < WITHIN, "no pod");
        std::thread::sleep(INTERVAL);
    }
    world.apply(&[workload(press().injected(), "OnDelete")]);
}

fn pod_paused(world: &World) {
    world.create_pod(plant(), press().annotation(Annotation::Paused, "true").injected());
}

fn deletion_blocked(world: &World) {
    world.create_pod(plant(), press().injected());
    world.report(|report| {
        let commit = Commit::parse(COMMIT).unwrap();
        report.reason = Some(Reason::DeletionBlocked);
        report.deletion_blocked = Some(DeletionBlocked { commit, deletes: 60, of: 90 });
    });
}

fn designer_open(world: &World) {
    let waits = plant().defaults(|defaults| {
        defaults.designer_session_policy =
            Some(stoker_api::gatewaysync::DesignerSessionPolicy::Wait);
    });
    world.create_pod(waits, press().injected());
    world.report(|report| report.reason = Some(Reason::DesignerSessionActive));
}

fn volume_full(world: &World) {
    let name = world.namespace.name();
    let volume = |field: &str| json!({ field: {"storage": "1Gi"} });
    let modes = json!(["ReadWriteOnce"]);
    world.apply(&[
        json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
            "provisioner": "kubernetes.io/no-provisioner", "allowVolumeExpansion": true,
        }),
        json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {
                "capacity": {"storage": "1Gi"}, "accessModes": modes, "storageClassName": name,
                "hostPath": {"path": "/absent"},
                "claimRef": {"name": "data", "namespace": name},
            },
        }),
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
            "spec": {
                "accessModes": modes, "storageClassName": name, "volumeName": name,
                "resources": volume("requests"),
            },
        }),
    ]);
    let begun = Instant::now();
    while world.get("pvc", "data")["status"]["phase"] != "Bound" {
        assert!(begun.elapsed() < WITHIN, "not bound: {}", world.get("pvc", "data"));
        std::thread::sleep(INTERVAL);
    }
    let claim = json!({"name": "data", "persistentVolumeClaim": {"claimName": "data"}});
    let claimed = press().injected().spec(|spec| {
        spec.volumes = Some(vec![serde_json::from_value(claim).unwrap()]);
    });
    world.create_pod(plant(), claimed);
    world.report(|report| report.reason = Some(Reason::DiskFull));
}
