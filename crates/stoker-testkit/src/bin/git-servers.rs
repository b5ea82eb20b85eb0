//! Serves one Ignition-like repository over every protocol until it is ended: for trying things by
//! hand, and for the test that nothing of it survives a SIGKILL.
//!
//! Prints one line per server: its kind and its URL. The line `ssh-command` is a `GIT_SSH_COMMAND`.

#![expect(clippy::print_stdout, reason = "the lines are what this program is for")]

use std::sync::Arc;

use anyhow::Result;
use stoker_testkit::git::bad::BadServer;
use stoker_testkit::git::daemon::Daemon;
use stoker_testkit::git::http::HttpServer;
use stoker_testkit::git::ssh::{Kind, SshServer};
use stoker_testkit::git::{Repo, ignition};

fn main() -> Result<()> {
    let repo = Arc::new(Repo::with(ignition::tree(200, 1))?.0);
    let (http, ssh, daemon) = (HttpServer::start()?, SshServer::start()?, Daemon::start(&repo)?);
    let bad = BadServer::start(&repo)?;
    let key = ssh.user_key(Kind::Ed25519);
    println!("file {}", repo.url());
    println!("http {}", http.mount("repo", &repo));
    println!("git {}", daemon.url());
    println!("bad {}", bad.url());
    println!("ssh {}", ssh.url(&repo));
    println!("ssh-command {}", ssh.client_command(&key, &ssh.known_hosts()));
    loop {
        std::thread::park();
    }
}
