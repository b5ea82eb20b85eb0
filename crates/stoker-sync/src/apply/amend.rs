//! What the manifest says when not everything could be done.

use std::collections::BTreeMap;

use crate::disk::{Dir, DiskError};
use crate::journal::{self, Step};
use crate::manifest::header::Header;
use crate::manifest::record::{DirChange, DirPatch, FileRecord, Key, NO_MAPPING};
use crate::manifest::segment;
use crate::path::{self, RelPath};
use crate::source::ObjectId;
use crate::store;

/// A run of which some steps were not taken.
pub(crate) struct Amended<'a> {
    pub(crate) header: &'a Header,
    pub(crate) patches: &'a [DirPatch],
    pub(crate) undone: &'a [&'a Step],
}

impl Amended<'_> {
    /// Replaces the journal by one that does not claim what was not done.
    pub(crate) fn write(&self, state: &Dir, last_commit: &str) -> Result<(), DiskError> {
        let patches = without(self.patches, self.undone);
        let commit = last_commit.to_owned();
        // Without a profile nothing is trusted: the next run composes and counts everything.
        let profile = ObjectId([0; 20]);
        let header = Header { commit, profile, ..self.header.clone() };
        let packed = segment::pack(&header, &patches, &journal::pack(&[]));
        store::write(state, store::PREPARED, &packed)?;
        state.rename(store::PREPARED, state, store::JOURNAL)
    }
}

/// Returns the patches without any claim about what was not done.
///
/// Such a file of ours stays ours, with nothing known about it, so that the next plan finds it
/// different. What is not ours does not become so: it may be all that a stranger has.
fn without(patches: &[DirPatch], undone: &[&Step]) -> Vec<DirPatch> {
    let mut by_path: BTreeMap<RelPath, DirChange> =
        patches.iter().map(|patch| (patch.path.clone(), patch.change.clone())).collect();
    for step in undone {
        match step {
            Step::Place { to, .. } => doubt_file(&mut by_path, to),
            Step::Mode { path, .. } => doubt_file(&mut by_path, path),
            Step::Graft { to, .. } => doubt_below(&mut by_path, to),
            Step::Delete { path, is_ours: true } => keep(&mut by_path, path),
            Step::Delete { .. } | Step::Clear { .. } | Step::RemoveDir { .. } => {}
        }
    }
    by_path.into_iter().map(|(path, change)| DirPatch { path, change }).collect()
}

/// A directory that could not be moved into place: none of its files is there for sure.
fn doubt_below(by_path: &mut BTreeMap<RelPath, DirChange>, path: &RelPath) {
    let inside = by_path.iter_mut().filter(|(dir, _)| path::within(dir, path));
    for (_, change) in inside {
        if let DirChange::Known { upserts, .. } = change {
            for record in upserts {
                *record = FileRecord::unknown(&record.name, record.mapping);
            }
        }
    }
}

fn doubt_file(by_path: &mut BTreeMap<RelPath, DirChange>, path: &RelPath) {
    let name = path::file_name(path);
    let Some(DirChange::Known { upserts, .. }) = by_path.get_mut(&path.parent()) else { return };
    let record = upserts.iter_mut().find(|record| *record.name == *name);
    if let Some(record) = record {
        *record = FileRecord::unknown(name, record.mapping);
    }
}

/// A file that was to go and has not gone.
fn keep(by_path: &mut BTreeMap<RelPath, DirChange>, path: &RelPath) {
    let name = path::file_name(path);
    let change = by_path.entry(path.parent()).or_insert_with(unknown);
    if *change == DirChange::Forgotten {
        *change = unknown();
    }
    if let DirChange::Known { upserts, removals, .. } = change {
        removals.retain(|removed| **removed != *name);
        // What takes its place is doubted by a step of its own.
        if !upserts.iter().any(|record| *record.name == *name) {
            upserts.push(FileRecord::unknown(name, NO_MAPPING));
            upserts.sort_by(|one, other| one.name.cmp(&other.name));
        }
    }
}

fn unknown() -> DirChange {
    DirChange::Known { key: Key::default(), seal: None, upserts: Vec::new(), removals: Vec::new() }
}
