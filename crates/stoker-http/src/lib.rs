//! One HTTP/1.1 request over one connection: TCP, perhaps a proxy, perhaps TLS.
//!
//! The one HTTP client of Stoker besides that of kube (decision 0022). It has no connection pool,
//! follows no redirect and never retries. It does not know what is asked: `stoker-ignition` and
//! `stoker-git` do.
//!
//! # Promises
//!
//! - No body is read beyond its limit, and none of a response that is not a success.
//! - No error holds a byte that the server sent.
//! - Every error is a variant: no caller has to read its text.
//!
//! # Assumes
//!
//! The caller bounds the whole of [`Server::send`] by a timeout.

mod exchange;
mod proxy;
pub mod trust;

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

pub use hyper::header;
pub use hyper::{Method, Uri};
pub use proxy::{Proxy, percent_decoded};
pub use rustls::{CertificateError, ClientConfig};

use hyper::header::HeaderMap;

/// A server and the way to it.
#[derive(Debug, Clone)]
pub struct Server {
    /// The host, without the brackets of IPv6.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whom to trust; `None` for a connection without TLS.
    pub tls: Option<Arc<ClientConfig>>,
    /// The proxy to go through.
    pub proxy: Option<Proxy>,
    /// Where the host, or the proxy, may be.
    pub place: Place,
}

/// Where a server may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Anywhere.
    Anywhere,
    /// At these addresses, which the caller has checked: the name is not resolved again.
    At(Vec<IpAddr>),
    /// On this machine: a name that leads elsewhere is refused.
    Loopback,
}

/// What to ask, and what to put up with.
#[derive(Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The path, with its query.
    pub path: String,
    /// Headers besides `Host` and `Connection`.
    pub headers: HeaderMap,
    /// The body; empty for none.
    pub body: Vec<u8>,
    /// How long the connection alone may take.
    pub connect_timeout: Duration,
    /// How many bytes of a body are read.
    pub body_limit: usize,
}

/// What the server sent back.
#[derive(Debug)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body of a success; empty for any other status.
    pub body: Vec<u8>,
}

/// Why a server sent no complete response. Nothing that it sent is part of an error.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("the request can't be built: {0}")]
    Unusable(&'static str),
    #[error("no connection within {} ms", .0.as_millis())]
    ConnectTimeout(Duration),
    #[error("the connection was refused")]
    Refused,
    /// The host has no address, or the network leads nowhere.
    #[error("the server can't be reached")]
    Unreachable(#[source] io::Error),
    /// The connection was closed before the response was complete.
    #[error("the connection was lost")]
    Lost,
    #[error("one side uses TLS and the other does not")]
    TlsMismatch,
    #[error("the server's certificate is not trusted")]
    Untrusted(CertificateError),
    #[error("the response is not HTTP")]
    NotHttp,
    #[error("the response is larger than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("the proxy wants credentials")]
    ProxyCredentials,
    #[error("the proxy does not connect to the server ({status})")]
    ProxyRefused { status: u16 },
}

impl Response {
    /// Returns a header as text, if it is one.
    pub fn header(&self, name: &header::HeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}
