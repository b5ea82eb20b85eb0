//! Decides what is deleted, and whether that much may be deleted without confirmation.

use std::collections::{BTreeSet, HashSet};

use super::case_folding::{CaseFolding, FoldedPath};
use super::{Deciding, all_paths, dropped};
use crate::compose::mount::Content;
use crate::manifest::header::{MappingRecord, Shape};
use crate::manifest::record::FileRecord;
use crate::path::{self, RelPath};
use crate::plan::draft::DirDraft;
use crate::plan::limit::{AddedBlobs, DeletionCounts, Place};
use crate::plan::{Action, Change, DriftKind, Drifted, Error, MassDeletion};
use crate::request::{DriftPolicy, Excess};
use crate::warning::WarningCode;

impl Deciding<'_> {
    /// Finds the files that go: those of ours that are dropped, and orphans.
    pub(super) fn see_what_goes(&mut self, drafts: &[DirDraft]) {
        let case_folding = CaseFolding::of(drafts, self.input.ownership.case());
        for (live, mapping) in drafts.iter().flat_map(dropped) {
            let FoldedPath { path, is_wanted, differing } = case_folding.fold_path(&live);
            self.out.work.case_renames.extend(differing);
            if is_wanted {
                self.case_renamed.insert(path, live);
            } else {
                self.dropped.insert(path, mapping);
            }
        }
        if self.facts.foreign.is_empty() {
            return;
        }
        let is_left = self.input.is_same_profile && self.input.request.drift == DriftPolicy::Report;
        let wanted = all_paths(drafts, |draft| draft.candidates.iter().map(|file| &*file.name));
        for live in self.facts.foreign.keys().filter(|path| self.input.ownership.prunes(path)) {
            let FoldedPath { path, differing, .. } = case_folding.fold_path(live);
            if self.case_renamed.contains_key(&path) || self.dropped.contains_key(&path) {
                continue;
            }
            let is_wanted = wanted.contains(&path);
            let kind = if is_wanted { DriftKind::Modified } else { DriftKind::Foreign };
            self.foreign.push(Drifted { path: live.clone(), kind });
            if !is_left && !is_wanted {
                self.orphans.insert(path);
            }
            self.out.work.case_renames.extend(differing);
        }
    }

    /// Stops a run that would delete too much, or leaves the deletions out.
    pub(super) fn limit(&mut self, drafts: &mut [DirDraft]) -> Result<(), Error> {
        let Err(excess) = self.check_limit(drafts) else { return Ok(()) };
        let is_withheld = self.input.request.excess == Excess::Withheld && self.withhold(drafts);
        if !is_withheld {
            return Err(Error::MassDeletion(excess));
        }
        self.out.withheld = Some(excess);
        Ok(())
    }

    /// Keeps everything of ours that would be deleted, and returns whether it could: a file whose
    /// mapping is gone could not be counted by the next run.
    fn withhold(&mut self, drafts: &mut [DirDraft]) -> bool {
        let now = &self.input.request.mappings;
        let places: Vec<Option<u16>> = self
            .input
            .last
            .mappings
            .iter()
            .map(|old| u16::try_from(now.iter().position(|new| old.is_of(new))?).ok())
            .collect();
        let place =
            |record: &FileRecord| places.get(usize::from(record.mapping)).copied().flatten();
        let stays: HashSet<&RelPath> = self.case_renamed.values().collect();
        let all = || drafts.iter().flat_map(|draft| &draft.dropped);
        if !stays.is_empty() || all().any(|record| place(record).is_none()) {
            return false;
        }
        for draft in drafts {
            for record in std::mem::take(&mut draft.dropped) {
                let mapping = place(&record).unwrap_or(record.mapping);
                draft.kept.push(FileRecord { mapping, ..record });
            }
        }
        self.dropped.clear();
        true
    }

    fn check_limit(&self, drafts: &[DirDraft]) -> Result<(), MassDeletion> {
        let mut counts = DeletionCounts::default();
        for mapping in &self.input.last.mappings {
            counts.add(place_of(mapping), mapping.files);
        }
        let candidates = drafts.iter().flat_map(|draft| &draft.candidates);
        let mut added = AddedBlobs::default();
        candidates.filter(|file| file.record.is_none()).for_each(|file| added.add(file.blob));
        let stays: HashSet<&RelPath> = self.case_renamed.values().collect();
        let dropped = drafts.iter().flat_map(|draft| {
            draft.dropped.iter().filter(|file| !stays.contains(&draft.path.join(&file.name)))
        });
        for record in dropped {
            // One without a mapping should be gone: the run that did not get to it was allowed to.
            let mapping = self.input.last.mappings.get(usize::from(record.mapping));
            if let Some(mapping) = mapping.filter(|_| !added.take(record.blob)) {
                counts.delete(place_of(mapping));
            }
        }
        counts.check(self.input.request.deletion)
    }

    /// Names foreign files where the last sync had left none.
    pub(super) fn report_foreign(&mut self) {
        if self.input.is_same_profile {
            self.out.drift.append(&mut self.foreign);
        }
    }

    pub(super) fn delete_all(&mut self) {
        let gone: BTreeSet<RelPath> = self.dropped.keys().chain(&self.orphans).cloned().collect();
        for path in &gone {
            if self.facts.changed_drops.contains(path) {
                let message =
                    "it had been changed here; the source no longer has it, so it was deleted";
                self.warn(WarningCode::DriftOverwritten, path, message);
            }
            let (mapping, source) = self.origin(path);
            let (path, action) = (path.clone(), Action::Delete);
            self.out.changes.push(Change { path, action, bytes: 0, mapping, source });
        }
        self.out.work.empties = self.empties(&gone);
        self.out.work.deletes = gone;
        self.out.work.orphans.clone_from(&self.orphans);
    }

    /// Returns the mapping by which a file goes, and for one of ours, where the source had it.
    fn origin(&self, path: &RelPath) -> (Option<usize>, Option<RelPath>) {
        let now = &self.input.request.mappings;
        if let Some(brought) = self.dropped.get(path) {
            let last = self.input.last.mappings.get(usize::from(*brought));
            let mapping = last.and_then(|old| now.iter().position(|new| old.is_of(new)));
            return (mapping, last.map(|old| source_in(old, path)));
        }
        let claim = self.input.ownership.claim(path);
        let mount = self.input.mounts.iter().rev().find(|mount| {
            matches!(mount.content, Content::Dir(_)) && Some(mount.destination.as_bytes()) == claim
        });
        (mount.map(|mount| usize::from(mount.mapping)), None)
    }

    /// Returns the directories that may be empty once these files are gone, deepest first.
    fn empties(&self, gone: &BTreeSet<RelPath>) -> Vec<RelPath> {
        let mut dirs = BTreeSet::new();
        for path in gone {
            for dir in path::ancestors(path) {
                if self.input.ownership.may_remove_dir(dir, self.input.last) {
                    dirs.insert(RelPath::from_clean(dir));
                }
            }
        }
        dirs.into_iter().rev().collect()
    }
}

fn place_of(mapping: &MappingRecord) -> Place {
    let MappingRecord { destination, source, .. } = mapping;
    Place { destination: destination.clone(), source: source.clone() }
}

/// Returns where the source of a mapping had a file.
fn source_in(mapping: &MappingRecord, path: &RelPath) -> RelPath {
    let mut source = mapping.source.clone();
    if mapping.shape == Shape::Dir {
        source.push(path::below(path, &mapping.destination).unwrap_or_default());
    }
    source
}
