//! Serves the kubelet's probes: `/startupz` and `/healthz`.
//!
//! A connection has one request and two seconds. Slow or hostile clients delay no
//! other: every socket is non-blocking, and the oldest is closed when there are too many.
//!
//! A startup probe that can't pass yet waits these two seconds for its response: the kubelet asks
//! once a second, and so it learns at once that the gateway may start.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::{Duration, Instant};

const WITHIN: Duration = Duration::from_secs(2);
/// The pause between two attempts to listen.
const RETRY: Duration = Duration::from_secs(5);
const CONNECTIONS: usize = 32;
const REQUEST: usize = 4096;

/// Whether the gateway may start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Startup {
    Waiting(String),
    Passed,
}

pub(super) struct Probe {
    pub(super) startup: Startup,
    port: u16,
    listener: Option<TcpListener>,
    /// When it was last tried to listen.
    tried: Option<Instant>,
    connections: Vec<Connection>,
}

struct Connection {
    stream: TcpStream,
    until: Instant,
    received: Vec<u8>,
}

/// Listens on every address of the pod.
fn listen(port: u16) -> io::Result<TcpListener> {
    let listener = TcpListener::bind((Ipv6Addr::UNSPECIFIED, port))
        .or_else(|_| TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

impl Probe {
    pub(super) fn new(port: u16) -> Self {
        let startup = Startup::Waiting("for the worker".to_owned());
        Self { startup, port, listener: None, tried: None, connections: Vec::new() }
    }

    /// Listens, as soon as the port is free: with the node's network another pod may have it.
    fn open(&mut self, now: Instant) {
        if self.listener.is_some() || self.tried.is_some_and(|tried| now < tried + RETRY) {
            return;
        }
        match listen(self.port) {
            Ok(listener) => {
                let port = listener.local_addr().map_or(self.port, |address| address.port());
                super::log("INFO", "serving probes", Some(port));
                self.listener = Some(listener);
            }
            Err(error) if self.tried.is_none() => {
                let message = format!("failed to serve probes, retrying every 5 s: {error}");
                super::log("ERROR", &message, Some(self.port));
            }
            Err(_) => {}
        }
        self.tried = Some(now);
    }

    /// Returns the sockets to watch.
    pub(super) fn sockets(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let connections = self.connections.iter().map(|connection| connection.stream.as_fd());
        connections.chain(self.listener.as_ref().map(std::os::fd::AsFd::as_fd))
    }

    /// Returns when the next connection is too old, or the port is tried again.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        let retry = self.listener.is_none().then(|| self.tried.map_or(now, |tried| tried + RETRY));
        self.connections.iter().map(|connection| connection.until).chain(retry).min()
    }

    /// Accepts, reads and responds, as far as that is possible without waiting.
    pub(super) fn serve(&mut self, now: Instant) {
        self.open(now);
        while let Some(Ok((stream, _))) = self.listener.as_ref().map(TcpListener::accept) {
            if stream.set_nonblocking(true).is_ok() {
                let (until, received) = (now + WITHIN, Vec::new());
                self.connections.push(Connection { stream, until, received });
            }
            if self.connections.len() > CONNECTIONS {
                self.connections.remove(0);
            }
        }
        let startup = &self.startup;
        self.connections.retain_mut(|connection| connection.is_open(startup, now));
    }
}

impl Connection {
    /// Reads what has come, and responds to a whole request. Returns whether more is to come.
    fn is_open(&mut self, startup: &Startup, now: Instant) -> bool {
        let mut chunk = [0; 512];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => return false,
                // What follows a request that is too long is of no interest.
                Ok(_) if self.received.len() >= REQUEST => break,
                Ok(read) => self.received.extend_from_slice(&chunk[..read]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return false,
            }
        }
        let has_time = now < self.until;
        match respond(&self.received, startup) {
            Reply::Incomplete => has_time,
            Reply::Waiting(_) if has_time => true,
            Reply::Waiting(response) | Reply::Ready(response) => {
                self.stream.write_all(response.as_bytes()).ok();
                false
            }
        }
    }
}

/// What a request gets.
#[derive(Debug, PartialEq, Eq)]
enum Reply {
    /// Nothing yet: its head is not whole.
    Incomplete,
    /// This, unless the gateway may start in time.
    Waiting(String),
    /// This, at once.
    Ready(String),
}

/// Returns the reply to what has come of a request.
fn respond(request: &[u8], startup: &Startup) -> Reply {
    let is_whole = request.windows(4).any(|end| end == b"\r\n\r\n");
    if !is_whole && request.len() < REQUEST {
        return Reply::Incomplete;
    }
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line).into_owned();
    let mut words = line.split(' ');
    let is_read = matches!(words.next(), Some("GET" | "HEAD"));
    let path = words.next().unwrap_or_default();
    match (path.split('?').next(), startup) {
        _ if !is_read || !is_whole => Reply::Ready(write("400 Bad Request", "bad request")),
        (Some("/healthz"), _) | (Some("/startupz"), Startup::Passed) => {
            Reply::Ready(write("200 OK", "ok"))
        }
        (Some("/startupz"), Startup::Waiting(reason)) => {
            Reply::Waiting(write("503 Service Unavailable", &format!("waiting {reason}")))
        }
        _ => Reply::Ready(write("404 Not Found", "not found")),
    }
}

fn write(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}\n",
        body.len() + 1
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole response, and whether it would wait.
    fn reply(request: &str, startup: &Startup) -> Option<(String, bool)> {
        match respond(request.as_bytes(), startup) {
            Reply::Incomplete => None,
            Reply::Waiting(response) => Some((response, true)),
            Reply::Ready(response) => Some((response, false)),
        }
    }

    #[test]
    fn startup_passes_only_when_the_worker_said_so_and_health_always() {
        let waiting = Startup::Waiting("for git".to_owned());
        let cases = [
            ("/startupz", &waiting, "503 Service Unavailable", true),
            ("/startupz", &Startup::Passed, "200 OK", false),
            ("/healthz", &waiting, "200 OK", false),
            ("/", &waiting, "404 Not Found", false),
        ];
        for (path, startup, status, waits) in cases {
            let request = format!("GET {path} HTTP/1.1\r\n\r\n");
            let (response, found) = reply(&request, startup).unwrap();
            assert!(response.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{path}: {response}");
            assert_eq!(found, waits, "{path}");
        }
        let (response, _) = reply("GET /startupz HTTP/1.0\r\n\r\n", &waiting).unwrap();
        assert!(response.ends_with("\r\n\r\nwaiting for git\n"), "{response}");
    }

    #[test]
    fn half_a_request_gets_no_response_and_a_long_one_is_refused() {
        let passed = Startup::Passed;
        assert_eq!(reply("GET /healthz HTTP/1.1\r\nHost: x\r\n", &passed), None);
        let long = "GET /healthz HTTP/1.1\r\n".to_owned() + &"x".repeat(REQUEST);
        for refused in [long.as_str(), "POST /healthz HTTP/1.1\r\n\r\n"] {
            let (response, _) = reply(refused, &passed).unwrap();
            assert!(response.starts_with("HTTP/1.1 400 Bad Request"), "{response}");
        }
    }

    /// A probe that listens, and a connection that has asked for this path.
    fn asked(path: &str) -> (Probe, TcpStream) {
        let mut probe = Probe::new(0);
        probe.open(Instant::now());
        let port = probe.listener.as_ref().unwrap().local_addr().unwrap().port();
        let mut asking = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        write!(asking, "GET {path} HTTP/1.1\r\n\r\n").unwrap();
        asking.set_nonblocking(true).unwrap();
        (probe, asking)
    }

    #[test]
    fn a_startup_probe_waits_and_passes_the_moment_the_gateway_may_start() {
        let now = Instant::now();
        for (startup, at, status) in [
            (Startup::Passed, now, "HTTP/1.1 200"),
            (Startup::Waiting("for git".to_owned()), now + WITHIN, "HTTP/1.1 503"),
        ] {
            let (mut probe, mut asking) = asked("/startupz");
            while probe.connections.first().is_none_or(|waiting| waiting.received.is_empty()) {
                probe.serve(now);
            }
            let mut response = String::new();
            assert!(asking.read_to_string(&mut response).is_err(), "{response}");
            probe.startup = startup;
            probe.serve(at);
            while asking.read_to_string(&mut response).is_err() {}
            assert!(response.starts_with(status), "{response}");
        }
    }

    #[test]
    fn a_silent_connection_ends_in_time_and_delays_no_other() {
        let (mut probe, mut asking) = asked("/healthz");
        let silent = TcpStream::connect(asking.peer_addr().unwrap()).unwrap();
        let now = Instant::now();
        let mut response = String::new();
        while asking.read_to_string(&mut response).is_err() {
            probe.serve(now);
        }
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
        assert_eq!(probe.connections.len(), 1);
        probe.serve(now + WITHIN);
        assert_eq!(probe.connections.len(), 0);
        drop(silent);
    }

    #[test]
    fn a_port_that_is_taken_is_tried_again_until_it_is_free() {
        let taken = listen(0).unwrap();
        let mut probe = Probe::new(taken.local_addr().unwrap().port());
        let now = Instant::now();
        probe.serve(now);
        assert!(probe.listener.is_none());
        assert_eq!(probe.due(now), Some(now + RETRY));
        drop(taken);
        probe.serve(now + RETRY);
        assert!(probe.listener.is_some());
    }
}
