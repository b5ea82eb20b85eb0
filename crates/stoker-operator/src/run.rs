//! Starts the parts of the operator, and ends them in order.

use std::fmt::{self, Debug, Formatter};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use prometheus_client::registry::Registry;
use stoker_runtime::admin::{Admin, Checks};
use stoker_runtime::lease::{Leadership, Settings, Timing};
use stoker_runtime::{Shutdown, client, listener, telemetry, tls};
use tokio::task::{JoinError, JoinSet};

use crate::args::{Arguments, Command};
use crate::bootstrap::Bootstrap;
use crate::directory::Directory;
use crate::{admission, certificate, check, controller, crds, defaults, receiver, release};

/// Reconciling waits for the API server most of the time.
const THREADS: usize = 2;

/// Why the operator ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("--defaults-file can't be used")]
    DefaultsFile(#[source] defaults::Error),
    #[error("failed to set logs up")]
    Telemetry(#[source] telemetry::Error),
    #[error("failed to start the runtime")]
    Runtime(#[source] io::Error),
    #[error("failed to connect to the API server")]
    Client(#[source] client::Error),
    #[error("failed to listen")]
    Listen(#[source] listener::Error),
    #[error("the controller failed")]
    Controller(#[source] controller::Error),
    #[error("the admission webhook failed")]
    Admission(#[source] admission::Error),
    #[error("the receiver failed")]
    Receiver(#[source] receiver::Error),
    #[error("failed to handle the custom resource definitions")]
    Crds(#[source] crds::Error),
    #[error("the installation does not work")]
    Check(#[source] check::Error),
    #[error("failed to release what the operator holds")]
    Release(#[source] release::Error),
    #[error("a part of the operator panicked")]
    Panic(#[source] JoinError),
}

/// What every part of the operator shares.
#[derive(Clone)]
pub(crate) struct Shared {
    /// The Kubernetes client.
    pub(crate) client: Client,
    /// The namespace of the operator.
    pub(crate) namespace: String,
    /// The name of this instance.
    pub(crate) identity: String,
    /// Namespaces that are served; empty means all.
    pub(crate) watch_namespaces: Vec<String>,
    /// Labels of the GatewaySyncs that are served.
    pub(crate) watch_label_selector: Option<String>,
    /// Cluster-wide defaults.
    pub(crate) defaults: defaults::Current,
    /// Health and readiness.
    pub(crate) checks: Checks,
    /// Whether this instance leads.
    pub(crate) leadership: Leadership,
    /// The certificate of the admission webhook.
    pub(crate) certificate: tls::Certificate,
    /// When to end.
    pub(crate) shutdown: Shutdown,
}

impl Debug for Shared {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Self { namespace, identity, watch_namespaces, watch_label_selector, .. } = self;
        formatter
            .debug_struct("Shared")
            .field("namespace", namespace)
            .field("identity", identity)
            .field("watch_namespaces", watch_namespaces)
            .field("watch_label_selector", watch_label_selector)
            .finish_non_exhaustive()
    }
}

/// Runs the operator, or the command that was given instead.
pub(crate) fn run(arguments: Arguments) -> Result<(), Error> {
    if let Some(name) = &arguments.process.cluster_name {
        telemetry::name_cluster(name);
    }
    arguments.telemetry.init().map_err(Error::Telemetry)?;
    if let Some(Command::Crds(crds::Command::Print)) = arguments.command {
        return crds::print().map_err(Error::Crds);
    }
    tls::provider();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build()
        .map_err(Error::Runtime)?;
    runtime.block_on(start(arguments))
}

async fn start(arguments: Arguments) -> Result<(), Error> {
    let client = client::connect(client::Retry::STANDARD).await.map_err(Error::Client)?;
    match arguments.command {
        Some(Command::Crds(_)) => crds::apply(client).await.map_err(Error::Crds),
        Some(Command::Check(ref given)) => check::run(&client, given).await.map_err(Error::Check),
        Some(Command::Release(ref given)) => {
            release::run(&client, given).await.map_err(Error::Release)
        }
        None => operate(client, arguments).await,
    }
}

async fn operate(client: Client, arguments: Arguments) -> Result<(), Error> {
    let file = arguments.process.defaults_file.as_deref();
    let defaults =
        defaults::start(file, &arguments.telemetry.log_level).map_err(Error::DefaultsFile)?;
    let shutdown = Shutdown::on_signals().map_err(Error::Runtime)?;
    let shared = share(client, &arguments, defaults, shutdown);
    let cluster = arguments.process.cluster_name.iter();
    let labels = cluster.map(|name| ("cluster".into(), name.clone().into()));
    let mut registry = Registry::with_labels(labels);
    let mut parts = JoinSet::new();
    let bootstrap = Bootstrap::start(&shared, &arguments, &mut registry);
    if arguments.mode.has_controller() {
        let metrics = controller::Metrics::register(&mut registry);
        let settings = controller::Settings::new(&arguments);
        if let Some(bootstrap) = bootstrap.clone() {
            parts.spawn(async {
                bootstrap.control().await;
                Ok(())
            });
        }
        let part = controller::run(shared.clone(), settings, metrics, bootstrap.clone());
        let part = Box::pin(part);
        let leadership = shared.leadership.clone();
        parts.spawn(async move {
            let ended = part.await;
            // Not later: servers go on for some seconds, and another instance is to take over.
            leadership.release().await;
            ended.map_err(Error::Controller)
        });
    }
    // Also beside a controller alone: its leader makes the certificate of separate webhooks.
    let serves = arguments.mode.has_webhook() && arguments.admission.webhook_port != 0;
    if let Some(role) = arguments.certificate.role(serves) {
        // A gauge that nothing sets would read as a certificate of 1970.
        let metrics = if arguments.certificate.is_made() {
            certificate::Metrics::register(&mut registry)
        } else {
            certificate::Metrics::default()
        };
        let part = certificate::run(shared.clone(), arguments.certificate.clone(), role, metrics);
        parts.spawn(async {
            part.await;
            Ok(())
        });
    }
    if arguments.mode.has_webhook() {
        spawn_webhook(&mut parts, &shared, &arguments, bootstrap, &mut registry);
    }
    spawn_admin(&mut parts, &shared, &arguments, registry)?;
    let ended = wait(&mut parts).await;
    shared.leadership.release().await;
    ended
}

fn share(
    client: Client,
    arguments: &Arguments,
    defaults: defaults::Current,
    shutdown: Shutdown,
) -> Shared {
    let process = arguments.process.clone();
    let namespace = process.namespace.unwrap_or_else(|| client.default_namespace().to_owned());
    let identity = process.identity.unwrap_or_else(|| format!("stoker-{}", std::process::id()));
    let leadership = if !arguments.mode.has_controller() {
        // The Lease is the controller's: a webhook that held it would keep every controller idle.
        Leadership::never()
    } else if process.leader_elect {
        let mut settings = Settings::new(&namespace, &arguments.lease(), &identity);
        settings.timing = timing(process.lease_seconds);
        Leadership::seek(client.clone(), settings)
    } else {
        Leadership::always()
    };
    Shared {
        client,
        namespace,
        identity,
        watch_namespaces: process.watch_namespaces,
        watch_label_selector: process.watch_label_selector,
        defaults,
        checks: Checks::default(),
        leadership,
        certificate: tls::Certificate::default(),
        shutdown,
    }
}

/// The usual proportions: a leader gives up well before another instance may take over.
fn timing(seconds: u16) -> Timing {
    let duration = Duration::from_secs(seconds.into());
    Timing { duration, renew_within: duration * 2 / 3, retry: duration * 2 / 15 }
}

fn spawn_webhook(
    parts: &mut JoinSet<Result<(), Error>>,
    shared: &Shared,
    arguments: &Arguments,
    bootstrap: Option<Bootstrap>,
    registry: &mut Registry,
) {
    let directory = Directory::start(shared);
    let metrics = admission::Metrics::register(registry);
    let given = arguments.admission.clone();
    let part = admission::run(shared.clone(), directory.clone(), given, metrics, bootstrap);
    parts.spawn(async { part.await.map_err(Error::Admission) });
    let metrics = receiver::Metrics::register(registry);
    let part = receiver::run(shared.clone(), directory, arguments.receiver.clone(), metrics);
    parts.spawn(async { part.await.map_err(Error::Receiver) });
}

fn spawn_admin(
    parts: &mut JoinSet<Result<(), Error>>,
    shared: &Shared,
    arguments: &Arguments,
    registry: Registry,
) -> Result<(), Error> {
    let health = Admin::default().with_checks(shared.checks.clone());
    let metrics = Admin::default().with_metrics(Arc::new(registry));
    let addresses = &arguments.admin;
    for (address, admin) in
        [(addresses.health_probe_bind_address, health), (addresses.metrics_bind_address, metrics)]
    {
        if let Some(listener) = listener::bind(address).map_err(Error::Listen)? {
            let shutdown = shared.shutdown.clone();
            parts.spawn(async move {
                admin.serve(listener, shutdown).await;
                Ok(())
            });
        }
    }
    Ok(())
}

/// Waits until every part has ended, which they do on shutdown, or until one fails.
async fn wait(parts: &mut JoinSet<Result<(), Error>>) -> Result<(), Error> {
    while let Some(ended) = parts.join_next().await {
        ended.map_err(Error::Panic)??;
    }
    Ok(())
}
