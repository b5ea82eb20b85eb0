//! Builds git commands that see nothing of the machine but what we give them.
//!
//! # Promises
//!
//! No configuration of the system or the user, no hooks, no prompts, no helpers, no lazy fetches,
//! no transport but the URL's own and https for http, no shell between us and git. Every value that
//! comes from outside is of a checked type, and in a position where git does not take it for an
//! option.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use stoker_api::word::{HttpUrl, RepoUrl, Transport};
use stoker_http::{Uri, percent_decoded};

use crate::Cancel;
use crate::access::{Access, PlainHttp, host_of, port_of, protocol};
use crate::auth::{self, Auth, Granted};
use crate::helper;
use crate::memfile::MemFile;

/// What keeps git's processes small, whatever the repository holds, and what makes it strict.
const SETTINGS: &[&str] = &[
    "core.bigFileThreshold=1m",
    // What is mapped of a pack is the system's to take back. With less, git maps and unmaps a
    // window for nearly every object that is asked for out of order, which takes ten times as long.
    "core.packedGitWindowSize=1m",
    "core.packedGitLimit=256m",
    "core.deltaBaseCacheLimit=4m",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.askPass=",
    "credential.helper=",
    "pack.threads=1",
    "fetch.unpackLimit=1",
    "fetch.recurseSubmodules=false",
    "fetch.writeCommitGraph=false",
    // Ids are still verified. Fsck would refuse a whole commit for one odd name or an old
    // commit's time zone, without a word that helps; the planner judges names, and shows them.
    "transfer.fsckObjects=false",
    "fetch.fsckObjects=false",
    "transfer.bundleURI=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.version=2",
    "http.followRedirects=initial",
    "http.sslVerify=true",
    // We are stricter ourselves; this is for a git that has lost us.
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=600",
    "advice.fetchShowForcedUpdates=false",
];

/// What of our own environment git may see. Proxies only if they hold no credential.
const KEPT: &[&str] = &["PATH", "GIT_EXEC_PATH", "TMPDIR", "LD_LIBRARY_PATH"];
/// The CAs of this machine, if no others are given.
const TRUST: &[&str] = &["SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"];
const PROXIES: &[&str] =
    &["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"];

/// One operation's way to a repository: credentials read, files in memory held.
#[derive(Debug)]
pub(crate) struct Session {
    /// Where the repository is: the URL of the access, or where that URL's server redirects.
    pub(crate) url: RepoUrl,
    granted: Granted,
    settings: Vec<OsString>,
    config: Option<MemFile>,
    transport: Transport,
    inherited: Vec<&'static str>,
    helper: PathBuf,
}

impl Session {
    pub(crate) fn open(access: &Access, cancel: &Cancel) -> Result<Self, auth::Error> {
        let granted = auth::grant(access, cancel)?;
        let transport = access.url.transport();
        let mut settings = Vec::new();
        if let Some(path) = &access.ca_file {
            auth::check_certificates(path)?;
            let mut setting = OsString::from("http.sslCAInfo=");
            setting.push(auth::absolute(path));
            settings.push(setting);
        }
        if let Some(proxy) = &access.proxy {
            settings.push(format!("http.proxy={proxy}").into());
        }
        if let Some(addresses) = fixed_addresses(access) {
            settings.push(addresses.into());
        }
        if !access.addresses.is_empty() {
            // Git would follow to an address that nobody has checked.
            settings.push("http.followRedirects=false".into());
        }
        let mut inherited = Vec::new();
        if access.ca_file.is_none() {
            inherited.extend(TRUST);
        }
        // A proxy would send a credential for this machine elsewhere.
        let is_secret = transport == Transport::Http && !matches!(access.auth, Auth::None);
        let must_stay = is_secret && access.plain_http == PlainHttp::Refused;
        if access.proxy.is_none() && !must_stay {
            inherited.extend(PROXIES);
        }
        let config = match transport {
            Transport::File => Some(trust(&access.url)),
            Transport::Https | Transport::Http | Transport::Ssh | Transport::Git => None,
        };
        let config = config.transpose().map_err(|source| auth::Error::Memory { source })?;
        Ok(Self {
            url: access.url.clone(),
            granted,
            settings,
            config,
            transport,
            inherited,
            helper: auth::absolute(&access.helper),
        })
    }

    /// Returns a git command that fetches from the repository: its helpers, too, end with us.
    ///
    /// That takes one more process. A listing is over before it pays, or ends for its slowness.
    pub(crate) fn fetching_git(&self) -> Command {
        let mut command = self.git();
        if matches!(self.transport, Transport::Https | Transport::Http | Transport::Ssh) {
            command.env(helper::FAMILY, "1");
        }
        command
    }

    /// Returns a git command that can reach the repository.
    pub(crate) fn git(&self) -> Command {
        let mut command = Command::new(&self.helper);
        isolate(&mut command);
        command.env(helper::PARENT, std::process::id().to_string());
        for setting in &self.settings {
            command.arg("-c").arg(setting);
        }
        command.env("GIT_ALLOW_PROTOCOL", protocol(self.transport));
        if let Some(config) = &self.config {
            command.env("GIT_CONFIG_GLOBAL", config.path());
        }
        for name in &self.inherited {
            let value = std::env::var_os(name);
            if let Some(value) = value.filter(|value| !value.as_encoded_bytes().contains(&b'@')) {
                command.env(name, value);
            }
        }
        for (name, value) in &self.granted.environment {
            command.env(name, value);
        }
        command
    }
}

/// Ties what git connects to for a web URL, its host or the proxy, to the addresses that the caller
/// has checked.
fn fixed_addresses(access: &Access) -> Option<String> {
    if access.addresses.is_empty()
        || !matches!(access.url.transport(), Transport::Https | Transport::Http)
    {
        return None;
    }
    let (host, port) = match &access.proxy {
        Some(proxy) => (host_of(proxy), port_of_proxy(proxy)),
        None => (access.url.host()?, port_of(&access.url)?),
    };
    // There is nothing to resolve, and curl refuses an address with colons here.
    if host.parse::<IpAddr>().is_ok() {
        return None;
    }
    let addresses = access.addresses.iter().map(|address| match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    });
    let addresses: Vec<String> = addresses.collect();
    Some(format!("http.curloptResolve={host}:{port}:{}", addresses.join(",")))
}

/// The port of a proxy, or the one that curl takes where the URL has none.
fn port_of_proxy(proxy: &HttpUrl) -> u16 {
    let uri: Option<Uri> = proxy.as_str().parse().ok();
    let usual = if proxy.as_str().starts_with("https://") { 443 } else { 1080 };
    uri.and_then(|uri| uri.port_u16()).unwrap_or(usual)
}

/// Returns a git command that can reach nothing but this machine's disk.
pub(crate) fn local() -> Command {
    let mut command = Command::new("git");
    isolate(&mut command);
    command
}

fn isolate(command: &mut Command) {
    command.env_clear();
    for name in KEPT {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.envs([
        ("LC_ALL", "C"),
        // Nothing is below it: no ~/.netrc, no ~/.config, no ~/.ssh.
        ("HOME", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_ATTR_NOSYSTEM", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_NO_REPLACE_OBJECTS", "1"),
        // Git 2.44 and later; older ones can't fetch lazily because no file names a promisor.
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        // A kilobyte of delta can claim to become gigabytes; no file of a gateway is that big.
        ("GIT_ALLOC_LIMIT", "512m"),
        ("GIT_ALLOW_PROTOCOL", ""),
    ]);
    // Neither a repository around our working directory nor its configuration is of interest.
    command.current_dir("/").env("GIT_CEILING_DIRECTORIES", "/");
    command.arg("--no-pager");
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
}

/// Adds what a fetch needs: the name and the nature of the remote.
///
/// None of it is in a file. For every other command the store is a plain repository, so that
/// none can fetch lazily what it misses.
pub(crate) fn remote_settings(command: &mut Command, url: &RepoUrl, filter: &str) {
    command.arg("-c").arg(format!("remote.origin.url={url}"));
    command.args(["-c", "remote.origin.promisor=true"]);
    command.arg("-c").arg(format!("remote.origin.partialclonefilter={filter}"));
}

/// Git's own upload-pack refuses a repository of another user, and hears only a config file.
/// Who names the path explicitly, trusts it.
fn trust(url: &RepoUrl) -> io::Result<MemFile> {
    let path = file_path(url);
    let quoted = path.replace('\\', "\\\\").replace('"', "\\\"");
    let mut config = String::from("[safe]\n");
    for suffix in ["", "/.git", ".git", ".git/.git"] {
        let quoted = quoted.trim_end_matches('/');
        writeln!(config, "\tdirectory = \"{quoted}{suffix}\"").expect("a string takes any text");
    }
    MemFile::new(config.as_bytes())
}

/// The path that a `file://` URL names, decoded as git decodes it.
pub(crate) fn file_path(url: &RepoUrl) -> String {
    let path = url.as_str().strip_prefix("file://").unwrap_or_default();
    let path = path.strip_prefix("localhost").unwrap_or(path);
    String::from_utf8_lossy(&percent_decoded(path)).into_owned()
}

/// Sets the directory that a command works on, as a repository that needs no discovery.
pub(crate) fn in_repository(mut command: Command, repository: &Path) -> Command {
    command.env("GIT_DIR", repository);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_connects_to_is_tied_to_the_checked_addresses() {
        let tie = |url: &str, proxy: Option<&str>| {
            let mut access = Access::public(RepoUrl::parse(url).unwrap(), "helper");
            access.proxy = proxy.map(|proxy| HttpUrl::parse(proxy).unwrap());
            access.addresses = ["192.0.2.1", "2001:db8::1"].map(|it| it.parse().unwrap()).into();
            fixed_addresses(&access)
        };
        let to = |host: &str| Some(format!("http.curloptResolve={host}:192.0.2.1,[2001:db8::1]"));
        let url = "https://git.example.com/plant.git";
        assert_eq!(tie(url, None), to("git.example.com:443"));
        assert_eq!(tie(url, Some("http://proxy.example.com:3128")), to("proxy.example.com:3128"));
        // Ports as curl has them.
        assert_eq!(tie(url, Some("http://proxy.example.com/")), to("proxy.example.com:1080"));
        assert_eq!(tie(url, Some("https://proxy.example.com")), to("proxy.example.com:443"));
        // An address is not resolved, and curl refuses one with colons here.
        assert_eq!(tie("https://[2001:db8::1]/plant.git", None), None);
        assert_eq!(tie(url, Some("http://[2001:db8::1]:3128")), None);
        assert_eq!(tie("ssh://git@git.example.com/plant.git", None), None);
    }
}
