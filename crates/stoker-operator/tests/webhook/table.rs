//! The table of cases in the design of injection, row by row, through the real API server and under
//! both policies.

use k8s_openapi::api::core::v1::Pod;
use kube::api::PostParams;
use serde_json::{Value, json};
use stoker_api::names::Annotation;
use stoker_testkit::object::{GatewaySyncBuilder, PodBuilder, gateway_pod, gateway_sync, profile};

use crate::world::{World, agent, until};

/// What becomes of a pod.
#[derive(Debug)]
enum Outcome {
    Injected(Value),
    Unchanged,
    Denied(String),
}

impl World {
    async fn outcome(&self, pod: PodBuilder) -> Outcome {
        let parameters = PostParams { dry_run: true, ..PostParams::default() };
        match self.api::<Pod>().create(&parameters, &pod.build()).await {
            Ok(pod) => agent(&pod).map_or(Outcome::Unchanged, Outcome::Injected),
            Err(kube::Error::Api(status)) => Outcome::Denied(status.message.clone()),
            Err(error) => panic!("{error}"),
        }
    }

    async fn injected(&self, pod: PodBuilder) -> Value {
        match self.outcome(pod).await {
            Outcome::Injected(agent) => agent,
            other => panic!("{other:?}"),
        }
    }

    /// A wrong configuration: denied with these words where strict. Where lenient, the pod is
    /// admitted; with an agent where it is known which one.
    async fn wrong(&self, is_strict: bool, pod: PodBuilder, words: &str, has_agent: bool) {
        let shown = format!("strict: {is_strict}, {words}");
        match self.outcome(pod).await {
            Outcome::Denied(message) => {
                assert!(is_strict && message.contains(words), "{shown}: {message}");
            }
            Outcome::Injected(_) => assert!(!is_strict && has_agent, "{shown}"),
            Outcome::Unchanged => assert!(!is_strict && !has_agent, "{shown}"),
        }
    }
}

fn named(name: &str) -> GatewaySyncBuilder {
    gateway_sync(name).mapping(".", "projects")
}

fn gateway() -> PodBuilder {
    gateway_pod("g").fs_group(2003)
}

fn env<'a>(agent: &'a Value, name: &str) -> Option<&'a str> {
    let variables = agent["env"].as_array().unwrap();
    variables.iter().find(|it| it["name"] == name).and_then(|it| it["value"].as_str())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_row_of_the_table_has_its_outcome_where_lenient() {
    rows(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_row_of_the_table_has_its_outcome_where_strict() {
    rows(true).await;
}

async fn rows(is_strict: bool) {
    let policy = if is_strict { "strict" } else { "lenient" };
    let world = World::with(&[format!("--injection-policy={policy}")]).await;
    // Auto-derive, no GatewaySync.
    world.wrong(is_strict, gateway(), "there is no GatewaySync in this namespace", false).await;
    // Auto-derive, one GatewaySync.
    world.sync(named("plant").profile("site", profile().mapping("a", "b"))).await;
    let derived = until("it is derived", async || match world.outcome(gateway()).await {
        Outcome::Injected(agent) => Some(agent),
        Outcome::Unchanged | Outcome::Denied(_) => None,
    })
    .await;
    assert_eq!(env(&derived, "CR_NAME"), Some("plant"));
    // All annotations.
    let all = gateway().cr("plant").profile("site").gateway_name("press");
    let all = world.injected(all.annotation(Annotation::SyncPeriod, "60")).await;
    for (name, value) in [
        ("CR_NAME", "plant"),
        ("PROFILE", "site"),
        ("GATEWAY_NAME", "press"),
        ("SYNC_PERIOD", "60"),
    ] {
        assert_eq!(env(&all, name), Some(value));
    }
    // Not asked.
    let plain = gateway().without_annotation(Annotation::Inject);
    assert!(matches!(world.outcome(plain).await, Outcome::Unchanged));
    // Already injected.
    let before = gateway().injected();
    let Outcome::Injected(agent) = world.outcome(before).await else { panic!() };
    assert_eq!(agent["image"], "stoker-agent:test", "it is the one that was there");
    // No such GatewaySync, no such SyncProfile.
    let words = "GatewaySync \"other\" does not exist, there is plant";
    world.wrong(is_strict, gateway().cr("other"), words, true).await;
    let words = "SyncProfile \"area\" does not exist";
    world.wrong(is_strict, gateway().sync_profile("area"), words, true).await;
    // Paused.
    world.sync(named("paused").paused()).await;
    world.injected(gateway().cr("paused")).await;
    // Auto-derive, several GatewaySyncs.
    until("the second is known", async || match world.outcome(gateway()).await {
        Outcome::Injected(_) => None,
        Outcome::Unchanged | Outcome::Denied(_) => Some(()),
    })
    .await;
    let words = "Set stoker.io/cr-name to one of paused, plant";
    world.wrong(is_strict, gateway(), words, false).await;
    // Credentials.
    world.sync(named("ssh").ssh_key("deploy-key", None)).await;
    let agent = world.injected(gateway().cr("ssh")).await;
    assert!(env(&agent, "GIT_SSH_KEY_FILE").is_some());
    assert!(agent["volumeMounts"].to_string().contains("git-credentials"));
    world.sync(named("token").token("pat")).await;
    let agent = world.injected(gateway().cr("token")).await;
    assert!(env(&agent, "GIT_TOKEN_FILE").is_some());
    assert!(agent["volumeMounts"].to_string().contains("git-credentials"));
    // Image and resources.
    let resources = json!({ "limits": { "cpu": "2", "memory": "512Mi" } });
    let spec = json!({ "image": { "tag": "2.0" }, "resources": resources });
    let own = named("own").spec(|sync| sync.agent = Some(serde_json::from_value(spec).unwrap()));
    world.sync(own).await;
    let agent = world.injected(gateway().cr("own")).await;
    assert_eq!(agent["image"], "ghcr.io/stoker-io/stoker-agent:2.0");
    assert_eq!(agent["resources"]["limits"], resources["limits"]);
    let image = "ghcr.io/stoker-io/stoker-agent:debug";
    let pod = gateway().cr("own").annotation(Annotation::AgentImage, image);
    assert_eq!(world.injected(pod).await["image"], image);
}
