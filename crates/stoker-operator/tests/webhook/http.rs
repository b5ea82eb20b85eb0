//! One HTTP request over loopback.

use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Sends a request, and reads the response to its end.
pub(crate) async fn send(port: u16, head: &str, body: &[u8]) -> std::io::Result<Response> {
    let exchange = async {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        stream.write_all(head.as_bytes()).await?;
        // A server that has seen enough closes early; what it said is still there to be read.
        stream.write_all(body).await.ok();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.ok();
        Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    let answer: std::io::Result<String> =
        tokio::time::timeout(Duration::from_secs(40), exchange).await.unwrap();
    let answer = answer?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    Ok(Response { status, head: head.to_lowercase(), body: body.to_owned() })
}

/// Gets a path.
pub(crate) async fn get(port: u16, path: &str) -> std::io::Result<Response> {
    let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    send(port, &head, b"").await
}

/// Posts a body with further headers.
pub(crate) async fn post(port: u16, path: &str, headers: &[String], body: &[u8]) -> Response {
    let mut head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n",
        body.len()
    );
    for header in headers {
        head.push_str(header);
        head.push_str("\r\n");
    }
    head.push_str("\r\n");
    send(port, &head, body).await.unwrap()
}
