//! A proxy in front of a real API server that counts what passes and breaks what it is told to.
//!
//! Clients reach it over TLS with the [`kube::Config`] or kubeconfig that it hands out. It speaks
//! to the server with the identity that it was started with, unless the client brings a bearer
//! token of its own; impersonation headers pass through. It does not pass on `exec`, `attach` and
//! `port-forward`, which leave HTTP behind, and reads watch streams as JSON only.
//!
//! ```no_run
//! # use stoker_testkit::proxy::{Fault, FaultProxy, Match, Verb};
//! # fn cluster_config() -> kube::Config { unimplemented!() }
//! let proxy = FaultProxy::start(cluster_config())?;
//! proxy.fault(Match::verb(Verb::Patch).resource("configmaps"), Fault::Status(409)).times(3);
//! let config = proxy.config(); // for the code under test
//! {
//!     let _outage = proxy.outage(); // connections are refused until this is dropped
//! }
//! assert_eq!(proxy.count(&Match::writes()), 0);
//! # Ok::<(), stoker_testkit::proxy::Error>(())
//! ```
//!
//! The proxy runs on a thread of its own, so the handle works in plain and in async tests alike.
//! Dropping it cuts every connection, frees the port and ends the thread before it returns.

mod handle;
mod journal;
mod request;
mod rule;
mod serve;
mod state;
mod status;
mod stream;
mod thread;
mod upstream;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::Config;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use tokio::sync::oneshot;

pub use self::handle::{Outage, Rule};
pub use self::journal::Seen;
pub use self::request::{ApiRequest, Verb};
pub use self::rule::{EventFault, Fault, Match};
use self::state::{Book, Door, Shared};
use self::thread::Setup;
use self::upstream::OWN_TOKEN;
use crate::git;
use crate::git::tls::{Authority, Flaw};

/// How long the waits of this module last before they panic.
const PATIENCE: Duration = Duration::from_mins(1);

/// Why the proxy could not start, or could not pass a request on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A certificate could not be made.
    #[error("failed to make a certificate for the fault proxy")]
    Certify(#[source] git::Error),
    /// No port, runtime or thread could be had.
    #[error("failed to start the fault proxy")]
    Start(#[source] std::io::Error),
    /// The client's request broke off.
    #[error("failed to read a request")]
    ReadRequest(#[source] hyper::Error),
    /// The configuration of the API server makes no client.
    #[error("failed to make a client of the API server")]
    Connect(#[source] Box<kube::Error>),
    /// The API server did not answer.
    #[error("failed to pass a request on to the API server")]
    Upstream(#[source] Box<kube::Error>),
}

/// A running proxy.
#[derive(Debug)]
pub struct FaultProxy {
    shared: Arc<Shared>,
    address: SocketAddr,
    authority: Authority,
    default_namespace: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl FaultProxy {
    /// Starts a proxy on a free port of loopback in front of the server that `upstream` names.
    pub fn start(upstream: Config) -> Result<Self, Error> {
        let authority = Authority::new().map_err(Error::Certify)?;
        let identity = authority.issue(Flaw::None).map_err(Error::Certify)?;
        // HTTP/1.1, one request at a time: cutting a connection cuts exactly one request.
        let tls = identity.server_config().map_err(Error::Certify)?.into();
        let shared = Arc::new(Shared::new());
        let default_namespace = upstream.default_namespace.clone();
        let (ready, started) = mpsc::sync_channel(1);
        let (stop, stopped) = oneshot::channel();
        let setup = Setup { shared: Arc::clone(&shared), upstream, tls, ready };
        let thread = std::thread::Builder::new().name("fault-proxy".to_owned());
        let thread = thread.spawn(|| setup.run(stopped)).map_err(Error::Start)?;
        let started = started.recv().expect("the thread answers before it ends");
        let address = started?;
        shared.set_outages(|_| {}); // returns when the door is open
        let (stop, thread) = (Some(stop), Some(thread));
        Ok(Self { shared, address, authority, default_namespace, stop, thread })
    }

    /// Returns the address that clients connect to.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Returns a configuration for [`kube::Client`], with kube's own defaults for timeouts and
    /// retries. It carries no credentials: the proxy's identity counts, or those that you add.
    pub fn config(&self) -> Config {
        let url = self.url().parse().expect("a socket address makes a URL");
        let mut config = Config::new(url);
        let ca = CertificateDer::from_pem_file(self.authority.file()).expect("we wrote this file");
        config.root_cert = Some(vec![ca.to_vec()]);
        config.default_namespace.clone_from(&self.default_namespace);
        config
    }

    /// Returns the same as a kubeconfig, for programs.
    pub fn kubeconfig(&self) -> String {
        let (url, namespace) = (self.url(), &self.default_namespace);
        let ca = std::fs::read(self.authority.file()).expect("we wrote this file");
        let ca = STANDARD.encode(ca);
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: proxy\n\
             clusters: [{{name: proxy, cluster: {{server: \"{url}\", certificate-authority-data: {ca}}}}}]\n\
             users: [{{name: proxy, user: {{token: {OWN_TOKEN}}}}}]\n\
             contexts: [{{name: proxy, context: {{cluster: proxy, user: proxy, namespace: {namespace}}}}}]\n"
        )
    }

    /// Makes matching requests, or events of matching watches, go wrong from now on.
    pub fn fault(&self, want: Match, fault: Fault) -> Rule {
        let id = self.shared.with(|book| book.rules.add(want, fault));
        Rule { shared: Arc::clone(&self.shared), id }
    }

    /// Ends every fault.
    pub fn lift_all(&self) {
        self.shared.with(|book| book.rules.clear());
    }

    /// Cuts the connections of matching watches that are open now; returns how many those were.
    pub fn cut_watches(&self, want: &Match) -> usize {
        self.shared.with(|book| book.journal.cut_watches(want))
    }

    /// Takes the server away: open connections are cut, new ones refused.
    pub fn outage(&self) -> Outage {
        self.shared.set_outages(|count| *count += 1);
        Outage { shared: Arc::clone(&self.shared) }
    }

    /// Returns every request since the start or the last [`FaultProxy::forget`], in order.
    pub fn requests(&self) -> Vec<Seen> {
        self.shared.read(|book| book.journal.seen().to_vec())
    }

    /// Counts matching requests, those that met a fault included.
    pub fn count(&self, want: &Match) -> usize {
        self.shared.read(|book| book.journal.count(want))
    }

    /// Counts requests by verb and resource, with keys as in `patch gatewaysyncs/status`.
    pub fn tally(&self) -> BTreeMap<String, usize> {
        self.shared.read(|book| book.journal.tally())
    }

    /// Starts counting anew.
    pub fn forget(&self) {
        self.shared.with(|book| book.journal.forget());
    }

    /// Counts matching watches that the server has accepted and that are open now.
    pub fn open_watches(&self, want: &Match) -> usize {
        self.shared.read(|book| book.journal.open_watches(want))
    }

    /// Waits until so many matching requests have arrived; panics after a minute.
    pub async fn until_count(&self, want: &Match, at_least: usize) {
        self.until(|book| book.journal.count(want) >= at_least).await;
    }

    /// Waits until so many matching watches are open; panics after a minute.
    pub async fn until_watches(&self, want: &Match, exactly: usize) {
        self.until(|book| book.journal.open_watches(want) == exactly).await;
    }

    async fn until(&self, holds: impl Fn(&Book) -> bool) {
        if tokio::time::timeout(PATIENCE, self.shared.until(holds)).await.is_err() {
            self.give_up();
        }
    }

    fn give_up(&self) -> ! {
        let seen = self.shared.read(|book| book.journal.describe());
        panic!("waited in vain; the fault proxy has seen:\n{seen}");
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        // The thread hears that the sender is gone.
        drop(self.stop.take());
        if let Some(Err(_)) = self.thread.take().map(JoinHandle::join)
            && !std::thread::panicking()
        {
            panic!("the fault proxy's thread panicked");
        }
        self.shared.door_is(Door::Gone);
    }
}
