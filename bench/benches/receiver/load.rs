//! Senders: many connections that are kept open, one request after the other on each.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use stoker_bench::delivery;
use stoker_testkit::quickstart::SYNC;

use crate::world::NAMESPACE;

/// How long the last write may take after the last push event.
pub(crate) const PAUSE: Duration = Duration::from_millis(1500);
/// Longer than any answer should take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A request that is sent again and again.
pub(crate) struct Load {
    head: String,
    body: String,
}

/// What came of it.
pub(crate) struct Sent {
    pub(crate) count: u64,
    pub(crate) took: Duration,
}

/// Connections that hang in the middle of a request.
pub(crate) struct Slow(Vec<TcpStream>);

impl Load {
    /// Push events with a signature by this key.
    pub(crate) fn signed(key: &str, length: usize) -> Self {
        let body = body(length);
        let signature = delivery::signature(key, body.as_bytes());
        Self::with(&format!("X-Hub-Signature-256: {signature}\r\n"), body)
    }

    /// Push events without one.
    pub(crate) fn unsigned(length: usize) -> Self {
        Self::with("", body(length))
    }

    fn with(signature: &str, body: String) -> Self {
        let head = format!(
            "POST /webhook/{NAMESPACE}/{SYNC} HTTP/1.1\r\nHost: receiver\r\n\
             Content-Type: application/json\r\nX-GitHub-Event: push\r\n\
             {signature}Content-Length: {}\r\n\r\n",
            body.len()
        );
        Self { head, body }
    }

    /// Sends from many connections for a while. Every answer must have this status.
    pub(crate) fn send(
        &self,
        to: SocketAddr,
        status: u16,
        senders: usize,
        time: Duration,
    ) -> anyhow::Result<Sent> {
        let started = Instant::now();
        let until = started + time;
        let counts = thread::scope(|scope| {
            let senders: Vec<_> =
                (0..senders).map(|_| scope.spawn(|| self.repeat(to, status, until))).collect();
            let ended = senders.into_iter().map(|sender| {
                sender.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a sender panicked")))
            });
            ended.collect::<anyhow::Result<Vec<u64>>>()
        })?;
        Ok(Sent { count: counts.into_iter().sum(), took: started.elapsed() })
    }

    /// Sends on one connection at a time. The server may close it after an answer.
    fn repeat(&self, to: SocketAddr, status: u16, until: Instant) -> anyhow::Result<u64> {
        let request = format!("{}{}", self.head, self.body);
        let (mut count, mut answer) = (0, Vec::with_capacity(1024));
        while Instant::now() < until {
            let mut stream = connect(to)?;
            while Instant::now() < until {
                answer.clear();
                if stream.write_all(request.as_bytes()).is_err() || !read(&mut stream, &mut answer)?
                {
                    break;
                }
                let expected = format!("HTTP/1.1 {status}");
                ensure!(
                    answer.starts_with(expected.as_bytes()),
                    "expected {status}, got {}",
                    String::from_utf8_lossy(&answer)
                );
                count += 1;
                if contains(&answer, b"connection: close") {
                    break;
                }
            }
        }
        Ok(count)
    }
}

fn connect(to: SocketAddr) -> anyhow::Result<TcpStream> {
    let stream = TcpStream::connect(to).context("failed to reach the receiver")?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Reads one answer. Says no where the server closed the connection before it.
fn read(stream: &mut TcpStream, answer: &mut Vec<u8>) -> anyhow::Result<bool> {
    let mut buffer = [0; 4096];
    loop {
        let count = match stream.read(&mut buffer) {
            Ok(0) => return Ok(false),
            Ok(count) => count,
            // The server did not read a body that it does not need.
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return Ok(false),
            Err(error) => return Err(error).context("failed to read an answer"),
        };
        answer.extend_from_slice(&buffer[..count]);
        // Every answer is one line of JSON.
        if contains(answer, b"\r\n\r\n") && answer.ends_with(b"\n") && !answer.ends_with(b"\r\n") {
            return Ok(true);
        }
    }
}

fn contains(text: &[u8], wanted: &[u8]) -> bool {
    text.windows(wanted.len()).any(|window| window == wanted)
}

/// A push to `main`, as long as wanted.
fn body(length: usize) -> String {
    let begin = r#"{"ref":"refs/heads/main","deleted":false,"commits":[{"message":""#;
    let end = r#""}]}"#;
    format!("{begin}{}{end}", "x".repeat(length - begin.len() - end.len()))
}

impl Sent {
    pub(crate) fn per_second(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let count = self.count as f64;
        count / self.took.as_secs_f64()
    }
}

impl Slow {
    /// Opens connections that send a head and a part of the body.
    pub(crate) fn open(
        to: SocketAddr,
        load: &Load,
        count: usize,
        begun: usize,
    ) -> anyhow::Result<Self> {
        let connections = (0..count).map(|_| {
            let mut stream = connect(to)?;
            stream.write_all(load.head.as_bytes())?;
            stream.write_all(&load.body.as_bytes()[..begun])?;
            Ok(stream)
        });
        Ok(Self(connections.collect::<anyhow::Result<_>>()?))
    }

    /// Counts those that the server has not closed.
    pub(crate) fn count_open(&self) -> usize {
        let is_open = |stream: &&TcpStream| {
            stream.set_nonblocking(true).ok();
            let error = stream.peek(&mut [0]).err();
            error.is_some_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
        };
        self.0.iter().filter(is_open).count()
    }
}
