//! What a run that was killed left behind, finished or undone before anything else (A1, R27).
//!
//! A journal counts: its steps are taken again, those already done included. Everything else that
//! is found was not yet to be seen and goes.

use crate::apply::{self, Stepper};
use crate::disk::{Dir, DiskError};
use crate::journal;
use crate::manifest::Manifest;
use crate::manifest::segment;
use crate::name::STAGING_DIR;
use crate::path::RelPath;
use crate::store::{self, Loaded};
use crate::warning::{Code, Warning};
use crate::write::Stage;

/// The manifest after recovery, and what people should know about it.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) manifest: Manifest,
    pub(crate) warnings: Vec<Warning>,
}

/// Why recovery failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The state could not be read or written.
    #[error("failed to recover from the last run")]
    Disk {
        /// What the system said.
        source: DiskError,
    },
    /// Some paths of a killed run could not be changed.
    #[error("failed to finish the last run: {} paths could not be changed", .failed.len())]
    Unfinished {
        /// What the system said, path by path.
        failed: Vec<DiskError>,
    },
}

/// Finishes or undoes what the last run left, and loads the manifest.
pub(crate) fn recover(root: &Dir, state: &Dir) -> Result<Recovered, Error> {
    let disk = |source| Error::Disk { source };
    let mut warnings = Vec::new();
    remove_if_there(state, store::PREPARED).map_err(disk)?;
    let loaded = store::load(state).map_err(disk)?;
    let last =
        if let Loaded::Manifest(manifest) = &loaded { manifest.header().generation } else { 0 };
    let had_journal = state.look(store::JOURNAL).map_err(disk)?.is_some();
    let is_sound = !had_journal || finish(root, state, last)?;
    if root.look(STAGING_DIR.as_bytes()).map_err(disk)?.is_some() {
        Stage::remove(root).map_err(disk)?;
        let message = "a run that had ended early was finished or undone";
        warnings.push(Warning::new(Code::Recovered, RelPath::root(), message));
    }
    let loaded = if had_journal { store::load(state).map_err(disk)? } else { loaded };
    let manifest = match loaded {
        Loaded::Manifest(manifest) if is_sound => manifest,
        Loaded::Absent => Manifest::absent(),
        Loaded::Manifest(_) | Loaded::Corrupt => {
            store::forget(state).map_err(disk)?;
            warnings.push(corrupt());
            Manifest::absent()
        }
    };
    Ok(Recovered { manifest, warnings })
}

/// Returns the warning about a manifest that can't be read.
pub(crate) fn corrupt() -> Warning {
    let message = "the record of the last sync can't be read; files are compared by content";
    Warning::new(Code::ManifestCorrupt, RelPath::root(), message)
}

fn remove_if_there(state: &Dir, name: &[u8]) -> Result<(), DiskError> {
    if state.look(name)?.is_some() { state.remove_tree(name) } else { Ok(()) }
}

/// Takes the steps of the journal again; returns whether there was one that could be read.
///
/// A journal is durable before it gets its name, so one that can't be read was damaged later: how
/// far its run came is unknown, and nothing that the manifest says can be believed.
fn finish(root: &Dir, state: &Dir, last: u64) -> Result<bool, Error> {
    let disk = |source| Error::Disk { source };
    let bytes = state.read(store::JOURNAL).map_err(disk)?;
    let header = segment::parse_header(&bytes);
    let groups = segment::parse_steps(&bytes).and_then(journal::unpack);
    let (Some(header), Some(groups)) = (header, groups) else {
        state.remove_tree(store::JOURNAL).map_err(disk)?;
        return Ok(false);
    };
    if header.generation <= last {
        state.remove_tree(store::JOURNAL).map_err(disk)?;
        return Ok(true);
    }
    let mut stepper = Stepper::new(root);
    for group in &groups {
        stepper.take(group);
    }
    let failed = stepper.finish().map_err(disk)?;
    if !failed.is_empty() {
        return Err(Error::Unfinished { failed });
    }
    apply::commit(root, state, header.generation).map_err(disk)?;
    Ok(true)
}
