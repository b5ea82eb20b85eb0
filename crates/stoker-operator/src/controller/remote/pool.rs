//! Runs git for the controller: in threads of its own, within limits.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use stoker_api::condition::Reason;
use stoker_api::word::{RepoUrl, Transport};
use stoker_core::reconcile::Failure;
use stoker_core::refs::{History, HistoryQuery};
use stoker_git::auth::Auth;
use stoker_git::memfile::MemFile;
use stoker_git::store::{Location, name_of};
use stoker_git::{Cancel, host_key, remote, resolve};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::Instant;

use super::{Listing, Query, failure_of};
use crate::controller::arguments::Settings;

const CHILDREN: usize = 16;
const CHILDREN_OF_FAILING: usize = 6;
const CHILDREN_PER_HOST: usize = 4;
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// Git's output is read by threads of their own; these only wait.
const STACK: usize = 512 * 1024;

/// A pool of git processes.
#[derive(Debug)]
pub(super) struct Pool {
    children: Arc<Semaphore>,
    failing: Arc<Semaphore>,
    hosts: Mutex<HashMap<String, Arc<Semaphore>>>,
    store: PathBuf,
    store_limit: u64,
    cancel: Cancel,
}

/// The right to run one process. The order matters: whoever waits for a host holds no other right.
struct Permits {
    _host: OwnedSemaphorePermit,
    _failing: Option<OwnedSemaphorePermit>,
    _child: OwnedSemaphorePermit,
}

impl Pool {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            children: Arc::new(Semaphore::new(CHILDREN)),
            failing: Arc::new(Semaphore::new(CHILDREN_OF_FAILING)),
            hosts: Mutex::default(),
            store: settings.store.clone(),
            store_limit: settings.store_limit,
            cancel: Cancel::default(),
        }
    }

    /// Lists the refs of a remote.
    pub(super) async fn list(&self, query: Query, failed_before: bool) -> Result<Listing, Failure> {
        let _permits = self.permits(&query.session.access.url, failed_before).await?;
        if failed_before {
            probe(&query).await?;
        }
        let cancel = self.cancel.clone();
        in_thread(move || list(query, &cancel)).await
    }

    /// Searches the history of a remote.
    pub(super) async fn search(
        &self,
        query: Query,
        wanted: HistoryQuery,
        failed_before: bool,
    ) -> Result<History, Failure> {
        let _permits = self.permits(&query.session.access.url, failed_before).await?;
        let cancel = self.cancel.clone();
        let name = name_of(&query.session.access.url);
        let store = Location::in_volume(&self.store, &name).limited_to(self.store_limit);
        in_thread(move || {
            let found = resolve::history(&query.session.access, store, &wanted, &cancel);
            found.map_err(|error| failure_of(&error))
        })
        .await
    }

    async fn permits(&self, url: &RepoUrl, failed_before: bool) -> Result<Permits, Failure> {
        let host = url.host().unwrap_or_default().to_ascii_lowercase();
        let host = {
            let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
            hosts.retain(|_, permits| {
                Arc::strong_count(permits) > 1 || permits.available_permits() < CHILDREN_PER_HOST
            });
            let fresh = || Arc::new(Semaphore::new(CHILDREN_PER_HOST));
            Arc::clone(hosts.entry(host).or_insert_with(fresh))
        };
        Ok(Permits {
            _host: take(&host).await?,
            _failing: if failed_before { Some(take(&self.failing).await?) } else { None },
            _child: take(&self.children).await?,
        })
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
    let port = port_of(&access.url);
    let unreachable = |detail: String| Failure {
        reason: Reason::RemoteUnreachable,
        message: format!("failed to connect to {host}:{port}: {detail}"),
    };
    let connect = TcpStream::connect((host, port));
    match tokio::time::timeout(CONNECT_WITHIN, connect).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(unreachable(error.to_string())),
        Err(_) => Err(unreachable(format!("no answer within {} s", CONNECT_WITHIN.as_secs()))),
    }
}

fn port_of(url: &RepoUrl) -> u16 {
    let usual = match url.transport() {
        Transport::Https => 443,
        Transport::Http => 80,
        Transport::Ssh => 22,
        Transport::Git => 9418,
        Transport::File => 0,
    };
    let Some((_, rest)) = url.as_str().split_once("://") else { return usual };
    let authority = rest.split('/').next().unwrap_or_default();
    let address = authority.rsplit_once('@').map_or(authority, |(_, address)| address);
    let after_host = address.rsplit_once(']').map_or(address, |(_, after)| after);
    after_host.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or(usual)
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

fn list(mut query: Query, cancel: &Cancel) -> Result<Listing, Failure> {
    let started = Instant::now();
    let access = &mut query.session.access;
    let mut learned = None;
    // Kept until git is done.
    let mut _held = None;
    if query.learns_host_key {
        let keys = host_key::first_seen(&access.url, access.limits, cancel);
        let keys = keys.map_err(|error| failure_of(&error))?;
        let file = MemFile::new(keys.as_bytes()).map_err(|error| Failure {
            reason: Reason::RefResolutionFailed,
            message: format!("failed to keep a host key in memory: {error}"),
        })?;
        if let Auth::SshKey { known_hosts, .. } = &mut access.auth {
            *known_hosts = file.path();
        }
        _held = Some(file);
        learned = Some(keys);
    }
    let refs = remote::list(access, query.scope, cancel).map_err(|error| failure_of(&error))?;
    Ok(Listing { refs, host_key: learned, started })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_those_of_the_url_or_of_its_scheme() {
        let port = |text| port_of(&RepoUrl::parse(text).unwrap());
        assert_eq!(port("https://host/a"), 443);
        assert_eq!(port("http://host:8080/a"), 8080);
        assert_eq!(port("ssh://git@[::1]:2222/a"), 2222);
        assert_eq!(port("git@host:a"), 22);
        assert_eq!(port("git://host/a"), 9418);
    }
}
