//! Claims about a controller whose watch has lost a change.

use serde_json::json;
use stoker_api::condition::ConditionType;
use stoker_testkit::proxy::{EventFault, Fault, FaultProxy, Match, Verb};

use crate::gateway::{Plant, plant_in};
use crate::world::{World, cluster};

async fn plant_with(proxy: &FaultProxy, flags: &[&str]) -> Plant {
    let mut world = World::behind(proxy, flags).await;
    world.restart();
    let plant = plant_in(world).await;
    plant.world.until_reason("plant", ConditionType::Ready, "NoGatewaysDiscovered").await;
    plant
}

/// Relabels the GatewaySync, and lets no watch know.
async fn relabel_unnoticed(plant: &Plant, proxy: &FaultProxy) {
    let watches = Match::verb(Verb::Watch).resource("gatewaysyncs");
    let open = u64::try_from(proxy.open_watches(&watches)).unwrap();
    let lost = proxy.fault(watches, Fault::Event(EventFault::Silence));
    plant.world.patch("plant", json!({ "metadata": { "labels": { "line": "two" } } })).await;
    lost.until_hits(open).await;
}

// C2, C5: a status that conflicts with the lost change is written all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_status_is_written_although_the_watch_has_lost_a_change() {
    let proxy = FaultProxy::start(cluster().config().await).unwrap();
    let plant = plant_with(&proxy, &[]).await;
    relabel_unnoticed(&plant, &proxy).await;
    plant.world.gateway("ignition-0", "plant").await;
    let found = plant.world.until("plant", "the gateway is found", |status| {
        status.gateways.is_some_and(|count| count.discovered == 1)
    });
    found.await;
}

// C2: what the label selector leaves out by now is left alone.
#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_sync_that_was_left_out_unnoticed_is_not_taken_back() {
    let proxy = FaultProxy::start(cluster().config().await).unwrap();
    let plant = plant_with(&proxy, &["--watch-label-selector=line!=two"]).await;
    let world = &plant.world;
    relabel_unnoticed(&plant, &proxy).await;
    let left_out = world.get("plant").await;
    proxy.forget();
    world.gateway("ignition-0", "plant").await;
    // After the conflict, the controller takes it for gone, and looks whether it is being deleted.
    proxy.until_count(&Match::verb(Verb::Get).resource("gatewaysyncs").name("plant"), 1).await;
    let conflict = Match::verb(Verb::Patch).resource("gatewaysyncs/status");
    assert_eq!(proxy.count(&conflict), 1, "{:?}", proxy.tally());
    let now = world.get("plant").await;
    assert_eq!(now.metadata.resource_version, left_out.metadata.resource_version);
}
