//! The admission webhook: `POST /mutate-v1-pod` adds the agent to pods that ask for it, and
//! `POST /validate-stoker` checks GatewaySyncs, SyncProfiles and PodBootstraps. `POST
//! /bootstrap-v1-pod` is `crate::bootstrap`'s.
//!
//! Decisions are `stoker_core::admission`'s. This part reads the request, looks GatewaySyncs up in
//! the directory, asks the API server once where the directory knows none, and writes the response.

mod denial;
mod handler;
mod lookup;
mod metrics;
pub(crate) mod response;
mod validate;

use std::time::Duration;

use stoker_core::admission::{Image, Policy, Settings};
use stoker_runtime::listener::{self, BindAddress};
use stoker_runtime::server::{Limits, Server};

use crate::bootstrap::Bootstrap;
use crate::directory::Directory;
use crate::run::Shared;

use denial::Denials;
use handler::{Memory, Webhook};
pub(crate) use metrics::Metrics;

/// How long the endpoints of the Service may still name a process that ends.
const LINGER: Duration = Duration::from_secs(3);

/// The arguments of the admission webhook.
#[derive(Debug, Clone, clap::Args)]
#[group(id = "admission")]
pub(crate) struct Arguments {
    /// The port of the admission webhook (TLS), or 0 for none
    #[arg(long, env = "STOKER_WEBHOOK_PORT", value_name = "PORT", default_value_t = 9443)]
    pub(crate) webhook_port: u16,

    /// What happens to pods with a wrong configuration: admitted with a warning, or denied
    #[arg(long, env = "STOKER_INJECTION_POLICY", value_name = "POLICY", default_value = "lenient")]
    pub(crate) injection_policy: InjectionPolicy,

    /// The image of agents for which neither a GatewaySync nor a pod names one
    #[arg(
        long,
        env = stoker_api::names::DEFAULT_AGENT_IMAGE,
        value_name = "IMAGE",
        default_value = concat!("ghcr.io/stoker-io/stoker-agent:", env!("CARGO_PKG_VERSION"))
    )]
    pub(crate) default_agent_image: Image,

    /// Repositories that the annotation `stoker.io/agent-image` may name; without it those of the
    /// operator's and the GatewaySync's image
    #[arg(
        long,
        env = "STOKER_ALLOWED_AGENT_IMAGES",
        value_name = "REPOSITORIES",
        value_delimiter = ','
    )]
    pub(crate) allowed_agent_images: Vec<String>,

    /// Secrets that the agent's image is pulled with, in the namespaces of the gateways
    #[arg(long, env = "STOKER_AGENT_PULL_SECRET", value_name = "NAMES", value_delimiter = ',')]
    pub(crate) agent_pull_secret: Vec<String>,
}

/// What happens to pods with a wrong configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum InjectionPolicy {
    /// They are admitted with a warning
    Lenient,
    /// They are denied
    Strict,
}

/// Why the admission webhook ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("failed to listen for admission requests")]
    Listen(#[source] listener::Error),
}

impl Arguments {
    /// Returns how agents are injected.
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            default_image: self.default_agent_image.clone(),
            allowed_repositories: self.allowed_agent_images.clone(),
            pull_secrets: self.agent_pull_secret.clone(),
        }
    }

    /// Returns what happens to pods with a wrong configuration.
    pub(crate) fn policy(&self) -> Policy {
        match self.injection_policy {
            InjectionPolicy::Lenient => Policy::Lenient,
            InjectionPolicy::Strict => Policy::Strict,
        }
    }

    fn address(&self) -> BindAddress {
        match self.webhook_port {
            0 => BindAddress::Off,
            port => BindAddress::Any(port),
        }
    }
}

/// Serves until the end is requested.
pub(crate) async fn run(
    shared: Shared,
    directory: Directory,
    arguments: Arguments,
    metrics: Metrics,
    bootstrap: Option<Bootstrap>,
) -> Result<(), Error> {
    let Some(listener) = listener::bind(arguments.address()).map_err(Error::Listen)? else {
        return Ok(());
    };
    let settings = arguments.settings();
    let policy = arguments.policy();
    let memory = Memory::default();
    let denials = Denials::start(shared.client.clone());
    let webhook = Webhook { directory, settings, policy, metrics, memory, denials, bootstrap };
    let limits = Limits {
        connections: 1024,
        // The API server waits 2 s.
        request: Duration::from_secs(3),
        linger: LINGER,
        ..Limits::default()
    };
    let server = Server::new(listener, limits, webhook).with_tls(&shared.certificate);
    server.serve(shared.shutdown).await;
    Ok(())
}
