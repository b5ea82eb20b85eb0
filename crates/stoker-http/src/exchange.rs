//! The exchange itself: connect, perhaps through a proxy, perhaps with TLS; send; receive.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::{BodyExt as _, Empty, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderValue, PROXY_AUTHORIZATION};
use hyper::{Method, Response as Received, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::proxy::Proxy;
use crate::{Error, Place, Request, Response, Server};

/// A connection, whatever it is made of.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

impl Server {
    /// Sends one request and returns the response. The caller sets the total timeout.
    pub async fn send(&self, request: &Request) -> Result<Response, Error> {
        let mut stream: Box<dyn Stream> = Box::new(self.connect(request).await?);
        if let Some(tls) = &self.tls {
            if let Some(proxy) = &self.proxy {
                stream = Box::new(self.tunnel(stream, proxy).await?);
            }
            let name = ServerName::try_from(self.host.clone())
                .map_err(|_| Error::Unusable("its host is not a name for a certificate"))?;
            let secured = TlsConnector::from(Arc::clone(tls)).connect(name, stream).await;
            stream = Box::new(secured.map_err(handshake)?);
        }
        let sent = self.build(request)?;
        let received = converse(TokioIo::new(stream), sent, request.body_limit);
        received.await.map_err(|error| match (error, &self.tls) {
            // Bytes that are not HTTP, on a connection without TLS, are what a TLS port sends.
            (Error::NotHttp, None) => Error::TlsMismatch,
            (error, _) => error,
        })
    }

    async fn connect(&self, request: &Request) -> Result<TcpStream, Error> {
        let (host, port) = match &self.proxy {
            Some(proxy) => (proxy.host.as_str(), proxy.port),
            None => (self.host.as_str(), self.port),
        };
        let within = request.connect_timeout;
        let connecting = async {
            match &self.place {
                Place::At(addresses) => {
                    let at = addresses.iter().map(|address| SocketAddr::new(*address, port));
                    TcpStream::connect(&*at.collect::<Vec<_>>()).await
                }
                Place::Anywhere | Place::Loopback => TcpStream::connect((host, port)).await,
            }
        };
        let stream = match tokio::time::timeout(within, connecting).await {
            Err(_) => return Err(Error::ConnectTimeout(within)),
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                return Err(Error::Refused);
            }
            Ok(connected) => connected.map_err(Error::Unreachable)?,
        };
        let peer = stream.peer_addr().map_err(Error::Unreachable)?;
        if self.place == Place::Loopback && !peer.ip().is_loopback() {
            let error = io::Error::other("localhost is not on this machine");
            return Err(Error::Unreachable(error));
        }
        Ok(stream)
    }

    /// Asks a proxy for a connection to the server.
    async fn tunnel(
        &self,
        stream: Box<dyn Stream>,
        proxy: &Proxy,
    ) -> Result<TokioIo<hyper::upgrade::Upgraded>, Error> {
        let authority = self.authority();
        let mut request = hyper::Request::builder()
            .method(Method::CONNECT)
            .uri(&authority)
            .header(HOST, &authority)
            .body(Empty::<Bytes>::new())
            .map_err(|_| Error::Unusable("its host or port"))?;
        if let Some(credentials) = proxy.authorization() {
            request.headers_mut().insert(PROXY_AUTHORIZATION, credentials);
        }
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|_| Error::Lost)?;
        // It lives as long as the tunnel, and ends with it.
        tokio::spawn(async move { connection.with_upgrades().await.ok() });
        let answer = sender.send_request(request).await.map_err(|_| Error::Lost)?;
        match answer.status() {
            StatusCode::OK => {}
            StatusCode::PROXY_AUTHENTICATION_REQUIRED => return Err(Error::ProxyCredentials),
            status => return Err(Error::ProxyRefused { status: status.as_u16() }),
        }
        hyper::upgrade::on(answer).await.map(TokioIo::new).map_err(|_| Error::Lost)
    }

    fn build(&self, request: &Request) -> Result<hyper::Request<Full<Bytes>>, Error> {
        let unusable = |_| Error::Unusable("its path");
        let mut built = hyper::Request::new(Full::new(Bytes::from(request.body.clone())));
        *built.method_mut() = request.method.clone();
        let is_relayed = self.proxy.is_some() && self.tls.is_none();
        let uri = if is_relayed {
            format!("http://{}{}", self.authority(), request.path)
        } else {
            request.path.clone()
        };
        *built.uri_mut() = uri.parse().map_err(unusable)?;
        let host = HeaderValue::try_from(self.authority());
        let headers = built.headers_mut();
        headers.extend(request.headers.clone());
        headers.insert(HOST, host.map_err(|_| Error::Unusable("its host"))?);
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        let proxy = self.proxy.as_ref().filter(|_| is_relayed);
        if let Some(credentials) = proxy.and_then(Proxy::authorization) {
            headers.insert(PROXY_AUTHORIZATION, credentials);
        }
        Ok(built)
    }

    /// Returns host and port as headers have them.
    fn authority(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }
}

async fn converse<S, B>(
    stream: TokioIo<S>,
    request: hyper::Request<B>,
    limit: usize,
) -> Result<Response, Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
    B: Body<Data = Bytes, Error = std::convert::Infallible> + 'static,
{
    let (mut sender, connection) = http1::handshake(stream).await.map_err(|_| Error::Lost)?;
    let answer = async {
        let received = sender.send_request(request).await;
        receive(received.map_err(|error| broken(&error))?, limit).await
    };
    tokio::pin!(answer, connection);
    tokio::select! {
        answer = &mut answer => answer,
        // The connection ends when everything was read; if it ends early, reading the body fails.
        _ = &mut connection => answer.await,
    }
}

/// Reads the response; the body only of a success, and no more of it than allowed.
async fn receive(received: Received<Incoming>, limit: usize) -> Result<Response, Error> {
    let (head, mut incoming) = received.into_parts();
    let announced = head.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let announced = announced.and_then(|length| length.parse::<usize>().ok());
    let mut body = Vec::new();
    if head.status.is_success() {
        if announced.is_some_and(|announced| announced > limit) {
            return Err(Error::TooLarge { limit });
        }
        while let Some(frame) = incoming.frame().await {
            let frame = frame.map_err(|_| Error::Lost)?;
            let data = frame.data_ref().map_or(&[][..], |data| data);
            if body.len() + data.len() > limit {
                return Err(Error::TooLarge { limit });
            }
            body.extend_from_slice(data);
        }
    }
    Ok(Response { status: head.status.as_u16(), headers: head.headers, body })
}

fn broken(error: &hyper::Error) -> Error {
    if error.is_parse() { Error::NotHttp } else { Error::Lost }
}

fn handshake(error: io::Error) -> Error {
    // The TLS library hands its error over inside that of the connection.
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    match cause {
        Some(rustls::Error::InvalidCertificate(cause)) => Error::Untrusted(cause.clone()),
        Some(rustls::Error::InvalidMessage(_)) => Error::TlsMismatch,
        Some(_) => Error::Unreachable(error),
        None => Error::Lost,
    }
}
