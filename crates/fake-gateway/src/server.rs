//! Listens, with or without TLS, and turns bytes into calls. Can close its port and open it again.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::{BodyExt, Limited};
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::auth::{self, Channel};
use crate::fault::{self, Ugly};
use crate::reply::{self, Reply};
use crate::route::{self, Call, Scanners};
use crate::world::{Recorded, Shared, State};

/// How many connections may wait to be served.
pub(crate) const BACKLOG: u32 = 1024;
/// No request of ours is near this.
const BODY_LIMIT: usize = 1024 * 1024;

/// Opens or closes the port, and drops `done` when it is done.
pub(crate) struct Switch {
    pub(crate) open: bool,
    pub(crate) done: std::sync::mpsc::Sender<()>,
}

#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) shared: Arc<Shared>,
    pub(crate) scanners: Scanners,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<tokio_rustls::TlsAcceptor>,
}

/// Opens a socket in a way that lets a second one, not listening, hold its place.
pub(crate) fn bind(at: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if at.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(true)?;
    socket.bind(at)?;
    Ok(socket)
}

/// Serves one port until the sender of `switch` is gone. The port is ours while it is closed, too.
pub(crate) async fn listen(
    service: Service,
    (place, listener): (TcpSocket, TcpListener),
    mut switch: UnboundedReceiver<Switch>,
) -> io::Result<()> {
    let at = place.local_addr()?;
    let mut listener = Some(listener);
    loop {
        let next = switch.recv();
        let asked = match &listener {
            None => next.await,
            Some(open) => tokio::select! {
                asked = next => asked,
                accepted = open.accept() => {
                    if let Ok((stream, _)) = accepted {
                        tokio::spawn(connection(service.clone(), stream));
                    }
                    continue;
                }
            },
        };
        let Some(Switch { open, done }) = asked else { return Ok(()) };
        listener = match listener {
            Some(listener) if open => Some(listener),
            None if open => Some(bind(at)?.listen(BACKLOG)?),
            _ => None,
        };
        drop(done);
    }
}

async fn connection(service: Service, stream: TcpStream) {
    #[cfg(feature = "tls")]
    if let Some(tls) = service.tls.clone() {
        // A client that speaks plain HTTP to this port fails here, as with a real gateway.
        if let Ok(stream) = tls.accept(stream).await {
            serve(service, stream, Channel::Secure).await;
        }
        return;
    }
    serve(service, stream, Channel::Plain).await;
}

async fn serve<S>(service: Service, stream: S, channel: Channel)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let answer = service_fn(|request| one(service.clone(), channel, request));
    let http = Builder::new(TokioExecutor::new());
    // A connection that ends badly is what many tests ask for.
    drop(http.serve_connection(TokioIo::new(stream), answer).await);
}

async fn one(service: Service, channel: Channel, request: Request<Incoming>) -> io::Result<Reply> {
    let call = read(service, channel, request).await?;
    let place = record(&call);
    let (is_down, ugly) = call.shared.change(|world| {
        let ugly = fault::strike(&mut world.faults, &call.method, &call.path);
        (world.state == State::Down, ugly)
    });
    if is_down {
        return Err(io::Error::other("the gateway is down"));
    }
    let reply = match ugly {
        Some(ugly) => go_wrong(&call, ugly).await?,
        None => route::answer(&call).await,
    };
    let status = reply.status().as_u16();
    call.shared.change(|world| world.requests[place].status = status);
    Ok(reply)
}

async fn read(service: Service, channel: Channel, request: Request<Incoming>) -> io::Result<Call> {
    let (head, body) = request.into_parts();
    let body = Limited::new(body, BODY_LIMIT).collect().await.map_err(io::Error::other)?;
    let presented = head.headers.get(auth::HEADER).and_then(|value| value.to_str().ok());
    Ok(Call {
        shared: service.shared,
        scanners: service.scanners,
        presented: presented.map(str::to_owned),
        query: head.uri.query().unwrap_or_default().to_owned(),
        path: head.uri.path().to_owned(),
        method: head.method,
        body: body.to_bytes().to_vec(),
        channel,
    })
}

fn record(call: &Call) -> usize {
    let name = |pair: &String| pair.split_once(':').map(|(name, _)| name.to_owned());
    let recorded = Recorded {
        method: call.method.to_string(),
        path: call.path.clone(),
        query: call.query.clone(),
        body: String::from_utf8_lossy(&call.body).into_owned(),
        token: call.presented.as_ref().and_then(name),
        status: 0,
    };
    call.shared.change(|world| {
        world.requests.push(recorded);
        world.requests.len() - 1
    })
}

async fn go_wrong(call: &Call, ugly: Ugly) -> io::Result<Reply> {
    Ok(match ugly {
        Ugly::Status(status) => reply::html(status),
        Ugly::Empty(status) => reply::empty(status),
        Ugly::Html => reply::html(200),
        Ugly::Body(content_type, body) => reply::text(200, content_type, body),
        Ugly::Redirect(location) => reply::redirect(&location),
        Ugly::Slow(delay) => {
            tokio::time::sleep(delay).await;
            route::answer(call).await
        }
        Ugly::Hang => std::future::pending().await,
        Ugly::Drip(period) => reply::drip(period),
        Ugly::Cut => reply::cut(),
        Ugly::Huge(size) => reply::huge(size),
        Ugly::Drop => return Err(io::Error::other("dropped as asked")),
    })
}
