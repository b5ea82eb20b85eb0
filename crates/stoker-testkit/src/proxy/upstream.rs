//! The way to the real API server: as the proxy's own identity, or as whoever the client says it
//! is.

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName};
use hyper::{Request, Response};
use kube::client::Body;
use kube::config::AuthInfo;
use kube::{Client, Config};

use super::Error;
use super::request::Verb;

/// Headers that speak of one connection, not of the request.
const HOP_BY_HOP: [HeaderName; 7] = [
    header::CONNECTION,
    header::HOST,
    header::PROXY_AUTHENTICATE,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// A token that stands for the proxy's own identity: some programs ask a terminal for a name and a
/// password when a kubeconfig has no credentials at all.
pub(super) const OWN_TOKEN: &str = "identity-of-the-proxy";
const OWN_AUTHORIZATION: &str = "Bearer identity-of-the-proxy";

/// Two clients of one server.
#[derive(Clone)]
pub(super) struct Upstream {
    /// Presents the identity that the proxy was given.
    trusted: Client,
    /// Presents nothing of its own: the server prefers a client certificate over a bearer token, so
    /// a token that the client sent counts only on a connection without one.
    bare: Client,
}

impl Upstream {
    /// Prepares both ways. Must be called on the runtime that will use them.
    pub(super) fn new(mut trusted: Config) -> Result<Self, Error> {
        // What the server says must reach the client under test, retries included.
        trusted.default_retry = false;
        let mut bare = trusted.clone();
        bare.auth_info = AuthInfo::default();
        Ok(Self { trusted: client(trusted)?, bare: client(bare)? })
    }

    /// Passes a request on and returns what the server says, its body still on the way.
    pub(super) async fn send(
        &self,
        verb: Verb,
        request: Request<Incoming>,
    ) -> Result<Response<Body>, Error> {
        let (mut parts, body) = request.into_parts();
        let body = body.collect().await.map_err(Error::ReadRequest)?.to_bytes();
        strip_connection_headers(&mut parts.headers);
        if verb == Verb::Watch {
            // Events are read on their way through; compressed ones could not be.
            parts.headers.remove(header::ACCEPT_ENCODING);
        }
        if parts.headers.get(header::AUTHORIZATION).is_some_and(|it| it == OWN_AUTHORIZATION) {
            parts.headers.remove(header::AUTHORIZATION);
        }
        let has_credentials = parts.headers.contains_key(header::AUTHORIZATION);
        let client = if has_credentials { &self.bare } else { &self.trusted };
        let request = Request::from_parts(parts, Body::from(body.to_vec()));
        let mut response =
            client.send(request).await.map_err(|error| Error::Upstream(Box::new(error)))?;
        strip_connection_headers(response.headers_mut());
        Ok(response)
    }
}

fn client(config: Config) -> Result<Client, Error> {
    Client::try_from(config).map_err(|error| Error::Connect(Box::new(error)))
}

fn strip_connection_headers(headers: &mut HeaderMap) {
    for name in &HOP_BY_HOP {
        headers.remove(name);
    }
}
