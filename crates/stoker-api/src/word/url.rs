//! URLs of repositories and services. None of these types can hold a credential.
//!
//! Git runs helpers and ssh by what a URL says, so the grammar is a short list of what is allowed,
//! not a list of what is known to be dangerous: no `ext::`, no host or user that begins with `-`,
//! no whitespace, no query.

use std::borrow::Cow;
use std::fmt::{self, Debug, Display, Formatter};

use crate::limit;
use crate::word::word;

word! {
    /// The address of a repository: `https://`, `http://`, `ssh://`, `user@host:path`, `git://` or
    /// `file://`, without credentials.
    RepoUrl, UrlError
}

word! {
    /// The address of a service or a proxy: `https://` or `http://`, without credentials.
    HttpUrl, UrlError
}

/// Any text that was meant as a URL, to print in a message: what could be a credential is left out.
#[derive(Clone, PartialEq, Eq)]
pub struct SafeUrl(Box<str>);

/// How git reaches a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transport {
    /// `https://`
    Https,
    /// `http://`, which shows everything to everyone on the way.
    Http,
    /// `ssh://` or `user@host:path`
    Ssh,
    /// `git://`, without authentication.
    Git,
    /// `file://`, a repository on this machine.
    File,
}

/// Why a text is no URL that Stoker takes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// The text is too long.
    #[error("a URL has at most {most} characters, this has {0}", most = limit::URL)]
    Long(usize),
    /// The text holds a character that URLs can't hold.
    #[error("{0:?} is not allowed in a URL")]
    Character(char),
    /// The text is a path without a scheme.
    #[error("a bare path is not a URL: write \"file://\" and the absolute path")]
    BarePath,
    /// The URL carries a user name or a password.
    #[error("the URL holds credentials: remove what stands before \"@\" and use a Secret")]
    Credentials,
    /// The scheme is none that Stoker takes.
    #[error("the URL must begin with https://, ssh://, user@host:, git://, file:// or http://")]
    Scheme,
    /// Service URLs are web addresses.
    #[error("the URL must begin with https:// or http://")]
    WebScheme,
    /// The host is missing or malformed.
    #[error("the host of the URL is missing or malformed")]
    Host,
    /// The port is no number that a port can have.
    #[error("the port of the URL must be a number up to 65535")]
    Port,
    /// The path is missing or malformed.
    #[error("the path of the URL is missing or malformed")]
    Path,
}

impl RepoUrl {
    /// Returns how git reaches the repository.
    pub fn transport(&self) -> Transport {
        match split_scheme(&self.0) {
            Some(("https", _)) => Transport::Https,
            Some(("http", _)) => Transport::Http,
            Some(("git", _)) => Transport::Git,
            Some(("file", _)) => Transport::File,
            _ => Transport::Ssh,
        }
    }

    /// Returns the host, none for `file://`.
    pub fn host(&self) -> Option<&str> {
        let rest = match split_scheme(&self.0) {
            Some(("file", _)) => return None,
            Some((_, rest)) => before_slash(rest),
            None => self.0.split_once(':')?.0,
        };
        let address = rest.rsplit_once('@').map_or(rest, |(_, address)| address);
        match address.strip_prefix('[') {
            Some(bracketed) => bracketed.split(']').next(),
            None => address.split(':').next(),
        }
    }

    fn check(text: &str) -> Result<Cow<'_, str>, UrlError> {
        check_text(text)?;
        match split_scheme(text) {
            Some(("https" | "http" | "git", rest)) => check_web(rest, Path::Required)?,
            Some(("ssh", rest)) => check_ssh(rest)?,
            Some(("file", rest)) => check_file(rest)?,
            Some(_) => return Err(UrlError::Scheme),
            None => check_scp(text)?,
        }
        Ok(text.into())
    }
}

impl HttpUrl {
    fn check(text: &str) -> Result<Cow<'_, str>, UrlError> {
        check_text(text)?;
        match split_scheme(text) {
            Some(("https" | "http", rest)) => check_web(rest, Path::Optional)?,
            _ => return Err(UrlError::WebScheme),
        }
        Ok(text.into())
    }
}

/// Splits `scheme://rest`. In `host:a://b` the slashes belong to a path.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "+.-".contains(c);
    text.split_once("://").filter(|(scheme, _)| scheme.chars().all(allowed))
}

#[derive(Clone, Copy)]
enum Path {
    Required,
    Optional,
}

/// What holds for every URL, whatever its scheme.
fn check_text(text: &str) -> Result<(), UrlError> {
    let length = text.chars().count();
    if length > limit::URL {
        return Err(UrlError::Long(length));
    }
    let refused = |c: &char| c.is_control() || c.is_whitespace() || "\\?#<>\"`|".contains(*c);
    if let Some(character) = text.chars().find(refused) {
        return Err(UrlError::Character(character));
    }
    // A mirror's path may hold another URL, whose own credentials would be shown like any path.
    let own_scheme = usize::from(split_scheme(text).is_some());
    let in_path = text.split("://").skip(1 + own_scheme);
    let names_somebody = in_path.map(before_slash).any(|address| address.contains('@'));
    if names_somebody { Err(UrlError::Credentials) } else { Ok(()) }
}

fn before_slash(text: &str) -> &str {
    text.split('/').next().unwrap_or_default()
}

fn check_web(rest: &str, path: Path) -> Result<(), UrlError> {
    let (address, after) = rest.split_once('/').unwrap_or((rest, ""));
    if address.contains('@') {
        return Err(UrlError::Credentials);
    }
    check_address(address)?;
    match path {
        Path::Required if after.is_empty() => Err(UrlError::Path),
        Path::Required | Path::Optional => Ok(()),
    }
}

fn check_ssh(rest: &str) -> Result<(), UrlError> {
    let (authority, path) = rest.split_once('/').ok_or(UrlError::Path)?;
    let address = match authority.rsplit_once('@') {
        Some((user, address)) => {
            check_user(user)?;
            address
        }
        None => authority,
    };
    check_address(address)?;
    if path.is_empty() { Err(UrlError::Path) } else { Ok(()) }
}

fn check_file(rest: &str) -> Result<(), UrlError> {
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    match path.strip_prefix('/') {
        None => Err(UrlError::Host),
        Some("") => Err(UrlError::Path),
        Some(_) => Ok(()),
    }
}

/// `user@host:path`, the short form of ssh. Without a colon, or with a slash before it: a path.
fn check_scp(text: &str) -> Result<(), UrlError> {
    let Some((authority, path)) = text.split_once(':') else {
        return Err(UrlError::BarePath);
    };
    if authority.contains('/') {
        return Err(UrlError::BarePath);
    }
    // Nobody means a host that is called like a scheme.
    if matches!(authority, "file" | "http" | "https") {
        return Err(UrlError::Scheme);
    }
    let host = match authority.rsplit_once('@') {
        Some((user, host)) => {
            check_user(user)?;
            host
        }
        None => authority,
    };
    check_host_name(host)?;
    // A second colon is git's `helper::address`; a dash would be an option of the remote command.
    if path.is_empty() || path.starts_with([':', '-']) || path.starts_with("//") {
        return Err(UrlError::Scheme);
    }
    if before_slash(path).contains('@') { Err(UrlError::Credentials) } else { Ok(()) }
}

fn check_user(user: &str) -> Result<(), UrlError> {
    if user.contains(':') {
        return Err(UrlError::Credentials);
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._~+-".contains(c);
    let begins_well = user.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    if begins_well && user.chars().all(allowed) { Ok(()) } else { Err(UrlError::Host) }
}

fn check_address(address: &str) -> Result<(), UrlError> {
    if let Some(bracketed) = address.strip_prefix('[') {
        let (inside, after) = bracketed.split_once(']').ok_or(UrlError::Host)?;
        let digits = |c: char| c.is_ascii_hexdigit() || matches!(c, ':' | '.');
        let port =
            if after.is_empty() { "" } else { after.strip_prefix(':').ok_or(UrlError::Host)? };
        if inside.is_empty() || !inside.chars().all(digits) || after == ":" {
            return Err(UrlError::Host);
        }
        return if port.is_empty() { Ok(()) } else { check_port(port) };
    }
    match address.split_once(':') {
        Some((host, port)) => check_host_name(host).and_then(|()| check_port(port)),
        None => check_host_name(address),
    }
}

fn check_host_name(host: &str) -> Result<(), UrlError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let begins_well = host.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins_well && host.chars().all(allowed) { Ok(()) } else { Err(UrlError::Host) }
}

fn check_port(port: &str) -> Result<(), UrlError> {
    let digits = (1..=5).contains(&port.len()) && port.bytes().all(|b| b.is_ascii_digit());
    if digits && port.parse::<u16>().is_ok() { Ok(()) } else { Err(UrlError::Port) }
}

impl SafeUrl {
    /// Takes any text; what stands before the last `@`, after `?` or `#`, and control characters
    /// are left out.
    pub fn redact(text: &str) -> Self {
        // The `@` comes first: a password may hold `?` and `#`.
        let (credentials, rest) = text.rsplit_once('@').map_or((None, text), |(c, r)| (Some(c), r));
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        let kept = match credentials.map(split_scheme) {
            Some(Some((scheme, _))) => format!("{scheme}://[redacted]@{rest}"),
            Some(None) => format!("[redacted]@{rest}"),
            None => rest.to_owned(),
        };
        Self(kept.chars().filter(|c| !c.is_control()).take(limit::URL).collect())
    }

    /// Returns whether it is an address of the web, so that a token fits and an SSH key does not.
    pub fn is_web(&self) -> bool {
        self.0.starts_with("https://") || self.0.starts_with("http://")
    }
}

impl From<&RepoUrl> for SafeUrl {
    fn from(url: &RepoUrl) -> Self {
        Self(url.0.clone())
    }
}

impl From<&HttpUrl> for SafeUrl {
    fn from(url: &HttpUrl) -> Self {
        Self(url.0.clone())
    }
}

impl Display for SafeUrl {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

impl Debug for SafeUrl {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", &*self.0)
    }
}
