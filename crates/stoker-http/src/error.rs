//! Why a server sent no complete response.

use std::io;
use std::time::Duration;

use rustls::CertificateError;

/// Why a server sent no complete response. Nothing that it sent is part of an error.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The host, the path or a header can't be part of a request.
    #[error("the request can't be built: {0}")]
    Unusable(&'static str),
    /// There was no connection in time.
    #[error("no connection within {} ms", .0.as_millis())]
    ConnectTimeout(Duration),
    /// No program listens at the port.
    #[error("the connection was refused")]
    Refused,
    /// The host has no address, or the network leads nowhere.
    #[error("the server can't be reached")]
    Unreachable(#[source] io::Error),
    /// The connection was closed before the response was complete.
    #[error("the connection was lost")]
    Lost,
    /// One side uses TLS and the other does not.
    #[error("one side uses TLS and the other does not")]
    TlsMismatch,
    /// The server's certificate is not trusted.
    #[error("the server's certificate is not trusted")]
    Untrusted(CertificateError),
    /// The response is not HTTP.
    #[error("the response is not HTTP")]
    NotHttp,
    /// The response is larger than its limit.
    #[error("the response is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// The proxy wants credentials (407).
    #[error("the proxy wants credentials")]
    ProxyCredentials,
    /// The proxy does not connect to the server.
    #[error("the proxy does not connect to the server ({status})")]
    ProxyRefused {
        /// The status of its response.
        status: u16,
    },
}
