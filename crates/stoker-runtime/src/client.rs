//! The Kubernetes client of every program.
//!
//! # Promises
//! A peer that vanished is noticed within 30 s: keep-alive probes after 15 s, three of them 5 s
//! apart, and unacknowledged data for at most 30 s. A watch may be silent for as long as its peer
//! is there, so there is no read timeout. Requests are retried as `retry` says, and not as the
//! library would.

mod pod;
mod retry;

use std::time::Duration;

use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{ClientBuilder, ConfigExt as _};
use kube::{Client, Config};
use tower::ServiceBuilder;
use tower::retry::RetryLayer;

pub use retry::Retry;

const KEEP_ALIVE_AFTER: Duration = Duration::from_secs(15);
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEP_ALIVE_PROBES: u32 = 3;
const UNACKNOWLEDGED_FOR: Duration = Duration::from_secs(30);
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
const IDLE_CONNECTIONS_FOR: Duration = Duration::from_mins(1);

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither a kubeconfig nor a service account was found.
    #[cfg(not(feature = "small"))]
    #[error(
        "found no way to the API server: run in a pod with a service account ({pod}), or set \
         KUBECONFIG"
    )]
    NoWay {
        /// Why there is no kubeconfig.
        #[source]
        kubeconfig: Box<kube::config::KubeconfigError>,
        /// Why this is no pod.
        pod: Box<pod::Error>,
    },
    /// No service account was found.
    #[cfg(feature = "small")]
    #[error("found no way to the API server: run in a pod with a service account")]
    NoWay(#[source] Box<pod::Error>),
    /// The configuration can't be used.
    #[error("failed to set the Kubernetes client up for {url}")]
    SetUp {
        /// The API server.
        url: String,
        /// What the library said.
        source: Box<kube::Error>,
    },
}

/// Connects as the kubeconfig says, or as the pod's service account. What ships reads no
/// kubeconfig.
#[cfg(not(feature = "small"))]
pub async fn connect(retry: Retry) -> Result<Client, Error> {
    match Config::from_kubeconfig(&kube::config::KubeConfigOptions::default()).await {
        Ok(config) => build(config, retry),
        Err(source) => pod::connect(retry).map_err(|pod| {
            let (kubeconfig, pod) = (Box::new(source), Box::new(pod));
            Error::NoWay { kubeconfig, pod }
        }),
    }
}

/// Connects as the pod's service account.
#[cfg(feature = "small")]
pub async fn connect(retry: Retry) -> Result<Client, Error> {
    pod::connect(retry).map_err(|error| Error::NoWay(Box::new(error)))
}

/// Builds a client from a configuration.
pub fn build(config: Config, retry: Retry) -> Result<Client, Error> {
    let url = config.cluster_url.to_string();
    assemble(config, retry).map_err(|source| Error::SetUp { url, source: Box::new(source) })
}

fn assemble(config: Config, retry: Retry) -> kube::Result<Client> {
    crate::crypto::provider();
    let https = config.rustls_https_connector_with_connector(connector())?;
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .layer(RetryLayer::new(retry))
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(tower::BoxError::from)
        .service(transport(https));
    Ok(ClientBuilder::new(service, config.default_namespace).build())
}

/// Sends requests over connections of this kind.
fn transport<C>(connector: C) -> hyper_util::client::legacy::Client<C, kube::client::Body>
where
    C: Connect + Clone,
{
    hyper_util::client::legacy::Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_CONNECTIONS_FOR)
        .build(connector)
}

fn connector() -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(CONNECT_WITHIN));
    connector.set_keepalive(Some(KEEP_ALIVE_AFTER));
    connector.set_keepalive_interval(Some(KEEP_ALIVE_INTERVAL));
    connector.set_keepalive_retries(Some(KEEP_ALIVE_PROBES));
    connector.set_tcp_user_timeout(Some(UNACKNOWLEDGED_FOR));
    connector
}
