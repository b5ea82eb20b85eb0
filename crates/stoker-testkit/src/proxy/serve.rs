//! The server side of the proxy: connections, requests, and the faults that strike them.

use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;

use futures::TryStreamExt;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use kube::client::Body;
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::request::{ApiRequest, Verb};
use super::rule::Fault;
use super::state::{Door, Shared};
use super::status;
use super::stream::{WatchStream, severed_after_flush};
use super::upstream::Upstream;

pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;
type AnswerBody = http_body_util::combinators::UnsyncBoxBody<Bytes, BoxError>;

/// Why a connection ends without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the connection is cut on purpose")]
pub(super) struct Severed;

/// What every connection needs.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) shared: Arc<Shared>,
    pub(super) upstream: Upstream,
    pub(super) tls: TlsAcceptor,
    pub(super) address: SocketAddr,
}

/// Opens a socket on the address in a way that lets a second one, not listening, hold its place.
pub(super) fn bind(address: SocketAddr) -> std::io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(true)?;
    socket.bind(address)?;
    Ok(socket)
}

impl Server {
    /// Serves until it is dropped, with all its connections.
    pub(super) async fn run(self) -> std::io::Result<()> {
        let mut outages = self.shared.outages();
        loop {
            // A fresh listener after each outage: while there is none, the kernel refuses.
            let listener = bind(self.address)?.listen(1024)?;
            self.shared.door_is(Door::Open);
            loop {
                tokio::select! {
                    biased;
                    _ = outages.wait_for(|count| *count > 0) => break,
                    accepted = listener.accept() => self.welcome(accepted),
                }
            }
            drop(listener);
            self.shared.door_is(Door::Shut);
            if outages.wait_for(|count| *count == 0).await.is_err() {
                return Ok(());
            }
        }
    }

    fn welcome(&self, accepted: std::io::Result<(TcpStream, SocketAddr)>) {
        // A connection that is gone before it is accepted is its client's affair.
        let Ok((connection, _)) = accepted else { return };
        let server = self.clone();
        tokio::spawn(async move {
            let mut outages = server.shared.outages();
            tokio::select! {
                biased;
                _ = outages.wait_for(|count| *count > 0) => {}
                () = server.serve(connection) => {}
            }
        });
    }

    async fn serve(&self, connection: TcpStream) {
        // Whether a client hangs up during the handshake or later: there is nobody left to tell.
        let Ok(connection) = self.tls.accept(connection).await else { return };
        let answer = service_fn(|request| self.answer(request));
        let served = hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(connection), answer);
        drop(served.await);
    }

    async fn answer(&self, request: Request<Incoming>) -> Result<Response<AnswerBody>, BoxError> {
        let about = ApiRequest::parse(request.method(), request.uri());
        let id = self.shared.with(|book| book.journal.record(about.clone()));
        let response = match self.shared.with(|book| book.rules.judge(&about)) {
            Some(Fault::Status(code)) => status::response(code, None, &about).map(whole),
            Some(Fault::RetryAfter(code, seconds)) => {
                status::response(code, Some(seconds), &about).map(whole)
            }
            Some(Fault::CutBeforeRequest) => return Err(Severed.into()),
            Some(Fault::BlackHole) => pending().await,
            Some(Fault::Delay(time)) => {
                tokio::time::sleep(time).await;
                self.forward(id, request, (about, None)).await?
            }
            fault => self.forward(id, request, (about, fault)).await?,
        };
        if self.shared.is_away() {
            return Err(Severed.into());
        }
        self.shared.with(|book| book.journal.answered(id, response.status().as_u16()));
        Ok(response)
    }

    async fn forward(
        &self,
        id: usize,
        request: Request<Incoming>,
        (about, fault): (ApiRequest, Option<Fault>),
    ) -> Result<Response<AnswerBody>, BoxError> {
        if self.shared.is_away() {
            return Err(Severed.into());
        }
        // A server that fails us fails our client: the connection ends without an answer.
        let response = self.upstream.send(about.verb, request).await?;
        if fault == Some(Fault::CutBeforeResponse) {
            return Err(Severed.into());
        }
        let is_cut = fault == Some(Fault::CutMidBody);
        let (parts, body) = response.into_parts();
        let body = if about.verb == Verb::Watch && parts.status.is_success() {
            let watch = WatchStream::open(Arc::clone(&self.shared), id, (about, body));
            let watch = if is_cut { watch.cut_in_first_event() } else { watch };
            StreamBody::new(watch.into_frames()).boxed_unsync()
        } else if is_cut {
            half(body).await?
        } else {
            body.map_err(BoxError::from).boxed_unsync()
        };
        Ok(Response::from_parts(parts, body))
    }
}

fn whole(bytes: Bytes) -> AnswerBody {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

/// Sends half of a body, then breaks the connection.
async fn half(body: Body) -> Result<AnswerBody, BoxError> {
    let bytes = body.collect().await?.to_bytes();
    let first = bytes.slice(..bytes.len() / 2);
    let first = futures::stream::once(async { Ok::<_, BoxError>(Frame::data(first)) });
    let end = futures::stream::once(async { Err(severed_after_flush().await) });
    let frames = futures::StreamExt::chain(first, end);
    Ok(StreamBody::new(frames.into_stream()).boxed_unsync())
}
