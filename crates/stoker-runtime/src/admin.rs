//! Health, readiness and metrics over HTTP.
//!
//! `/healthz` answers 200 as long as the process answers and no liveness check fails. `/readyz`
//! answers 200 when every readiness check passes, and otherwise names those that do not.
//! `/metrics` is `OpenMetrics` text.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::{Method, Request, StatusCode};
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;

use crate::Shutdown;
use crate::server::{Handler, Limits, Reply, Server, reply, text};

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// How long probes are answered after a shutdown request.
const LINGER: Duration = Duration::from_secs(3);

/// The checks of a process. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Checks(Arc<Mutex<Vec<Entry>>>);

/// One named check. It fails until [`Check::pass`] is called.
#[derive(Debug, Clone)]
pub struct Check {
    checks: Checks,
    name: &'static str,
}

#[derive(Debug)]
struct Entry {
    name: &'static str,
    of: Probe,
    failure: Option<String>,
}

/// Which probe a check counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Probe {
    Liveness,
    Readiness,
}

/// What an admin server shows.
#[derive(Debug, Default)]
pub struct Admin {
    checks: Option<Checks>,
    metrics: Option<Arc<Registry>>,
    shutdown: Option<Shutdown>,
}

/// The arguments for admin servers.
#[cfg(feature = "arguments")]
#[derive(Debug, Clone, clap::Args)]
#[group(id = "admin")]
pub struct Arguments {
    /// Where metrics are served: `:8080`, `127.0.0.1:8080`, or `0` for not at all
    #[arg(
        long,
        env = "STOKER_METRICS_BIND_ADDRESS",
        value_name = "ADDRESS",
        default_value = ":8080"
    )]
    pub metrics_bind_address: crate::listener::BindAddress,

    /// Where health probes are served: `:8081`, `127.0.0.1:8081`, or `0` for not at all
    #[arg(
        long,
        env = "STOKER_HEALTH_PROBE_BIND_ADDRESS",
        value_name = "ADDRESS",
        default_value = ":8081"
    )]
    pub health_probe_bind_address: crate::listener::BindAddress,
}

impl Checks {
    /// Adds a readiness check, which fails until it is told to pass.
    pub fn readiness(&self, name: &'static str) -> Check {
        self.add(name, Probe::Readiness, Some("not yet".to_owned()))
    }

    /// Adds a liveness check, which passes until it is told to fail.
    pub fn liveness(&self, name: &'static str) -> Check {
        self.add(name, Probe::Liveness, None)
    }

    fn add(&self, name: &'static str, of: Probe, failure: Option<String>) -> Check {
        self.change(|entries| entries.push(Entry { name, of, failure }));
        Check { checks: self.clone(), name }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Vec<Entry>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn respond(&self, probe: Probe) -> Reply {
        let failures = self.change(|entries| {
            let failed = entries.iter().filter(|entry| entry.of == probe);
            let lines = failed.filter_map(|entry| {
                entry.failure.as_ref().map(|reason| format!("{}: {reason}\n", entry.name))
            });
            lines.collect::<String>()
        });
        if failures.is_empty() {
            return text(StatusCode::OK, "ok\n");
        }
        text(StatusCode::SERVICE_UNAVAILABLE, failures)
    }
}

impl Check {
    /// Marks the check as passed.
    pub fn pass(&self) {
        self.set(None);
    }

    /// Marks the check as failed, for this reason.
    pub fn fail(&self, reason: impl Into<String>) {
        self.set(Some(&reason.into()));
    }

    fn set(&self, failure: Option<&str>) {
        self.checks.change(|entries| {
            for entry in entries.iter_mut().filter(|entry| entry.name == self.name) {
                entry.failure = failure.map(str::to_owned);
            }
        });
    }
}

impl Admin {
    /// Shows `/healthz` and `/readyz`.
    #[must_use]
    pub fn with_checks(mut self, checks: Checks) -> Self {
        self.checks = Some(checks);
        self
    }

    /// Shows `/metrics`.
    #[must_use]
    pub fn with_metrics(mut self, registry: Arc<Registry>) -> Self {
        self.metrics = Some(registry);
        self
    }

    /// Serves until the end is requested.
    ///
    /// A process that was asked to end is not ready, and answers probes a little longer than
    /// everything else.
    pub async fn serve(mut self, listener: TcpListener, shutdown: Shutdown) {
        self.shutdown = Some(shutdown.clone());
        let limits = Limits { connections: 64, linger: LINGER, ..Limits::default() };
        Server::new(listener, limits, self).serve(shutdown).await;
    }

    fn is_ending(&self) -> bool {
        self.shutdown.as_ref().is_some_and(Shutdown::is_requested)
    }

    fn answer(&self, method: &Method, path: &str) -> Reply {
        if *method != Method::GET && *method != Method::HEAD {
            return text(StatusCode::METHOD_NOT_ALLOWED, "only GET is served here\n");
        }
        match (path, &self.checks, &self.metrics) {
            ("/healthz" | "/livez", Some(checks), _) => checks.respond(Probe::Liveness),
            ("/readyz", Some(_), _) if self.is_ending() => {
                text(StatusCode::SERVICE_UNAVAILABLE, "shutting down\n")
            }
            ("/readyz", Some(checks), _) => checks.respond(Probe::Readiness),
            ("/metrics", _, Some(registry)) => metrics(registry),
            _ => text(StatusCode::NOT_FOUND, "not found\n"),
        }
    }
}

impl Handler for Admin {
    async fn respond(&self, request: Request<Incoming>, _: SocketAddr) -> Reply {
        self.answer(request.method(), request.uri().path())
    }
}

fn metrics(registry: &Registry) -> Reply {
    let mut body = String::new();
    match prometheus_client::encoding::text::encode(&mut body, registry) {
        Ok(()) => reply(StatusCode::OK, OPEN_METRICS, body),
        Err(_) => text(StatusCode::INTERNAL_SERVER_ERROR, "failed to encode the metrics\n"),
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use prometheus_client::metrics::counter::Counter;

    use super::*;

    async fn ask(admin: &Admin, path: &str) -> (u16, String) {
        let reply = admin.answer(&Method::GET, path);
        let status = reply.status().as_u16();
        let body = reply.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn a_process_is_ready_when_every_check_passes_and_says_what_is_missing() {
        let checks = Checks::default();
        let admin = Admin::default().with_checks(checks.clone());
        let certificate = checks.readiness("certificate");
        let cache = checks.readiness("cache");
        cache.pass();
        assert_eq!(ask(&admin, "/readyz").await, (503, "certificate: not yet\n".to_owned()));
        certificate.pass();
        assert_eq!(ask(&admin, "/readyz").await, (200, "ok\n".to_owned()));
        certificate.fail("expired");
        assert_eq!(ask(&admin, "/readyz").await, (503, "certificate: expired\n".to_owned()));
    }

    #[tokio::test]
    async fn a_process_that_is_ending_is_not_ready() {
        let (trigger, shutdown) = Shutdown::manual();
        let admin = Admin { shutdown: Some(shutdown), ..Admin::default() };
        let admin = admin.with_checks(Checks::default());
        assert_eq!(ask(&admin, "/readyz").await.0, 200);
        trigger.request();
        assert_eq!(ask(&admin, "/readyz").await, (503, "shutting down\n".to_owned()));
        assert_eq!(ask(&admin, "/healthz").await.0, 200);
    }

    #[tokio::test]
    async fn a_process_that_is_not_ready_is_alive() {
        let checks = Checks::default();
        let admin = Admin::default().with_checks(checks.clone());
        checks.readiness("cache");
        assert_eq!(ask(&admin, "/healthz").await.0, 200);
        checks.liveness("loop").fail("stuck for 60 s");
        assert_eq!(ask(&admin, "/healthz").await, (503, "loop: stuck for 60 s\n".to_owned()));
    }

    #[tokio::test]
    async fn metrics_are_open_metrics_text_and_only_where_asked_for() {
        let mut registry = Registry::with_prefix("stoker_agent");
        let counter = Counter::<u64>::default();
        registry.register("sync", "Syncs", counter.clone());
        counter.inc();
        let admin = Admin::default().with_metrics(Arc::new(registry));
        let (status, body) = ask(&admin, "/metrics").await;
        assert_eq!(status, 200);
        assert!(body.contains("stoker_agent_sync_total 1"), "{body}");
        assert_eq!(ask(&admin, "/readyz").await.0, 404);
        assert_eq!(ask(&Admin::default(), "/metrics").await.0, 404);
    }
}
