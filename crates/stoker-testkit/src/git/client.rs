//! Real git as a client, with a directory of its own: what a server did is judged by git itself.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use super::{Error, Repo, run};
use crate::process::Guarded;

/// A user of git: a directory and an environment.
#[derive(Debug)]
pub struct Client {
    directory: TempDir,
    environment: Vec<(OsString, OsString)>,
}

impl Client {
    /// Makes a client with an empty directory.
    pub fn new() -> Result<Self, Error> {
        Ok(Self { directory: run::directory("stoker-client-")?, environment: Vec::new() })
    }

    /// Sets an environment variable for everything that this client runs.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Returns the client's directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns a guarded git command with piped output, ready for arguments.
    pub fn command(&self) -> Result<Command, Error> {
        let mut git = run::command(self.path())?;
        git.envs(self.environment.iter().map(|(name, value)| (name, value)));
        git.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(git)
    }

    /// Starts git and returns at once.
    pub fn start<const N: usize>(&self, arguments: [&str; N]) -> Result<Guarded, Error> {
        let mut git = self.command()?;
        git.args(arguments);
        Guarded::spawn(git).map_err(|source| Error::Start { program: "git", source })
    }

    /// Runs git and returns how it ended and what it said, failure or not.
    pub fn attempt<const N: usize>(&self, arguments: [&str; N]) -> Result<Output, Error> {
        let git = self.start(arguments)?;
        git.output().map_err(|source| Error::Talk { program: "git", source })
    }

    /// Runs git and returns what it printed; a failure is an error that quotes it.
    pub fn run<const N: usize>(&self, arguments: [&str; N]) -> Result<Vec<u8>, Error> {
        run::check(&format!("git {}", arguments.join(" ")), self.attempt(arguments)?)
    }

    /// Clones everything into `name` below the client's directory, bare, and returns the path.
    pub fn mirror(&self, url: &str, name: &str) -> Result<PathBuf, Error> {
        self.run(["clone", "--quiet", "--mirror", "--", url, name])?;
        Ok(self.path().join(name))
    }
}

/// Lists every ref and every object that refs reach: two repositories with equal inventories are
/// equal.
fn inventory(repository: &Path) -> Result<(Vec<u8>, Vec<u8>), Error> {
    let refs = ["for-each-ref", "--format=%(objectname) %(refname)"];
    let objects = ["rev-list", "--all", "--objects", "--no-object-names"];
    let mut objects: Vec<Vec<u8>> = run::run(repository, objects.map(OsStr::new))?
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    objects.sort_unstable();
    Ok((run::run(repository, refs.map(OsStr::new))?, objects.join(&b'\n')))
}

impl Repo {
    /// Says whether another repository has the same refs and the same objects behind them.
    pub fn equals(&self, other: &Path) -> Result<bool, Error> {
        Ok(inventory(self.path())? == inventory(other)?)
    }
}
