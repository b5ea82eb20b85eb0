//! One TLS connection: HTTP/2 where the client offers it, else HTTP/1.1.

use std::pin::Pin;
use std::time::Duration;

use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::connection::{Connection, run, serve_http1};
use super::{Exchange, Handler, Limits};
use crate::Shutdown;

const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(30);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;

pub(super) async fn serve_tls<H: Handler>(
    stream: TcpStream,
    acceptor: &tokio_rustls::TlsAcceptor,
    exchange: Exchange<H>,
    limits: Limits,
    shutdown: Shutdown,
) {
    let handshake = tokio::time::timeout(limits.first_request, acceptor.accept(stream)).await;
    let Ok(Ok(stream)) = handshake else {
        tracing::debug!(peer = %exchange.peer, "a TLS handshake failed");
        return;
    };
    if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
        serve_http2(stream, exchange, limits, shutdown).await;
    } else {
        serve_http1(stream, exchange, limits, shutdown).await;
    }
}

async fn serve_http2<S, H>(stream: S, exchange: Exchange<H>, limits: Limits, shutdown: Shutdown)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Handler,
{
    let service = service_fn({
        let exchange = exchange.clone();
        move |request| exchange.clone().answer(request)
    });
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(u32::try_from(limits.head).unwrap_or(u32::MAX))
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .keep_alive_interval(KEEP_ALIVE_INTERVAL)
        .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    run(connection, &exchange, &shutdown).await;
}

impl<I, B, S, E> Connection for http2::Connection<I, S, E>
where
    S: hyper::service::HttpService<hyper::body::Incoming, ResBody = B>,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    I: hyper::rt::Read + hyper::rt::Write + Unpin,
    B: hyper::body::Body + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    E: hyper::rt::bounds::Http2ServerConnExec<S::Future, B>,
{
    fn finish(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}
