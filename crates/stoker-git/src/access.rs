//! How one repository is reached: its URL, who we are, whom we trust, and how long we wait.

use std::net::IpAddr;
use std::path::PathBuf;

use stoker_api::word::{HttpUrl, RepoUrl, SafeUrl, Transport};

use crate::auth::Auth;
use crate::limits::Limits;
use crate::server_words::ServerWords;

/// Everything needed to reach one repository.
///
/// It holds no credential, only where credentials are: files are read for each operation.
#[derive(Debug, Clone)]
pub struct Access {
    /// Where the repository is.
    pub url: RepoUrl,
    /// Who we are.
    pub auth: Auth,
    /// The certificates to trust instead of the system's, as PEM.
    pub ca_file: Option<PathBuf>,
    /// The proxy for HTTP and HTTPS. Without one, the proxy variables of our environment count.
    pub proxy: Option<HttpUrl>,
    /// Whether credentials may travel unencrypted.
    pub plain_http: PlainHttp,
    /// A program that calls [`crate::helper::serve`] first: git asks it for credentials, and runs
    /// ssh through it. Usually our own.
    pub helper: PathBuf,
    /// How long one operation may take.
    pub limits: Limits,
    /// What the server said when an operation failed.
    pub server_words: ServerWords,
    /// The addresses of the proxy, or else of the host, where the caller has resolved and checked
    /// them: git then goes there and nowhere else, whatever the server says. Where it is empty, git
    /// resolves the name. A proxy counts for HTTP and HTTPS only.
    pub addresses: Vec<IpAddr>,
}

/// Whether credentials may travel over `http://` to another machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlainHttp {
    /// Only to this machine itself.
    Refused,
    /// Everywhere: `git.allowInsecureHTTP`, `--allow-insecure-http`.
    Allowed,
}

impl Access {
    /// Returns access to a public repository with the usual limits.
    pub fn public(url: RepoUrl, helper: impl Into<PathBuf>) -> Self {
        Self {
            url,
            auth: Auth::None,
            ca_file: None,
            proxy: None,
            plain_http: PlainHttp::Refused,
            helper: helper.into(),
            limits: Limits::default(),
            server_words: ServerWords::default(),
            addresses: Vec::new(),
        }
    }

    /// Returns whether what is said to the repository stays on this machine.
    pub(crate) fn stays_here(&self) -> bool {
        self.url.host().is_some_and(is_loopback)
            && self.proxy.as_ref().is_none_or(|proxy| is_loopback(host_of(proxy)))
    }

    /// Returns the URL as it may be shown.
    pub fn remote(&self) -> SafeUrl {
        SafeUrl::from(&self.url)
    }
}

/// The word by which git allows a transport, and no other. Many servers redirect from http to https.
pub(crate) fn protocol(transport: Transport) -> &'static str {
    match transport {
        Transport::Https => "https",
        Transport::Http => "http:https",
        Transport::Ssh => "ssh",
        Transport::Git => "git",
        Transport::File => "file",
    }
}

/// Says whether a host is this machine, by its address or by the name that always means it.
pub(crate) fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// What stands between `://` and the path: host and port, as git names them when it asks for
/// credentials, and perhaps a user.
pub(crate) fn authority(url: &str) -> &str {
    let address = url.split_once("://").map_or("", |(_, rest)| rest);
    address.split('/').next().unwrap_or_default()
}

pub(crate) fn host_of(url: &HttpUrl) -> &str {
    let address = authority(url.as_str());
    match address.strip_prefix('[') {
        Some(bracketed) => bracketed.split(']').next().unwrap_or_default(),
        None => address.split(':').next().unwrap_or_default(),
    }
}

/// The port of a URL, or the usual one of its transport; none for `file://`.
pub fn port_of(url: &RepoUrl) -> Option<u16> {
    let usual = match url.transport() {
        Transport::Https => 443,
        Transport::Http => 80,
        Transport::Ssh => 22,
        Transport::Git => 9418,
        Transport::File => return None,
    };
    let authority = authority(url.as_str());
    let address = authority.rsplit_once('@').map_or(authority, |(_, address)| address);
    let after_host = address.rsplit_once(']').map_or(address, |(_, after)| after);
    let port = after_host.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    Some(port.unwrap_or(usual))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_those_of_the_url_or_of_its_scheme() {
        let port = |text| port_of(&RepoUrl::parse(text).unwrap());
        assert_eq!(port("https://host/a"), Some(443));
        assert_eq!(port("http://host:8080/a"), Some(8080));
        assert_eq!(port("ssh://git@[::1]:2222/a"), Some(2222));
        assert_eq!(port("git@host:a"), Some(22));
        assert_eq!(port("git://host/a"), Some(9418));
        assert_eq!(port("file:///srv/a"), None);
    }

    #[test]
    fn only_this_machine_is_loopback() {
        for host in ["localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "::1"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["localhost.example.com", "10.0.0.1", "example.com", "127.0.0.1.nip.io", "::2"]
        {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
