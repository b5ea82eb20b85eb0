//! The front door: open a data directory, plan, write, apply.
//!
//! ```text
//! let mut engine = Engine::open(&options, &cancel)?;            // lock, and finish what was killed
//! let plan = engine.plan(&mut source, &request, &cancel)?;      // a dry run ends here
//! let written = engine.write(plan, &mut source, &cancel)?;      // durable, not yet visible
//! let report = written.apply(&mut gate)?;                       // renames, deletes, manifest
//! engine.settle(scanned)?;                                      // the gateway knows
//! ```

mod conclude;
mod course;
mod foresight;
mod planning;
mod private;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
mod written;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

pub use foresight::Foresight;
pub use written::Written;

use crate::apply::{Gate, OpenGate};
use crate::cancel::Cancel;
use crate::compose::{Case, Volume};
use crate::disk::{Dir, DiskError};
use crate::lock::{self, Lock};
use crate::manifest::Manifest;
use crate::name::{STAGING_DIR, STATE_DIR};
use crate::path::Quoted;
use crate::plan::{self, Plan};
use crate::recover::{self, Recovered};
use crate::report::Halves;
use crate::request::Request;
use crate::source::Source;
use crate::store::{self, Loaded};
use crate::warning::Warning;
use crate::write;

/// Where a settled scan is remembered.
const SETTLED: &[u8] = b"settled";

/// How a data directory is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// The data directory.
    pub data: PathBuf,
    /// Whether a missing one is made.
    pub missing: Missing,
    /// How long to wait for another run to end.
    pub lock_timeout: Duration,
}

/// What happens if there is no data directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// An error: a typing mistake must not become a directory.
    Refuse,
    /// It is made.
    Create,
}

/// A data directory, for looking only: nothing is locked, nothing is written.
#[derive(Debug)]
pub struct View {
    root: Dir,
    state: Option<Dir>,
    manifest: Manifest,
    /// What opening brought to light; every plan repeats it.
    notices: Vec<Warning>,
    volume: Volume,
    /// What a look before this run has seen.
    foresight: Option<Foresight>,
}

/// A data directory, locked for this run.
#[derive(Debug)]
pub struct Engine {
    view: View,
    state: Dir,
    lock: Lock,
}

/// Why a data directory could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It is not there, or not ours to use.
    #[error("failed to open the data directory")]
    Disk {
        /// What the system said.
        source: DiskError,
    },
    /// Another run has it.
    #[error("failed to lock the data directory")]
    Lock {
        /// Who, or why.
        source: lock::Error,
    },
    /// What a killed run left could not be put right.
    #[error("failed to recover the data directory")]
    Recover {
        /// Why.
        source: recover::Error,
    },
}

impl View {
    /// Opens a data directory for looking.
    pub fn open(data: &std::path::Path) -> Result<Self, OpenError> {
        let disk = |source| OpenError::Disk { source };
        let root = Dir::open_root(data).map_err(disk)?;
        let state = match root.open(STATE_DIR.as_bytes()) {
            Err(error) if error.is_absence() => None,
            opened => Some(opened.map_err(disk)?),
        };
        let loaded = state.as_ref().map(store::load).transpose().map_err(disk)?;
        let (manifest, notices) = match loaded {
            Some(Loaded::Manifest(manifest)) => (manifest, Vec::new()),
            Some(Loaded::Corrupt { newest }) => (Manifest::lost(newest), vec![recover::corrupt()]),
            Some(Loaded::Absent) | None => (Manifest::absent(), Vec::new()),
        };
        let volume = volume(&root, data).map_err(disk)?;
        Ok(Self { root, state, manifest, notices, volume, foresight: None })
    }

    /// Plans what would bring the data directory to the state of the source. Writes nothing.
    pub fn plan(
        &mut self,
        source: &mut dyn Source,
        request: &Request,
        cancel: &Cancel,
    ) -> Result<Plan, plan::Error> {
        let planned = planning::Planning { view: self, request, cancel }.run(source);
        if !self.manifest.is_damaged() {
            return planned;
        }
        // Whatever came of it was made from answers that mean nothing.
        self.manifest = Manifest::lost(self.manifest.header().generation);
        self.notices.push(recover::corrupt());
        planning::Planning { view: self, request, cancel }.run(source)
    }

    /// Returns the commit of the last sync.
    pub fn commit(&self) -> Option<&str> {
        Some(self.manifest.header().commit.as_str()).filter(|commit| !commit.is_empty())
    }

    /// Returns whether no sync has ever been here.
    pub fn is_first(&self) -> bool {
        self.manifest.header().generation == 0
    }

    /// Returns how many files are ours.
    pub fn files(&self) -> u64 {
        self.manifest.header().files
    }

    /// Returns whether a run has left something that is to be finished or undone, or is at work.
    pub fn is_unfinished(data: &std::path::Path) -> Result<bool, DiskError> {
        let root = Dir::open_root(data)?;
        match root.open(STATE_DIR.as_bytes()) {
            Err(error) if error.is_absence() => Ok(false),
            state => is_left(&root, &state?),
        }
    }

    /// Returns what opening brought to light.
    pub fn notices(&self) -> &[Warning] {
        &self.notices
    }

    /// Returns the projects that hold files of ours, sorted.
    pub fn projects(&self) -> Vec<String> {
        let names = self.manifest.children_beside(b"projects", &BTreeSet::new());
        names.iter().map(|name| Quoted(name).to_string()).collect()
    }

    /// Returns the scans that the gateway still owes.
    pub fn owed(&self) -> Halves {
        let header = self.manifest.header();
        let settled = self.state.as_ref().and_then(|state| state.read(SETTLED).ok());
        let settled = settled.and_then(|bytes| parse_settled(&bytes, header.generation));
        header.owed.without(settled.unwrap_or_default())
    }
}

impl Engine {
    /// Opens and locks a data directory, and finishes or undoes what a killed run left.
    pub fn open(options: &Options, cancel: &Cancel) -> Result<Self, OpenError> {
        Self::open_through(options, &mut OpenGate, cancel)
    }

    /// The same for a data directory with a gateway: the gate is asked before what a killed run left
    /// is finished, and only then.
    pub fn open_through(
        options: &Options,
        gate: &mut dyn Gate,
        cancel: &Cancel,
    ) -> Result<Self, OpenError> {
        let disk = |source| OpenError::Disk { source };
        if options.missing == Missing::Create {
            crate::disk::create_root(&options.data).map_err(disk)?;
        }
        let root = Dir::open_root(&options.data).map_err(disk)?;
        let state = root.open_or_make_dir(STATE_DIR.as_bytes(), 0o700).map_err(disk)?;
        private::tighten(&root, &options.data);
        let lock = Lock::take(&state, options.lock_timeout, cancel);
        let mut lock = lock.map_err(|source| OpenError::Lock { source })?;
        if is_left(&root, &state).map_err(disk)? {
            // Finishing may have to wait for the gateway, and others then wait for us. That it can't
            // be written, on a full volume say, is no reason not to finish.
            drop(lock.sign(&state));
        }
        let recovered = recover::recover(&root, &state, gate);
        let Recovered { manifest, warnings: notices } =
            recovered.map_err(|source| OpenError::Recover { source })?;
        lock.clean(&state).map_err(disk)?;
        let volume = volume(&root, &options.data).map_err(disk)?;
        let own = root.open(STATE_DIR.as_bytes()).map_err(disk)?;
        let view = View { root, state: Some(own), manifest, notices, volume, foresight: None };
        Ok(Self { view, state, lock })
    }

    /// Plans what would bring the data directory to the state of the source. Writes nothing.
    pub fn plan(
        &mut self,
        source: &mut dyn Source,
        request: &Request,
        cancel: &Cancel,
    ) -> Result<Plan, plan::Error> {
        self.view.plan(source, request, cancel)
    }

    /// Writes the new files of a plan and makes them durable. Nothing is visible yet.
    pub fn write(
        &mut self,
        plan: Plan,
        source: &mut dyn Source,
        cancel: &Cancel,
    ) -> Result<Written<'_>, write::Error> {
        Written::write(self, plan, source, cancel)
    }

    /// Remembers that the gateway has scanned these halves.
    pub fn settle(&mut self, scanned: Halves) -> Result<(), DiskError> {
        let owed = self.view.owed();
        if owed.without(scanned) == owed {
            return Ok(());
        }
        let header = self.view.manifest.header();
        let settled = header.owed.without(owed).and(scanned);
        let words = format!("{} {}\n", header.generation, settled.to_bits());
        // Not made durable: if it is lost, a scan is done twice.
        let mut file = self.state.open_or_create(SETTLED, 0o600)?;
        self.state.overwrite(SETTLED, &mut file, words.as_bytes())
    }

    /// Writes down who has the data directory, for those who wait: before something that may take
    /// long. A run that has nothing to do does not.
    pub fn sign(&mut self) -> Result<(), DiskError> {
        self.lock.sign(&self.state)
    }

    /// Takes over what was seen before the data directory was locked.
    pub fn foresee(&mut self, foresight: Option<Foresight>) {
        self.view.foresee(foresight);
    }

    /// Returns the data directory for looking.
    pub fn view(&self) -> &View {
        &self.view
    }
}

/// Whether anything is there that only a run at work has.
fn is_left(root: &Dir, state: &Dir) -> Result<bool, DiskError> {
    let has = |name| state.look(name).map(|look| look.is_some());
    Ok(has(store::JOURNAL)?
        || has(store::PREPARED)?
        || root.look(STAGING_DIR.as_bytes())?.is_some())
}

fn parse_settled(bytes: &[u8], generation: u64) -> Option<Halves> {
    let (number, bits) = str::from_utf8(bytes).ok()?.strip_suffix('\n')?.split_once(' ')?;
    let is_current = number.parse() == Ok(generation);
    bits.parse().ok().filter(|_| is_current).map(Halves::from_bits)
}

/// Finds out what the volume can hold, without writing to it.
fn volume(root: &Dir, data: &std::path::Path) -> Result<Volume, DiskError> {
    let own = root.look(STATE_DIR.as_bytes())?.map(|look| look.stat.inode);
    let loud = root.look(STATE_DIR.to_ascii_uppercase().as_bytes())?.map(|look| look.stat.inode);
    let case = if own.is_some() && own == loud { Case::Ignored } else { Case::Matters };
    // The gateway names files by their whole path, and Linux takes 4,095 bytes of one.
    let longest_path = 4_095 - (data.as_os_str().len() + 1).min(2_048);
    Ok(Volume { longest_path, case })
}
