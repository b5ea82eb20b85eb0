//! What a run that was killed left behind, finished or undone before anything else (A1, R27).
//!
//! A journal counts: its steps are taken again, those already done included. That changes live
//! files, so it is left to the caller, who may have to take the gateway's scan lock first.
//! Everything else that is found was not yet to be seen and goes at once.

mod finished;

use std::collections::HashSet;

pub use finished::Finished;

use crate::apply::{Application, Pass, Undone};
use crate::disk::{Dir, DiskError};
use crate::halves::Halves;
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

/// What the last run left.
#[derive(Debug)]
pub(crate) enum Left {
    /// Nothing that has to be finished; what had to be undone is undone.
    Nothing(Recovered),
    /// A run whose renames had begun.
    Unfinished(Unfinished),
}

/// A run whose renames had begun.
#[derive(Debug)]
pub(crate) struct Unfinished {
    journal: Journal,
    loaded: Loaded,
}

/// Undoes what the last run left before its renames, and says whether there is more.
pub(crate) fn inspect(root: &Dir, state: &Dir) -> Result<Left, DiskError> {
    remove_if_there(state, store::PREPARED)?;
    let loaded = store::load(state)?;
    if state.look(store::JOURNAL)?.is_none() {
        return conclude(root, loaded, Vec::new(), None).map(Left::Nothing);
    }
    let last = loaded.manifest().map(Manifest::header).map(|last| last.generation);
    match Journal::read(state)? {
        Some(journal) if last.is_none_or(|last| journal.header.generation > last) => {
            return Ok(Left::Unfinished(Unfinished { journal, loaded }));
        }
        // Its run came to its end.
        Some(_) => {}
        // It was durable before it got its name, so it was damaged later: how far its run came is
        // unknown, and nothing that the manifest says can be believed.
        None => store::forget(state)?,
    }
    state.remove_tree(store::JOURNAL)?;
    let loaded = store::load(state)?;
    conclude(root, loaded, Vec::new(), None).map(Left::Nothing)
}

/// Removes staged files that nothing counts on, and returns the manifest.
fn conclude(
    root: &Dir,
    loaded: Loaded,
    mut warnings: Vec<Warning>,
    finished: Option<Finished>,
) -> Result<Recovered, DiskError> {
    if root.look(STAGING_DIR.as_bytes())?.is_some() {
        Stage::remove(root)?;
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
#[derive(Debug)]
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

impl Unfinished {
    /// Returns the halves of the gateway in which files will change.
    pub(crate) fn halves(&self) -> Halves {
        journal::halves(&self.journal.groups)
    }

    /// Takes the steps of the journal again and makes it the manifest.
    pub(crate) fn finish(
        self,
        root: &Dir,
        state: &Dir,
        renew: &mut dyn FnMut(),
    ) -> Result<Recovered, DiskError> {
        let Self { journal: Journal { header, patches, groups }, loaded } = self;
        let last = loaded.manifest();
        let application =
            Application { root, state, groups: &groups, header: &header, patches: &patches, last };
        let undone = application.take(Pass::Again, renew)?;
        let message = "a run that had ended early was finished, but this path could not be changed";
        let unfinished = |undone: &Undone<'_>| {
            Warning::new(Code::Recovered, undone.step.path().clone(), message)
        };
        let commit = &header.commit;
        let mut warnings =
            vec![told(&format!("a run that had ended early was finished: {commit} is live"))];
        warnings.extend(undone.iter().map(unfinished));
        let undone: HashSet<&[u8]> = undone.iter().map(|undone| &**undone.step.path()).collect();
        let done = groups.iter().flatten().filter(|step| !undone.contains(&**step.path()));
        let commit = last.map(|last| last.header().commit.clone());
        let previous_commit = commit.filter(|commit| !commit.is_empty());
        let changes = finished::changes(done, &patches, last);
        let finished = Some(Finished { previous_commit, changes });
        conclude(root, store::load(state)?, warnings, finished)
    }
}
