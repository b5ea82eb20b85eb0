//! One request and its answer over one connection: TCP, perhaps TLS, HTTP/1.1. No pool, no
//! redirect, no proxy, no retry.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, LOCATION, USER_AGENT};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::answer::Answer;
use crate::endpoint::Address;
use crate::error::{Call, Error};
use crate::key::Key;
use crate::location::Location;
use crate::tls;

const KEY_HEADER: &str = "X-Ignition-API-Token";
const AGENT: &str = concat!("stoker/", env!("CARGO_PKG_VERSION"));

/// Where to and how.
pub(crate) struct Target {
    pub(crate) address: Address,
    pub(crate) tls: Option<Arc<ClientConfig>>,
}

/// What to ask and what to put up with.
pub(crate) struct Question<'a> {
    pub(crate) method: Method,
    pub(crate) path: &'a str,
    pub(crate) body: Option<String>,
    pub(crate) key: Option<Key>,
    pub(crate) connect_within: Duration,
    pub(crate) body_limit: usize,
}

impl Target {
    pub(crate) fn call(&self, question: &Question<'_>) -> Call {
        Call(format!("{} {}{}", question.method, self.address, question.path))
    }

    /// Asks once. The caller bounds the whole of it.
    pub(crate) async fn ask(&self, question: &Question<'_>) -> Result<Answer, Error> {
        let call = self.call(question);
        let stream = self.connect(question, &call).await?;
        let Some(tls) = &self.tls else { return self.exchange(stream, question, call).await };
        let name = ServerName::try_from(self.address.bare_host().to_owned())
            .map_err(|_| Error::InvalidUrl { why: "its host is no name for a certificate" })?;
        let secured = TlsConnector::from(Arc::clone(tls)).connect(name, stream).await;
        let stream = secured.map_err(|error| handshake_fault(call.clone(), error))?;
        self.exchange(stream, question, call).await
    }

    async fn connect(&self, question: &Question<'_>, call: &Call) -> Result<TcpStream, Error> {
        let within = question.connect_within;
        let connect = TcpStream::connect((self.address.bare_host(), self.address.port));
        let stream = match tokio::time::timeout(within, connect).await {
            Err(_) => return Err(Error::TimedOut { call: call.clone(), within }),
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                return Err(Error::ConnectionRefused { call: call.clone() });
            }
            Ok(connected) => connected,
        };
        let unreachable = |source| Error::Unreachable { call: call.clone(), source };
        let stream = stream.map_err(unreachable)?;
        // Certificates are not checked on loopback, so a name must really be there.
        let peer = stream.peer_addr().map_err(unreachable)?;
        if self.address.is_loopback() && !peer.ip().is_loopback() {
            return Err(unreachable(io::Error::other("localhost is not on this machine")));
        }
        Ok(stream)
    }

    async fn exchange<S>(
        &self,
        stream: S,
        question: &Question<'_>,
        call: Call,
    ) -> Result<Answer, Error>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let request = self.request(question)?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|_| Error::ConnectionLost { call: call.clone() })?;
        let answer = async {
            let response = sender.send_request(request).await;
            let response = response.map_err(|error| self.http_fault(call.clone(), &error))?;
            receive(response, question, call).await
        };
        tokio::pin!(answer, connection);
        tokio::select! {
            answer = &mut answer => answer,
            // The connection ends when all was read from it, or early: then the answer says so.
            _ = &mut connection => answer.await,
        }
    }

    fn request(&self, question: &Question<'_>) -> Result<Request<Full<Bytes>>, Error> {
        let mut request = Request::builder()
            .method(&question.method)
            .uri(format!("{}{}", self.address.prefix, question.path))
            .header(HOST, self.address.authority())
            .header(USER_AGENT, AGENT)
            .header(ACCEPT, "application/json, text/plain;q=0.5")
            .header(CONNECTION, "close");
        if let Some(key) = question.key.as_ref().and_then(Key::header) {
            request = request.header(KEY_HEADER, key);
        }
        if question.body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let body = Full::new(Bytes::from(question.body.clone().unwrap_or_default()));
        request.body(body).map_err(|_| Error::InvalidUrl { why: "its path is not usable" })
    }

    /// Bytes that are no HTTP, on a connection without TLS, are what a TLS port says to us.
    fn http_fault(&self, call: Call, error: &hyper::Error) -> Error {
        match (error.is_parse(), self.address.is_tls) {
            (true, false) => Error::TlsMismatch { call },
            (true, true) => Error::Malformed { call, why: "it is not HTTP" },
            (false, _) => Error::ConnectionLost { call },
        }
    }
}

/// Reads the answer; the body only of a success, and no more of it than allowed.
async fn receive(
    response: Response<Incoming>,
    question: &Question<'_>,
    call: Call,
) -> Result<Answer, Error> {
    let limit = question.body_limit;
    let (head, mut incoming) = response.into_parts();
    let header = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
    let announced = header(CONTENT_LENGTH).and_then(|length| length.parse::<usize>().ok());
    let mut body = Vec::new();
    if head.status.is_success() {
        if announced.is_some_and(|announced| announced > limit) {
            return Err(Error::TooLarge { call, limit });
        }
        while let Some(frame) = incoming.frame().await {
            let frame = frame.map_err(|_| Error::ConnectionLost { call: call.clone() })?;
            let data = frame.data_ref().map_or(&[][..], |data| data);
            if body.len() + data.len() > limit {
                return Err(Error::TooLarge { call, limit });
            }
            body.extend_from_slice(data);
        }
    }
    let is_echo = |bytes: &[u8]| question.key.as_ref().is_some_and(|key| key.is_echoed_in(bytes));
    if is_echo(&body) {
        return Err(Error::Malformed { call, why: "it repeats the API key" });
    }
    Ok(Answer {
        status: head.status.as_u16(),
        content_type: header(CONTENT_TYPE).unwrap_or_default().to_owned(),
        location: Location::parse(header(LOCATION).filter(|place| !is_echo(place.as_bytes()))),
        call,
        body,
    })
}

fn handshake_fault(call: Call, error: io::Error) -> Error {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    match cause {
        Some(rustls::Error::InvalidCertificate(cause)) => {
            Error::Untrusted { call, why: tls::why(cause) }
        }
        Some(rustls::Error::InvalidMessage(_)) => Error::TlsMismatch { call },
        Some(_) => Error::Unreachable { call, source: error },
        None => Error::ConnectionLost { call },
    }
}
