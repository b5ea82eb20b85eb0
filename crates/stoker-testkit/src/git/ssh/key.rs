//! Keys of hosts and users, and the file in which clients remember hosts.

use std::net::SocketAddr;
use std::path::Path;

use crate::git::{Error, run};

/// The `known_hosts` file of the server's clients.
pub(super) const KNOWN_HOSTS: &str = "known_hosts";
/// The public keys that may log in.
pub(super) const AUTHORIZED: &str = "authorized_keys";

/// A kind of key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Small and modern.
    Ed25519,
    /// What old forges and old users have.
    Rsa,
}

pub(super) const KINDS: [Kind; 2] = [Kind::Ed25519, Kind::Rsa];

impl Kind {
    pub(super) fn host_file(self) -> &'static str {
        match self {
            Self::Ed25519 => "host_ed25519",
            Self::Rsa => "host_rsa",
        }
    }

    pub(super) fn user_file(self) -> &'static str {
        match self {
            Self::Ed25519 => "user_ed25519",
            Self::Rsa => "user_rsa",
        }
    }
}

pub(super) fn make_host_keys(directory: &Path) -> Result<(), Error> {
    KINDS.into_iter().try_for_each(|kind| generate(kind, &directory.join(kind.host_file())))
}

pub(super) fn make_user_keys(directory: &Path) -> Result<(), Error> {
    let mut authorized = String::new();
    for kind in KINDS {
        let file = directory.join(kind.user_file());
        generate(kind, &file)?;
        authorized.push_str(&public(&file)?);
    }
    let file = directory.join(AUTHORIZED);
    std::fs::write(&file, authorized).map_err(Error::file(&file))
}

/// The lines of a `known_hosts` file for a server at this address.
pub(super) fn known_hosts(directory: &Path, address: SocketAddr) -> Result<String, Error> {
    let (host, port) = (address.ip(), address.port());
    let line = |kind: Kind| {
        let key = public(&directory.join(kind.host_file()))?;
        Ok(format!("[{host}]:{port} {key}"))
    };
    KINDS.into_iter().map(line).collect()
}

/// Makes a key pair without a passphrase, in place of one that may be there.
pub(super) fn generate(kind: Kind, file: &Path) -> Result<(), Error> {
    // ssh-keygen asks before it overwrites; there may be nothing to overwrite.
    std::fs::remove_file(file).ok();
    let kind: &[&str] = match kind {
        Kind::Ed25519 => &["-t", "ed25519"],
        Kind::Rsa => &["-t", "rsa", "-b", "2048"],
    };
    let path = file.display().to_string();
    let rest = ["-q", "-N", "", "-C", "stoker-test", "-f", &path];
    run::program("ssh-keygen", &[kind, &rest].concat()).map(drop)
}

fn public(file: &Path) -> Result<String, Error> {
    let file = file.with_extension("pub");
    std::fs::read_to_string(&file).map_err(Error::file(&file))
}
