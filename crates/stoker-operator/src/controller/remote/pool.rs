//! Runs git for the controller: in threads of its own, within limits.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use stoker_api::condition::Reason;
use stoker_api::word::RepoUrl;
use stoker_core::reconcile::Failure;
use stoker_core::refs::{History, HistoryQuery};
use stoker_git::access::port_of;
use stoker_git::auth::{Auth, DEFAULT_USERNAME};
use stoker_git::memfile::MemFile;
use stoker_git::store::{Location, name_of};
use stoker_git::{Cancel, host_key, remote, resolve};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::Instant;

use super::{Listing, Query, failure_of};
use crate::controller::arguments::Settings;
use crate::controller::egress::Policy;
use crate::controller::token::{self, IssuedToken};

const CHILDREN: usize = 16;
const CHILDREN_OF_FAILING: usize = 6;
/// For remotes that did not answer the last time, or were not asked before: many of those may hang,
/// and what is left is for those that are known to answer.
const CHILDREN_OF_UNPROVEN: usize = 12;
const CHILDREN_PER_HOST: usize = 4;
/// The others are for remotes of that host that answer.
const FAILING_PER_HOST: usize = 2;
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// Connections that are tried at a time: a socket each, and no process.
const PROBES: usize = 256;
/// Git's output is read by threads of their own; these only wait.
const STACK: usize = 512 * 1024;

/// A pool of git processes.
#[derive(Debug)]
pub(super) struct Pool {
    children: Arc<Semaphore>,
    failing: Arc<Semaphore>,
    unproven: Arc<Semaphore>,
    probes: Arc<Semaphore>,
    hosts: Mutex<HashMap<String, Arc<Host>>>,
    store: PathBuf,
    store_limit: u64,
    policy: Policy,
    cancel: Cancel,
}

/// How a remote has fared so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It answered.
    Good,
    /// It was not asked before.
    New,
    /// The last query failed.
    Failing,
}

/// What may run for one host.
#[derive(Debug)]
struct Host {
    children: Arc<Semaphore>,
    failing: Arc<Semaphore>,
}

/// The right to run one process. The order matters: a remote that fails waits for others that fail
/// before it holds anything that one that answers needs.
struct Permits {
    _failing: Option<[OwnedSemaphorePermit; 2]>,
    _host: OwnedSemaphorePermit,
    _unproven: Option<OwnedSemaphorePermit>,
    _child: OwnedSemaphorePermit,
    /// Keeps the host known.
    _known: Arc<Host>,
}

impl Pool {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            children: Arc::new(Semaphore::new(CHILDREN)),
            failing: Arc::new(Semaphore::new(CHILDREN_OF_FAILING)),
            unproven: Arc::new(Semaphore::new(CHILDREN_OF_UNPROVEN)),
            probes: Arc::new(Semaphore::new(PROBES)),
            hosts: Mutex::default(),
            store: settings.store.clone(),
            store_limit: settings.store_limit,
            policy: Policy::new(settings),
            cancel: Cancel::default(),
        }
    }

    /// Lists the refs of a remote.
    pub(super) async fn list(
        &self,
        mut query: Query,
        standing: Standing,
    ) -> Result<Listing, Failure> {
        let _permits = self.admit(&mut query, standing).await?;
        let cancel = self.cancel.clone();
        in_thread(move || list(query, &cancel)).await
    }

    /// Searches the history of a remote.
    pub(super) async fn search(
        &self,
        mut query: Query,
        wanted: HistoryQuery,
        standing: Standing,
    ) -> Result<History, Failure> {
        let _permits = self.admit(&mut query, standing).await?;
        let cancel = self.cancel.clone();
        let name = name_of(&query.session.access.url);
        let store = Location::in_volume(&self.store, &name).limited_to(self.store_limit);
        in_thread(move || {
            let _token = authenticate(&mut query, &cancel)?;
            let found = resolve::history(&query.session.access, store, &wanted, &cancel);
            found.map_err(|error| failure_of(&error))
        })
        .await
    }

    /// Waits until git may be started for a query. A remote that failed is tried by a connection
    /// before it takes a place of another: hosts that do not answer would keep each other waiting.
    async fn admit(&self, query: &mut Query, standing: Standing) -> Result<Permits, Failure> {
        self.check(query).await?;
        if standing == Standing::Failing {
            let _probe = take(&self.probes).await?;
            probe(query).await?;
        }
        self.permits(&query.session.access.url, standing).await
    }

    /// Checks where a query would go.
    async fn check(&self, query: &mut Query) -> Result<(), Failure> {
        if let Some(app) = &mut query.session.app {
            let field = "spec.git.auth.githubApp.apiBaseURL";
            app.addresses = self.policy.check_api(&app.api, app.proxy.as_ref(), field).await?;
        }
        self.policy.check(&mut query.session.access).await
    }

    async fn permits(&self, url: &RepoUrl, standing: Standing) -> Result<Permits, Failure> {
        let host = url.host().unwrap_or_default().to_ascii_lowercase();
        let host = {
            let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
            hosts.retain(|_, known| Arc::strong_count(known) > 1);
            Arc::clone(hosts.entry(host).or_default())
        };
        Ok(Permits {
            _failing: match standing {
                Standing::Failing => Some([take(&host.failing).await?, take(&self.failing).await?]),
                Standing::Good | Standing::New => None,
            },
            _host: take(&host.children).await?,
            _unproven: match standing {
                Standing::Failing | Standing::New => Some(take(&self.unproven).await?),
                Standing::Good => None,
            },
            _child: take(&self.children).await?,
            _known: host,
        })
    }
}

impl Default for Host {
    fn default() -> Self {
        let permits = |count| Arc::new(Semaphore::new(count));
        Self { children: permits(CHILDREN_PER_HOST), failing: permits(FAILING_PER_HOST) }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

async fn take(permits: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Failure> {
    Arc::clone(permits).acquire_owned().await.map_err(|_| ended())
}

fn ended() -> Failure {
    let message = "the query was ended".to_owned();
    Failure { reason: Reason::RefResolutionFailed, message }
}

/// Connects before git is started for a remote that failed: most that fail can't be reached, and
/// finding that out costs no process.
async fn probe(query: &Query) -> Result<(), Failure> {
    let access = &query.session.access;
    let Some(host) = access.url.host().filter(|_| access.proxy.is_none()) else { return Ok(()) };
    let Some(port) = port_of(&access.url) else { return Ok(()) };
    let unreachable = |detail: String| Failure {
        reason: Reason::RemoteUnreachable,
        message: format!("failed to connect to {host}:{port}: {detail}"),
    };
    let addresses: Vec<SocketAddr> =
        access.addresses.iter().map(|address| SocketAddr::new(*address, port)).collect();
    match tokio::time::timeout(CONNECT_WITHIN, TcpStream::connect(&*addresses)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(unreachable(error.to_string())),
        Err(_) => Err(unreachable(format!("no answer within {} s", CONNECT_WITHIN.as_secs()))),
    }
}

async fn in_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let (sender, receiver) = oneshot::channel();
    let spawned =
        thread::Builder::new().name("git".to_owned()).stack_size(STACK).spawn(move || {
            sender.send(work()).ok();
        });
    if let Err(error) = spawned {
        let message = format!("failed to start a thread: {error}");
        return Err(Failure { reason: Reason::RefResolutionFailed, message });
    }
    receiver.await.unwrap_or_else(|_| Err(ended()))
}

/// What git was given, and the file in memory that it is in.
struct Granted {
    token: IssuedToken,
    /// Needed until git is done.
    _file: MemFile,
}

/// Gives git the token of a GitHub App, which is exchanged where there is none at hand.
fn authenticate(query: &mut Query, cancel: &Cancel) -> Result<Option<Granted>, Failure> {
    let Some(app) = &query.session.app else { return Ok(None) };
    let token = match query.token.take() {
        Some(token) => token,
        None => token::exchange(app, cancel)?,
    };
    let file = hold(token.value.reveal())?;
    let username = DEFAULT_USERNAME.to_owned();
    query.session.access.auth = Auth::Token { file: file.path(), username };
    Ok(Some(Granted { token, _file: file }))
}

fn hold(content: &[u8]) -> Result<MemFile, Failure> {
    MemFile::new(content).map_err(|error| Failure {
        reason: Reason::RefResolutionFailed,
        message: format!("failed to keep a credential in memory: {error}"),
    })
}

fn list(mut query: Query, cancel: &Cancel) -> Result<Listing, Failure> {
    let started = Instant::now();
    let mut learned = None;
    // Kept until git is done.
    let mut _pinned = None;
    if query.learns_host_key {
        let access = &mut query.session.access;
        let keys = host_key::first_seen(access, cancel).map_err(|error| failure_of(&error))?;
        let file = hold(keys.as_bytes())?;
        if let Auth::SshKey { known_hosts, .. } = &mut access.auth {
            *known_hosts = file.path();
        }
        _pinned = Some(file);
        learned = Some(keys);
    }
    let is_old = query.token.is_some();
    let mut granted = authenticate(&mut query, cancel)?;
    let mut refs = remote::list(&query.session.access, query.scope, cancel);
    // A token may be revoked before its end: then the App asks for another, once.
    let is_refused =
        refs.as_ref().is_err_and(|error| error.reason() == Reason::AuthenticationFailed);
    if is_old && is_refused {
        granted = authenticate(&mut query, cancel)?;
        refs = remote::list(&query.session.access, query.scope, cancel);
    }
    let refs = refs.map_err(|error| failure_of(&error))?;
    let token = granted.map(|granted| granted.token);
    Ok(Listing::new(refs, learned, token, started))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use clap::Parser as _;
    use stoker_core::refs::Scope;

    use super::*;
    use crate::args::Arguments;
    use crate::controller::credential::Session;

    fn pool() -> Pool {
        let arguments = Arguments::try_parse_from(["stoker-operator", "--allow-loopback-git"]);
        Pool::new(&Settings::new(&arguments.unwrap()))
    }

    fn query(url: &str) -> Query {
        let session = Session::public(RepoUrl::parse(url).unwrap());
        Query { session, scope: Scope::All, learns_host_key: false, token: None }
    }

    // S4: many hosts that do not answer do not keep one from being noticed that does again.
    #[tokio::test(start_paused = true)]
    async fn a_host_that_can_not_be_reached_takes_no_place_of_a_remote_that_failed() {
        let pool = pool();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let url = format!("https://127.0.0.1:{port}/plant.git");
        let all = u32::try_from(CHILDREN_OF_FAILING).unwrap();
        let _taken = pool.failing.acquire_many(all).await.unwrap();
        let wanted = HistoryQuery { digits: "0123456".into() };
        let (listed, searched) = tokio::time::timeout(Duration::from_mins(1), async {
            let listed = pool.list(query(&url), Standing::Failing).await;
            (listed.err(), pool.search(query(&url), wanted, Standing::Failing).await.err())
        })
        .await
        .expect("the connection is tried first");
        for failure in [listed, searched] {
            assert_eq!(failure.unwrap().reason, Reason::RemoteUnreachable);
        }
    }
}
