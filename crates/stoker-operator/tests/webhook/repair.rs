//! Claims about pods that the webhook missed: created all the same, detected, and restarted.
//!
//! There is no kubelet here: the test says that pods run, and pods end without a grace period.

use std::fs;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::api::events::v1::Event;
use kube::ResourceExt as _;
use kube::api::{ListParams, Patch, PatchParams};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustix::process::Signal;
use serde_json::{Value, json};
use stoker_api::GatewaySync;
use stoker_testkit::object::{gateway_pod, gateway_sync};
use tempfile::TempDir;

use crate::world::{Parts, World, agent, until};

/// The node that pods say they run on.
const NODE: &str = "repair-node";
/// The webhook's timeout is 2 s.
const SOON: Duration = Duration::from_millis(3500);

/// A CA, and a directory with a pair that it signed.
struct Pair {
    directory: TempDir,
    issuer: Issuer<'static, KeyPair>,
    authority: String,
}

impl Pair {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let authority = params.self_signed(&key).unwrap().pem();
        Self { directory: TempDir::new().unwrap(), issuer: Issuer::new(params, key), authority }
    }

    /// Puts a pair into the directory that is valid until this year.
    fn issue(&self, year: i32) {
        let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(year, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        fs::write(self.directory.path().join("tls.crt"), certificate.pem()).unwrap();
        fs::write(self.directory.path().join("tls.key"), key.serialize_pem()).unwrap();
    }
}

impl World {
    /// Prepares a webhook with a controller, a GatewaySync, and a node for pods to name.
    async fn with_repair(flags: &[String]) -> Self {
        let world = Self::prepare(Parts::All, flags).await;
        let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": NODE } });
        world.namespace.apply(&node.to_string());
        world.sync(gateway_sync("plant").mapping(".", "projects")).await;
        world
    }

    /// Makes the API server trust this CA.
    fn trust(&self, authority: &str) {
        let bundle = STANDARD.encode(authority);
        let path = "/webhooks/0/clientConfig/caBundle";
        self.reconfigure(&json!([{ "op": "add", "path": path, "value": bundle }]));
    }

    /// Creates a workload with one pod, and lets the pod run.
    async fn workload(&self, kind: &str, name: &str) -> Pod {
        let pod = gateway_pod("x").fs_group(1).build();
        let mut spec = serde_json::to_value(pod.spec).unwrap();
        spec["nodeName"] = json!(NODE);
        spec["terminationGracePeriodSeconds"] = json!(0);
        let workload = json!({
            "apiVersion": "apps/v1",
            "kind": kind,
            "metadata": { "name": name },
            "spec": {
                "selector": { "matchLabels": { "app": name } },
                "template": {
                    "metadata": { "labels": { "app": name }, "annotations": pod.metadata.annotations },
                    "spec": spec,
                },
            },
        });
        self.namespace.apply(&workload.to_string());
        let pod = until("its pod exists", async || self.pod_of(name).await).await;
        let running = json!({ "status": {
            "phase": "Running",
            "conditions": [{ "type": "Ready", "status": "True" }],
        } });
        let pods = self.api::<Pod>();
        let running = Patch::Strategic(running);
        pods.patch_status(&pod.name_any(), &PatchParams::default(), &running).await.unwrap()
    }

    /// Returns the pod of a workload.
    async fn pod_of(&self, name: &str) -> Option<Pod> {
        let labelled = ListParams::default().labels(&format!("app={name}"));
        let pods = self.api::<Pod>().list(&labelled).await.unwrap().items;
        pods.into_iter().find(|pod| pod.metadata.deletion_timestamp.is_none())
    }

    /// Waits until the log has a line with all of these words.
    async fn until_logged(&self, words: &[&str]) {
        let has_all = |line: &str| words.iter().all(|word| line.contains(word));
        until(&format!("{words:?} are logged"), async || {
            self.log().lines().any(has_all).then_some(())
        })
        .await;
    }

    /// Waits until the workload has a pod with the agent.
    async fn until_injected(&self, name: &str) -> Pod {
        until(&format!("{name} has the agent"), async || {
            self.pod_of(name).await.filter(|pod| agent(pod).is_some())
        })
        .await
    }

    /// Creates pods while the webhook does not work: within 3.5 s, and without an agent.
    async fn miss(&self, name: &str) -> Pod {
        until("the API server has noticed", async || (!self.injects().await).then_some(())).await;
        // One of three: this machine may be busy, and the webhook is not faster by luck.
        let mut took = Vec::new();
        while took.iter().all(|it| *it >= SOON) && took.len() < 3 {
            let begun = Instant::now();
            let bare = gateway_pod(&format!("{name}-bare-{}", took.len())).fs_group(1);
            let bare = bare.spec(|spec| {
                spec.node_name = Some(NODE.to_owned());
                spec.termination_grace_period_seconds = Some(0);
            });
            let bare = self.pod(bare).await.unwrap();
            took.push(begun.elapsed());
            assert!(agent(&bare).is_none());
        }
        assert!(took.iter().any(|it| *it < SOON), "{name}: {took:?}");
        let pod = self.workload("StatefulSet", name).await;
        assert!(agent(&pod).is_none(), "{name}");
        pod
    }

    /// Returns the events with this reason whose note has these words.
    async fn events(&self, reason: &str, words: &str) -> usize {
        let events = self.api::<Event>().list(&ListParams::default()).await.unwrap().items;
        let is_meant = |event: &&Event| {
            event.reason.as_deref() == Some(reason)
                && event.note.as_deref().is_some_and(|note| note.contains(words))
        };
        events.iter().filter(is_meant).count()
    }

    /// Waits until the status names the pods of these workloads as missed.
    async fn until_detected(&self, names: &[&str]) {
        let listed = |status: &Value, name: &str| {
            let gateways = status["discoveredGateways"].as_array().into_iter().flatten();
            gateways.into_iter().any(|gateway| {
                gateway["podName"] == format!("{name}-0")
                    && gateway["syncStatus"] == "MissingSidecar"
            })
        };
        until(&format!("{names:?} are detected"), async || {
            let sync = self.api::<GatewaySync>().get("plant").await.unwrap();
            let status = serde_json::to_value(sync.status).unwrap();
            let conditions = status["conditions"].as_array().into_iter().flatten();
            let is_false = conditions.into_iter().any(|it| {
                it["type"] == "SidecarInjected"
                    && it["status"] == "False"
                    && it["reason"] == "SidecarMissing"
            });
            (is_false && names.iter().all(|name| listed(&status, name))).then_some(())
        })
        .await;
    }
}

// D1, K11: whatever is wrong with the webhook, pods are created, found, and restarted when it works
// again; a PodDisruptionBudget has the last word.
#[tokio::test(flavor = "multi_thread")]
async fn pods_that_a_broken_webhook_missed_are_found_and_restarted_when_it_works() {
    let (pair, other) = (Pair::new(), Pair::new());
    let flags = [
        format!("--cert-dir={}", pair.directory.path().display()),
        "--repair=evict".to_owned(),
        "--repair-rate=600".to_owned(),
    ];
    let mut world = World::with_repair(&flags).await;
    world.trust(&pair.authority);
    let budget = json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": { "name": "killed" },
        "spec": { "maxUnavailable": 0, "selector": { "matchLabels": { "app": "killed" } } },
    });
    world.namespace.apply(&budget.to_string());
    let killed = world.miss("killed").await;
    pair.issue(2021);
    world.restart();
    world.ready().await;
    world.miss("expired").await;
    // Nothing is evicted while its successor would be missed as well.
    world.until_detected(&["killed", "expired"]).await;
    world.until_logged(&["killed-0", "the admission webhook does not answer"]).await;
    pair.issue(2100);
    world.trust(&other.authority);
    world.restart();
    world.ready().await;
    world.miss("distrusted").await;
    world.signal(Signal::STOP);
    world.miss("hung").await;
    world.signal(Signal::CONT);
    world.until_detected(&["killed", "expired", "distrusted", "hung"]).await;
    world.trust(&pair.authority);
    world.restart();
    for name in ["expired", "distrusted", "hung"] {
        world.until_injected(name).await;
    }
    world.until_logged(&["killed-0", "a PodDisruptionBudget does not allow it now"]).await;
    assert_eq!(world.pod_of("killed").await.unwrap().uid(), killed.uid());
    // What was refused is not an eviction: it takes no turn of the rate, and leaves no entry.
    let record = world.api::<ConfigMap>().get("stoker-repairs").await.unwrap();
    let entries = record.data.unwrap();
    assert!(!entries.values().any(|entry| entry.contains("killed")), "{entries:?}");
    stoker_testkit::node::succeed(world.namespace.kubectl().args(["delete", "pdb", "killed"]));
    world.until_injected("killed").await;
    assert_eq!(world.events("PodEvicted", "evicted pod killed-0: it has no agent").await, 1);
    assert_eq!(world.events("SidecarMissing", "killed-0").await, 1);
    // Pods that nothing would create again are left alone.
    world.until_logged(&["hung-bare-0", "delete and create it yourself"]).await;
    assert!(world.api::<Pod>().get_opt("hung-bare-0").await.unwrap().is_some());
}

// K11: at most once per owner and template, also across a restart of the operator.
#[tokio::test(flavor = "multi_thread")]
async fn a_workload_is_restarted_once_even_if_that_did_not_help() {
    let mut world = World::with_repair(&["--repair=evict".to_owned()]).await;
    let url = format!("https://127.0.0.1:{}/nowhere", world.webhook);
    let path = "/webhooks/0/clientConfig/url";
    world.reconfigure(&json!([{ "op": "replace", "path": path, "value": url }]));
    let first = world.workload("Deployment", "plain").await;
    world.restart();
    let second = until("it is evicted", async || {
        world.pod_of("plain").await.filter(|pod| pod.uid() != first.uid())
    })
    .await;
    assert!(agent(&second).is_none());
    let tried = [&*second.name_any(), "it was created after an eviction for the same cause"];
    let running = json!({ "status": { "phase": "Running" } });
    let pods = world.api::<Pod>();
    let name = second.name_any();
    let running = Patch::Merge(running);
    pods.patch_status(&name, &PatchParams::default(), &running).await.unwrap();
    world.until_logged(&tried).await;
    world.restart();
    world.until_logged(&tried).await;
    assert_eq!(world.pod_of("plain").await.unwrap().uid(), second.uid());
    let record = world.api::<ConfigMap>().get("stoker-repairs").await.unwrap();
    assert_eq!(record.data.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn missed_pods_are_only_reported_unless_people_want_more() {
    let mut world = World::with_repair(&[]).await;
    let missed = world.workload("Deployment", "plain").await;
    world.restart();
    world.until_logged(&["a pod needs a restart", &missed.name_any(), "missing-agent"]).await;
    assert_eq!(world.pod_of("plain").await.unwrap().uid(), missed.uid());
    assert!(world.api::<ConfigMap>().get_opt("stoker-repairs").await.unwrap().is_none());
}

// D1: an operator that runs says within ten seconds that a pod has no agent.
#[tokio::test(flavor = "multi_thread")]
async fn a_missed_pod_is_detected_within_ten_seconds() {
    let mut world = World::with_repair(&[]).await;
    world.restart();
    world.ready().await;
    let url = format!("https://127.0.0.1:{}/nowhere", world.webhook);
    let path = "/webhooks/0/clientConfig/url";
    world.reconfigure(&json!([{ "op": "replace", "path": path, "value": url }]));
    until("the API server has noticed", async || (!world.injects().await).then_some(())).await;
    let begun = Instant::now();
    assert!(agent(&world.workload("StatefulSet", "missed").await).is_none());
    world.until_detected(&["missed"]).await;
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    until("one event tells of it", async || {
        (world.events("SidecarMissing", "missed-0").await == 1).then_some(())
    })
    .await;
}

// S1: Helm creates StatefulSets before custom resources.
#[tokio::test(flavor = "multi_thread")]
async fn a_gatewaysync_that_comes_after_its_pod_and_has_a_secret_needs_a_restart() {
    let mut world = World::with_repair(&[]).await;
    world.restart();
    world.ready().await;
    let early = gateway_pod("early").cr("later").fs_group(1);
    let early = early.spec(|spec| spec.node_name = Some(NODE.to_owned()));
    let pod = world.pod(early).await.unwrap();
    let container = agent(&pod).expect("it is injected for the name").to_string();
    assert!(!container.contains("git-credentials"), "{container}");
    world.sync(gateway_sync("later").mapping(".", "projects").token("pat")).await;
    until("the status says so", async || {
        let sync = world.api::<GatewaySync>().get("later").await.unwrap();
        let gateways = sync.status?.discovered_gateways;
        gateways.into_iter().find(|it| it.pod_name == "early")?.restart_needed
    })
    .await;
}
