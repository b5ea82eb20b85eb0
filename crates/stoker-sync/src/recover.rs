//! What a run that was killed left behind, finished or undone before anything else (A1, R27).
//!
//! A journal counts: its steps are taken again, those already done included. Everything else that
//! is found was not yet to be seen and goes. What is finished changes live files, so that the gate
//! is asked before, as for any other change.

mod finished;

use std::collections::HashSet;

pub use finished::Finished;

use crate::apply::{Application, Gate, Pass, Undone};
use crate::disk::{Dir, DiskError};
use crate::journal::{self, Group};
use crate::manifest::Manifest;
use crate::manifest::header::Header;
use crate::manifest::record::DirPatch;
use crate::manifest::segment::Segment;
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
    pub(crate) finished: Option<Finished>,
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
    /// The gate stayed shut; what the last run left is as it was.
    #[error("the gateway did not let an earlier run be finished")]
    Gate {
        /// What the gate said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Finishes or undoes what the last run left, and loads the manifest.
pub(crate) fn recover(root: &Dir, state: &Dir, gate: &mut dyn Gate) -> Result<Recovered, Error> {
    let disk = |source| Error::Disk { source };
    remove_if_there(state, store::PREPARED).map_err(disk)?;
    let mut loaded = store::load(state).map_err(disk)?;
    let (mut warnings, mut finished) = (Vec::new(), None);
    if state.look(store::JOURNAL).map_err(disk)?.is_some() {
        let journal = Journal::read(state).map_err(disk)?;
        finished = finish((root, state), (journal, &loaded), (gate, &mut warnings))?;
        loaded = store::load(state).map_err(disk)?;
    }
    if root.look(STAGING_DIR.as_bytes()).map_err(disk)?.is_some() {
        Stage::remove(root).map_err(disk)?;
        warnings.push(told("a run that had ended early was undone"));
    }
    let manifest = match loaded {
        Loaded::Manifest(manifest) => manifest,
        Loaded::Absent => Manifest::absent(),
        Loaded::Corrupt { newest } => {
            warnings.push(corrupt());
            Manifest::lost(newest)
        }
    };
    Ok(Recovered { manifest, warnings, finished })
}

fn told(message: &str) -> Warning {
    Warning::new(Code::Recovered, RelPath::root(), message)
}

/// Returns the warning about a manifest that can't be read.
pub(crate) fn corrupt() -> Warning {
    let message = "the record of the last sync can't be read; files are compared by content";
    Warning::new(Code::ManifestCorrupt, RelPath::root(), message)
}

fn remove_if_there(state: &Dir, name: &[u8]) -> Result<(), DiskError> {
    if state.look(name)?.is_some() { state.remove_tree(name) } else { Ok(()) }
}

/// A journal that was found.
struct Journal {
    header: Header,
    patches: Vec<DirPatch>,
    groups: Vec<Group>,
}

impl Journal {
    /// Reads the journal; `None` if it can't be understood.
    fn read(state: &Dir) -> Result<Option<Self>, DiskError> {
        Ok(Segment::open(state.open_file(store::JOURNAL)?).and_then(Self::parse))
    }

    fn parse(segment: Segment) -> Option<Self> {
        let groups = journal::unpack(&segment.steps()?)?;
        let patches = segment.patches().ok()?;
        Some(Self { header: segment.header, patches, groups })
    }
}

/// Takes the steps of the journal again and makes it the manifest.
fn finish(
    (root, state): (&Dir, &Dir),
    (journal, loaded): (Option<Journal>, &Loaded),
    (gate, warnings): (&mut dyn Gate, &mut Vec<Warning>),
) -> Result<Option<Finished>, Error> {
    let disk = |source| Error::Disk { source };
    // It was durable before it got its name, so it was damaged later: how far its run came is
    // unknown, and nothing that the manifest says can be believed.
    let Some(Journal { header, patches, groups }) = journal else {
        store::forget(state).map_err(disk)?;
        state.remove_tree(store::JOURNAL).map_err(disk)?;
        return Ok(None);
    };
    let last = loaded.manifest().map(Manifest::header);
    if last.is_some_and(|last| header.generation <= last.generation) {
        state.remove_tree(store::JOURNAL).map_err(disk)?;
        return Ok(None);
    }
    let (header, patches, groups) = (&header, &patches[..], &groups[..]);
    let application = Application { root, state, groups, header, patches, last: loaded.manifest() };
    application.open(gate).map_err(|source| Error::Gate { source })?;
    let undone = application.take(Pass::Again, gate).map_err(disk)?;
    let message = "a run that had ended early was finished, but this path could not be changed";
    let unfinished =
        |undone: &Undone<'_>| Warning::new(Code::Recovered, undone.step.path().clone(), message);
    let commit = &header.commit;
    warnings.push(told(&format!("a run that had ended early was finished: {commit} is live")));
    warnings.extend(undone.iter().map(unfinished));
    let undone: HashSet<&[u8]> = undone.iter().map(|undone| &**undone.step.path()).collect();
    let done = groups.iter().flatten().filter(|step| !undone.contains(&**step.path()));
    let previous_commit = last.map(|last| last.commit.clone()).filter(|last| !last.is_empty());
    let changes = finished::changes(done, patches, loaded.manifest());
    Ok(Some(Finished { previous_commit, changes }))
}
