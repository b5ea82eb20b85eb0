//! Claims about the end of a GatewaySync.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, DeleteParams};
use serde_json::json;
use stoker_api::condition::{ConditionType, SyncStatus};
use stoker_api::contract::report::Report;
use stoker_api::names;
use stoker_testkit::git::Repo;
use stoker_testkit::git::http::HttpServer;

use crate::gateway::{plant, plant_in};
use crate::world::{World, eventually, quiet_sync, report_of, version};

#[tokio::test(flavor = "multi_thread")]
async fn without_agents_a_gateway_sync_goes_at_once_and_with_all_that_it_owns() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    let world = World::start().await;
    world.sync(quiet_sync("plant", &server.mount("plant", &repo))).await;
    world.until_announced("plant", &first).await;
    let took = world.delete("plant").await;
    assert!(took < Duration::from_secs(10), "{took:?}");
    let api = world.api::<ConfigMap>();
    for name in [names::metadata_config_map("plant"), names::status_config_map("plant", 0)] {
        eventually("what it owns is gone", || async {
            api.get_opt(&name).await.unwrap().is_none().then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_are_told_and_waited_for() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    let world = World::start().await;
    world.sync(quiet_sync("plant", &server.mount("plant", &repo))).await;
    world.until_announced("plant", &first).await;
    let pod = world.gateway("ignition-0", "plant").await;
    world.report_synced(&pod, "plant").await;
    let agent = async {
        eventually("the agent is told", || async {
            world.metadata("plant").await?.is_terminating.then_some(())
        })
        .await;
        assert!(world.api::<stoker_api::GatewaySync>().get_opt("plant").await.unwrap().is_some());
        let report = report_of(&pod, SyncStatus::Pending);
        world.report("plant", &Report { acknowledged: true, ..report }).await;
    };
    let (took, ()) = tokio::join!(world.delete("plant"), agent);
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_never_acknowledges_does_not_hold_the_deletion_longer_than_its_time() {
    let plant = plant_in(World::with(&["--agents-wait-seconds=3"]).await).await;
    let world = &plant.world;
    let pod = world.gateway("ignition-0", "plant").await;
    world.report_synced(&pod, "plant").await;
    world.until_reason("plant", ConditionType::Ready, "AllSynced").await;
    let took = world.delete("plant").await;
    // The API server rounds the time of a deletion down to a second.
    let within = Duration::from_secs(2)..Duration::from_secs(15);
    assert!(within.contains(&took), "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_with_a_gateway_sync_can_be_deleted() {
    let plant = plant().await;
    let world = &plant.world;
    let namespaces: Api<Namespace> = Api::all(world.client.clone());
    let name = world.namespace.name();
    namespaces.delete(name, &DeleteParams::default()).await.unwrap();
    let api = world.api::<stoker_api::GatewaySync>();
    eventually("the GatewaySync is gone", || async {
        api.get_opt("plant").await.unwrap().is_none().then_some(())
    })
    .await;
}

// The finalizer never outlasts a remote, a Secret or a repository that is gone.
#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_sync_that_never_worked_can_be_deleted() {
    let world = World::start().await;
    world.sync(quiet_sync("plant", "https://127.0.0.1:1/nothing.git").token("absent")).await;
    eventually("it has its finalizer", || async {
        world.get("plant").await.metadata.finalizers.map(drop)
    })
    .await;
    let took = world.delete("plant").await;
    assert!(took < Duration::from_secs(10), "{took:?}");
}

// Another operator may serve it now, so that it gets its time.
#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_sync_that_the_label_selector_leaves_out_can_be_deleted() {
    let world = World::with(&["--watch-label-selector=line=one"]).await;
    let label = |value: &str| json!({ "metadata": { "labels": { "line": value } } });
    world.sync(quiet_sync("plant", "https://127.0.0.1:1/nothing.git")).await;
    world.patch("plant", label("one")).await;
    eventually("it has its finalizer", || async {
        world.get("plant").await.metadata.finalizers.map(drop)
    })
    .await;
    world.patch("plant", label("two")).await;
    world.delete("plant").await;
}
