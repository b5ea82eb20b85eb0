//! Requests straight to a webhook, over TLS connections that stay open.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use hyper::body::Bytes;
use stoker_testkit::https::{Connection, trusting};
use tokio::task::JoinSet;

use crate::finding::{Bar, Finding};

/// Connections of the open loop.
pub const CONNECTIONS: usize = 100;
/// Requests per second of the open loop.
pub const PER_SECOND: u32 = 500;
/// Connections of the closed loop: enough to keep both cores busy.
const BUSY: usize = 16;

/// A webhook on loopback, and one request to it.
#[derive(Debug, Clone)]
pub struct Load {
    /// Where it listens.
    pub port: u16,
    /// The CAs that signed its certificate, as PEM.
    pub bundle: String,
    /// The path of the request.
    pub path: &'static str,
    /// The body of the request.
    pub body: Bytes,
    /// How long requests are sent.
    pub seconds: u32,
}

impl Load {
    /// Sends at fixed moments, whether or not earlier requests are answered, and judges the 99th
    /// percentile of the time from the moment to the response.
    pub async fn judge_latency(self, bar: Bar) -> anyhow::Result<Finding> {
        let total = PER_SECOND * self.seconds;
        let connections = self.connect(CONNECTIONS).await?;
        let begin = tokio::time::Instant::now() + Duration::from_millis(200);
        let mut tasks = JoinSet::new();
        for (first, mut connection) in (0..).zip(connections) {
            let load = self.clone();
            tasks.spawn(async move {
                let mut took = Vec::new();
                for number in (first..total).step_by(CONNECTIONS) {
                    let moment = begin + Duration::from_secs(1) * number / PER_SECOND;
                    tokio::time::sleep_until(moment).await;
                    // The timer has whole milliseconds: what it oversleeps is not the webhook's.
                    let sent = moment.max(tokio::time::Instant::now() - Duration::from_millis(1));
                    send(&mut connection, load.path, &load.body).await?;
                    took.push(sent.elapsed());
                }
                anyhow::Ok(took)
            });
        }
        let mut took = Vec::new();
        while let Some(task) = tasks.join_next().await {
            took.extend(task??);
        }
        took.sort_unstable();
        let at = |percent: usize| {
            let place = (took.len() * percent / 100).min(took.len() - 1);
            took[place].as_secs_f64() * 1e3
        };
        let measured = format!("{} requests, median {:.2} ms", took.len(), at(50));
        Ok(bar.judge(at(99), measured))
    }

    /// Sends on every connection as soon as the last request is answered, and judges the rate.
    pub async fn judge_rate(self, bar: Bar, least: f64) -> anyhow::Result<Finding> {
        let duration = Duration::from_secs(self.seconds.into());
        let connections = self.connect(BUSY).await?;
        let end = Instant::now() + duration;
        let mut tasks = JoinSet::new();
        for mut connection in connections {
            let load = self.clone();
            tasks.spawn(async move {
                let mut answered = 0_u32;
                while Instant::now() < end {
                    send(&mut connection, load.path, &load.body).await?;
                    answered += 1;
                }
                anyhow::Ok(answered)
            });
        }
        let mut answered = 0;
        while let Some(task) = tasks.join_next().await {
            answered += task??;
        }
        let rate = f64::from(answered) / duration.as_secs_f64();
        Ok(bar.judge(least / rate, format!("{rate:.0}/s, client included")))
    }

    async fn connect(&self, count: usize) -> anyhow::Result<Vec<Connection>> {
        let trusted = trusting(&self.bundle)?;
        let mut connections = Vec::with_capacity(count);
        for _ in 0..count {
            connections.push(Connection::open(self.port, Arc::clone(&trusted)).await?);
        }
        Ok(connections)
    }
}

/// Sends one request, and fails unless it succeeds.
pub async fn send(connection: &mut Connection, path: &str, body: &Bytes) -> anyhow::Result<()> {
    let answer = connection.post(path, body.clone()).await?;
    ensure!(answer.status.is_success(), "the webhook answered {}", answer.status);
    Ok(())
}
