//! A repository like a plant's, behind a real server, with changes to come.

use stoker_testkit::git::http::HttpServer;
use stoker_testkit::git::{Edit, Oid, Repo, Tree, ignition};

/// Where changes are prepared; `main` gets them one by one.
const NEXT: &str = "next";

/// A repository and its URL.
pub(crate) struct Plant {
    repo: Repo,
    /// Where both sides find it.
    pub(crate) url: String,
    paths: Vec<Vec<u8>>,
}

impl Plant {
    /// Makes a repository of so many files and serves it.
    pub(crate) fn make(server: &HttpServer, name: &str, files: usize) -> anyhow::Result<Self> {
        Self::of(server, name, ignition::tree(files, 7))
    }

    /// Serves a repository with these files, as a forge does: packed, filters and ids allowed.
    pub(crate) fn of(server: &HttpServer, name: &str, tree: Tree) -> anyhow::Result<Self> {
        let paths = tree.iter().map(|(path, _)| path.to_vec()).collect();
        let (repo, base) = Repo::with(tree)?;
        repo.config("uploadpack.allowFilter", "true")?;
        repo.config("uploadpack.allowAnySHA1InWant", "true")?;
        repo.git(["repack", "-a", "-d", "-q", "--window=0", "--write-bitmap-index"])?;
        repo.set_branch(NEXT, &base)?;
        let url = server.mount(name, &repo);
        Ok(Self { repo, url, paths })
    }

    /// Prepares commits, one after the other, each with other bytes in so many files that lie far
    /// apart. Nobody sees them before they are published.
    pub(crate) fn changes(&self, commits: usize, files: usize) -> anyhow::Result<Vec<Oid>> {
        let tip = self.repo.tip(NEXT)?;
        let edit = |number: usize| {
            let step = self.paths.len() / files;
            let mut tree = Tree::new();
            for file in 0..files {
                let path = &self.paths[(file * step + number * 37) % self.paths.len()];
                // Unlike anything before, and the same in every run.
                let text = format!("{{ \"change\": \"{number} of {tip}\", \"file\": {file} }}\n");
                tree = tree.file(path, text);
            }
            Edit::put(tree)
        };
        Ok(self.repo.history(NEXT, (0..commits).map(edit))?)
    }

    /// Points `main` at a commit.
    pub(crate) fn publish(&self, commit: &Oid) -> anyhow::Result<()> {
        Ok(self.repo.set_branch("main", commit)?)
    }
}
