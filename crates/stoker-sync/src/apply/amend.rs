//! What the manifest says when not everything could be done.

use std::collections::BTreeMap;

use crate::disk::{Dir, DiskError};
use crate::manifest::header::Header;
use crate::manifest::record::{DirChange, DirPatch, FileRecord, Key};
use crate::manifest::segment;
use crate::path::{self, RelPath};
use crate::source::ObjectId;
use crate::{journal, store};

/// A run of which some paths failed.
pub(crate) struct Amended<'a> {
    pub(crate) header: &'a Header,
    pub(crate) patches: &'a [DirPatch],
    pub(crate) failed: &'a [DiskError],
}

impl Amended<'_> {
    /// Replaces the journal by one that does not claim what failed.
    pub(crate) fn write(&self, state: &Dir, last_commit: &str) -> Result<(), DiskError> {
        let paths: Vec<&RelPath> = self.failed.iter().map(DiskError::path).collect();
        let patches = without(self.patches, &paths);
        let commit = last_commit.to_owned();
        // Without a profile nothing is trusted: the next run composes and counts everything.
        let profile = ObjectId([0; 20]);
        let header = Header { commit, profile, ..self.header.clone() };
        let packed = segment::pack(&header, &patches, &journal::pack(&[]));
        store::write(state, store::PREPARED, &packed)?;
        state.rename(store::PREPARED, state, store::JOURNAL)
    }
}

/// Returns the patches without any claim about the paths that failed.
///
/// Such a file stays ours, with nothing known about it, so that the next plan finds it different.
fn without(patches: &[DirPatch], failed: &[&RelPath]) -> Vec<DirPatch> {
    let mut by_path: BTreeMap<RelPath, DirChange> =
        patches.iter().map(|patch| (patch.path.clone(), patch.change.clone())).collect();
    for path in failed {
        doubt_below(&mut by_path, path);
        doubt_file(&mut by_path, path);
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
    let change = by_path.entry(path.parent()).or_insert_with(unknown);
    if *change == DirChange::Forgotten {
        *change = unknown();
    }
    if let DirChange::Known { upserts, removals, .. } = change {
        removals.retain(|removed| **removed != *name);
        let mapping = upserts.iter().find(|record| *record.name == *name);
        let record = FileRecord::unknown(name, mapping.map_or(u16::MAX, |record| record.mapping));
        upserts.retain(|known| *known.name != *name);
        upserts.push(record);
        upserts.sort_by(|one, other| one.name.cmp(&other.name));
    }
}

fn unknown() -> DirChange {
    DirChange::Known { key: Key::default(), seal: None, upserts: Vec::new(), removals: Vec::new() }
}
