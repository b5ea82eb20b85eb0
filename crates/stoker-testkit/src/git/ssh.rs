//! Git over SSH: Debian's sshd on a free loopback port, with keys of its own.
//!
//! A session logs in as the user that runs the test, by key only, and gets that user's shell: git
//! runs `git-upload-pack` in it as on any server. Works as root and as an ordinary user. Needs the
//! packages `openssh-server` and `openssh-client`, and a user with an entry in the password
//! database.

mod config;
mod key;

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use tempfile::TempDir;

use super::inetd::Inetd;
use super::{Error, Repo, run};
use config::Separation;

pub use key::Kind;

/// An SSH server for all repositories that the user of the test can read.
#[derive(Debug)]
#[must_use = "the server ends when this value is dropped"]
pub struct SshServer {
    inetd: Inetd,
    directory: TempDir,
    user: String,
}

impl SshServer {
    /// Starts a server with fresh host keys and one user key of each kind.
    pub fn start() -> Result<Self, Error> {
        let directory = run::directory("stoker-ssh-")?;
        // The only one that an ordinary user's sshd can let in.
        let user = run::program("id", &["-un"])?.trim().to_owned();
        key::make_host_keys(directory.path())?;
        key::make_user_keys(directory.path())?;
        config::write(directory.path())?;
        let inetd = Inetd::start(session(directory.path())?)?;
        let server = Self { inetd, directory, user };
        server.renew_known_hosts()?;
        Ok(server)
    }

    /// Returns the `ssh://` URL of a repository.
    pub fn url(&self, repo: &Repo) -> String {
        self.url_at(self.address(), repo)
    }

    /// Returns a private key that the server accepts.
    pub fn user_key(&self, kind: Kind) -> PathBuf {
        self.path().join(kind.user_file())
    }

    /// Makes a private key that the server does not know.
    pub fn stranger_key(&self) -> Result<PathBuf, Error> {
        let file = self.path().join("stranger");
        key::generate(Kind::Ed25519, &file)?;
        Ok(file)
    }

    /// Returns the `known_hosts` file with the host keys that the server had at its start.
    pub fn known_hosts(&self) -> PathBuf {
        self.path().join(key::KNOWN_HOSTS)
    }

    /// Returns the lines of a `known_hosts` file for clients that reach the server at `address`,
    /// such as the one that a node gives it.
    pub fn known_hosts_at(&self, address: SocketAddr) -> Result<String, Error> {
        key::known_hosts(self.path(), address)
    }

    /// Returns the `ssh://` URL of a repository for clients that reach the server at `address`.
    pub fn url_at(&self, address: SocketAddr, repo: &Repo) -> String {
        format!("ssh://{}@{address}{}", self.user, repo.path().display())
    }

    /// Returns where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.inetd.address()
    }

    /// Returns a `known_hosts` file in which nobody is known.
    pub fn empty_known_hosts(&self) -> Result<PathBuf, Error> {
        let file = self.path().join("known_hosts.empty");
        std::fs::write(&file, "").map_err(Error::file(&file))?;
        Ok(file)
    }

    /// Replaces the host keys, as after a reinstallation or under attack.
    /// [`SshServer::known_hosts`] stays as it is until [`SshServer::renew_known_hosts`].
    pub fn change_host_keys(&self) -> Result<(), Error> {
        key::make_host_keys(self.path())
    }

    /// Writes the present host keys into the `known_hosts` file.
    pub fn renew_known_hosts(&self) -> Result<(), Error> {
        let file = self.known_hosts();
        let known = self.known_hosts_at(self.address())?;
        std::fs::write(&file, known).map_err(Error::file(&file))
    }

    /// Returns a value for `GIT_SSH_COMMAND` that uses nothing but the given files and asks
    /// nothing.
    pub fn client_command(&self, key: &Path, known_hosts: &Path) -> String {
        format!(
            "ssh -F /dev/null -i {} -o IdentitiesOnly=yes -o BatchMode=yes \
             -o StrictHostKeyChecking=yes -o UserKnownHostsFile={} -o GlobalKnownHostsFile=/dev/null",
            key.display(),
            known_hosts.display()
        )
    }

    /// Returns how many connections there were so far.
    pub fn connections(&self) -> usize {
        self.inetd.connections()
    }

    /// Returns what sshd has logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.path().join("log")).unwrap_or_default()
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }
}

fn session(directory: &Path) -> Result<Arc<super::inetd::Program>, Error> {
    let separation = Separation::choose();
    // A missing program shows now, not at the first connection.
    let start = |source| Error::Start { program: "sshd", source };
    separation.command().map_err(start)?;
    let (config, log) = (directory.join(config::FILE), directory.join("log"));
    File::create(&log).map_err(Error::file(&log))?;
    Ok(Arc::new(move || -> std::io::Result<Command> {
        let mut sshd = separation.command()?;
        // -i: the connection is on standard input; -e: log to standard error.
        sshd.args(["-i", "-e", "-f"]).arg(&config);
        sshd.stderr(Stdio::from(File::options().append(true).open(&log)?));
        Ok(sshd)
    }))
}
