//! A data directory that `stoker` keeps in step.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde::Deserialize;
use stoker_bench::{place, program};

use crate::World;
use crate::plant::Plant;

/// A data directory and the object store that belongs to it.
pub(crate) struct Site<'a> {
    world: &'a World,
    plant: &'a Plant,
    pub(crate) data: PathBuf,
    store: PathBuf,
}

/// One run of `stoker`.
#[derive(Debug)]
pub(crate) struct Run {
    /// From the start of the process to its end.
    pub(crate) whole: Duration,
    pub(crate) outcome: Outcome,
}

/// What `-o json` says, as far as it matters here.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Outcome {
    status: String,
    files_added: usize,
    files_modified: usize,
    pub(crate) bytes_written: u64,
    durations_ms: Durations,
}

#[derive(Debug, Deserialize)]
struct Durations {
    resolve: u64,
}

impl<'a> Site<'a> {
    /// Names a site; one of the same name and plant is the same site.
    pub(crate) fn new(world: &'a World, plant: &'a Plant, name: &str) -> Self {
        let data = world.place.join(&format!("{name}-data"));
        let store = world.place.join(&format!("{name}-store"));
        Self { world, plant, data, store }
    }

    /// The same below another directory.
    pub(crate) fn below(mut self, directory: &place::Place) -> Self {
        self.data = directory.join("data");
        self.store = directory.join("store");
        self
    }

    /// Returns the command line of `stoker VERB`.
    pub(crate) fn command(&self, verb: &str, more: &[&str]) -> Command {
        let mut command = self.world.stoker.command();
        command.args([verb, "-o", "json", "--repo", &self.plant.url, "--ref", "main"]);
        command.args(["--map", "projects:projects", "--map", "config:config"]);
        command.arg("--data").arg(&self.data).arg("--store").arg(&self.store).args(more);
        command
    }

    /// Forgets everything, so that the next sync is the first.
    pub(crate) fn clear(&self) -> anyhow::Result<()> {
        place::clear(&self.data)?;
        place::clear(&self.store)
    }

    /// Syncs for the first time.
    pub(crate) fn first(&self) -> anyhow::Result<Run> {
        let run = self.sync(&["--create"])?;
        ensure!(run.outcome.files_added > 0, "nothing was added: {run:?}");
        Ok(run)
    }

    /// Brings the site to what is published, whatever it was at before.
    pub(crate) fn prepare(&self) -> anyhow::Result<()> {
        self.sync(&["--create"]).map(drop)
    }

    /// Syncs to a commit that changes so many files.
    pub(crate) fn change(&self, files: usize) -> anyhow::Result<Run> {
        let run = self.sync(&[])?;
        ensure!(run.outcome.files_modified == files, "not {files} files were changed: {run:?}");
        Ok(run)
    }

    /// The same with the commit already in the store: what is left is the engine's.
    pub(crate) fn change_fetched(&self, files: usize) -> anyhow::Result<Run> {
        program::run(&mut self.command("plan", &[]))?;
        self.change(files)
    }

    /// Syncs when there is nothing to do.
    pub(crate) fn unchanged(&self, more: &[&str]) -> anyhow::Result<Run> {
        let run = self.sync(more)?;
        ensure!(run.outcome.status == "unchanged", "something was changed: {run:?}");
        Ok(run)
    }

    fn sync(&self, more: &[&str]) -> anyhow::Result<Run> {
        let ran = program::run(&mut self.command("sync", more))?;
        Ok(Run { whole: ran.took, outcome: Outcome::parse(&ran.stdout)? })
    }
}

impl Run {
    /// The whole process but for the question which commit the ref is; start, opening of the data
    /// directory and of the store included.
    pub(crate) fn without_query(&self) -> Duration {
        // The report rounds down, so what is left is at most a millisecond too long.
        self.whole.saturating_sub(Duration::from_millis(self.outcome.durations_ms.resolve))
    }
}

impl Outcome {
    /// Reads what `stoker -o json` printed.
    pub(crate) fn parse(json: &[u8]) -> anyhow::Result<Self> {
        serde_json::from_slice(json).context("failed to read the outcome")
    }
}
