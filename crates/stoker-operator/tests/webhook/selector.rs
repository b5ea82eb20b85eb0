//! Claims about GatewaySyncs that the label selector leaves out.

use kube::api::{Patch, PatchParams};
use serde_json::json;
use stoker_api::GatewaySync;
use stoker_api::names::Annotation;
use stoker_testkit::object::gateway_pod;

use crate::receiver::{key_file, plant};
use crate::world::{World, agent, until};

#[tokio::test(flavor = "multi_thread")]
async fn webhook_and_receiver_serve_what_the_label_selector_takes_and_nothing_else() {
    let file = key_file("wide");
    let world = World::with(&[
        "--watch-label-selector=team=press".to_owned(),
        format!("--receiver-hmac-file={}", file.path().display()),
    ])
    .await;
    world.sync(plant()).await;
    let push = async || world.generic("plant", "wide", r#"{"ref":"main"}"#).await.status;
    assert_eq!(push().await, 404, "the administrator's secret opens no GatewaySync of others");
    let pod = world.pod(gateway_pod("other").cr("plant")).await.unwrap();
    assert!(agent(&pod).is_none(), "another operator may serve this one");
    assert_eq!(world.annotation(Annotation::RecheckAt).await, None);

    let label = json!({ "metadata": { "labels": { "team": "press" } } });
    let api = world.api::<GatewaySync>();
    api.patch("plant", &PatchParams::default(), &Patch::Merge(label)).await.unwrap();
    until("the receiver serves it", async || (push().await == 202).then_some(())).await;
    until("it is written", async || world.annotation(Annotation::RecheckAt).await).await;
    until("the webhook serves it", async || world.injects().await.then_some(())).await;
}
