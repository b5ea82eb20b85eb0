//! One request to the gateway and its response. No pool, no redirect, no proxy, no retry.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use stoker_http::header::{
    ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, USER_AGENT,
};
use stoker_http::{CertificateError, ClientConfig, Method, Place, Server, trust};
use stoker_sync::input_file;

use crate::endpoint::Address;
use crate::error::{Call, Error};
use crate::key::Key;
use crate::response::{Redirect, Response};

const KEY_HEADER: HeaderName = HeaderName::from_static("x-ignition-api-token");
const AGENT: &str = concat!("stoker/", env!("CARGO_PKG_VERSION"));
/// Far more than all authorities of a system have.
const AUTHORITIES_LIMIT: u64 = 4 * 1024 * 1024;

pub(crate) struct Target {
    pub(crate) address: Address,
    pub(crate) tls: Option<Arc<ClientConfig>>,
}

pub(crate) struct Request<'a> {
    pub(crate) method: Method,
    pub(crate) path: &'a str,
    pub(crate) body: Option<String>,
    pub(crate) key: Option<Key>,
    pub(crate) connect_within: Duration,
    pub(crate) body_limit: usize,
}

impl Target {
    pub(crate) fn call(&self, request: &Request<'_>) -> Call {
        Call(format!("{} {}{}", request.method, self.address, request.path))
    }

    /// Sends one request. The caller sets the total timeout.
    pub(crate) async fn send(&self, request: &Request<'_>) -> Result<Response, Error> {
        let call = self.call(request);
        // Certificates are not checked on loopback, so a name must really be there.
        let is_loopback = self.address.is_loopback();
        let server = Server {
            host: self.address.bare_host().to_owned(),
            port: self.address.port,
            tls: self.tls.clone(),
            proxy: None,
            place: if is_loopback { Place::Loopback } else { Place::Anywhere },
        };
        let response = server.send(&self.build(request)).await;
        response.map_err(|error| fault(call.clone(), error)).and_then(|it| read(it, request, call))
    }

    fn build(&self, request: &Request<'_>) -> stoker_http::Request {
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/plain;q=0.5"));
        if let Some(key) = request.key.as_ref().and_then(Key::header) {
            headers.insert(KEY_HEADER, key);
        }
        if request.body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        stoker_http::Request {
            method: request.method.clone(),
            path: format!("{}{}", self.address.prefix, request.path),
            headers,
            body: request.body.clone().unwrap_or_default().into_bytes(),
            connect_timeout: request.connect_within,
            body_limit: request.body_limit,
        }
    }
}

/// Takes over a response that does not repeat our key.
fn read(
    response: stoker_http::Response,
    request: &Request<'_>,
    call: Call,
) -> Result<Response, Error> {
    let is_echo = |bytes: &[u8]| request.key.as_ref().is_some_and(|key| key.is_echoed_in(bytes));
    if is_echo(&response.body) {
        return Err(Error::Malformed { call, why: "it repeats the API key" });
    }
    let location = response.header(&LOCATION).filter(|text| !is_echo(text.as_bytes()));
    Ok(Response {
        status: response.status,
        content_type: response.header(&CONTENT_TYPE).unwrap_or_default().to_owned(),
        redirect: Redirect::parse(location),
        call,
        body: response.body,
    })
}

fn fault(call: Call, error: stoker_http::Error) -> Error {
    use stoker_http::Error as Http;
    match error {
        Http::Unusable(why) => Error::InvalidUrl { why },
        Http::ConnectTimeout(within) => Error::TimedOut { call, within },
        Http::Refused => Error::ConnectionRefused { call },
        Http::Unreachable(source) => Error::Unreachable { call, source },
        Http::TlsMismatch => Error::TlsMismatch { call },
        Http::Untrusted(cause) => Error::Untrusted { call, why: certificate_fault(&cause) },
        Http::NotHttp => Error::Malformed { call, why: "it is not HTTP" },
        Http::TooLarge { limit } => Error::TooLarge { call, limit },
        // There is no proxy on the way to a gateway.
        Http::Lost | Http::ProxyCredentials | Http::ProxyRefused { .. } => {
            Error::ConnectionLost { call }
        }
    }
}

/// Returns how to connect to `address`.
///
/// A gateway's own certificate is self-signed and never for `127.0.0.1`. Where bytes do not leave
/// the machine it proves nothing that plain HTTP, which is the default there, would not: so it is
/// not asked to. What is given always counts (decision 0019).
pub(crate) fn tls_config(
    address: &Address,
    authorities: Option<&Path>,
) -> Result<Arc<ClientConfig>, Error> {
    match authorities {
        Some(path) => pinned(path),
        None if address.is_loopback() => Ok(trust::any()),
        None => Ok(trust::system()),
    }
}

fn pinned(path: &Path) -> Result<Arc<ClientConfig>, Error> {
    let pem = input_file::read(path, AUTHORITIES_LIMIT)
        .map_err(|source| Error::ReadAuthorities { path: path.to_owned(), source })?;
    trust::pinned(&pem).map_err(|_| Error::UnusableAuthorities { path: path.to_owned() })
}

/// Returns the end of the sentence "the gateway's certificate is not trusted".
fn certificate_fault(error: &CertificateError) -> &'static str {
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its time has not come yet, if the clock here is right"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it is for another host name"
        }
        CertificateError::UnknownIssuer => "its issuer is not trusted here",
        CertificateError::BadSignature => "its signature is wrong",
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "it is not for servers"
        }
        // rustls has no variant for the most frequent of the other faults.
        _ => {
            "it is an authority's (CA:TRUE), which counts only if exactly that one is given, or it is damaged"
        }
    }
}
