//! What 20,000 pods cost the operator.

use std::time::{Duration, Instant};

use anyhow::ensure;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, PostParams};
use stoker_bench::finding::{Bar, Finding, Unit};
use tokio::task::JoinSet;

use crate::World;

const PODS: usize = 20_000;
const LIMIT_MIB: f64 = 24.0;
const WORKERS: usize = 32;
const WITHIN: Duration = Duration::from_mins(2);
/// Buffers that a burst needed are given back.
const SETTLE: Duration = Duration::from_secs(10);

/// Measures it.
pub(crate) async fn measure(world: &mut World) -> anyhow::Result<Finding> {
    let count = if world.is_quick { 1000 } else { PODS };
    world.restart()?;
    world.serves().await?;
    tokio::time::sleep(SETTLE).await;
    let before = world.resident()?;
    let known = world.counted().await?;
    create(world, count).await?;
    let begun = Instant::now();
    while world.counted().await? < known + count {
        ensure!(begun.elapsed() < WITHIN, "not all pods are counted after {WITHIN:?}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    tokio::time::sleep(SETTLE).await;
    let after = world.resident()?;
    let claim = format!("growth of the resident memory by {count} pods");
    let bar = Bar { id: "memory", claim, limit: LIMIT_MIB, unit: Unit::Mebibytes };
    Ok(bar.judge(after - before, format!("{before:.1} to {after:.1} MiB, all counted")))
}

/// Creates pods that the webhook does not see.
async fn create(world: &World, count: usize) -> anyhow::Result<()> {
    let api: Api<Pod> = Api::namespaced(world.client.clone(), world.unserved.name());
    let mut tasks = JoinSet::new();
    for worker in 0..WORKERS {
        let api = api.clone();
        tasks.spawn(async move {
            for number in (worker..count).step_by(WORKERS) {
                let pod = World::pod(&format!("pod-{number}"));
                let pod: Pod = serde_json::from_value(pod)?;
                api.create(&PostParams::default(), &pod).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(task) = tasks.join_next().await {
        task??;
    }
    Ok(())
}
