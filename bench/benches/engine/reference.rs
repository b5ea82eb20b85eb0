//! The same work by git and rsync: a checkout, and a live directory that follows it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use stoker_bench::place;
use stoker_bench::program::{Program, run, run_all};

use crate::World;
use crate::plant::Plant;

/// A shallow clone, and the directory that a gateway would look at.
pub(crate) struct Checkout<'a> {
    git: &'a Program,
    rsync: Option<&'a Program>,
    plant: &'a Plant,
    directory: PathBuf,
    live: PathBuf,
}

/// How long the steps of an update took.
pub(crate) struct Update {
    /// `git fetch` and `git reset --hard`.
    pub(crate) checkout: Duration,
    /// `rsync -a --delete`.
    pub(crate) copy: Duration,
}

impl<'a> Checkout<'a> {
    /// Names a checkout that is still empty.
    pub(crate) fn new(world: &'a World, plant: &'a Plant) -> Self {
        let (directory, live) = (world.place.join("checkout"), world.place.join("live"));
        Self { git: &world.git, rsync: world.rsync.as_ref(), plant, directory, live }
    }

    /// Removes what there is, and says how long a clone takes.
    pub(crate) fn clone_anew(&self) -> anyhow::Result<Duration> {
        place::clear(&self.directory)?;
        let mut clone = self.git.command();
        clone.args(["clone", "--quiet", "--depth=1", "--branch=main", "--", &self.plant.url]);
        Ok(run(clone.arg(&self.directory))?.took)
    }

    /// Makes checkout and live directory, unless they are there.
    pub(crate) fn prepare(&self) -> anyhow::Result<()> {
        if self.directory.exists() {
            self.pull()?;
        } else {
            self.clone_anew()?;
        }
        self.copy().map(drop)
    }

    /// Brings checkout and live directory to what is published.
    pub(crate) fn update(&self) -> anyhow::Result<Update> {
        Ok(Update { checkout: self.pull()?, copy: self.copy()? })
    }

    /// Says how long `git status` takes.
    pub(crate) fn status(&self) -> anyhow::Result<Duration> {
        Ok(run(self.inside().args(["status", "--porcelain"]))?.took)
    }

    fn pull(&self) -> anyhow::Result<Duration> {
        let (mut fetch, mut reset) = (self.inside(), self.inside());
        fetch.args(["fetch", "--quiet", "origin", "main"]);
        reset.args(["reset", "--quiet", "--hard", "FETCH_HEAD"]);
        run_all([&mut fetch, &mut reset])
    }

    fn copy(&self) -> anyhow::Result<Duration> {
        let Some(rsync) = self.rsync else { return Ok(Duration::ZERO) };
        let mut command = rsync.command();
        command.args(["-a", "--delete", "--exclude=/.git"]);
        Ok(run(command.arg(slash(&self.directory)).arg(slash(&self.live)))?.took)
    }

    fn inside(&self) -> Command {
        let mut git = self.git.command();
        // Housekeeping would fall into some turns and not into others.
        git.args(["-c", "gc.auto=0", "-c", "maintenance.auto=false", "-C"]).arg(&self.directory);
        git
    }
}

/// Asks the server which commits there are, and does nothing with the answer.
pub(crate) fn question(world: &World, plant: &Plant) -> Command {
    let mut command = world.git.command();
    command.args(["ls-remote", "--quiet", "--heads", "--tags", "--", &plant.url]);
    command
}

/// To rsync, a directory with a slash is what is in it.
fn slash(directory: &Path) -> String {
    format!("{}/", directory.display())
}
