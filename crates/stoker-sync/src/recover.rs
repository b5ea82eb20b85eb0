//! Finishes or undoes what a killed run left, before anything else (A1, R27).
//!
//! If there is a journal, its steps run again, including those that are already done. That changes
//! live files, so the caller does it, and takes the gateway's scan lock first. Everything else that
//! is found was never in place, and is removed at once.

use std::collections::{HashMap, HashSet};

use crate::apply::{Application, Pass, Undone};
use crate::disk::{Dir, DiskError};
use crate::halves::Halves;
use crate::journal::{self, Group, Step};
use crate::manifest::Manifest;
use crate::manifest::header::Header;
use crate::manifest::record::{DirChange, DirPatch};
use crate::manifest::segment::Segment;
use crate::manifest::storage::{self, Loaded};
use crate::path::RelPath;
use crate::plan::{Action, Change};
use crate::reserved::STAGING_DIR;
use crate::warning::{Warning, WarningCode};
use crate::write::Stage;

/// The manifest after recovery, and what people should know about it.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) manifest: Manifest,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) finished: Option<Finished>,
}

/// A run that had ended early and is finished now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// The commit that was live before it, if there was one.
    pub previous_commit: Option<String>,
    /// What it changed, sorted by path.
    pub changes: Vec<Change>,
}

#[derive(Debug)]
pub(crate) enum Left {
    /// Nothing that has to be finished; what had to be undone is undone.
    Nothing(Recovered),
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
    remove_if_there(state, storage::PREPARED)?;
    let loaded = storage::load(state)?;
    if state.stat(storage::JOURNAL)?.is_none() {
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
        None => storage::forget(state)?,
    }
    state.remove_tree(storage::JOURNAL)?;
    let loaded = storage::load(state)?;
    conclude(root, loaded, Vec::new(), None).map(Left::Nothing)
}

/// Removes staged files that nothing counts on, and returns the manifest.
fn conclude(
    root: &Dir,
    loaded: Loaded,
    mut warnings: Vec<Warning>,
    finished: Option<Finished>,
) -> Result<Recovered, DiskError> {
    if root.stat(STAGING_DIR.as_bytes())?.is_some() {
        Stage::remove(root)?;
        warnings.push(recovered("a run that had ended early was undone"));
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

fn recovered(message: &str) -> Warning {
    Warning::new(WarningCode::Recovered, RelPath::root(), message)
}

pub(crate) fn corrupt() -> Warning {
    let message = "the record of the last sync can't be read; files are compared by content";
    Warning::new(WarningCode::ManifestCorrupt, RelPath::root(), message)
}

fn remove_if_there(state: &Dir, name: &[u8]) -> Result<(), DiskError> {
    if state.stat(name)?.is_some() { state.remove_tree(name) } else { Ok(()) }
}

#[derive(Debug)]
struct Journal {
    header: Header,
    patches: Vec<DirPatch>,
    groups: Vec<Group>,
}

impl Journal {
    /// Reads the journal; `None` if it can't be understood.
    fn read(state: &Dir) -> Result<Option<Self>, DiskError> {
        Ok(Segment::open(state.open_file(storage::JOURNAL)?).and_then(Self::parse))
    }

    fn parse(segment: Segment) -> Option<Self> {
        let groups = journal::unpack(&segment.steps()?)?;
        let patches = segment.patches().ok()?;
        Some(Self { header: segment.header, patches, groups })
    }
}

impl Unfinished {
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
            Warning::new(WarningCode::Recovered, undone.step.path().clone(), message)
        };
        let commit = &header.commit;
        let mut warnings =
            vec![recovered(&format!("a run that had ended early was finished: {commit} is live"))];
        warnings.extend(undone.iter().map(unfinished));
        let undone: HashSet<&[u8]> = undone.iter().map(|undone| &**undone.step.path()).collect();
        let done = groups.iter().flatten().filter(|step| !undone.contains(&**step.path()));
        let commit = last.map(|last| last.header().commit.clone());
        let previous_commit = commit.filter(|commit| !commit.is_empty());
        let changes = changes(done, &patches, last);
        let finished = Some(Finished { previous_commit, changes });
        conclude(root, storage::load(state)?, warnings, finished)
    }
}

/// Returns what steps have changed; their patches say what they brought.
fn changes<'s>(
    steps: impl Iterator<Item = &'s Step>,
    patches: &[DirPatch],
    last: Option<&Manifest>,
) -> Vec<Change> {
    let (mut changes, mut new_dirs, mut files) = (Vec::new(), Vec::new(), HashMap::new());
    for step in steps {
        match step {
            Step::Delete { path, .. } => changes.push(change(path.clone(), Action::Delete, 0)),
            Step::PlaceDir { to, .. } => new_dirs.push(to.clone()),
            Step::Place { to, .. } => drop(files.insert(to, Action::Modify)),
            Step::Mode { path, .. } => drop(files.insert(path, Action::Mode)),
            Step::Clear { .. } | Step::RemoveDir { .. } | Step::RenameCase { .. } => {}
        }
    }
    new_dirs.sort();
    for DirPatch { path: dir, change: brought } in patches {
        let DirChange::Known { upserts, .. } = brought else { continue };
        let is_in_new_dir =
            new_dirs.binary_search(dir).is_ok() || journal::new_dir_of(&new_dirs, dir).is_some();
        let known = last.and_then(|last| last.dir(dir)).unwrap_or_default();
        for record in upserts {
            let path = dir.join(&record.name);
            let action = match files.get(&path) {
                Some(Action::Modify) if known.file(&record.name).is_none() => Action::Add,
                Some(action) => *action,
                None if is_in_new_dir => Action::Add,
                None => continue,
            };
            let bytes = if action == Action::Mode { 0 } else { record.stamp.size };
            changes.push(change(path, action, bytes));
        }
    }
    changes.sort_by(|one, other| one.path.cmp(&other.path));
    changes
}

fn change(path: RelPath, action: Action, bytes: u64) -> Change {
    Change { path, action, bytes, mapping: None, source: None }
}
