//! The `git://` protocol: real `git daemon` on a free loopback port.

use std::io;
use std::process::Stdio;
use std::sync::Arc;

use super::inetd::Inetd;
use super::{Error, Repo, run};

/// A git daemon for one repository. It ends when it is dropped, with all sessions.
#[derive(Debug)]
#[must_use = "the server ends when this value is dropped"]
pub struct Daemon {
    inetd: Inetd,
}

impl Daemon {
    /// Serves a repository to everyone.
    pub fn start(repo: &Repo) -> Result<Self, Error> {
        let root = repo.parent().to_owned();
        let program = move || {
            let mut git = run::command(&root).map_err(io::Error::other)?;
            git.args(["daemon", "--inetd", "--export-all"]);
            git.arg(format!("--base-path={}", root.display())).stderr(Stdio::null());
            Ok(git)
        };
        // A missing program shows now, not at the first connection.
        run::command(repo.parent())?;
        Ok(Self { inetd: Inetd::start(Arc::new(program))? })
    }

    /// Returns the repository's URL.
    pub fn url(&self) -> String {
        format!("git://127.0.0.1:{}/repo.git", self.inetd.port())
    }
}
