//! Real smart HTTP on a free loopback port: `git http-backend` behind a small server of ours.
//!
//! The server adds what a forge adds: credentials, TLS, redirects, rate limits, outages. It keeps a
//! log of all requests, so that a test can count how often the remote was asked.
//! What a *lying* server does is in [`bad`](super::bad).

mod cgi;
mod log;
mod policy;
mod serve;

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum_server::Handle;
use axum_server::accept::NoDelayAcceptor;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};

use super::tls::Identity;
use super::{Error, Repo, background};
use policy::Policy;

pub use log::{Credentials, Request};
pub use policy::{Access, Auth, Injection, Issued, Protocol};

/// A smart HTTP server. It ends when it is dropped, with all sessions.
#[derive(Debug)]
#[must_use = "the server ends when this value is dropped"]
pub struct HttpServer {
    address: SocketAddr,
    tls: Option<RustlsConfig>,
    state: Arc<State>,
    handle: Handle<SocketAddr>,
}

/// What requests share with the test.
#[derive(Debug, Default)]
pub(super) struct State {
    policy: Mutex<Policy>,
    log: log::Log,
}

impl HttpServer {
    /// Starts a plain HTTP server without repositories; see [`HttpServer::mount`].
    pub fn start() -> Result<Self, Error> {
        Self::launch(None, |router| router)
    }

    /// Starts an HTTPS server.
    pub fn start_tls(identity: &Identity) -> Result<Self, Error> {
        let config = RustlsConfig::from_config(identity.server_config()?);
        Self::launch(Some(config), |router| router)
    }

    /// Starts a server whose router was changed first.
    pub(super) fn launch(
        tls: Option<RustlsConfig>,
        change: impl FnOnce(Router) -> Router,
    ) -> Result<Self, Error> {
        let listen = |source| Error::Listen { source };
        let listener = TcpListener::bind("127.0.0.1:0").map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let state = Arc::new(State::default());
        let service = change(serve::router(Arc::clone(&state))).into_make_service();
        let handle = Handle::new();

        let runtime = background::runtime()?;
        let _inside = runtime.enter();
        let server = axum_server::from_tcp(listener).map_err(listen)?.handle(handle.clone());
        match tls.clone() {
            None => runtime.spawn(server.acceptor(NoDelayAcceptor).serve(service)),
            Some(config) => {
                let acceptor = RustlsAcceptor::new(config).acceptor(NoDelayAcceptor);
                runtime.spawn(server.acceptor(acceptor).serve(service))
            }
        };
        Ok(Self { address, tls, state, handle })
    }

    /// Serves a repository below `/{name}.git` and returns its URL. The repository stays the
    /// caller's.
    pub fn mount(&self, name: &str, repo: &Repo) -> String {
        self.policy().mount(name, repo.path());
        self.url(name)
    }

    /// Stops serving a repository: from now on it is 404.
    pub fn unmount(&self, name: &str) {
        self.policy().unmount(name);
    }

    /// Returns the URL of a repository, mounted or not.
    pub fn url(&self, name: &str) -> String {
        self.url_at("127.0.0.1", name)
    }

    /// Returns the URL with another name for this host, such as `localhost`.
    pub fn url_at(&self, host: &str, name: &str) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{host}:{}/{name}.git", self.address.port())
    }

    /// Returns where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Asks for credentials from now on; called again, it rotates them.
    pub fn require(&self, auth: Auth) {
        self.policy().auth = auth;
    }

    /// Chooses what clients may do. The default is to read.
    pub fn grant(&self, access: Access) {
        self.policy().access = access;
    }

    /// Chooses the newest protocol that the server speaks. The default is v2.
    pub fn speak(&self, protocol: Protocol) {
        self.policy().protocol = protocol;
    }

    /// Answers some requests with a status of its own. Injections are tried in the order given.
    pub fn inject(&self, injection: Injection) {
        self.policy().injections.push(injection);
    }

    /// Ends all injections.
    pub fn clear_injections(&self) {
        self.policy().injections.clear();
    }

    /// Redirects every request below `/{name}.git` to the same place below `target`, another
    /// repository's URL, with the given status (301, 302, 307, 308).
    pub fn redirect(&self, name: &str, status: u16, target: &str) {
        self.policy().redirect(name, status, target);
    }

    /// Presents another certificate to every connection from now on.
    ///
    /// Does nothing on a server without TLS.
    pub fn present(&self, identity: &Identity) -> Result<(), Error> {
        if let Some(tls) = &self.tls {
            tls.reload_from_config(identity.server_config()?);
        }
        Ok(())
    }

    /// Returns all requests so far, in the order of their arrival.
    pub fn requests(&self) -> Vec<Request> {
        self.state.log.requests()
    }

    /// Returns the requests since the last call, and forgets them.
    pub fn take_requests(&self) -> Vec<Request> {
        self.state.log.take()
    }

    fn policy(&self) -> MutexGuard<'_, Policy> {
        self.state.policy()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.handle.shutdown();
    }
}

impl State {
    fn policy(&self) -> MutexGuard<'_, Policy> {
        // A panic in one test thread must not hide the server from the others.
        self.policy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
