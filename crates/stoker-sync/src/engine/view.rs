//! A data directory, read only: what the last sync left there, and which scans are owed.

use std::collections::BTreeSet;
use std::path::Path;

use super::plan::PlanInput;
use super::{EarlyCheck, OpenError};
use crate::cancel::Cancel;
use crate::compose::{Case, Volume};
use crate::disk::{Dir, DiskError, Modes};
use crate::halves::Halves;
use crate::lock;
use crate::manifest::Manifest;
use crate::manifest::storage::{self, Loaded};
use crate::path::{Quoted, RelPath};
use crate::plan::{self, Plan};
use crate::recover::{self, Finished};
use crate::request::Request;
use crate::reserved::{STAGING_DIR, STATE_DIR};
use crate::source::Source;
use crate::warning::Warning;

/// Where a settled scan is remembered.
pub(super) const SETTLED: &[u8] = b"settled";
/// It says no more than this.
const MOST_SETTLED: u64 = 64;

/// A data directory, read only: nothing is locked, nothing is written.
#[derive(Debug)]
pub struct View {
    pub(super) root: Dir,
    pub(super) state: Option<Dir>,
    pub(super) manifest: Manifest,
    /// What opening brought to light; every plan repeats it.
    pub(super) notices: Vec<Warning>,
    pub(super) finished: Option<Finished>,
    pub(super) volume: Volume,
    pub(super) early_check: Option<EarlyCheck>,
}

impl View {
    /// Opens a data directory, read only. No link is followed.
    pub fn open(data: &Path) -> Result<Self, OpenError> {
        Self::open_following(data, &[])
    }

    /// Opens a data directory, read only, and follows these symbolic links below it.
    pub fn open_following(data: &Path, links: &[RelPath]) -> Result<Self, OpenError> {
        let disk = |source| OpenError::Disk { source };
        let root = Dir::open_root(data).and_then(|root| root.following(links)).map_err(disk)?;
        let state = match root.open(STATE_DIR.as_bytes()) {
            Err(error) if error.is_absence() => None,
            opened => Some(opened.map_err(disk)?),
        };
        let modes = state.as_ref().map(lock::modes_seen).transpose().map_err(disk)?;
        let root = root.with_modes(modes.unwrap_or(Modes::Kept));
        let loaded = state.as_ref().map(storage::load_unlocked).transpose().map_err(disk)?;
        let (manifest, notices) = match loaded {
            Some(Loaded::Manifest(manifest)) => (manifest, Vec::new()),
            Some(Loaded::Corrupt { newest }) => (Manifest::lost(newest), vec![recover::corrupt()]),
            Some(Loaded::Absent) | None => (Manifest::absent(), Vec::new()),
        };
        let volume = volume(&root, data).map_err(disk)?;
        let finished = None;
        Ok(Self { root, state, manifest, notices, finished, volume, early_check: None })
    }

    /// Plans what would bring the data directory to the state of the source. Writes nothing.
    pub fn plan(
        &mut self,
        source: &mut dyn Source,
        request: &Request,
        cancel: &Cancel,
    ) -> Result<Plan, plan::Error> {
        let planned = PlanInput { view: self, request, cancel }.run(source);
        if !self.manifest.is_damaged() {
            return planned;
        }
        // Its result was computed from damaged data.
        self.manifest = Manifest::lost(self.manifest.header().generation);
        self.notices.push(recover::corrupt());
        PlanInput { view: self, request, cancel }.run(source)
    }

    /// Returns the commit of the last sync.
    pub fn commit(&self) -> Option<&str> {
        Some(self.manifest.header().commit.as_str()).filter(|commit| !commit.is_empty())
    }

    /// Returns whether the last sync had the mappings and excludes of this request.
    pub fn is_of(&self, request: &Request) -> bool {
        let cancel = Cancel::default();
        PlanInput { view: self, request, cancel: &cancel }.is_same_profile()
    }

    /// Returns the run that had ended early and was finished when this was opened.
    pub fn finished(&self) -> Option<&Finished> {
        self.finished.as_ref()
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
    pub fn is_unfinished(data: &Path) -> Result<bool, DiskError> {
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
        let settled = self.state.as_ref().and_then(|state| state.read(SETTLED, MOST_SETTLED).ok());
        let settled = settled.and_then(|bytes| parse_settled(&bytes, header.generation));
        header.owed.without(settled.unwrap_or_default())
    }
}

/// Whether anything is there that only a run at work has.
pub(super) fn is_left(root: &Dir, state: &Dir) -> Result<bool, DiskError> {
    let has = |name| state.stat(name).map(|stat| stat.is_some());
    Ok(has(storage::JOURNAL)?
        || has(storage::PREPARED)?
        || root.stat(STAGING_DIR.as_bytes())?.is_some())
}

fn parse_settled(bytes: &[u8], generation: u64) -> Option<Halves> {
    let (number, bits) = str::from_utf8(bytes).ok()?.strip_suffix('\n')?.split_once(' ')?;
    let is_current = number.parse() == Ok(generation);
    bits.parse().ok().filter(|_| is_current).map(Halves::from_bits)
}

/// Finds out what the volume can hold, without writing to it.
pub(super) fn volume(root: &Dir, data: &Path) -> Result<Volume, DiskError> {
    let own = root.stat(STATE_DIR.as_bytes())?.map(|stat| stat.stamp.inode);
    let loud = root.stat(STATE_DIR.to_ascii_uppercase().as_bytes())?.map(|stat| stat.stamp.inode);
    let case = if own.is_some() && own == loud { Case::Ignored } else { Case::Matters };
    // The gateway names files by their whole path, and Linux takes 4,095 bytes of one.
    let longest_path = 4_095 - (data.as_os_str().len() + 1).min(2_048);
    Ok(Volume { longest_path, case })
}
