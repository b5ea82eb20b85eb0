//! P26: a new version of the pull secret reaches every namespace, by one write each.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt as _;
use kube::api::{Api, ListParams, PartialObjectMeta};
use stoker_api::names::Annotation;
use stoker_bench::finding::{Bar, Finding, Unit};
use stoker_bench::program::run;

use crate::World;

const NAMESPACES: usize = 1000;
const LIMIT: Duration = Duration::from_secs(5);
const WITHIN: Duration = Duration::from_mins(4);
const INTERVAL: Duration = Duration::from_millis(50);

/// Measures it.
pub(crate) async fn measure(world: &mut World) -> anyhow::Result<Vec<Finding>> {
    let count = if world.is_quick { 100 } else { NAMESPACES };
    world.add_namespaces(count).await?;
    wait(world, count, None).await?;
    let before = origins(world).await?.into_iter().next().context("there is a copy")?;
    let writes = writes(world)?;
    let begun = Instant::now();
    world.pull_secret("second").await?;
    wait(world, count, Some(&before)).await?;
    let took = begun.elapsed();
    // The copies of earlier namespaces, such as the sources', count as well.
    let copies = origins(world).await?.len();
    tokio::time::sleep(LIMIT).await;
    // One is ours: the source.
    let more = self::writes(world)? - writes - 1.0 - to_float(copies);
    let unchanged = self::writes(world)?;
    world.restart()?;
    world.serves().await?;
    tokio::time::sleep(2 * LIMIT).await;
    let idle = self::writes(world)? - unchanged;
    let bar = |claim: String, limit, unit| Bar { id: "P26", claim, limit, unit };
    let limit = LIMIT.as_secs_f64() * 1e3;
    let claim = format!("a new pull secret in {count} namespaces");
    let value = took.as_secs_f64() * 1e3;
    Ok(vec![
        bar(claim, limit, Unit::Milliseconds).judge(value, format!("{copies} copies")),
        bar("writes beyond one per namespace".to_owned(), 0.0, Unit::Count)
            .judge(more.abs(), "counted by the API server".to_owned()),
        bar("writes after a restart with nothing to do".to_owned(), 0.0, Unit::Count)
            .judge(idle, "counted by the API server".to_owned()),
    ])
}

/// Waits until this many copies have another origin than this.
async fn wait(world: &World, count: usize, other_than: Option<&str>) -> anyhow::Result<()> {
    let begun = Instant::now();
    loop {
        let origins = origins(world).await?;
        let done = origins.iter().filter(|origin| Some(&***origin) != other_than).count();
        if done >= count && done == origins.len() {
            return Ok(());
        }
        ensure!(begun.elapsed() < WITHIN, "{done} of {count} namespaces after {WITHIN:?}");
        tokio::time::sleep(INTERVAL).await;
    }
}

/// What every copy of the pull secret says about its content.
async fn origins(world: &World) -> anyhow::Result<Vec<String>> {
    let api: Api<Secret> = Api::all(world.client.clone());
    let copies = ListParams::default().labels("stoker.io/replica=bootstrap");
    // From the API server's memory, so that measuring costs little.
    let copies = copies.match_any();
    let listed = api.list_metadata(&copies).await?;
    let origin = |copy: &PartialObjectMeta<Secret>| {
        copy.annotations().get(Annotation::ReplicaOf.as_str()).cloned().unwrap_or_default()
    };
    Ok(listed.items.iter().map(origin).collect())
}

/// How often a Secret was written, as the API server counts.
fn writes(world: &World) -> anyhow::Result<f64> {
    let metrics = run(world.system.kubectl().args(["get", "--raw", "/metrics"]))?.stdout;
    let metrics = String::from_utf8_lossy(&metrics).into_owned();
    let verbs = ["APPLY", "PATCH", "POST", "PUT"];
    let is_write = |line: &&str| {
        line.starts_with("apiserver_request_total{")
            && line.contains("resource=\"secrets\"")
            && verbs.iter().any(|verb| line.contains(&format!("verb=\"{verb}\"")))
    };
    let counts = metrics.lines().filter(is_write);
    Ok(counts.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum())
}

fn to_float(count: usize) -> f64 {
    u32::try_from(count).unwrap_or(u32::MAX).into()
}
