//! Pod bootstrap: every pod pulls from the right registry and trusts the right certificates.
//!
//! # Flow
//! `view` keeps what every process knows without asking: the policy, the namespaces and the copies.
//! `handler` answers `POST /bootstrap-v1-pod` from it. In the controller `source` follows the pull
//! secret and the certificates, `replicator` copies them to the namespaces, `census` counts pods by
//! their mark, `housekeeping` names those that are to be restarted, and `status` publishes all of
//! it. Deciding is `stoker_core::bootstrap`'s.
//!
//! # Promises
//! - A pod is never refused because of us: what fails admits it unchanged, and says so.
//! - A policy that is invalid changes nothing: the last valid one stays in force, also in a new
//!   process.
//! - An object that does not carry our label is never written or removed.

mod census;
mod event;
mod handler;
mod housekeeping;
mod last_valid;
mod metrics;
mod object;
mod replicator;
mod source;
mod status;
mod view;

use std::sync::Arc;

use kube::Client;
use prometheus_client::registry::Registry;
use stoker_core::bootstrap::Scope;
use stoker_runtime::Shutdown;
use stoker_runtime::lease::Leadership;
use tokio::task::JoinSet;

use crate::controller::Shard;
use crate::run::Shared;
use census::Census;
use event::Events;
pub(crate) use metrics::Metrics;
use replicator::Replicator;
use source::Sources;
use view::View;

/// Namespaces that are worked on at once.
const WORKERS: usize = 16;

/// The arguments of pod bootstrap.
#[derive(Debug, Clone, clap::Args)]
#[group(id = "pod-bootstrap")]
pub(crate) struct Arguments {
    /// Adapt the pods of all namespaces as the `PodBootstrap` named `default` says
    #[arg(long, env = "STOKER_BOOTSTRAP")]
    pub(crate) bootstrap: bool,

    /// Adapt pods in kube-system, too
    #[arg(long, env = "STOKER_BOOTSTRAP_KUBE_SYSTEM")]
    pub(crate) bootstrap_kube_system: bool,
}

/// Pod bootstrap in one process. Clones share it.
#[derive(Clone)]
pub(crate) struct Bootstrap(Arc<Inner>);

struct Inner {
    client: Client,
    scope: Scope,
    shard: Option<Shard>,
    leadership: Leadership,
    shutdown: Shutdown,
    /// The `MutatingWebhookConfiguration` of the webhook.
    webhook: Option<String>,
    view: View,
    sources: Sources,
    replicator: Replicator,
    census: Census,
    events: Events,
    metrics: Metrics,
}

impl std::fmt::Debug for Bootstrap {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Bootstrap").field("scope", &self.0.scope).finish_non_exhaustive()
    }
}

impl Bootstrap {
    /// Starts to watch, and returns at once; none where bootstrap is off.
    pub(crate) fn start(
        shared: &Shared,
        arguments: &crate::args::Arguments,
        registry: &mut Registry,
    ) -> Option<Self> {
        let Arguments { bootstrap, bootstrap_kube_system } = arguments.bootstrap;
        if !bootstrap {
            return None;
        }
        let metrics = Metrics::register(registry);
        let bootstrap = Self(Arc::new(Inner {
            client: shared.client.clone(),
            scope: Scope {
                own: shared.namespace.clone(),
                includes_kube_system: bootstrap_kube_system,
            },
            shard: arguments.controller.shard,
            leadership: shared.leadership.clone(),
            shutdown: shared.shutdown.clone(),
            webhook: arguments.certificate.webhook_configuration.clone(),
            view: View::new(shared.checks.readiness("bootstrap")),
            sources: Sources::default(),
            replicator: Replicator::default(),
            census: Census::default(),
            events: Events::start(shared),
            metrics,
        }));
        view::watch(&bootstrap, arguments.mode.has_controller());
        Some(bootstrap)
    }

    /// Copies, counts and publishes while this instance leads, until the end is requested.
    pub(crate) async fn control(self) {
        let shutdown = self.0.shutdown.clone();
        tokio::select! {
            () = self.lead() => {}
            () = shutdown.requested() => {}
        }
    }

    async fn lead(&self) {
        let inner = &self.0;
        inner.view.listed().await;
        loop {
            inner.leadership.acquired().await;
            // What an earlier term knew may be older than what another leader did since.
            inner.sources.forget();
            inner.replicator.forget();
            self.wake_all();
            let mut tasks = JoinSet::new();
            for _ in 0..WORKERS {
                tasks.spawn(replicator::work(self.clone()));
            }
            tasks.spawn(source::follow(self.clone()));
            tasks.spawn(census::follow(self.clone()));
            tasks.spawn(status::follow(self.clone()));
            tasks.spawn(last_valid::follow(self.clone()));
            inner.leadership.lost().await;
            tasks.shutdown().await;
        }
    }

    /// Has every namespace looked at.
    fn wake_all(&self) {
        for namespace in self.0.view.namespaces() {
            self.0.replicator.wake(&namespace);
        }
        self.0.view.changed();
    }
}
