//! Claims about gateways: who they are, how they stand, what the status says.

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::api::events::v1::Event;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, ListParams};
use serde_json::json;
use stoker_api::condition::{ConditionType, SyncStatus};
use stoker_api::{SyncProfile, names};
use stoker_testkit::git::http::HttpServer;
use stoker_testkit::git::{Oid, Repo};
use stoker_testkit::object::{config_map, gateway_pod, profile, sync_profile};

use crate::tell::{free_port, metrics};
use crate::world::{World, condition, eventually, is_true, quiet_sync, version};

pub(crate) struct Plant {
    pub(crate) world: World,
    pub(crate) repo: Repo,
    _server: HttpServer,
    pub(crate) first: Oid,
}

pub(crate) async fn plant() -> Plant {
    plant_in(World::start().await).await
}

/// Makes a GatewaySync `plant` whose first commit is announced.
pub(crate) async fn plant_in(world: World) -> Plant {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    world.sync(quiet_sync("plant", &server.mount("plant", &repo))).await;
    world.until_announced("plant", &first).await;
    Plant { world, repo, _server: server, first }
}

pub(crate) async fn events(world: &World, reason: &str) -> Vec<Event> {
    let all = world.api::<Event>().list(&ListParams::default()).await.unwrap();
    all.items.into_iter().filter(|event| event.reason.as_deref() == Some(reason)).collect()
}

// F02, R33: the next poll is an hour away, and the pod has no gateway name: its report counts at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_report_makes_a_gateway_synced_and_a_new_commit_or_profile_makes_it_not() {
    let plant = plant().await;
    let world = &plant.world;
    let pod = world.gateway("ignition-0", "plant").await;
    world.until_reason("plant", ConditionType::Ready, "GatewaysSyncing").await;
    world.report_synced(&pod, "plant").await;
    let sync = world.until("plant", "it is ready", |it| is_true(it, ConditionType::Ready)).await;
    let status = sync.status.unwrap();
    assert_eq!(status.last_sync_commit.as_deref(), Some(plant.first.as_str()));
    assert_eq!(status.last_sync_ref.as_deref(), Some("main"));
    let synced = condition(&status, ConditionType::AllGatewaysSynced).unwrap();
    assert_eq!(synced.message, "1/1 synced");
    assert_eq!(status.discovered_gateways[0].sync_status, Some(SyncStatus::Synced));

    let second = plant.repo.commit(version("2")).unwrap();
    world.recheck("plant").await;
    world.until_announced("plant", &second).await;
    world.until_reason("plant", ConditionType::Ready, "GatewaysSyncing").await;
    world.report_synced(&pod, "plant").await;
    world.until_reason("plant", ConditionType::Ready, "AllSynced").await;

    let profile = json!({ "vars": { "line": "3" } });
    let patch = json!({ "spec": { "sync": { "profiles": { "default": profile } } } });
    world.patch("plant", patch).await;
    world.until_reason("plant", ConditionType::Ready, "GatewaysSyncing").await;
    world.report_synced(&pod, "plant").await;
    world.until_reason("plant", ConditionType::Ready, "AllSynced").await;
    let completed = eventually("both commits were told", || async {
        let completed = events(world, "SyncCompleted").await;
        (completed.len() >= 2).then_some(completed)
    });
    assert_eq!(completed.await.len(), 2, "once per commit");
}

// An agent of a later version: what it says beyond our words is ignored, the rest counts.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_writes_unknown_keys_reasons_and_capabilities_is_understood() {
    let plant = plant().await;
    let world = &plant.world;
    let pod = world.gateway("ignition-0", "plant").await;
    let report = world.synced(&pod, "plant").await.to_value();
    let mut report: serde_json::Value = serde_json::from_str(&report).unwrap();
    report["reason"] = json!("PolishingBrass");
    report["capabilities"] = json!(["teleport", "later"]);
    report["rollout"] = json!({ "wave": 3, "of": [1, 2] });
    world.report_text("plant", "ignition-0", &report.to_string()).await;
    let sync = world.until("plant", "it is ready", |it| is_true(it, ConditionType::Ready)).await;
    let status = sync.status.unwrap();
    assert_eq!(status.last_sync_commit.as_deref(), Some(plant.first.as_str()));
    assert_eq!(status.discovered_gateways[0].sync_status, Some(SyncStatus::Synced));
}

// R3, F32: one event, and the report of the predecessor counts for nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_recreated_pod_without_agent_is_reported_as_missing_it() {
    let plant = plant().await;
    let world = &plant.world;
    let pod = world.gateway("ignition-0", "plant").await;
    world.report_synced(&pod, "plant").await;
    world.until_reason("plant", ConditionType::Ready, "AllSynced").await;
    let api = world.api::<Pod>();
    api.delete("ignition-0", &DeleteParams::default().grace_period(0)).await.unwrap();
    eventually("the pod is gone", || async {
        api.get_opt("ignition-0").await.unwrap().is_none().then_some(())
    })
    .await;
    world.pod(gateway_pod("ignition-0").cr("plant").build()).await;
    world.until_reason("plant", ConditionType::SidecarInjected, "SidecarMissing").await;
    let status = world.get("plant").await.status.unwrap();
    let found = status.discovered_gateways[0].sync_status;
    assert_eq!(found, Some(SyncStatus::MissingSidecar));
    let told = eventually("the missing agent was told", || async {
        let told = events(world, "SidecarMissing").await;
        (!told.is_empty()).then_some(told)
    });
    assert_eq!(told.await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_by_spec_and_the_emergency_stop_reach_agents_status_and_metrics() {
    let port = free_port();
    let listen = format!("--metrics-bind-address=127.0.0.1:{port}");
    let plant = plant_in(World::with(&[&listen]).await).await;
    let world = &plant.world;
    let until_measured = |series: &'static str| async move {
        eventually(series, || async { metrics(port).await?.contains(series).then_some(()) }).await;
    };
    until_measured("stoker_controller_emergency_stop 0").await;
    world.patch("plant", json!({ "spec": { "paused": true } })).await;
    let is_paused = |wanted: bool| async move {
        eventually("the pause is announced", || async {
            let metadata = world.metadata("plant").await?;
            (metadata.is_paused == wanted).then_some(metadata)
        })
        .await
    };
    assert_eq!(is_paused(true).await.paused_by.unwrap().to_string(), "spec");
    world.until_reason("plant", ConditionType::Ready, "Paused").await;
    world.patch("plant", json!({ "spec": { "paused": null } })).await;
    is_paused(false).await;
    let stop = config_map(names::PAUSE_CONFIG_MAP, [("paused", "true"), ("reason", "fire drill")]);
    world.create(&stop).await;
    let by = is_paused(true).await.paused_by.unwrap().to_string();
    assert_eq!(by, "emergency: fire drill");
    let why = "stopped for all GatewaySyncs by the ConfigMap stoker-pause: fire drill";
    world
        .until("plant", "the status says why", |status| {
            let ready = condition(status, ConditionType::Ready);
            ready.is_some_and(|it| (&*it.status, &*it.message) == ("False", why))
        })
        .await;
    world.until_reason("plant", ConditionType::Ready, "Paused").await;
    until_measured("stoker_controller_emergency_stop 1").await;
    let api = world.api::<ConfigMap>();
    api.delete(names::PAUSE_CONFIG_MAP, &DeleteParams::default()).await.unwrap();
    is_paused(false).await;
    until_measured("stoker_controller_emergency_stop 0").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_profiles_are_reported_and_never_published() {
    let plant = plant().await;
    let world = &plant.world;
    // What CEL can't say: a template that calls what does not exist.
    let mapping = json!([{ "source": "{{nothing .GatewayName}}", "destination": "projects" }]);
    let patch =
        json!({ "spec": { "sync": { "profiles": { "default": { "mappings": mapping } } } } });
    world.patch("plant", patch).await;
    let found = world.until_reason("plant", ConditionType::ProfilesValid, "ProfilesInvalid").await;
    assert!(found.message.contains("mappings[0].source"), "{}", found.message);
    let metadata = world.metadata("plant").await.unwrap();
    assert_eq!(metadata.profiles["default"].mappings[0].source, "projects");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_object_that_was_deleted_is_made_again() {
    let plant = plant().await;
    let world = &plant.world;
    let name = names::status_config_map("plant", 0);
    let api = world.api::<ConfigMap>();
    let before = api.get(&name).await.unwrap().uid();
    api.delete(&name, &DeleteParams::default()).await.unwrap();
    eventually("it is made again", || async {
        let found = api.get_opt(&name).await.unwrap()?;
        (found.uid() != before).then_some(())
    })
    .await;
    let metadata = names::metadata_config_map("plant");
    eventually("agents are asked to report again", || async {
        let found = api.get(&metadata).await.unwrap();
        found.annotations().contains_key("stoker.io/reports-wanted").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_controller_that_starts_again_writes_nothing_to_a_healthy_plant() {
    let mut plant = plant().await;
    let pod = plant.world.gateway("ignition-0", "plant").await;
    plant.world.report_synced(&pod, "plant").await;
    plant.world.until_reason("plant", ConditionType::Ready, "AllSynced").await;
    let before = plant.world.get("plant").await.resource_version();
    eventually("the gateway was told", || async {
        (!events(&plant.world, "GatewaysDiscovered").await.is_empty()).then_some(())
    })
    .await;
    plant.world.restart();
    let second = plant.repo.commit(version("2")).unwrap();
    // The first thing that it changes is the commit that came meanwhile.
    let metadata = plant.world.until_announced("plant", &second).await;
    assert_eq!(metadata.commit.unwrap().as_str(), second.as_str());
    let sync = plant.world.until("plant", "the status follows", |status| {
        status.resolved_commit.as_deref() == Some(second.as_str())
    });
    assert_ne!(sync.await.resource_version(), before);
    let told = events(&plant.world, "GatewaysDiscovered").await;
    assert_eq!(told.len(), 1, "nothing is told twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sync_profile_reaches_its_gateways_and_says_who_uses_it() {
    let plant = plant().await;
    let world = &plant.world;
    let press = profile().mapping("press", "projects");
    world.create(&sync_profile("press", press).build()).await;
    let pod = gateway_pod("ignition-0").cr("plant").sync_profile("press").injected();
    world.pod(pod.build()).await;
    eventually("agents are given the SyncProfile", || async {
        let metadata = world.metadata("plant").await?;
        metadata.sync_profiles.contains_key("press").then_some(())
    })
    .await;
    let api = world.api::<SyncProfile>();
    eventually("the SyncProfile says who uses it", || async {
        let status = api.get("press").await.unwrap().status?;
        let is_valid = status.conditions.first()?.status == "True";
        (is_valid && status.gateways == Some(1)).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_sync_profile_concerns_only_the_gateways_that_name_it() {
    let plant = plant().await;
    let world = &plant.world;
    // What CEL can't say: a template that calls what does not exist.
    let broken = profile().mapping("{{nothing .GatewayName}}", "projects");
    world.create(&sync_profile("broken", broken).build()).await;
    let named = gateway_pod("ignition-0").cr("plant").sync_profile("broken").injected();
    world.pod(named.build()).await;
    let usual = world.gateway("ignition-1", "plant").await;
    world.report_synced(&usual, "plant").await;
    let sync = world.until("plant", "one gateway works, one has failed", |status| {
        status.gateways.is_some_and(|count| (count.synced, count.failed) == (1, 1))
    });
    let status = sync.await.status.unwrap();
    assert!(is_true(&status, ConditionType::ProfilesValid), "those of the GatewaySync are");
    let found =
        |pod: &str| status.discovered_gateways.iter().find(|it| it.pod_name == pod).unwrap();
    assert_eq!(found("ignition-1").sync_status, Some(SyncStatus::Synced));
    let message = found("ignition-0").message.clone().unwrap_or_default();
    assert!(message.contains("broken"), "{message}");
    assert!(!world.metadata("plant").await.unwrap().sync_profiles.contains_key("broken"));
}

// C12, R34: equal gateway names are flagged on both pods, and each keeps a report of its own.
#[tokio::test(flavor = "multi_thread")]
async fn gateways_of_one_name_and_of_two_gateway_syncs_are_kept_apart() {
    let plant = plant().await;
    let world = &plant.world;
    let url = world.get("plant").await.spec.git.repo;
    world.sync(quiet_sync("other", &url)).await;
    world.until_announced("other", &plant.first).await;
    let named = |pod: &str, sync: &str| gateway_pod(pod).cr(sync).gateway_name("press").injected();
    let first = world.pod(named("press-0", "plant").build()).await;
    world.pod(named("press-1", "plant").build()).await;
    world.pod(named("press-2", "other").build()).await;
    world.report_synced(&first, "plant").await;
    let sync = world.until("plant", "one of two is synced", |status| {
        status.gateways.is_some_and(|count| (count.discovered, count.synced) == (2, 1))
    });
    let status = sync.await.status.unwrap();
    let found = |pod: &str| status.discovered_gateways.iter().find(|it| it.pod_name == pod);
    assert_eq!(found("press-0").unwrap().sync_status, Some(SyncStatus::Synced));
    assert_eq!(found("press-1").unwrap().sync_status, Some(SyncStatus::Pending));
    for (pod, twin) in [("press-0", "press-1"), ("press-1", "press-0")] {
        let message = found(pod).unwrap().message.clone().unwrap_or_default();
        assert!(message.ends_with(&format!("pod {twin} has the same gateway name")), "{message}");
    }
    let other = world.until("other", "it has its own gateway", |status| {
        status.gateways.is_some_and(|count| count.discovered == 1)
    });
    assert_eq!(other.await.status.unwrap().discovered_gateways[0].pod_name, "press-2");
}
