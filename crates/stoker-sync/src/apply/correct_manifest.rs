//! Corrects the manifest if some steps failed, or had another result than planned.

use std::collections::BTreeMap;

use super::move_file::Copied;
use super::step::Taken;
use crate::disk::{Dir, DiskError};
use crate::journal::{self, Step};
use crate::manifest::Manifest;
use crate::manifest::header::Header;
use crate::manifest::record::{DirChange, DirPatch, FileRecord, Key, NO_MAPPING};
use crate::manifest::segment;
use crate::manifest::storage;
use crate::path::{self, RelPath};
use crate::source::ObjectId;

pub(super) struct ManifestCorrection<'a> {
    pub(super) header: &'a Header,
    pub(super) patches: &'a [DirPatch],
    pub(super) taken: &'a Taken<'a>,
    /// What the last sync had left, if that is known.
    pub(super) last: Option<&'a Manifest>,
}

type Changes = BTreeMap<RelPath, DirChange>;

impl ManifestCorrection<'_> {
    /// Returns whether the journal claims anything that is not so.
    pub(super) fn is_needed(&self) -> bool {
        !self.taken.undone.is_empty() || !self.taken.copied.is_empty()
    }

    /// Replaces the journal by one that claims only what is so.
    pub(super) fn write(&self, state: &Dir) -> Result<(), DiskError> {
        let mut header = self.header.clone();
        if !self.taken.undone.is_empty() {
            let last = self.last.map(|last| last.header().commit.as_str());
            last.unwrap_or_default().clone_into(&mut header.commit);
            // Without a profile nothing is trusted: the next run composes and counts everything.
            header.profile = ObjectId([0; 20]);
        }
        let packed = segment::pack(&header, &self.patches(), &journal::pack(&[]));
        storage::write(state, storage::PREPARED, &packed)?;
        state.rename(storage::PREPARED, state, storage::JOURNAL)
    }

    /// Returns the patches without any claim about what was not done.
    ///
    /// Such a file of ours stays ours, with nothing known about it, so that the next plan finds it
    /// different. A foreign file stays foreign: it may be the only copy that its owner has.
    fn patches(&self) -> Vec<DirPatch> {
        let patches = self.patches.iter().cloned();
        let mut by_path: Changes = patches.map(|patch| (patch.path, patch.change)).collect();
        for Copied { path, stamp } in &self.taken.copied {
            let parent = path.parent();
            if let Some(DirChange::Known { upserts, .. }) = by_path.get_mut(&parent)
                && let Ok(place) = place_of(upserts, path::file_name(path))
            {
                upserts[place].stamp = *stamp;
            }
        }
        for undone in &self.taken.undone {
            match undone.step {
                Step::Place { to: path, .. } | Step::Mode { path, .. } => {
                    self.doubt(&mut by_path, path);
                }
                Step::PlaceDir { to, .. } => self.doubt_below(&mut by_path, to),
                Step::Delete { path, is_ours: true } => keep(&mut by_path, path),
                Step::Delete { .. }
                | Step::Clear { .. }
                | Step::RemoveDir { .. }
                | Step::RenameCase { .. } => {}
            }
        }
        by_path.into_iter().map(|(path, change)| DirPatch { path, change }).collect()
    }

    fn doubt(&self, by_path: &mut Changes, path: &RelPath) {
        let (parent, name) = (path.parent(), path::file_name(path));
        let Some(DirChange::Known { upserts, .. }) = by_path.get_mut(&parent) else { return };
        let Ok(place) = place_of(upserts, name) else { return };
        let was_ours = self.last.and_then(|last| last.dir(&parent)?.file(name).cloned()).is_some();
        if was_ours {
            upserts[place] = FileRecord::unknown(name, upserts[place].mapping);
        } else {
            upserts.remove(place);
        }
    }

    /// A directory that could not be moved into place, or only a part of it.
    fn doubt_below(&self, by_path: &mut Changes, path: &RelPath) {
        let is_inside = |patch: &&DirPatch| path::within(&patch.path, path);
        for DirPatch { path: dir, change } in self.patches.iter().filter(is_inside) {
            let DirChange::Known { upserts, .. } = change else { continue };
            let files = upserts.iter().map(|record| dir.join(&record.name));
            for file in files.filter(|file| !self.taken.merged.contains(file)) {
                self.doubt(by_path, &file);
            }
        }
    }
}

fn place_of(upserts: &[FileRecord], name: &[u8]) -> Result<usize, usize> {
    upserts.binary_search_by(|record| (*record.name).cmp(name))
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
    DirChange::Known { key: Key::default(), stamp: None, upserts: Vec::new(), removals: Vec::new() }
}
