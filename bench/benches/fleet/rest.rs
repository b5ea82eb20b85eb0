//! P20 and P21: what a fleet at rest asks of the API server and of git servers.

use std::time::{Duration, Instant};

use stoker_bench::finding::{Bar, Finding, Unit};
use stoker_testkit::proxy::{FaultProxy, Match, Verb};

use crate::fleet::Fleet;

/// The least time between two requests of an agent at rest.
const AGENT_WATCH: Duration = Duration::from_mins(20);
const SETTLES: Duration = Duration::from_secs(15);
const WITHIN: Duration = Duration::from_mins(10);

pub(crate) async fn measure(fleet: &mut Fleet<'_>) -> anyhow::Result<Vec<Finding>> {
    fleet.grow(fleet.size.syncs).await?;
    let proxy = FaultProxy::start(fleet.cluster.config().await)?;
    let _operator = fleet.operator_behind(&proxy.kubeconfig())?;
    // On a busy machine the first lists alone take longer.
    let is_busy = || {
        let writes =
            proxy.count(&Match::writes()) - proxy.count(&Match::writes().resource("leases"));
        writes + proxy.count(&Match::verb(Verb::List)) > 0
    };
    let started = Instant::now();
    loop {
        proxy.forget();
        tokio::time::sleep(SETTLES).await;
        if !is_busy() {
            break;
        }
        anyhow::ensure!(started.elapsed() < WITHIN, "no rest: {:?}", proxy.tally());
    }
    proxy.forget();
    fleet.server.take_requests();
    tokio::time::sleep(fleet.size.rest).await;
    let minutes = fleet.size.rest.as_secs_f64() / 60.0;
    let count =
        |want: &Match| -> f64 { u32::try_from(proxy.count(want)).map_or(f64::INFINITY, f64::from) };
    let controller = count(&Match::any()) / minutes;
    let agents = f64::from(u32::try_from(fleet.size.syncs * fleet.size.gateways)?);
    let agents = agents / (AGENT_WATCH.as_secs_f64() / 60.0);
    let writes = count(&Match::writes()) - count(&Match::writes().resource("leases"));
    let discoveries = fleet.server.take_requests().iter().filter(|it| it.is_discovery()).count();
    let queries = f64::from(u32::try_from(discoveries)?) / minutes;
    let bar =
        |id, claim: &str, limit| Bar { id, claim: claim.to_owned(), limit, unit: Unit::Count };
    Ok(vec![
        bar("P20", "requests per minute at rest", 2000.0).judge(
            controller + agents,
            format!("controller {controller:.0} measured, agents {agents:.0} by their interval"),
        ),
        bar("P20", "writes at rest, the Lease apart", 0.0)
            .judge(writes, format!("{:?}", proxy.tally())),
        bar("P21", "remote queries per minute", 6.0)
            .judge(queries, format!("{} repositories, polled every 60 s", fleet.repos.len())),
    ])
}
