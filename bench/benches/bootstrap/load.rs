//! Requests straight to the webhook.

use stoker_bench::finding::{Bar, Finding, Unit};
use stoker_bench::webhook::{CONNECTIONS, Load, PER_SECOND};

use crate::World;

pub(crate) const PATH: &str = "/bootstrap-v1-pod";
/// Pods per second, with the client on the same two cores.
const RATE: f64 = 3000.0;
/// Milliseconds that one of a hundred may take at most.
const P99: f64 = 5.0;

/// Requests that come whether or not earlier ones are answered.
pub(crate) async fn latency(world: &World) -> anyhow::Result<Finding> {
    let claim = format!("{PER_SECOND} pods/s over {CONNECTIONS} TLS connections, 99th percentile");
    let bar = Bar { id: "latency", claim, limit: P99, unit: Unit::Milliseconds };
    load(world).await?.judge_latency(bar).await
}

/// Every connection sends its next request when the last one is answered.
pub(crate) async fn rate(world: &World) -> anyhow::Result<Finding> {
    let bar = Bar::ratio("rate", format!("{RATE:.0} pods/s, to what is reached"), 1.0);
    load(world).await?.judge_rate(bar, RATE).await
}

async fn load(world: &World) -> anyhow::Result<Load> {
    Ok(Load {
        port: world.port,
        bundle: world.bundle().await?,
        path: PATH,
        body: world.review().into(),
        seconds: if world.is_quick { 4 } else { 30 },
    })
}
