//! Requests straight to the webhook, over TLS connections that stay open.

use std::time::{Duration, Instant};

use anyhow::ensure;
use hyper::body::Bytes;
use stoker_bench::finding::{Bar, Finding, Unit};
use stoker_testkit::https::Connection;
use tokio::task::JoinSet;

use crate::World;

const PATH: &str = "/mutate-v1-pod";
const CONNECTIONS: usize = 100;
/// Connections of the closed loop: enough to keep both cores busy.
const BUSY: usize = 16;
const PER_SECOND: u32 = 500;
/// Injections per second, with the client on the same two cores.
const RATE: f64 = 3000.0;
/// Milliseconds that one of a hundred may take at most.
const ASKED_P99: f64 = 5.0;
const UNASKED_P99: f64 = 1.0;
/// How coarse the timer is.
const TIMER: Duration = Duration::from_millis(1);

/// P14: requests that come whether or not earlier ones are answered.
pub(crate) async fn latency(world: &World) -> anyhow::Result<Vec<Finding>> {
    let seconds = if world.is_quick { 4 } else { 30 };
    let took = open_loop(world, world.review(true), seconds).await?;
    let claim = format!(
        "injection, {PER_SECOND} requests/s over {CONNECTIONS} TLS connections, 99th percentile"
    );
    let bar = Bar { id: "P14", claim, limit: ASKED_P99, unit: Unit::Milliseconds };
    Ok(vec![judge(bar, took)])
}

/// P15: every connection sends its next request when the last one is answered.
pub(crate) async fn rate(world: &World) -> anyhow::Result<Vec<Finding>> {
    let seconds = if world.is_quick { 4 } else { 30 };
    let body = Bytes::from(world.review(true));
    let connections = world.connect_all(BUSY).await?;
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut tasks = JoinSet::new();
    for mut connection in connections {
        let body = body.clone();
        tasks.spawn(async move {
            let mut answered = 0_u32;
            while Instant::now() < end {
                send(&mut connection, &body).await?;
                answered += 1;
            }
            anyhow::Ok(answered)
        });
    }
    let mut answered = 0;
    while let Some(task) = tasks.join_next().await {
        answered += task??;
    }
    let rate = f64::from(answered) / Duration::from_secs(seconds).as_secs_f64();
    let bar = Bar::ratio("P15", format!("{RATE:.0} injections/s, to what is reached"), 1.0);
    Ok(vec![bar.judge(RATE / rate, format!("{rate:.0}/s, client included"))])
}

/// P16: a pod that does not ask, if it is sent anyway.
pub(crate) async fn unasked(world: &World) -> anyhow::Result<Vec<Finding>> {
    let seconds = if world.is_quick { 4 } else { 30 };
    let took = open_loop(world, world.review(false), seconds).await?;
    let claim = format!("pod without annotation, {PER_SECOND} requests/s, 99th percentile");
    let bar = Bar { id: "P16", claim, limit: UNASKED_P99, unit: Unit::Milliseconds };
    Ok(vec![judge(bar, took)])
}

/// Sends at fixed moments, and returns how long after its moment each request was answered.
async fn open_loop(world: &World, body: String, seconds: u32) -> anyhow::Result<Vec<Duration>> {
    let body = Bytes::from(body);
    let total = PER_SECOND * seconds;
    let connections = world.connect_all(CONNECTIONS).await?;
    let begin = tokio::time::Instant::now() + Duration::from_millis(200);
    let mut tasks = JoinSet::new();
    for (first, mut connection) in (0..).zip(connections) {
        let body = body.clone();
        tasks.spawn(async move {
            let mut took = Vec::new();
            for number in (first..total).step_by(CONNECTIONS) {
                let moment = begin + Duration::from_secs(1) * number / PER_SECOND;
                let is_late = tokio::time::Instant::now() >= moment;
                tokio::time::sleep_until(moment).await;
                // The timer has whole milliseconds: what it rounds up is not the webhook's.
                let woken = tokio::time::Instant::now().min(moment + TIMER);
                let sent = if is_late { moment } else { woken };
                send(&mut connection, &body).await?;
                took.push(sent.elapsed());
            }
            anyhow::Ok(took)
        });
    }
    let mut all = Vec::new();
    while let Some(task) = tasks.join_next().await {
        all.extend(task??);
    }
    Ok(all)
}

pub(crate) async fn send(connection: &mut Connection, body: &Bytes) -> anyhow::Result<()> {
    let answer = connection.post(PATH, body.clone()).await?;
    ensure!(answer.status.is_success(), "the webhook answered {}", answer.status);
    Ok(())
}

fn judge(bar: Bar, mut took: Vec<Duration>) -> Finding {
    took.sort_unstable();
    let at = |percent: usize| {
        let place = (took.len() * percent / 100).min(took.len() - 1);
        took[place].as_secs_f64() * 1e3
    };
    let measured = format!("{} requests, median {:.2} ms", took.len(), at(50));
    bar.judge(at(99), measured)
}
