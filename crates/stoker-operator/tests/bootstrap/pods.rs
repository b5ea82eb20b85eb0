//! Claims about pods that run without the policy, or with an older one.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::world::{World, certificate, until};

// The webhook is away, pods are created, and all of them are reported.
#[tokio::test(flavor = "multi_thread")]
async fn pods_that_the_webhook_missed_are_counted() {
    let mut world = World::start().await;
    let line = world.namespace(&[]).await;
    let pod = world.whole_pod(&line).await;
    world.stop();
    for number in 0..50 {
        world.pod(&line, &format!("missed-{number}"), &json!({})).await;
    }
    let off = json!({ "metadata": { "annotations": { "stoker.io/bootstrap": "disabled" } } });
    world.pod(&line, "off", &off).await;
    world.restart();
    world.ready().await;
    let begun = Instant::now();
    let counts = until("all are counted", async || {
        let pods = world.read_policy().await.status.unwrap_or_default().pods?;
        (pods.missed >= 50).then_some(pods)
    })
    .await;
    assert!(begun.elapsed() < Duration::from_secs(30), "counted after {:?}", begun.elapsed());
    assert!(counts.current >= 1 && counts.opted_out >= 1, "{counts:?}");
    world.reason("PodsCurrent", "PodsMissed").await;
    // K11: other certificates make the others stale.
    let before = counts.stale;
    world.certificates(&certificate("rotated.example")).await;
    until("pods are stale", async || {
        let pods = world.read_policy().await.status.unwrap_or_default().pods?;
        (pods.stale > before).then_some(())
    })
    .await;
    drop(pod);
}
