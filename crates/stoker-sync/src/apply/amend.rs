//! What the manifest says when not everything was done, or not as it was planned.

use std::collections::BTreeMap;

use super::moving::Copied;
use super::step::Taken;
use crate::disk::{Dir, DiskError};
use crate::journal::{self, Step};
use crate::manifest::header::Header;
use crate::manifest::record::{DirChange, DirPatch, FileRecord, Key, NO_MAPPING};
use crate::manifest::segment;
use crate::path::{self, RelPath};
use crate::source::ObjectId;
use crate::store;

/// A run and what came of its steps.
pub(super) struct Amended<'a> {
    pub(super) header: &'a Header,
    pub(super) patches: &'a [DirPatch],
    pub(super) taken: &'a Taken<'a>,
}

type Changes = BTreeMap<RelPath, DirChange>;

impl Amended<'_> {
    /// Returns whether the journal claims anything that is not so.
    pub(super) fn is_needed(&self) -> bool {
        !self.taken.undone.is_empty() || !self.taken.copied.is_empty()
    }

    /// Replaces the journal by one that claims only what is so.
    pub(super) fn write(&self, state: &Dir, last_commit: &str) -> Result<(), DiskError> {
        let mut header = self.header.clone();
        if !self.taken.undone.is_empty() {
            last_commit.clone_into(&mut header.commit);
            // Without a profile nothing is trusted: the next run composes and counts everything.
            header.profile = ObjectId([0; 20]);
        }
        let packed = segment::pack(&header, &self.patches(), &journal::pack(&[]));
        store::write(state, store::PREPARED, &packed)?;
        state.rename(store::PREPARED, state, store::JOURNAL)
    }

    /// Returns the patches without any claim about what was not done.
    ///
    /// Such a file of ours stays ours, with nothing known about it, so that the next plan finds it
    /// different. What is not ours does not become so: it may be all that a stranger has.
    fn patches(&self) -> Vec<DirPatch> {
        let patches = self.patches.iter().cloned();
        let mut by_path: Changes = patches.map(|patch| (patch.path, patch.change)).collect();
        for Copied { path, stat } in &self.taken.copied {
            if let Some(record) = record_of(&mut by_path, path) {
                record.stat = *stat;
            }
        }
        for undone in &self.taken.undone {
            match undone.step {
                Step::Place { to: path, .. } | Step::Mode { path, .. } => {
                    doubt_file(&mut by_path, path);
                }
                Step::Graft { to, .. } => doubt_below(&mut by_path, to),
                Step::Delete { path, is_ours: true } => keep(&mut by_path, path),
                Step::Delete { .. } | Step::Clear { .. } | Step::RemoveDir { .. } => {}
            }
        }
        by_path.into_iter().map(|(path, change)| DirPatch { path, change }).collect()
    }
}

fn record_of<'c>(by_path: &'c mut Changes, path: &RelPath) -> Option<&'c mut FileRecord> {
    let change = by_path.get_mut(&path.parent())?;
    let DirChange::Known { upserts, .. } = change else { return None };
    let name = path::file_name(path);
    let place = upserts.binary_search_by(|record| (*record.name).cmp(name));
    place.ok().map(|place| &mut upserts[place])
}

/// A directory that could not be moved into place: none of its files is there for sure.
fn doubt_below(by_path: &mut Changes, path: &RelPath) {
    let inside = by_path.iter_mut().filter(|(dir, _)| path::within(dir, path));
    for (_, change) in inside {
        if let DirChange::Known { upserts, .. } = change {
            for record in upserts {
                *record = FileRecord::unknown(&record.name, record.mapping);
            }
        }
    }
}

fn doubt_file(by_path: &mut Changes, path: &RelPath) {
    if let Some(record) = record_of(by_path, path) {
        *record = FileRecord::unknown(&record.name, record.mapping);
    }
}

/// A file that was to go and has not gone.
fn keep(by_path: &mut Changes, path: &RelPath) {
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
