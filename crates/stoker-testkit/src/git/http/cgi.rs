//! `git http-backend` as the CGI program that it is, streamed in both directions.

use std::io;
use std::process::{Command, Stdio};

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, Response, header, request};
use futures::{StreamExt, stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::task::spawn_blocking;

use super::policy::{Access, Backend, Protocol};
use crate::git::run;
use crate::process::Guarded;

const CHUNK: usize = 32 * 1024;

/// Runs git for one request. The answer's body ends git when it is dropped.
pub(super) async fn answer(
    backend: &Backend,
    head: &request::Parts,
    body: Body,
) -> io::Result<Response<Body>> {
    let command = command(backend, head)?;
    let mut git = spawn_blocking(move || Guarded::spawn(command)).await??;
    let (Some(stdin), Some(stdout)) = (git.take_stdin(), git.take_stdout()) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    tokio::spawn(feed(ChildStdin::from_std(stdin)?, body));
    let mut output = Output { git, stdout: ChildStdout::from_std(stdout)?, read: Vec::new() };
    let head = output.head().await?;
    let mut response = parse_head(&head)?;
    *response.body_mut() = Body::from_stream(stream::unfold(Some(output), Output::chunk));
    Ok(response)
}

fn command(backend: &Backend, head: &request::Parts) -> io::Result<Command> {
    let mut git = run::command(&backend.repository).map_err(io::Error::other)?;
    if backend.access == Access::Write {
        git.args(["-c", "http.receivepack=true"]);
    }
    git.arg("http-backend");
    git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    git.env("REQUEST_METHOD", head.method.as_str());
    git.env("QUERY_STRING", head.uri.query().unwrap_or_default());
    git.env("PATH_INFO", &backend.rest).env("GIT_PROJECT_ROOT", &backend.repository);
    git.env("GIT_HTTP_EXPORT_ALL", "1").env("REMOTE_ADDR", "127.0.0.1");
    let variables = [
        (header::CONTENT_TYPE, "CONTENT_TYPE"),
        (header::CONTENT_LENGTH, "CONTENT_LENGTH"),
        (header::CONTENT_ENCODING, "HTTP_CONTENT_ENCODING"),
    ];
    for (name, variable) in variables {
        if let Some(value) = text(head, &name) {
            git.env(variable, value);
        }
    }
    let version = text(head, &HeaderName::from_static("git-protocol"));
    if let (Some(version), Protocol::V2) = (version, backend.protocol) {
        git.env("GIT_PROTOCOL", version);
    }
    Ok(git)
}

fn text<'a>(head: &'a request::Parts, name: &HeaderName) -> Option<&'a str> {
    head.headers.get(name)?.to_str().ok()
}

/// Git that has read enough closes its end; the answer says why.
async fn feed(mut stdin: ChildStdin, body: Body) {
    let mut chunks = body.into_data_stream();
    while let Some(Ok(chunk)) = chunks.next().await {
        if stdin.write_all(&chunk).await.is_err() {
            return;
        }
    }
}

/// What git writes, and git itself: dropped together.
struct Output {
    git: Guarded,
    stdout: ChildStdout,
    read: Vec<u8>,
}

impl Output {
    /// Reads up to the empty line; what came with it stays for the body.
    async fn head(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(end) = self.read.windows(4).position(|window| window == b"\r\n\r\n") {
                let body = self.read.split_off(end + 4);
                return Ok(std::mem::replace(&mut self.read, body));
            }
            if self.stdout.read_buf(&mut self.read).await? == 0 {
                return Err(io::Error::other("git http-backend ended without an answer"));
            }
        }
    }

    async fn chunk(state: Option<Self>) -> Option<(io::Result<Bytes>, Option<Self>)> {
        let mut output = state?;
        if output.read.is_empty() {
            output.read.reserve(CHUNK);
            match output.stdout.read_buf(&mut output.read).await {
                Ok(0) => {
                    // Let git end by itself: after a push it may still have something to do.
                    spawn_blocking(move || output.git.wait());
                    return None;
                }
                Ok(_) => (),
                Err(error) => return Some((Err(error), None)),
            }
        }
        let chunk = std::mem::take(&mut output.read);
        Some((Ok(chunk.into()), Some(output)))
    }
}

/// CGI heads are HTTP headers; the status is one of them, 200 if it is not there.
fn parse_head(head: &[u8]) -> io::Result<Response<Body>> {
    let mut response = Response::builder();
    let text = std::str::from_utf8(head).map_err(io::Error::other)?;
    for line in text.lines().filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(": ").ok_or(io::ErrorKind::InvalidData)?;
        if name.eq_ignore_ascii_case("status") {
            response = response.status(value.split(' ').next().unwrap_or_default());
        } else {
            let value = HeaderValue::from_str(value).map_err(io::Error::other)?;
            response = response.header(name, value);
        }
    }
    response.body(Body::empty()).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_comes_from_its_header() {
        let head = b"Status: 404 Not Found\r\nContent-Type: text/plain\r\n\r\n";
        let response = parse_head(head).unwrap();
        assert_eq!(response.status(), 404);
        assert_eq!(response.headers()["content-type"], "text/plain");
        assert_eq!(parse_head(b"Expires: never\r\n\r\n").unwrap().status(), 200);
    }
}
