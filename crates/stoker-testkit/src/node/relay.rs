//! A way into the node's network from outside: a Unix socket carries what a packet can't cross.
//!
//! The path of a Unix socket is a file, and files are shared where networks are not. Inside, a
//! thread reads one line, `address:port`, connects, and passes bytes on; outside, [`forward`]
//! listens on a loopback port for one such address. So kubectl, browsers and tests need no
//! namespace of their own.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;

/// The socket's name in the cluster's directory.
pub(super) const SOCKET: &str = "relay.sock";

/// Serves the relay inside the node's network, in a thread of its own.
pub(super) fn serve(directory: &Path) -> io::Result<()> {
    let listener = UnixListener::bind(directory.join(SOCKET))?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || connect_inside(&stream));
        }
    });
    Ok(())
}

fn connect_inside(stream: &UnixStream) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut target = String::new();
    reader.read_line(&mut target)?;
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
