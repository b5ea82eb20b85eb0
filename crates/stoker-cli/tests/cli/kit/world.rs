//! What the tests share: all directories of a user, and the program run in them.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use stoker_testkit::git::http::{Auth, HttpServer};
use stoker_testkit::git::{Repo, Tree};
use stoker_testkit::process::{self, Guarded};
use stoker_testkit::tree;
use tempfile::TempDir;

pub(crate) use super::run::{Run, spawn};

/// The program under test: of the tests' own profile, or the one that `cargo xtask test --long`
/// names.
pub(crate) const STOKER: &str = match option_env!("STOKER_BIN") {
    Some(release) => release,
    None => env!("CARGO_BIN_EXE_stoker"),
};

/// How long a test waits for what must happen soon.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// A user's machine: home, cache, temporary directory and a data directory, gone with this value.
pub(crate) struct World {
    root: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        // Memory where there is some: what a kill leaves behind is the same there, and quicker
        // read.
        let memory = Path::new("/dev/shm");
        let root = if memory.is_dir() {
            TempDir::with_prefix_in("stoker-cli-", memory)
        } else {
            TempDir::with_prefix("stoker-cli-")
        };
        let world = Self { root: root.unwrap() };
        for name in ["home", "cache", "tmp", "data"] {
            fs::create_dir(world.path(name)).unwrap();
        }
        world
    }

    /// A path below the root of this machine.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path("data")
    }

    /// Writes a file beside the data directory and returns its path.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// The live files: everything in the data directory that is not ours. A run may be at work:
    /// what vanishes between being listed and being read makes us begin again.
    pub(crate) fn live(&self) -> tree::Tree {
        let read = || tree::Tree::read(&self.data());
        let tree = (0..100).find_map(|_| read().ok()).unwrap_or_else(|| read().unwrap());
        tree.without(".stoker").without(".sync-staging")
    }

    /// Runs the program to its end.
    pub(crate) fn stoker<Word: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = Word>) -> Run {
        Run::ended(self.command(STOKER, words))
    }

    /// Runs `sync` of a repository's `projects`, with more words behind.
    pub(crate) fn sync(&self, url: &str, more: &[&str]) -> Run {
        self.stoker(self.words("sync", url, more))
    }

    /// The words of a run of `sync`, `plan` or `watch`: `main`, and its `projects`, unless `more`
    /// says otherwise.
    pub(crate) fn words(&self, verb: &str, url: &str, more: &[&str]) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec![verb.into(), "--repo".into(), url.into()];
        if !more.iter().any(|word| word.starts_with("--ref")) {
            words.extend(["--ref".into(), "main".into()]);
        }
        if !more.contains(&"--map") && !more.contains(&"-f") {
            words.extend(["--map".into(), "projects:projects".into()]);
        }
        words.extend(["--data".into(), self.data().into()]);
        words.extend(more.iter().map(OsString::from));
        words
    }

    /// Starts the program, to be signalled or watched.
    pub(crate) fn start<Word: AsRef<OsStr>>(
        &self,
        words: impl IntoIterator<Item = Word>,
    ) -> Guarded {
        spawn(self.command(STOKER, words))
    }

    /// A command in this world; nothing of the test's own environment gets in.
    pub(crate) fn command<Word: AsRef<OsStr>>(
        &self,
        program: &str,
        words: impl IntoIterator<Item = Word>,
    ) -> Command {
        let mut command = if rustix::process::getuid().is_root() {
            // The fence is a pid namespace; a program in it should see a /proc that fits.
            let mut command = process::command("unshare").unwrap();
            command.args(["--mount-proc", "--", program]);
            command
        } else {
            process::command(program).unwrap()
        };
        command.args(words).env_clear().current_dir(self.root());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.path("home")).env("TMPDIR", self.path("tmp"));
        command.env("XDG_CACHE_HOME", self.path("cache"));
        command
    }
}

/// A server that gives the plant to clients with this token.
pub(crate) fn guarded(repo: &Repo, token: &str) -> (HttpServer, String) {
    let server = HttpServer::start().unwrap();
    let url = server.mount("plant", repo);
    server.require(Auth::Basic("x-access-token".into(), token.into()));
    (server, url)
}

/// A repository with two projects of a plant.
pub(crate) fn plant() -> Repo {
    Repo::with(plant_tree()).unwrap().0
}

pub(crate) fn plant_tree() -> Tree {
    Tree::new()
        .file("projects/line/project.json", "{\"title\":\"line\"}\n")
        .file("projects/line/views/main/view.json", "{\"root\":1}\n")
        .file("projects/line/views/main/resource.json", "{\"version\":1}\n")
        .file("projects/oven/project.json", "{\"title\":\"oven\"}\n")
        .file("config/site.json", "{\"site\":7}\n")
}

/// The same two projects, as they are in a data directory.
pub(crate) fn plant_files() -> tree::Tree {
    tree::tree([
        ("projects/line/project.json", "{\"title\":\"line\"}\n"),
        ("projects/line/views/main/view.json", "{\"root\":1}\n"),
        ("projects/line/views/main/resource.json", "{\"version\":1}\n"),
        ("projects/oven/project.json", "{\"title\":\"oven\"}\n"),
    ])
}

/// A signal ends a run within 5 s; a crowded machine gets some more.
pub(crate) const ENDED: Duration = Duration::from_secs(15);

/// Whether the full matrices are asked for, not a sample.
pub(crate) fn is_long() -> bool {
    std::env::var_os("STOKER_LONG").is_some()
}
