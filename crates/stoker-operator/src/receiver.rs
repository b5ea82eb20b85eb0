//! The receiver of push events: `POST /webhook/{namespace}/{name}`.
//!
//! # Flow
//! Authenticate while the body arrives, recognise its format, decide, and write annotations on the
//! GatewaySync. The controller does the rest: a payload only hints.
//!
//! # Promises
//! - Nothing is looked up on the network before a delivery is authenticated, and the response does
//!   not say whether a GatewaySync exists. Every delivery is verified against the same number of
//!   keys.
//! - Memory per delivery is bounded; the body is never held as a whole.
//! - Authenticated deliveries are never refused for their number: writes are coalesced to one per
//!   GatewaySync and second, and the last one counts.
//! - A requested ref is written before its sender hears 202.
//!
//! # When it fails
//! 503 where the API server is away: the sender repeats the delivery, or polling finds the commit.

mod authentication;
mod body;
mod handler;
mod limit;
mod metrics;
mod replay;
mod reply;
mod secret;
mod source;
mod writer;

use std::path::PathBuf;
use std::time::Duration;

use stoker_runtime::listener::{self, BindAddress};
use stoker_runtime::server::{Limits, Server};
use stoker_runtime::tls::{self, Certificate};

use crate::controller::Cidr;
use crate::directory::Directory;
use crate::run::Shared;

use handler::Receiver;
use limit::FailureLimit;
pub(crate) use metrics::Metrics;
use replay::Replays;
use secret::Secrets;
use writer::Writer;

/// The arguments of the receiver.
#[derive(Debug, Clone, clap::Args)]
#[group(id = "receiver")]
pub(crate) struct Arguments {
    /// The port of the receiver of push events, or 0 where this installation has none
    #[arg(long, env = "STOKER_RECEIVER_PORT", value_name = "PORT", default_value_t = 9444)]
    pub(crate) receiver_port: u16,

    /// A file with the secret that push events for every GatewaySync may be signed with
    /// (HMAC-SHA256), read again when it changes
    #[arg(long, env = "STOKER_RECEIVER_HMAC_FILE", value_name = "FILE")]
    pub(crate) receiver_hmac_file: Option<PathBuf>,

    /// A file with the bearer token that push events for every GatewaySync may carry, read again
    /// when it changes
    #[arg(long, env = "STOKER_RECEIVER_TOKEN_FILE", value_name = "FILE")]
    pub(crate) receiver_token_file: Option<PathBuf>,

    /// A directory with `tls.crt` and `tls.key`; without it the receiver serves plain HTTP
    #[arg(long, env = "STOKER_RECEIVER_TLS_DIR", value_name = "DIR")]
    pub(crate) receiver_tls_dir: Option<PathBuf>,

    /// Take push events without authentication where no secret is configured
    #[arg(long, env = "STOKER_RECEIVER_INSECURE")]
    pub(crate) receiver_insecure: bool,

    /// How many failed authentications one source may have per minute
    #[arg(long, env = "STOKER_RECEIVER_RATE_LIMIT", value_name = "NUMBER", default_value_t = 100)]
    pub(crate) receiver_rate_limit: u32,

    /// Networks of proxies whose `X-Forwarded-For` is believed, such as 10.0.0.0/8
    #[arg(long, env = "STOKER_TRUSTED_PROXIES", value_name = "CIDRS", value_delimiter = ',')]
    pub(crate) trusted_proxies: Vec<Cidr>,
}

/// What the receiver has besides the Secrets of GatewaySyncs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReceiverSecrets {
    /// A secret for all.
    OperatorWide,
    /// Nothing, and push events are taken all the same.
    Insecure,
    /// Nothing.
    Nothing,
}

/// Why the receiver ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("failed to listen for push events")]
    Listen(#[source] listener::Error),
}

impl Arguments {
    /// Returns what the receiver has besides the Secrets of GatewaySyncs; none where it is off.
    /// The files are read again at each call.
    pub(crate) fn secrets(&self) -> Option<ReceiverSecrets> {
        if self.receiver_port == 0 {
            return None;
        }
        let files = [&self.receiver_hmac_file, &self.receiver_token_file];
        let mut files = files.into_iter().flatten().peekable();
        if files.peek().is_none() && self.receiver_insecure {
            return Some(ReceiverSecrets::Insecure);
        }
        let is_there = files.any(|path| secret::read_file(path).is_some());
        Some(if is_there { ReceiverSecrets::OperatorWide } else { ReceiverSecrets::Nothing })
    }

    fn address(&self) -> BindAddress {
        match self.receiver_port {
            0 => BindAddress::Off,
            port => BindAddress::Any(port),
        }
    }
}

fn limits() -> Limits {
    Limits {
        // Each may hold the head of a request, a part of its body, and its fields.
        connections: 2048,
        idle: Duration::from_secs(15),
        request: Duration::from_secs(30),
        // The endpoints of the Service may still name a process that ends.
        linger: Duration::from_secs(3),
        ..Limits::default()
    }
}

/// Serves until the end is requested.
pub(crate) async fn run(
    shared: Shared,
    directory: Directory,
    arguments: Arguments,
    metrics: Metrics,
) -> Result<(), Error> {
    let Some(listener) = listener::bind(arguments.address()).map_err(Error::Listen)? else {
        return Ok(());
    };
    let secrets = Secrets::start(&directory, &arguments, &shared.watch_namespaces);
    let is_open = arguments.secrets() == Some(ReceiverSecrets::Insecure);
    let writer = Writer::new(shared.client.clone());
    let receiver = Receiver {
        writer: writer.clone(),
        replays: Replays::default(),
        failures: FailureLimit::new(arguments.receiver_rate_limit),
        trusted_proxies: arguments.trusted_proxies,
        is_open,
        directory,
        secrets,
        metrics,
    };
    let mut server = Server::new(listener, limits(), receiver);
    if let Some(path) = arguments.receiver_tls_dir {
        let certificate = Certificate::default();
        server = server.with_tls(&certificate);
        let check = shared.checks.readiness("receiver-certificate");
        let shutdown = shared.shutdown.clone();
        tokio::spawn(async move { tls::follow(&path, &certificate, &check, shutdown).await });
    }
    server.serve(shared.shutdown).await;
    writer.flush().await;
    Ok(())
}
