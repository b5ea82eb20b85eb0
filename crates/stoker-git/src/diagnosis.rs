//! Reads what git says when it fails: the only place that parses git's messages.
//!
//! Git runs with `LC_ALL=C`, so that its sentences are the ones below. Lines that a server wrote
//! (`remote: …`, `fatal: remote error: …`) help to classify, but are not part of any error: a server
//! may say anything, a credential that it was sent included. [`crate::ServerWords`] keeps them for
//! a person who asks.

mod phrase;
pub(crate) mod redirect;

use std::time::Duration;

use stoker_api::word::{SafeUrl, Transport};

use crate::access::Access;
use crate::auth::Auth;
use crate::process::{self, Output};
use phrase::{Class, PHRASES};

/// Why git failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Fault {
    #[error("the server refused the credentials{}", Status(*.status))]
    Authentication { status: Option<u16> },
    #[error("the server wants credentials, and none were given{}", Status(*.status))]
    CredentialsNeeded { status: Option<u16> },
    #[error("the server's host key is not the one that is trusted")]
    HostKey,
    /// The server's certificate is not trusted, or TLS failed otherwise.
    #[error("{flaw}: {detail}")]
    Tls { flaw: Flaw, detail: String },
    #[error("the server does not speak TLS at this port")]
    NoTls,
    #[error("there is no such repository, or none that these credentials may see{}", Status(*.status))]
    NotFound { status: Option<u16> },
    #[error("the server can't be reached: {detail}")]
    Unreachable { detail: &'static str },
    #[error("no way through the proxy {proxy}: {detail}")]
    Proxy { proxy: SafeUrl, detail: &'static str },
    #[error("the server returned status {status}")]
    Server { status: u16 },
    /// The server sent us to another host, or from https to http.
    #[error("the server redirects elsewhere, to {to}")]
    Redirected { to: SafeUrl },
    #[error("the server does not give out the object that was asked for")]
    NotOurRef,
    #[error("what the server sent is damaged, or is not git")]
    Damaged,
    #[error("the server says that its copy of the repository is damaged")]
    ServerCorrupt,
    #[error("the server returned something that is not git, such as a login page")]
    NotGit,
    #[error("the repository has the object format sha256, which is not supported")]
    ObjectFormat,
    #[error("the repository {path:?} belongs to {}, not to us", Owner(*.owner))]
    DubiousOwnership {
        path: String,
        /// Its owner's uid.
        owner: Option<u32>,
    },
    #[error("no space is left on the disk of the object store")]
    DiskFull,
    #[error("the object store needs more than its limit of {limit} bytes")]
    StoreFull { limit: u64 },
    /// The store is damaged or locked; it is rebuilt when it is used next.
    #[error("the object store is damaged")]
    Store,
    #[error("no end after {} s", .after.as_secs())]
    TimedOut { after: Duration },
    #[error("less than 1 kB/s arrived for 10 s")]
    Stalled,
    #[error("cancelled")]
    Cancelled,
    #[error("{program:?} is not installed")]
    NotInstalled { program: &'static str },
    #[error("git is too old: 2.36 or newer is needed")]
    GitTooOld,
    #[error("ssh can't run for a uid without an entry in /etc/passwd")]
    NoPasswdEntry,
    #[error("the server sent more than {limit} bytes")]
    TooLarge { limit: u64 },
    #[error("git failed: {detail}")]
    Other { detail: String },
}

/// What is wrong with a server's certificate: each has a remedy of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Flaw {
    /// Nobody whom we trust has signed it; or the TLS library does not say.
    #[error("the server's certificate is not trusted")]
    Untrusted,
    #[error("the server's certificate is for another host")]
    OtherHost,
    #[error("the server's certificate is out of date")]
    OutOfDate,
}

struct Status(Option<u16>);

struct Owner(Option<u32>);

/// Judges how a command ended: its output, or why it can't be used.
pub(crate) fn judge(access: &Access, ran: Result<Output, process::Error>) -> Result<Output, Fault> {
    let output = ran.map_err(of_process)?;
    let has_failed = !output.status.success();
    if let Some(to) = redirect::elsewhere(&output.stderr, access, has_failed) {
        return Err(Fault::Redirected { to });
    }
    if !has_failed {
        return Ok(output);
    }
    access.server_words.note(access, &output.stderr);
    let transport = access.url.transport();
    Err(match (of_text(&output.stderr, transport), &access.auth, &access.proxy) {
        (Fault::Authentication { status }, Auth::None, _) => Fault::CredentialsNeeded { status },
        // With a proxy every connection is one to it.
        (Fault::Unreachable { detail }, _, Some(proxy)) if is_web(transport) => {
            Fault::Proxy { proxy: proxy.into(), detail }
        }
        (fault, _, _) => fault,
    })
}

pub(crate) fn of_process(error: process::Error) -> Fault {
    match error {
        process::Error::Start { source } if source.kind() == std::io::ErrorKind::NotFound => {
            Fault::NotInstalled { program: "git" }
        }
        process::Error::Start { source } | process::Error::Pipe { source } => {
            Fault::Other { detail: source.to_string() }
        }
        process::Error::TimedOut { after } => Fault::TimedOut { after },
        process::Error::Stalled => Fault::Stalled,
        process::Error::Cancelled => Fault::Cancelled,
        process::Error::TooMuch { limit } => Fault::TooLarge { limit },
    }
}

pub(crate) fn of_text(stderr: &str, transport: Transport) -> Fault {
    let status = http_status(stderr);
    match status {
        Some(401 | 403) => return Fault::Authentication { status },
        Some(404 | 410) => return Fault::NotFound { status },
        Some(407) => return Fault::Unreachable { detail: "the proxy wants credentials" },
        Some(status) => return Fault::Server { status },
        None => {}
    }
    let text = stderr.to_ascii_lowercase();
    let told_by_web = |status: u16| is_web(transport).then_some(status);
    let found = PHRASES.iter().find(|(phrase, _)| text.contains(phrase));
    match found.map(|(_, class)| *class) {
        // For a 401 and a 404 git has sentences of its own, without the number.
        Some(Class::Authentication) => Fault::Authentication { status: told_by_web(401) },
        Some(Class::HostKey) => Fault::HostKey,
        Some(Class::Tls(flaw)) if transport == Transport::Https => {
            Fault::Tls { flaw, detail: own_words(stderr) }
        }
        Some(Class::NoTls) if transport == Transport::Https => Fault::NoTls,
        Some(Class::NotFound) => Fault::NotFound { status: told_by_web(404) },
        Some(Class::Unreachable(detail)) => Fault::Unreachable { detail },
        Some(Class::NotOurRef) => Fault::NotOurRef,
        Some(Class::Damaged) => Fault::Damaged,
        Some(Class::ServerCorrupt) => Fault::ServerCorrupt,
        Some(Class::NotGit) => Fault::NotGit,
        Some(Class::ObjectFormat) => Fault::ObjectFormat,
        Some(Class::DubiousOwnership) => dubious(stderr),
        Some(Class::DiskFull) => Fault::DiskFull,
        Some(Class::Store) => Fault::Store,
        Some(Class::NotInstalled(program)) => Fault::NotInstalled { program },
        Some(Class::NoPasswdEntry) => Fault::NoPasswdEntry,
        Some(Class::GitTooOld) => Fault::GitTooOld,
        Some(Class::Tls(_) | Class::NoTls) | None => Fault::Other { detail: own_words(stderr) },
    }
}

pub(crate) fn is_web(transport: Transport) -> bool {
    matches!(transport, Transport::Https | Transport::Http)
}

/// `The requested URL returned error: 503`
fn http_status(stderr: &str) -> Option<u16> {
    let (_, after) = stderr.split_once("returned error: ")?;
    after.get(..3)?.parse().ok()
}

fn dubious(stderr: &str) -> Fault {
    let path = stderr.split_once("repository at '").and_then(|(_, rest)| rest.split('\'').next());
    let path = path.unwrap_or_default().to_owned();
    let owner =
        std::fs::metadata(&path).ok().map(|found| std::os::unix::fs::MetadataExt::uid(&found));
    Fault::DubiousOwnership { path, owner }
}

/// The last line that git itself wrote, printable and short.
fn own_words(stderr: &str) -> String {
    let spoken_by_the_server = |line: &&str| {
        let lower = line.to_ascii_lowercase();
        lower.starts_with("remote:")
            || lower.starts_with("error: remote")
            || lower.contains("remote error:")
            || lower.contains("protocol error")
            || lower.contains("bad line length")
    };
    let ours = |line: &&str| line.starts_with("fatal: ") || line.starts_with("error: ");
    let lines = || stderr.split(['\n', '\r']).filter(|line| !spoken_by_the_server(line));
    let line = lines().rfind(|line| ours(line));
    let line = line
        .map_or("it did not say why", |line| line.split_once(": ").map_or("", |(_, text)| text));
    line.chars().filter(|c| !c.is_control()).take(300).collect()
}

impl std::fmt::Display for Status {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.map_or(Ok(()), |status| write!(formatter, " (HTTP status {status})"))
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(uid) => write!(formatter, "uid {uid}"),
            None => formatter.write_str("another user"),
        }
    }
}

#[cfg(test)]
mod tests;
