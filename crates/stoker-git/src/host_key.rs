//! Learns the host key of a git server on first use, for the controller to pin.
//!
//! No credential is offered: ssh connects, writes the key that it was shown into a file in memory,
//! and is refused. The first server that responds is trusted; the CLI has no option for that.

use std::process::Command;

use stoker_api::word::{RepoUrl, SafeUrl, Transport};

use crate::Cancel;
use crate::access::Access;
use crate::diagnosis::Fault;
use crate::error::Error;
use crate::memfile::MemFile;
use crate::process::{Job, run};

/// What ssh prints is not of interest.
const MAX_OUTPUT: usize = 64 * 1024;

/// Nothing of the user, nothing of the system, no questions, no credentials.
const OPTIONS: &[&str] = &[
    "BatchMode=yes",
    "StrictHostKeyChecking=accept-new",
    "GlobalKnownHostsFile=/dev/null",
    "HashKnownHosts=no",
    "UpdateHostKeys=no",
    "CheckHostIP=no",
    "PreferredAuthentications=none",
    "IdentityAgent=none",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "ControlPath=none",
    "LogLevel=ERROR",
];

/// The parts of an SSH URL that name a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Server<'a> {
    user: Option<&'a str>,
    host: &'a str,
    port: Option<&'a str>,
}

/// Returns the host key that the server shows, as a line of `known_hosts`. Blocks.
pub fn first_seen(access: &Access, cancel: &Cancel) -> Result<String, Error> {
    let (url, limits) = (&access.url, access.limits);
    let failed = |source| Error::ListRefs { remote: SafeUrl::from(url), source };
    let server = Server::of(url).ok_or_else(|| failed(Fault::HostKey))?;
    let file = MemFile::new(b"").map_err(|source| Error::Credentials {
        remote: SafeUrl::from(url),
        source: crate::auth::Error::Memory { source },
    })?;
    let ended = run(Job::new(command(server, &file, access), MAX_OUTPUT, limits, cancel));
    let keys = std::fs::read_to_string(file.path()).unwrap_or_default();
    match ended {
        _ if keys.lines().any(|line| line.split_whitespace().count() >= 3) => Ok(keys),
        Err(crate::process::Error::TimedOut { after }) => Err(failed(Fault::TimedOut { after })),
        Err(crate::process::Error::Cancelled) => Err(failed(Fault::Cancelled)),
        Ok(_) | Err(_) => {
            Err(failed(Fault::Unreachable { detail: "no host key was shown on the SSH port" }))
        }
    }
}

/// Returns the name under which `known_hosts` has the server of an SSH URL.
pub(crate) fn known_name(url: &RepoUrl) -> Option<String> {
    Server::of(url).map(|server| server.known_name())
}

/// Says whether lines of `known_hosts` hold a key for the server of this URL.
pub fn covers(known_hosts: &str, url: &RepoUrl) -> bool {
    let Some(server) = Server::of(url) else { return false };
    let name = server.known_name();
    let names = known_hosts.lines().filter_map(|line| line.split_whitespace().next());
    names.flat_map(|field| field.split(',')).any(|known| known == name)
}

fn command(server: Server<'_>, file: &MemFile, access: &Access) -> Command {
    let seconds = access.limits.timeout.as_secs().max(1);
    let mut command = Command::new("ssh");
    command.env_clear().env("LC_ALL", "C").env("HOME", "/dev/null").current_dir("/");
    for name in ["PATH", "LD_LIBRARY_PATH"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.args(["-F", "none", "-a", "-x", "-T"]);
    for option in OPTIONS {
        command.args(["-o", option]);
    }
    command.arg("-o").arg(format!("UserKnownHostsFile={}", file.path().display()));
    command.arg("-o").arg(format!("ConnectTimeout={seconds}"));
    if let Some(address) = access.addresses.first() {
        command.arg("-o").arg(format!("HostName={address}"));
        command.arg("-o").arg(format!("HostKeyAlias={}", server.known_name()));
    }
    if let Some(port) = server.port {
        command.args(["-p", port]);
    }
    let user = server.user.map(|user| format!("{user}@")).unwrap_or_default();
    command.arg("--").arg(format!("{user}{}", server.host)).arg("true");
    command
}

impl<'a> Server<'a> {
    /// Reads `ssh://user@host:port/path` and `user@host:path`.
    fn of(url: &'a RepoUrl) -> Option<Self> {
        if url.transport() != Transport::Ssh {
            return None;
        }
        let host = url.host()?;
        let text = url.as_str();
        let Some(rest) = text.strip_prefix("ssh://") else {
            let user = text.split_once('@').map(|(user, _)| user);
            return Some(Self { user, host, port: None });
        };
        let authority = rest.split('/').next().unwrap_or_default();
        let user = authority.rsplit_once('@').map(|(user, _)| user);
        let address = authority.rsplit_once('@').map_or(authority, |(_, address)| address);
        let after_host = address.rsplit_once(']').map_or(address, |(_, after)| after);
        let port = after_host.rsplit_once(':').map(|(_, port)| port).filter(|it| !it.is_empty());
        Some(Self { user, host, port })
    }

    fn known_name(&self) -> String {
        match self.port {
            Some(port) if port != "22" => format!("[{}]:{port}", self.host),
            _ => self.host.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> RepoUrl {
        RepoUrl::parse(text).unwrap()
    }

    #[test]
    fn servers_are_read_from_both_forms_of_a_url() {
        let of = |text| {
            let url = url(text);
            let server = Server::of(&url)?;
            Some((server.user.map(ToOwned::to_owned), server.known_name()))
        };
        let git = Some("git".to_owned());
        assert_eq!(of("git@host:org/repo.git"), Some((git.clone(), "host".into())));
        assert_eq!(of("ssh://git@host/org/repo.git"), Some((git.clone(), "host".into())));
        assert_eq!(of("ssh://git@host:22/repo.git"), Some((git.clone(), "host".into())));
        assert_eq!(of("ssh://git@host:2222/repo.git"), Some((git.clone(), "[host]:2222".into())));
        assert_eq!(of("ssh://git@[::1]:2222/repo.git"), Some((git, "[::1]:2222".into())));
        assert_eq!(of("https://host/repo.git"), None);
    }

    #[test]
    fn a_pin_covers_its_own_server_only() {
        let pin = "[host]:2222 ssh-ed25519 AAAA\nhost,10.0.0.1 ssh-ed25519 BBBB\n";
        assert!(covers(pin, &url("ssh://git@host:2222/repo")));
        assert!(covers(pin, &url("git@host:repo")));
        assert!(!covers(pin, &url("git@other:repo")));
        assert!(!covers("", &url("git@host:repo")));
    }
}
