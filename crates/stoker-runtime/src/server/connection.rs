//! One connection: speaks HTTP until the peer leaves, it is idle for too long, or the server ends.

use std::pin::{Pin, pin};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{Exchange, Handler, Limits};
use crate::Shutdown;

/// How long a connection that was asked to end may take.
const GRACE: Duration = Duration::from_secs(5);

/// A connection that can be asked to end after its open requests.
pub(super) trait Connection: Future<Output = hyper::Result<()>> {
    fn finish(self: Pin<&mut Self>);
}

pub(super) async fn serve_http1<S, H>(
    stream: S,
    exchange: Exchange<H>,
    limits: Limits,
    shutdown: Shutdown,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Handler,
{
    let service = service_fn({
        let exchange = exchange.clone();
        move |request| exchange.clone().answer(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        // The head of every request, not only of the first: a slow head is not an idle connection.
        .header_read_timeout(limits.first_request.max(limits.idle))
        .max_buf_size(limits.head.max(8 * 1024))
        .serve_connection(TokioIo::new(stream), service);
    run(connection, &exchange, &shutdown).await;
}

pub(super) async fn run<H: Handler>(
    connection: impl Connection,
    exchange: &Exchange<H>,
    shutdown: &Shutdown,
) {
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => Some(ended),
        () = exchange.activity.idle() => None,
        () = shutdown.requested() => None,
    };
    let ended = if let Some(ended) = ended {
        ended
    } else {
        connection.as_mut().finish();
        tokio::time::timeout(GRACE, connection).await.unwrap_or(Ok(()))
    };
    if let Err(error) = ended {
        tracing::debug!(peer = %exchange.peer, %error, "a connection ended early");
    }
}

impl<I, B, S> Connection for http1::Connection<I, S>
where
    S: hyper::service::HttpService<hyper::body::Incoming, ResBody = B>,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    I: hyper::rt::Read + hyper::rt::Write + Unpin,
    B: hyper::body::Body + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    fn finish(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}
