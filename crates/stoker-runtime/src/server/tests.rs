//! Claims about servers, made by clients over loopback.

use std::net::Ipv4Addr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use crate::listener::{BindAddress, bind};
use crate::shutdown::Trigger;

struct Paths;

impl Handler for Paths {
    async fn respond(&self, request: Request<Incoming>, _: SocketAddr) -> Reply {
        match request.uri().path() {
            "/panic" => panic!("on purpose"),
            "/hang" => std::future::pending().await,
            _ => text(StatusCode::OK, "here\n"),
        }
    }
}

struct Running {
    port: u16,
    trigger: Trigger,
    task: tokio::task::JoinHandle<()>,
}

fn start(limits: Limits) -> Running {
    let listener = bind(BindAddress::Any(0)).unwrap().unwrap();
    let port = listener.local_addr().unwrap().port();
    let (trigger, shutdown) = Shutdown::manual();
    let task = tokio::spawn(Server::new(listener, limits, Paths).serve(shutdown));
    Running { port, trigger, task }
}

impl Running {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).await.unwrap()
    }

    async fn exchange(&self, request: &str) -> String {
        let mut stream = self.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        read(&mut stream).await
    }
}

async fn read(stream: &mut TcpStream) -> String {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
}

fn short() -> Limits {
    Limits {
        first_request: Duration::from_millis(200),
        idle: Duration::from_millis(200),
        request: Duration::from_millis(200),
        ..Limits::default()
    }
}

#[tokio::test]
async fn a_panic_answers_500_and_the_server_goes_on() {
    let server = start(Limits::default());
    assert!(server.exchange(&get("/panic")).await.starts_with("HTTP/1.1 500 "));
    assert!(server.exchange(&get("/")).await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn a_request_that_is_not_answered_in_time_gets_408() {
    let server = start(short());
    assert!(server.exchange(&get("/hang")).await.starts_with("HTTP/1.1 408 "));
}

#[tokio::test]
async fn a_connection_without_a_request_is_closed() {
    let server = start(short());
    let mut silent = server.connect().await;
    assert_eq!(read(&mut silent).await, "");
    let mut slow = server.connect().await;
    slow.write_all(b"GET / HTTP/1.1\r\nHost:").await.unwrap();
    assert!(!read(&mut slow).await.contains("200 OK"));
}

#[tokio::test]
async fn a_connection_beyond_the_limit_waits_for_a_free_slot() {
    let server = start(Limits { connections: 1, ..short() });
    let _first = server.connect().await;
    // The first connection sends nothing, and makes way when its time is up.
    assert!(server.exchange(&get("/")).await.contains("here"));
}

#[tokio::test]
async fn a_server_that_lingers_answers_after_a_shutdown_request() {
    let server = start(Limits { linger: Duration::from_secs(1), ..Limits::default() });
    server.trigger.request();
    assert!(server.exchange(&get("/")).await.contains("here"));
    let port = server.port;
    server.task.await.unwrap();
    assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_err());
}

#[tokio::test]
async fn a_shutdown_ends_idle_connections_and_the_server() {
    let server = start(Limits::default());
    let mut idle = server.connect().await;
    idle.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut first = [0; 12];
    idle.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    server.trigger.request();
    server.task.await.unwrap();
    read(&mut idle).await;
}
