//! A bare repository in a directory of its own, gone with the value.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::TempDir;

use super::import::Import;
use super::{Edit, Error, Oid, run};

/// A bare repository. The first branch is `main`.
#[derive(Debug)]
pub struct Repo {
    root: TempDir,
    path: PathBuf,
    // Commits made so far: the date of the next. Held while a commit is made, so that two threads
    // never write one branch at once.
    ticks: Mutex<u64>,
}

impl Repo {
    /// Makes a repository without any commit.
    pub fn empty() -> Result<Self, Error> {
        let root = run::directory("stoker-git-")?;
        let init =
            ["init", "--quiet", "--bare", "--template=", "--initial-branch=main", "repo.git"];
        run::run(root.path(), init)?;
        let path = root.path().join("repo.git");
        Ok(Self { root, path, ticks: Mutex::new(0) })
    }

    /// Makes a repository with one commit on `main`.
    pub fn with(edit: impl Into<Edit>) -> Result<(Self, Oid), Error> {
        let repo = Self::empty()?;
        let commit = repo.commit(edit)?;
        Ok((repo, commit))
    }

    /// Returns the repository's directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the directory that holds the repository and nothing else.
    pub(super) fn parent(&self) -> &Path {
        self.root.path()
    }

    /// Returns the `file://` URL.
    pub fn url(&self) -> String {
        format!("file://{}", self.path.display())
    }

    /// Commits to `main`.
    pub fn commit(&self, edit: impl Into<Edit>) -> Result<Oid, Error> {
        self.commit_to("main", edit)
    }

    /// Commits on top of a branch, which begins here if it does not exist.
    pub fn commit_to(&self, branch: &str, edit: impl Into<Edit>) -> Result<Oid, Error> {
        self.history(branch, [edit]).and_then(only)
    }

    /// Commits one edit after the other on top of a branch, in one process.
    pub fn history<E: Into<Edit>>(
        &self,
        branch: &str,
        edits: impl IntoIterator<Item = E>,
    ) -> Result<Vec<Oid>, Error> {
        let reference = format!("refs/heads/{branch}");
        let parent = self.resolve(&reference)?;
        self.import(&reference, parent.as_ref(), edits)
    }

    /// Replaces a branch's whole history by one commit without a parent: a force-push.
    pub fn rewrite(&self, branch: &str, edit: impl Into<Edit>) -> Result<Oid, Error> {
        self.import(&format!("refs/heads/{branch}"), None, [edit]).and_then(only)
    }

    /// Makes a commit that no branch or tag reaches: what a fork leaves on a forge.
    ///
    /// Its parent is the tip of `main`, if there is one.
    pub fn unreachable(&self, edit: impl Into<Edit>) -> Result<Oid, Error> {
        let aside = "refs/stoker/aside";
        let parent = self.resolve("refs/heads/main")?;
        let commit = self.import(aside, parent.as_ref(), [edit]).and_then(only)?;
        self.delete_ref(aside)?;
        Ok(commit)
    }

    /// Sets a configuration value: `uploadpack.allowFilter`, `uploadpack.allowAnySHA1InWant` and
    /// the like hold for every server in front of this repository.
    pub fn config(&self, key: &str, value: &str) -> Result<(), Error> {
        self.git(["config", key, value]).map(drop)
    }

    /// Runs git inside the repository and returns what it printed.
    pub fn git<const N: usize>(&self, arguments: [&str; N]) -> Result<Vec<u8>, Error> {
        run::run(&self.path, arguments)
    }

    pub(super) fn ticks(&self) -> MutexGuard<'_, u64> {
        // A panic elsewhere leaves a number, which can't be half written.
        self.ticks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores an object without asking whether it makes sense.
    pub(super) fn object(&self, kind: &str, bytes: &[u8]) -> Result<Oid, Error> {
        let mut git = run::command(&self.path)?;
        git.args(["hash-object", "-w", "--literally", "--stdin", "-t", kind]);
        let id = run::finish(git, bytes)?;
        Oid::parse(&String::from_utf8_lossy(&id))
    }

    fn import<E: Into<Edit>>(
        &self,
        reference: &str,
        parent: Option<&Oid>,
        edits: impl IntoIterator<Item = E>,
    ) -> Result<Vec<Oid>, Error> {
        let mut ticks = self.ticks();
        let import = Import { path: &self.path, reference, parent, tick: *ticks };
        let commits = import.run(edits)?;
        *ticks += commits.len() as u64;
        Ok(commits)
    }
}

fn only(commits: Vec<Oid>) -> Result<Oid, Error> {
    let none = || Error::NotAnId { text: String::new() };
    commits.into_iter().next_back().ok_or_else(none)
}
