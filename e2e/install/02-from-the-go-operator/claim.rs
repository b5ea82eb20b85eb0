//! `helm upgrade` moves a release of the Go operator over: no gateway restarts, and a pod that is
//! created at any moment has an agent or is reported.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use stoker_testkit::quickstart::{OPERATOR_NAMESPACE, SYNC};
use stoker_testkit::wait::eventually;

use super::{GATEWAY_POD, UPGRADE, World};

const RELEASE: &str = "stoker-operator e2e/install/02-from-the-go-operator/chart \
                       --namespace stoker-system";
/// How often a pod is created while the upgrade runs.
const INTERVAL: Duration = Duration::from_secs(2);
const DEFINITIONS: [&str; 4] =
    ["crd", "gatewaysyncs.stoker.io", "syncprofiles.stoker.io", "podbootstraps.stoker.io"];

#[test]
fn c02_an_upgrade_from_the_go_operator_restarts_no_gateway() {
    let Some(world) = super::world() else { return };
    install_go_operator(&world);
    let commit = world.synced_commit();
    world.apply(&include_str!("old-agent.yaml").replace("COMMIT", &commit));
    world.cluster(&["wait", "pod/old-gateway", "--for=condition=Ready", "--timeout=60s"]);
    let before = (world.gateway(), old_gateway(&world));

    let refused = world.quickstart.try_helm(&format!("{UPGRADE} --reuse-values")).unwrap_err();
    assert!(refused.contains("--reset-then-reuse-values"), "{refused}");

    let pods = upgrade_while_pods_are_created(&world);

    assert_eq!((world.gateway(), old_gateway(&world)), before, "no gateway was restarted");
    // Its agent has the announced commit, and its pod must be restarted to get ours.
    eventually("the Go agent's gateway is Synced", || listed(&world, "syncStatus") == "Synced");
    let restart = listed(&world, "restartNeeded");
    assert!(restart.contains("Go operator"), "{restart}");
    let selector = "--output=jsonpath={.webhooks[0].namespaceSelector}";
    let webhook =
        ["get", "mutatingwebhookconfiguration", "stoker-operator-pod-injection", selector];
    let selector = world.operator(&webhook);
    assert!(!selector.contains("stoker.io/injection"), "the label was not required: {selector}");
    let pods: Vec<&str> = pods.iter().map(String::as_str).chain(["old-gateway"]).collect();
    world.cluster(&[&["delete", "pod"][..], &pods].concat());
    world.cluster(&["delete", "configmap", "stoker-status-plant"]);
    world.sync_a_commit("after-the-go-operator");
    world.quickstart.helm("test stoker-operator --namespace stoker-system");
}

/// A cluster that has only ever known the Go operator, with a gateway that is synced.
fn install_go_operator(world: &World) {
    world.uninstall();
    world.quickstart.reset();
    let ours = DEFINITIONS;
    world.operator(&[&["delete", "--ignore-not-found"][..], &ours].concat());
    world.install_cert_manager();
    world.operator(&["create", "namespace", OPERATOR_NAMESPACE]);
    world.quickstart.helm(&format!("install {RELEASE}"));
    world.fill_certificate();
    let manager = format!("deployment/{}", super::OPERATOR);
    world.operator(&["rollout", "status", &manager, "--timeout=2m"]);
    world.start_gateway();
}

/// Upgrades and returns the pods that were created meanwhile. Each has an agent or is reported.
fn upgrade_while_pods_are_created(world: &World) -> Vec<String> {
    let ended = AtomicBool::new(false);
    let pods = thread::scope(|scope| {
        let create = scope.spawn(|| {
            let mut pods = Vec::new();
            while !ended.load(Ordering::Relaxed) {
                let name = format!("probe-{}", pods.len());
                world.apply(&GATEWAY_POD.replace("NAME", &name));
                pods.push(name);
                thread::sleep(INTERVAL);
            }
            pods
        });
        world.quickstart.helm(UPGRADE);
        ended.store(true, Ordering::Relaxed);
        create.join().unwrap()
    });
    let upgraded = Instant::now();
    let status = |pod: &str| {
        let path = format!("{{.status.discoveredGateways[?(@.podName=='{pod}')].syncStatus}}");
        world.cluster(&["get", "gatewaysync", SYNC, &format!("--output=jsonpath={path}")])
    };
    let mut missed = 0;
    for pod in &pods {
        let containers = "--output=jsonpath={.spec.initContainers[*].name}";
        if !world.cluster(&["get", "pod", pod, containers]).contains("stoker-agent") {
            missed += 1;
            eventually("a pod without agent is reported", || status(pod) == "MissingSidecar");
        }
    }
    let took = upgraded.elapsed();
    eprintln!(
        "{} pods in the upgrade, {missed} without agent, reported after {took:?}",
        pods.len()
    );
    pods
}

/// A field of the gateway with the Go agent, as the status has it.
fn listed(world: &World, field: &str) -> String {
    let path = format!("{{.status.discoveredGateways[?(@.podName=='old-gateway')].{field}}}");
    world.cluster(&["get", "gatewaysync", SYNC, &format!("--output=jsonpath={path}")])
}

fn old_gateway(world: &World) -> String {
    let path = "--output=jsonpath={.metadata.uid} {.status.containerStatuses[*].restartCount}";
    world.cluster(&["get", "pod", "old-gateway", path])
}
