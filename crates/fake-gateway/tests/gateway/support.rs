//! A client that knows nothing: what is on the wire, without a library's opinion.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use fake_gateway::{Gateway, Options};
use serde_json::Value;

/// The token that every test gateway knows.
pub(crate) const TOKEN: &str = "ci:s3cret";

/// How long anything may take before a test gives up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn items(&self) -> Value {
        self.json()["items"].clone()
    }
}

/// A gateway over a data directory with one project and one configuration resource.
pub(crate) fn gateway(options: impl FnOnce(Options) -> Options) -> (tempfile::TempDir, Gateway) {
    let data = tempfile::tempdir().unwrap();
    plant(data.path());
    let gateway = Gateway::start(options(Options::over(data.path()).token(TOKEN))).unwrap();
    (data, gateway)
}

/// Writes the tree that `gateway` starts with.
pub(crate) fn plant(data: &Path) {
    write(data, "projects/plant/project.json", r#"{"title":"Plant","enabled":true}"#);
    write(data, "projects/plant/views/main/resource.json", r#"{"files":["view.json"]}"#);
    write(data, "projects/plant/views/main/view.json", "{}");
    write(data, "config/resources/external/ignition/tag-provider/site/resource.json", "{}");
}

pub(crate) fn write(data: &Path, path: &str, content: &str) {
    let at = data.join(path);
    std::fs::create_dir_all(at.parent().unwrap()).unwrap();
    std::fs::write(at, content).unwrap();
}

pub(crate) fn get(gateway: &Gateway, path: &str) -> Answer {
    send(gateway, &request("GET", path, &format!("X-Ignition-API-Token: {TOKEN}\r\n"), "")).unwrap()
}

pub(crate) fn post(gateway: &Gateway, path: &str, body: &str) -> Answer {
    send(gateway, &request("POST", path, &format!("X-Ignition-API-Token: {TOKEN}\r\n"), body))
        .unwrap()
}

pub(crate) fn request(method: &str, path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    )
}

pub(crate) fn send(gateway: &Gateway, request: &str) -> io::Result<Answer> {
    let mut stream = TcpStream::connect(("127.0.0.1", gateway.plain_port()))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(request.as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(parse(&text))
}

pub(crate) fn parse(text: &str) -> Answer {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
}
