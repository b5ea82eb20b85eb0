//! A way between the node's network and ours: a Unix socket carries what a packet can't cross.
//!
//! The path of a Unix socket is a file, and files are shared where networks are not. Inside, a
//! thread reads one line, `address:port`, connects, and passes bytes on; outside, [`forward`]
//! listens on a loopback port for one such address. So kubectl, browsers and tests need no
//! namespace of their own.
//!
//! The other way round, [`expose`] sends the line `listen PATH`. Inside, a thread listens on the
//! node's address and passes each connection to the Unix socket at PATH, behind which a thread
//! outside connects to a server of ours. It listens until the connection that asked for it ends.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use super::inside::ADDRESS;

/// The socket's name in the cluster's directory.
pub(super) const SOCKET: &str = "relay.sock";

/// Begins the request to listen inside.
const LISTEN: &str = "listen ";

/// A server outside that the node's pods reach, until this value is dropped.
#[derive(Debug)]
#[must_use = "the address stops answering when this value is dropped"]
pub struct Exposed {
    address: SocketAddr,
    socket: PathBuf,
    /// Inside, the listener ends with this connection.
    _request: BufReader<UnixStream>,
}

impl Exposed {
    /// The address at which pods reach the server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes every new connection at once until the returned value is dropped: an outage.
    pub fn cut(&self) -> Cut<'_> {
        fs::rename(&self.socket, hidden(&self.socket)).ok();
        Cut { socket: &self.socket }
    }
}

/// An outage of an exposed server, until this value is dropped.
#[derive(Debug)]
#[must_use = "the outage ends when this value is dropped"]
pub struct Cut<'a> {
    socket: &'a Path,
}

impl Drop for Cut<'_> {
    fn drop(&mut self) {
        fs::rename(hidden(self.socket), self.socket).ok();
    }
}

/// Where the socket is while the relay must not find it.
fn hidden(socket: &Path) -> PathBuf {
    socket.with_extension("cut")
}

impl Drop for Exposed {
    fn drop(&mut self) {
        fs::remove_file(&self.socket).ok();
    }
}

/// Serves the relay inside the node's network, in a thread of its own.
pub(super) fn serve(directory: &Path) -> io::Result<()> {
    let listener = UnixListener::bind(directory.join(SOCKET))?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer_inside(&stream));
        }
    });
    Ok(())
}

fn answer_inside(stream: &UnixStream) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut target = String::new();
    reader.read_line(&mut target)?;
    if let Some(socket) = target.trim_end().strip_prefix(LISTEN) {
        return listen_inside(stream, Path::new(socket));
    }
    let inner = TcpStream::connect(target.trim())?;
    (&inner).write_all(reader.buffer())?; // what came along with the line
    exchange(&inner, stream)
}

/// Listens on a loopback port outside and passes each connection to `target` inside.
pub(super) fn forward(directory: &Path, target: &str) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    let (socket, target) = (directory.join(SOCKET), target.to_owned());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (socket, target) = (socket.clone(), target.clone());
            thread::spawn(move || connect_outside(&stream, &socket, &target));
        }
    });
    Ok(address)
}

fn connect_outside(stream: &TcpStream, socket: &PathBuf, target: &str) -> io::Result<()> {
    let relay = UnixStream::connect(socket)?;
    writeln!(&relay, "{target}")?;
    exchange(stream, &relay)
}

/// Passes connections to the node's address on to a socket, until `request` ends.
fn listen_inside(mut request: &UnixStream, socket: &Path) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::from(ADDRESS), 0))?;
    let address = listener.local_addr()?;
    writeln!(request, "{address}")?;
    let ended = Arc::new(AtomicBool::new(false));
    let (socket, seen) = (socket.to_owned(), Arc::clone(&ended));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            if seen.load(Ordering::Acquire) {
                break;
            }
            let socket = socket.clone();
            thread::spawn(move || exchange(&stream, &UnixStream::connect(socket)?));
        }
    });
    request.read_to_end(&mut Vec::new())?;
    ended.store(true, Ordering::Release);
    TcpStream::connect(address).map(drop) // the listener looks up
}

/// Gives a server outside an address inside.
pub(super) fn expose(directory: &Path, server: SocketAddr) -> io::Result<Exposed> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let socket = directory.join(format!("expose-{}-{number}.sock", std::process::id()));
    let listener = UnixListener::bind(&socket)?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || exchange(&TcpStream::connect(server)?, &stream));
        }
    });
    let relay = UnixStream::connect(directory.join(SOCKET))?;
    writeln!(&relay, "{LISTEN}{}", socket.display())?;
    let mut request = BufReader::new(relay);
    let mut address = String::new();
    request.read_line(&mut address)?;
    let address = address.trim().parse().map_err(io::Error::other)?;
    Ok(Exposed { address, socket, _request: request })
}

/// Copies both ways until both sides are done; the end of one direction is passed on.
fn exchange(tcp: &TcpStream, unix: &UnixStream) -> io::Result<()> {
    tcp.set_nodelay(true)?;
    thread::scope(|scope| {
        scope.spawn(|| {
            io::copy(&mut &*tcp, &mut &*unix).ok();
            unix.shutdown(Shutdown::Write).ok();
        });
        io::copy(&mut &*unix, &mut &*tcp).ok();
        tcp.shutdown(Shutdown::Write).ok();
    });
    Ok(())
}
