//! A listener on a free loopback port that hands every connection to a new process.
//!
//! The port is ours from the first moment and never guessed, and no daemon needs to be watched: a
//! connection's process gets the socket as its input and output, as inetd did it.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, spawn_blocking};

use super::{Error, background};
use crate::process::Guarded;

/// Makes the command for one connection.
pub(super) type Program = dyn Fn() -> io::Result<Command> + Send + Sync;

#[derive(Debug)]
pub(super) struct Inetd {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: AbortHandle,
}

#[derive(Debug, Default)]
struct Shared {
    connections: AtomicUsize,
    sessions: Mutex<Vec<Guarded>>,
}

impl Inetd {
    pub(super) fn start(program: Arc<Program>) -> Result<Self, Error> {
        let (listener, address) = background::listen()?;
        let shared = Arc::new(Shared::default());
        let task = background::runtime()?.spawn(accept(listener, program, Arc::clone(&shared)));
        Ok(Self { address, shared, accepting: task.abort_handle() })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(super) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }
}

impl Drop for Inetd {
    fn drop(&mut self) {
        self.accepting.abort();
        self.shared.sessions.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

async fn accept(listener: TcpListener, program: Arc<Program>, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        shared.connections.fetch_add(1, Ordering::Relaxed);
        let program = Arc::clone(&program);
        let session = spawn_blocking(move || serve(stream, &*program)).await;
        // Without a process the connection is closed, and the client says so.
        if let Ok(Ok(session)) = session {
            shared.keep(session);
        }
    }
}

fn serve(stream: TcpStream, program: &Program) -> io::Result<Guarded> {
    let stream = stream.into_std()?;
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    let input = OwnedFd::from(stream);
    let output = input.try_clone()?;
    let mut command = program()?;
    command.stdin(Stdio::from(input)).stdout(Stdio::from(output));
    Guarded::spawn(command)
}

impl Shared {
    /// Keeps a session alive until it ends by itself or the server does.
    fn keep(&self, session: Guarded) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain_mut(|session| matches!(session.try_wait(), Ok(None)));
        sessions.push(session);
    }
}
