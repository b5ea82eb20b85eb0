//! The wire between client and server: every byte of every answer is counted, and one of them can
//! be the last.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::sleep;

use crate::git::{Error, background};

/// What happens to the wire, and before which byte of all answers together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    at: u64,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Stall,
    Drip(Duration),
    Reset,
    Close,
}

impl Fault {
    /// Sends `at` bytes and then nothing, with the connection open.
    pub fn stall(at: u64) -> Self {
        Self { at, kind: Kind::Stall }
    }

    /// Sends `at` bytes, and from then on one byte per `pause`.
    pub fn drip(at: u64, pause: Duration) -> Self {
        Self { at, kind: Kind::Drip(pause) }
    }

    /// Sends `at` bytes and resets the connection.
    pub fn reset(at: u64) -> Self {
        Self { at, kind: Kind::Reset }
    }

    /// Sends `at` bytes and closes the connection politely, in the middle of the answer.
    pub fn close(at: u64) -> Self {
        Self { at, kind: Kind::Close }
    }
}

#[derive(Debug)]
pub(super) struct Wire {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: AbortHandle,
}

#[derive(Debug, Default)]
struct Shared {
    fault: watch::Sender<Option<Fault>>,
    sent: AtomicU64,
    faults: AtomicUsize,
}

impl Wire {
    pub(super) fn start(server: SocketAddr) -> Result<Self, Error> {
        let (listener, address) = background::listen()?;
        let shared = Arc::new(Shared::default());
        let task = background::runtime()?.spawn(accept(listener, server, Arc::clone(&shared)));
        Ok(Self { address, shared, accepting: task.abort_handle() })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn set(&self, fault: Option<Fault>) {
        self.shared.sent.store(0, Ordering::SeqCst);
        self.shared.fault.send_replace(fault);
    }

    pub(super) fn bytes_sent(&self) -> u64 {
        self.shared.sent.load(Ordering::SeqCst)
    }

    pub(super) fn faults(&self) -> usize {
        self.shared.faults.load(Ordering::SeqCst)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Connections are children of this task: they end when it does.
async fn accept(listener: TcpListener, server: SocketAddr, shared: Arc<Shared>) {
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        connections.spawn(carry(client, server, Arc::clone(&shared)));
        while connections.try_join_next().is_some() {}
    }
}

async fn carry(client: TcpStream, server: SocketAddr, shared: Arc<Shared>) -> io::Result<()> {
    let server = TcpStream::connect(server).await?;
    client.set_nodelay(true)?;
    let (mut from_client, to) = client.into_split();
    let (from, mut to_server) = server.into_split();
    let fault = shared.fault.subscribe();
    let answers = Answers { from, to, fault, shared, dripping: false };
    tokio::select! {
        // A client that hangs up wants no answer any more.
        asked = copy(&mut from_client, &mut to_server) => asked.map(drop),
        answered = answers.carry() => answered,
    }
}

/// The direction from server to client.
struct Answers {
    from: OwnedReadHalf,
    to: OwnedWriteHalf,
    fault: watch::Receiver<Option<Fault>>,
    shared: Arc<Shared>,
    dripping: bool,
}

/// What the wire does with the next bytes.
enum Step {
    /// Send at most so many.
    Send(usize),
    Break(Fault),
}

impl Answers {
    async fn carry(mut self) -> io::Result<()> {
        let ended = self.run().await;
        // Where a polite end was due it has been said; dropping the half would say it again, before
        // a reset.
        self.to.forget();
        ended
    }

    async fn run(&mut self) -> io::Result<()> {
        let mut buffer = vec![0; 16 * 1024];
        loop {
            let length = self.from.read(&mut buffer).await?;
            if length == 0 {
                return self.to.shutdown().await;
            }
            let mut rest = &buffer[..length];
            while !rest.is_empty() {
                let sent = self.step(rest).await?;
                rest = &rest[sent..];
            }
        }
    }

    /// Sends some bytes, or none where the fault is; a broken connection is an error.
    async fn step(&mut self, rest: &[u8]) -> io::Result<usize> {
        let fault = *self.fault.borrow_and_update();
        match self.shared.step(fault, rest.len()) {
            Step::Send(count) => {
                self.to.write_all(&rest[..count]).await?;
                Ok(count)
            }
            Step::Break(fault) => self.suffer(fault, rest).await,
        }
    }

    async fn suffer(&mut self, fault: Fault, rest: &[u8]) -> io::Result<usize> {
        if !self.dripping {
            self.shared.faults.fetch_add(1, Ordering::SeqCst);
        }
        match fault.kind {
            // Until the test changes its mind.
            Kind::Stall => self.fault.changed().await.map(|()| 0).map_err(io::Error::other),
            Kind::Drip(pause) => {
                self.dripping = true;
                self.to.write_all(&rest[..1]).await?;
                self.shared.sent.fetch_add(1, Ordering::SeqCst);
                sleep(pause).await;
                Ok(1)
            }
            // Closing without any patience makes the kernel send a reset.
            Kind::Reset => {
                self.to.as_ref().set_zero_linger()?;
                Err(io::ErrorKind::ConnectionReset.into())
            }
            Kind::Close => {
                self.to.shutdown().await?;
                Err(io::ErrorKind::ConnectionAborted.into())
            }
        }
    }
}

impl Shared {
    /// Takes bytes from the budget before the fault, so that two connections never share one.
    fn step(&self, fault: Option<Fault>, wanted: usize) -> Step {
        let at = fault.map_or(u64::MAX, |fault| fault.at);
        let take = |sent: u64| {
            let allowed = at.saturating_sub(sent).min(wanted as u64);
            (allowed > 0).then_some(sent + allowed)
        };
        let taken = self.sent.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take);
        match (taken, fault) {
            (Ok(before), _) => {
                let allowed = at.saturating_sub(before).min(wanted as u64);
                Step::Send(usize::try_from(allowed).unwrap_or(wanted))
            }
            (Err(_), Some(fault)) => Step::Break(fault),
            (Err(_), None) => Step::Send(wanted),
        }
    }
}
