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
mod tls;
mod upstream;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::Config;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

pub use self::handle::{Outage, Rule};
pub use self::journal::Seen;
pub use self::request::{ApiRequest, Verb};
pub use self::rule::{EventFault, Fault, Match};
use self::state::{Book, Door, Shared};
use self::thread::{Setup, Started};
use self::tls::Identity;
use self::upstream::OWN_TOKEN;

/// How long the waits of this module last before they panic.
const PATIENCE: Duration = Duration::from_mins(1);

/// Why the proxy could not start, or could not pass a request on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A certificate could not be made.
    #[error("failed to make a certificate for the fault proxy")]
    Certify(#[source] rcgen::Error),
    /// The key just made could not be read back.
    #[error("failed to read the fault proxy's key: {0}")]
    ReadKey(&'static str),
    /// The certificate could not be served.
    #[error("failed to set up TLS for the fault proxy")]
    ConfigureTls(#[source] rustls::Error),
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
    ca: Vec<u8>,
    ca_pem: String,
    default_namespace: String,
    runtime: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl FaultProxy {
    /// Starts a proxy on a free port of loopback in front of the server that `upstream` names.
    pub fn start(upstream: Config) -> Result<Self, Error> {
        let Identity { acceptor: tls, ca, ca_pem } = Identity::generate()?;
        let shared = Arc::new(Shared::new());
        let default_namespace = upstream.default_namespace.clone();
        let (ready, started) = mpsc::sync_channel(1);
        let (stop, stopped) = oneshot::channel();
        let setup = Setup { shared: Arc::clone(&shared), upstream, tls, ready };
        let thread = std::thread::Builder::new().name("fault-proxy".to_owned());
        let thread = thread.spawn(|| setup.run(stopped)).map_err(Error::Start)?;
        let started = started.recv().expect("the thread answers before it ends");
        let Started { runtime, address } = started?;
        shared.set_reach(|_| {}); // returns when the door is open
        let (ca, stop, thread) = (ca.to_vec(), Some(stop), Some(thread));
        Ok(Self { shared, address, ca, ca_pem, default_namespace, runtime, stop, thread })
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
        config.root_cert = Some(vec![self.ca.clone()]);
        config.default_namespace.clone_from(&self.default_namespace);
        config
    }

    /// Returns the same as a kubeconfig, for programs.
    pub fn kubeconfig(&self) -> String {
        let (url, namespace) = (self.url(), &self.default_namespace);
        let ca = STANDARD.encode(&self.ca_pem);
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
        self.shared.set_reach(|reach| reach.outages += 1);
        Outage { shared: Arc::clone(&self.shared), end: |reach| reach.outages -= 1 }
    }

    /// Takes the server away for a while, and returns at once.
    pub fn go_away(&self, time: Duration) {
        self.shared.set_reach(|reach| reach.outages += 1);
        let shared = Arc::clone(&self.shared);
        self.runtime.spawn(async move {
            tokio::time::sleep(time).await;
            shared.set_reach_soon(|reach| reach.outages -= 1);
        });
    }

    /// Silences the network: connections stay open, nothing moves, nothing is refused. What waits
    /// goes on when this ends, as after a partition that heals.
    pub fn partition(&self) -> Outage {
        self.shared.set_reach(|reach| reach.partitions += 1);
        Outage { shared: Arc::clone(&self.shared), end: |reach| reach.partitions -= 1 }
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

    /// As [`FaultProxy::until_count`], for tests without a runtime.
    pub fn wait_count(&self, want: &Match, at_least: usize) {
        let want = want.clone();
        self.wait(move |book| book.journal.count(&want) >= at_least);
    }

    async fn until(&self, holds: impl Fn(&Book) -> bool) {
        if tokio::time::timeout(PATIENCE, self.shared.until(holds)).await.is_err() {
            self.give_up();
        }
    }

    fn wait(&self, holds: impl Fn(&Book) -> bool + Send + 'static) {
        let (done, happened) = mpsc::channel();
        let shared = Arc::clone(&self.shared);
        self.runtime.spawn(async move {
            shared.until(holds).await;
            // Nobody listens any more if the wait was given up.
            done.send(()).unwrap_or_default();
        });
        if happened.recv_timeout(PATIENCE).is_err() {
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
