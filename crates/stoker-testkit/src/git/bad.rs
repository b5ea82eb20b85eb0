//! A git server that misbehaves, in front of one that does not.
//!
//! Two layers, both off at first, both changed at any time. The *wire* ([`Fault`]) counts the bytes
//! of all answers and stalls, drips, resets or closes at byte k. The *lie* ([`Lie`]) changes what
//! the real `git http-backend` answered: ids, packs, progress, refs. Everything else is the real
//! thing, so a test can run a session once in good order, learn its length, and then break it at
//! every byte.

pub mod pack;

mod lie;
mod rewrite;
mod wire;

use std::sync::Arc;

use super::http::HttpServer;
use super::{Error, Repo};
use lie::Liar;
use wire::Wire;

pub use lie::Lie;
pub use wire::Fault;

/// A server for one repository that can be told how to misbehave.
#[derive(Debug)]
#[must_use = "the server ends when this value is dropped"]
pub struct BadServer {
    wire: Wire,
    http: HttpServer,
    liar: Arc<Liar>,
    // Served as long as the server is there.
    _repo: Arc<Repo>,
}

impl BadServer {
    /// Starts a server that behaves, for now.
    pub fn start(repo: &Arc<Repo>) -> Result<Self, Error> {
        let liar = Arc::new(Liar::new(repo));
        let http = HttpServer::launch(None, |router| lie::layer(router, Arc::clone(&liar)))?;
        http.mount("repo", repo);
        let wire = Wire::start(http.address())?;
        Ok(Self { wire, http, liar, _repo: Arc::clone(repo) })
    }

    /// Returns the repository's URL, through everything that is bad.
    pub fn url(&self) -> String {
        let (good, bad) = (self.http.address().to_string(), self.wire.address().to_string());
        self.http.url("repo").replace(&good, &bad)
    }

    /// Returns the HTTP server behind the wire: credentials, injections, and the log of requests.
    pub fn http(&self) -> &HttpServer {
        &self.http
    }

    /// Tells this lie from the next request on, in place of any other.
    pub fn tell(&self, lie: Lie) {
        self.liar.tell(Some(lie));
    }

    /// Breaks the wire, counting its bytes from now on. Another fault is replaced.
    pub fn break_wire(&self, fault: Fault) {
        self.wire.set(Some(fault));
    }

    /// Behaves from now on. What had stalled goes on; the byte count begins anew.
    pub fn behave(&self) {
        self.liar.tell(None);
        self.wire.set(None);
    }

    /// Returns the bytes sent to clients since the wire was last broken or mended, heads included.
    pub fn bytes_sent(&self) -> u64 {
        self.wire.bytes_sent()
    }

    /// Returns how often faults of the wire have happened so far.
    pub fn faults(&self) -> usize {
        self.wire.faults()
    }

    /// Returns how many answers were changed, or tips moved, so far.
    pub fn lies(&self) -> usize {
        self.liar.told()
    }
}
