//! Claims about housekeeping that evicts.

use std::time::{Duration, Instant};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::ResourceExt;
use kube::api::{ListParams, PostParams};
use serde_json::{Value, json};

use crate::kubelet::{GROUP, Kubelet};
use crate::world::{SYSTEM, World, certificate, mark, policy, until};

/// The rate of the policy in these claims.
const PER_MINUTE: usize = 120;
const ALL: usize = 50;
const REPORTED_WITHIN: Duration = Duration::from_secs(30);
const REPAIRED_WITHIN: Duration = Duration::from_mins(5);
const RECORD: &str = "stoker-bootstrap-repairs";

/// The policy with its housekeeping.
fn with(housekeeping: &Value) -> Value {
    let mut spec = policy();
    spec["housekeeping"] = housekeeping.clone();
    spec
}

impl World {
    async fn deployment(&self, namespace: &str, name: &str, group: &str, replicas: usize) {
        let object: Deployment = serde_json::from_value(json!({
            "metadata": { "name": name },
            "spec": {
                "replicas": replicas,
                "selector": { "matchLabels": { "app": name } },
                "template": {
                    "metadata": { "labels": { "app": name, GROUP: group } },
                    "spec": {
                        "containers": [{ "name": "app", "image": "nginx:1.27" }],
                        "terminationGracePeriodSeconds": 0,
                    },
                },
            },
        }))
        .unwrap();
        self.api(namespace).create(&PostParams::default(), &object).await.unwrap();
    }

    async fn budget(&self, namespace: &str, group: &str, least: usize) {
        let object: PodDisruptionBudget = serde_json::from_value(json!({
            "metadata": { "name": group },
            "spec": { "minAvailable": least, "selector": { "matchLabels": { GROUP: group } } },
        }))
        .unwrap();
        self.api(namespace).create(&PostParams::default(), &object).await.unwrap();
    }

    async fn pods(&self, namespace: &str, selector: &str) -> Vec<Pod> {
        let labelled = ListParams::default().labels(selector);
        self.api::<Pod>(namespace).list(&labelled).await.unwrap().items
    }

    /// Waits until the pods of a selector are this many, and returns their UIDs.
    async fn uids(&self, namespace: &str, selector: &str, count: usize) -> Vec<String> {
        until(&format!("{count} pods of {selector} exist"), async || {
            let pods = self.pods(namespace, selector).await;
            (pods.len() == count).then(|| pods.iter().filter_map(ResourceExt::uid).collect())
        })
        .await
    }

    async fn forget_repairs(&self) {
        let maps = self.api::<ConfigMap>(SYSTEM);
        maps.delete(RECORD, &kube::api::DeleteParams::default()).await.ok();
    }
}

// I5, K11: the webhook is away, 50 pods are created, the webhook is back: all are reported within
// 30 s and restarted, never faster than the policy says, and two budgets are never violated.
#[tokio::test(flavor = "multi_thread")]
async fn missed_pods_are_evicted_within_their_budgets_and_at_the_rate_of_the_policy() {
    let mut world = World::start().await;
    world.forget_repairs().await;
    let line = world.namespace(&[]).await;
    world.copied(&line).await;
    world.stop();
    // One budget is of one workload, the other spans six.
    world.budget(&line, "own", 3).await;
    world.budget(&line, "shared", 5).await;
    let kubelet = Kubelet::start(world.api(&line), &[("own", 4), ("shared", 6), ("free", 40)]);
    world.deployment(&line, "own", "own", 4).await;
    for number in 0..6 {
        world.deployment(&line, &format!("shared-{number}"), "shared", 1).await;
    }
    for number in 0..20 {
        world.deployment(&line, &format!("free-{number}"), "free", 2).await;
    }
    world.pod(&line, "bare", &json!({})).await;
    let missed = world.uids(&line, GROUP, ALL).await;
    world.restart();
    world.ready().await;
    let begun = Instant::now();
    until("all are reported", async || {
        let pods = world.read_policy().await.status.unwrap_or_default().pods?;
        (usize::try_from(pods.missed).unwrap() > ALL).then_some(())
    })
    .await;
    assert!(begun.elapsed() < REPORTED_WITHIN, "reported after {:?}", begun.elapsed());
    until("all run", async || (kubelet.notes(|it| it.fewest.len()) == 3).then_some(())).await;
    world.policy(&with(&json!({ "mode": "evict", "maxPerMinute": PER_MINUTE }))).await;
    let begun = Instant::now();
    loop {
        let pods = world.pods(&line, GROUP).await;
        let is_new = |pod: &Pod| pod.uid().is_some_and(|uid| !missed.contains(&uid));
        if pods.len() == ALL && pods.iter().all(|pod| is_new(pod) && mark(pod).is_some()) {
            break;
        }
        let old = pods.iter().filter(|pod| !is_new(pod)).count();
        assert!(begun.elapsed() < REPAIRED_WITHIN, "{old} pods are not restarted");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    // The kubelet sees a pod go up to 0.2 s after this test does.
    until("all went", async || (kubelet.notes(|it| it.gone.len()) >= ALL).then_some(())).await;
    let (gone, fewest) = kubelet.notes(|notes| (notes.gone.clone(), notes.fewest.clone()));
    assert_eq!(gone.len(), ALL, "each pod once");
    assert!(fewest["own"] >= 3 && fewest["shared"] >= 5, "{fewest:?}");
    let window = Duration::from_secs(10);
    let within =
        |from: &Instant| gone.iter().filter(|it| *it >= from && **it < *from + window).count();
    let most = gone.iter().map(within).max().unwrap();
    assert!(most <= PER_MINUTE / 6 + 1, "{most} pods in {window:?}");
    assert!(world.api::<Pod>(&line).get_opt("bare").await.unwrap().is_some(), "it has no owner");
    until("the status has caught up", async || {
        let pods = world.read_policy().await.status.unwrap_or_default().pods?;
        (pods.missed == 1).then_some(())
    })
    .await;
}

// I5: a restart that does not help is not repeated, and stops the others for a while.
#[tokio::test(flavor = "multi_thread")]
async fn a_restart_that_does_not_help_stops_evictions() {
    let mut world = World::start().await;
    world.forget_repairs().await;
    let line = world.namespace(&[]).await;
    world.copied(&line).await;
    // The API server reaches the operator, which answers 404 there.
    world.configure_path("/nowhere");
    world.stop();
    let _kubelet = Kubelet::start(world.api(&line), &[]);
    for name in ["first", "second"] {
        world.deployment(&line, name, name, 1).await;
    }
    let missed = world.uids(&line, GROUP, 2).await;
    world.policy(&with(&json!({ "mode": "evict", "maxPerMinute": 10 }))).await;
    world.restart();
    let replaced = async || {
        let pods = world.pods(&line, GROUP).await;
        pods.iter().filter_map(ResourceExt::uid).filter(|uid| !missed.contains(uid)).count()
    };
    until("one is evicted", async || (replaced().await > 0).then_some(())).await;
    // At this rate the other one would follow after 6 s.
    let end = Instant::now() + Duration::from_secs(20);
    while Instant::now() < end {
        assert!(replaced().await <= 1, "the second was evicted although the first did not help");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let record = world.api::<ConfigMap>(SYSTEM).get(RECORD).await.unwrap().data.unwrap();
    let own = record.values().filter(|entry| entry.contains(&format!("{line}/")));
    let own: Vec<&String> = own.collect();
    assert!(own.len() == 1 && own[0].contains("bootstrap-missed"), "{record:?}");
}

// K11: the certificates are rotated, and pods with the old ones are restarted when their namespace
// has the new ones.
#[tokio::test(flavor = "multi_thread")]
async fn stale_pods_are_evicted_where_the_policy_asks_for_it() {
    let mut world = World::start().await;
    world.forget_repairs().await;
    let line = world.namespace(&[]).await;
    world.whole_pod(&line).await;
    let kubelet = Kubelet::start(world.api(&line), &[("press", 2)]);
    world.deployment(&line, "press", "press", 2).await;
    until("both run", async || (kubelet.notes(|it| it.fewest.len()) == 1).then_some(())).await;
    let old = mark(&world.pods(&line, GROUP).await[0]).unwrap();
    world.policy(&with(&json!({ "maxPerMinute": 600, "onChange": "evict" }))).await;
    world.certificates(&certificate("rotated.example")).await;
    until("both have another mark", async || {
        let pods = world.pods(&line, GROUP).await;
        let is_new = |pod: &Pod| mark(pod).is_some_and(|mark| mark != old);
        (pods.len() == 2 && pods.iter().all(is_new)).then_some(())
    })
    .await;
    // The test sees a pod go up to 0.2 s late.
    until("both were replaced", async || (kubelet.notes(|it| it.gone.len()) == 2).then_some(()))
        .await;
    assert_eq!(kubelet.notes(|it| it.fewest["press"]), 1, "one after the other");
    // Pods without an owner stay as they are.
    let bare = world.pods(&line, &format!("!{GROUP}")).await;
    assert!(bare.iter().any(|pod| mark(pod).as_ref() == Some(&old)));
}
