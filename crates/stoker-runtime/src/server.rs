//! HTTP servers with limits: HTTP/1.1 on plain sockets, HTTP/2 or HTTP/1.1 over TLS.
//!
//! # Promises
//! - A server holds at most [`Limits::connections`]; further ones wait in the kernel's backlog.
//! - A connection whose first request does not arrive within [`Limits::first_request`], or that is
//!   idle for [`Limits::idle`], is closed. A request that is not answered within
//!   [`Limits::request`], its body included, gets 408.
//! - A panic in a handler answers that request with 500 and ends nothing else.
//! - After a shutdown request connections are accepted for [`Limits::linger`]; then open requests
//!   may finish, for at most [`Limits::drain`].

mod activity;
mod connection;
#[cfg(feature = "tls")]
mod secure;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Request, Response, StatusCode};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Shutdown;
use activity::Activity;

/// What a server answers.
pub type Reply = Response<Full<Bytes>>;

/// Answers requests.
pub trait Handler: Send + Sync + 'static {
    /// Answers one request from `peer`.
    fn respond(
        &self,
        request: Request<Incoming>,
        peer: SocketAddr,
    ) -> impl Future<Output = Reply> + Send;
}

/// What a server grants its clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Open connections.
    pub connections: usize,
    /// From accept to the head of the first request, a TLS handshake included.
    pub first_request: Duration,
    /// Without a request.
    pub idle: Duration,
    /// From the head of a request to its answer.
    pub request: Duration,
    /// From a shutdown request until no connection is accepted any more: other hosts hear of the
    /// end later than this process does.
    pub linger: Duration,
    /// From then to the end of the last connection.
    pub drain: Duration,
    /// Bytes of a request's head.
    pub head: usize,
    /// Requests at once on one HTTP/2 connection.
    pub streams: u32,
}

/// A server: a socket, a handler, and perhaps a certificate.
pub struct Server<H> {
    listener: TcpListener,
    limits: Limits,
    handler: Arc<H>,
    #[cfg(feature = "tls")]
    tls: Option<tokio_rustls::TlsAcceptor>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 256,
            first_request: Duration::from_secs(10),
            idle: Duration::from_mins(2),
            request: Duration::from_secs(10),
            linger: Duration::ZERO,
            drain: Duration::from_secs(5),
            head: 16 * 1024,
            streams: 250,
        }
    }
}

impl<H: Handler> Server<H> {
    /// Makes a plain server.
    pub fn new(listener: TcpListener, limits: Limits, handler: H) -> Self {
        Self {
            listener,
            limits,
            handler: Arc::new(handler),
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    /// Serves TLS with the certificate that is loaded at each handshake.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn with_tls(mut self, certificate: &crate::tls::Certificate) -> Self {
        self.tls = Some(certificate.acceptor());
        self
    }

    /// Serves until the end is requested and open requests are answered.
    pub async fn serve(self, shutdown: Shutdown) {
        let shutdown = shutdown.later(self.limits.linger);
        let slots = Arc::new(Semaphore::new(self.limits.connections));
        let all = u32::try_from(self.limits.connections).unwrap_or(u32::MAX);
        while let Some(slot) = next_slot(&slots, &shutdown).await {
            let Some(accepted) = accept(&self.listener, &shutdown).await else { break };
            self.spawn(accepted, slot, shutdown.clone());
        }
        drop(self.listener);
        let drained = tokio::time::timeout(self.limits.drain, slots.acquire_many(all)).await;
        if drained.is_err() {
            tracing::warn!("connections were still open when the server ended");
        }
    }

    fn spawn(&self, accepted: Accepted, slot: OwnedSemaphorePermit, shutdown: Shutdown) {
        let Accepted { stream, peer } = accepted;
        let exchange = Exchange {
            handler: Arc::clone(&self.handler),
            activity: Arc::new(Activity::new(self.limits)),
            within: self.limits.request,
            peer,
        };
        let limits = self.limits;
        #[cfg(feature = "tls")]
        if let Some(acceptor) = self.tls.clone() {
            tokio::spawn(async move {
                secure::serve_tls(stream, &acceptor, exchange, limits, shutdown).await;
                drop(slot);
            });
            return;
        }
        tokio::spawn(async move {
            connection::serve_http1(stream, exchange, limits, shutdown).await;
            drop(slot);
        });
    }
}

struct Accepted {
    stream: TcpStream,
    peer: SocketAddr,
}

/// What one connection's requests need.
pub(crate) struct Exchange<H> {
    handler: Arc<H>,
    activity: Arc<Activity>,
    within: Duration,
    peer: SocketAddr,
}

impl<H> Clone for Exchange<H> {
    fn clone(&self) -> Self {
        Self {
            handler: Arc::clone(&self.handler),
            activity: Arc::clone(&self.activity),
            within: self.within,
            peer: self.peer,
        }
    }
}

impl<H: Handler> Exchange<H> {
    async fn answer(self, request: Request<Incoming>) -> Result<Reply, Infallible> {
        let _busy = self.activity.begin();
        let respond = self.handler.respond(request, self.peer);
        let caught = AssertUnwindSafe(respond).catch_unwind();
        Ok(match tokio::time::timeout(self.within, caught).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(_)) => {
                tracing::error!("a request handler panicked");
                text(StatusCode::INTERNAL_SERVER_ERROR, "internal error\n")
            }
            Err(_) => text(StatusCode::REQUEST_TIMEOUT, "the request took too long\n"),
        })
    }
}

/// Builds an answer with plain text.
pub fn text(status: StatusCode, body: impl Into<Bytes>) -> Reply {
    reply(status, "text/plain; charset=utf-8", body)
}

/// Builds an answer with JSON.
pub fn json(status: StatusCode, body: impl Into<Bytes>) -> Reply {
    reply(status, "application/json", body)
}

/// Builds an answer with a body of this type.
pub fn reply(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Full::new(body.into()));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    reply
}

async fn next_slot(slots: &Arc<Semaphore>, shutdown: &Shutdown) -> Option<OwnedSemaphorePermit> {
    tokio::select! {
        slot = Arc::clone(slots).acquire_owned() => slot.ok(),
        () = shutdown.requested() => None,
    }
}

async fn accept(listener: &TcpListener, shutdown: &Shutdown) -> Option<Accepted> {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shutdown.requested() => return None,
        };
        match accepted {
            Ok((stream, peer)) => {
                stream.set_nodelay(true).ok();
                return Some(Accepted { stream, peer });
            }
            Err(error) if is_of_the_peer(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "failed to accept a connection");
                // Out of descriptors, most likely: an accept loop without a pause would spin.
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

fn is_of_the_peer(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        error.kind(),
        Kind::ConnectionAborted
            | Kind::ConnectionReset
            | Kind::ConnectionRefused
            | Kind::Interrupted
    )
}

#[cfg(test)]
mod tests;
