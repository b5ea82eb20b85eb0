//! The certificate of the admission webhook: from files, or made and renewed by the operator.
//!
//! # Flow (self-managed)
//! The pair and its CA are in one Secret. The leader makes and renews them; an instance that finds
//! no Secret makes one as well, and the API server lets only one of them succeed. Every instance
//! writes the CA into the webhook configurations where it is missing, and loads the pair.
//!
//! # Promises
//! A pair that another CA signed is loaded only when the webhook configurations have carried that
//! CA for a while, so that no handshake fails. The CA that is rotated out stays in the
//! configurations for a day. Secrets are replaced only in the version that was read. An instance is
//! ready when the configurations have carried its CA for a second, so that a pod that is created
//! when the first instance is ready gets an agent.
//!
//! # When it fails
//! The pair that is loaded stays in use, the readiness check `certificate` says what is wrong, and
//! everything is tried again.

mod bundle;
mod issue;
mod keeper;
mod material;
mod plan;

use std::path::PathBuf;

use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use stoker_runtime::admin::Checks;
use stoker_runtime::tls;

use crate::run::Shared;
use keeper::Keeper;

/// The arguments for the certificate of the admission webhook.
#[derive(Debug, Clone, clap::Args)]
#[group(id = "certificate")]
pub(crate) struct Arguments {
    /// A directory with `tls.crt` and `tls.key`, for example from cert-manager; without it the
    /// operator makes its own certificate
    #[arg(long, env = "STOKER_CERT_DIR", value_name = "DIR")]
    pub(crate) cert_dir: Option<PathBuf>,

    /// The Secret with the operator's own certificate, in the operator's namespace
    #[arg(
        long,
        env = "STOKER_CERTIFICATE_SECRET",
        value_name = "NAME",
        default_value = "stoker-webhook-tls"
    )]
    pub(crate) certificate_secret: String,

    /// The Service of the admission webhook: the certificate is for its names
    #[arg(
        long,
        env = "STOKER_WEBHOOK_SERVICE",
        value_name = "NAME",
        default_value = "stoker-webhook-service"
    )]
    pub(crate) webhook_service: String,

    /// The `MutatingWebhookConfiguration` that gets the CA
    #[arg(long, env = "STOKER_WEBHOOK_CONFIGURATION", value_name = "NAME")]
    pub(crate) webhook_configuration: Option<String>,

    /// The `ValidatingWebhookConfiguration` that gets the CA
    #[arg(long, env = "STOKER_VALIDATING_WEBHOOK_CONFIGURATION", value_name = "NAME")]
    pub(crate) validating_webhook_configuration: Option<String>,

    /// Further names and addresses that the certificate is for
    #[arg(long, env = "STOKER_CERTIFICATE_NAMES", value_name = "NAMES", value_delimiter = ',')]
    pub(crate) certificate_names: Vec<String>,
}

/// When the certificate ends. One that cert-manager makes is in the metrics of cert-manager.
#[derive(Debug, Clone, Default)]
pub(crate) struct Metrics {
    expiry: Gauge,
}

impl Metrics {
    /// Registers the metric.
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        let text = "When the certificate of the webhook ends";
        let registry = registry.sub_registry_with_prefix("stoker_webhook");
        registry.register("certificate_expiry_timestamp_seconds", text, metrics.expiry.clone());
        metrics
    }
}

/// What this process does with the certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It serves the admission webhook with it.
    Serve,
    /// It makes it for processes that serve.
    Make,
}

impl Arguments {
    /// Returns what a process does with the certificate, if anything.
    pub(crate) fn role(&self, serves: bool) -> Option<Role> {
        let is_made = self.is_made() && self.webhook_configuration.is_some();
        if serves { Some(Role::Serve) } else { is_made.then_some(Role::Make) }
    }

    /// Says whether the operator makes the certificate itself.
    pub(crate) fn is_made(&self) -> bool {
        self.cert_dir.is_none()
    }

    /// Returns the names that the certificate is for.
    fn names(&self, namespace: &str) -> Vec<String> {
        let service = &self.webhook_service;
        let mut names = vec![
            format!("{service}.{namespace}.svc"),
            format!("{service}.{namespace}.svc.cluster.local"),
            format!("{service}.{namespace}"),
            service.clone(),
        ];
        names.extend(self.certificate_names.iter().cloned());
        names
    }
}

/// Keeps the certificate until the end is requested. Ready is who serves it, not who only makes
/// it for others.
pub(crate) async fn run(shared: Shared, arguments: Arguments, role: Role, metrics: Metrics) {
    let check = match role {
        Role::Serve => shared.checks.readiness("certificate"),
        Role::Make => Checks::default().readiness("certificate"),
    };
    let shutdown = shared.shutdown.clone();
    match &arguments.cert_dir {
        Some(directory) => tls::follow(directory, &shared.certificate, &check, shutdown).await,
        None => Keeper::new(shared, &arguments, check, metrics).run(shutdown).await,
    }
}
