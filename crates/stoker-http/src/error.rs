//! Why a server sent no complete response.

use std::io;
use std::time::Duration;

use rustls::CertificateError;

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
