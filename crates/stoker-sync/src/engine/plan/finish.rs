//! The end of planning: the warnings that remain, and the header of the next manifest.

use std::collections::HashSet;

use super::{MOST_KEPT, PlanInput};
use crate::compose::Composed;
use crate::compose::mount::{Content, Mount};
use crate::halves::Halves;
use crate::manifest::header::{Header, MappingRecord};
use crate::manipulate::{Manipulation, Transformer};
use crate::path;
use crate::plan::decide::Decided;
use crate::plan::draft::DirDraft;
use crate::plan::{Action, Change, Plan};
use crate::report::Listed;
use crate::request::{Patch, ScanTracking};
use crate::source::ObjectId;
use crate::warning::{self, Warning, WarningCode, is_standing};

/// How many standing warnings the manifest keeps.
const MOST_WARNINGS: usize = 256;

pub(super) struct PlanFinish<'a> {
    input: PlanInput<'a>,
    mounts: &'a [Mount],
    is_incremental: bool,
    /// Whether all owned directories were searched for foreign files.
    pub(super) looks_everywhere: bool,
    standing: Vec<Warning>,
}

impl<'a> PlanFinish<'a> {
    pub(super) fn new(input: PlanInput<'a>, mounts: &'a [Mount], is_incremental: bool) -> Self {
        Self { input, mounts, is_incremental, looks_everywhere: false, standing: Vec::new() }
    }

    fn last(&self) -> &Header {
        self.input.view.manifest.header()
    }

    /// Gathers the warnings that hold for the commit and the profile as a whole.
    pub(super) fn warn(&mut self, composed: Vec<Warning>, dirs: &[Composed]) {
        self.standing = composed;
        for mount in self.mounts.iter().filter(|mount| mount.content == Content::Absent) {
            let path = self.input.request.mappings[usize::from(mount.mapping)].source.clone();
            let message = "the source does not exist; its destination is left alone";
            self.standing.push(Warning::new(WarningCode::SourceAbsent, path, message));
        }
        if self.is_incremental {
            let is_carried = |warning: &&Warning| match warning.code {
                WarningCode::SourceAbsent | WarningCode::PatchUnmatched => false,
                _ => is_unseen(&warning.path.parent(), dirs),
            };
            let last = &self.input.view.manifest.header().warnings;
            self.standing.extend(last.iter().filter(is_carried).cloned());
        }
    }

    /// Adds the patches that match no file.
    pub(super) fn warn_of_patches(&mut self, transformer: &Transformer<'_>, drafts: &[DirDraft]) {
        let unmatched = self.unmatched_patches(&matched_patches(transformer, drafts));
        // Where not all files are seen, a patch that had a match before has one still.
        let last = &self.input.view.manifest.header().warnings;
        let is_known = |warning: &Warning| !self.is_incremental || last.contains(warning);
        self.standing.extend(unmatched.into_iter().filter(is_known));
        self.standing.sort();
        self.standing.dedup();
    }

    fn unmatched_patches(&self, matched: &HashSet<(u16, usize)>) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for mount in self.mounts.iter().filter(|mount| mount.content != Content::Absent) {
            let mapping = &self.input.request.mappings[usize::from(mount.mapping)];
            for (position, patch) in mapping.patches.iter().enumerate() {
                if !matched.contains(&(mount.mapping, position)) {
                    let message = explain_unmatched(patch, mount);
                    let path = mapping.destination.clone();
                    warnings.push(Warning::new(WarningCode::PatchUnmatched, path, message));
                }
            }
        }
        warnings
    }

    pub(super) fn plan(self, decided: Decided) -> Plan {
        let header = self.header(&decided);
        let written = |change: &&Change| change.action != Action::Delete;
        let touched = decided.changes.iter().filter(written).count() as u64;
        let mut plan = self.input.nothing();
        plan.unchanged = header.files.saturating_sub(touched + decided.left);
        let notices = self.input.view.notices.iter().cloned();
        plan.warnings = notices.chain(self.standing.iter().cloned()).collect();
        plan.warnings.extend(decided.warnings);
        plan.warnings.extend(warning::of_kept(&header.kept));
        plan.foreign_kept = header.kept.clone();
        plan.withheld = decided.withheld;
        plan.drift = decided.drift;
        plan.changes = decided.changes;
        plan.work = decided.work;
        if let (Some(last), Some(now)) = (&self.last().origin, &self.input.request.origin)
            && !plan.changes.is_empty()
        {
            plan.warnings.extend(warning::of_other_source(last, now));
        }
        // A change of the source alone is recorded with the next change of files.
        let essence =
            |header: &Header| Header { generation: 0, previous: 0, origin: None, ..header.clone() };
        let is_news = !plan.changes.is_empty()
            || !plan.work.patches.is_empty()
            || essence(&header) != essence(self.last());
        plan.work.header = is_news.then_some(header);
        plan
    }

    fn header(&self, decided: &Decided) -> Header {
        let last = self.last();
        let since = |before: u64, by: i64| {
            if self.is_incremental { before } else { 0 }.saturating_add_signed(by)
        };
        let record = |mount: &Mount| {
            let mapping = &self.input.request.mappings[usize::from(mount.mapping)];
            let before = last.mappings.get(usize::from(mount.mapping)).map_or(0, |old| old.files);
            let by = decided.counts.by_mapping.get(&mount.mapping).copied().unwrap_or_default();
            MappingRecord {
                source: mapping.source.clone(),
                destination: mapping.destination.clone(),
                shape: mount.content.shape(),
                files: since(before, by),
            }
        };
        let touched = Halves::of(decided.changes.iter().map(|change| &change.path));
        let owed = match self.input.request.scan_tracking {
            ScanTracking::On => self.input.view.owed().and(touched),
            ScanTracking::Off => self.input.view.owed(),
        };
        let standing = self.standing.iter().filter(|warning| is_standing(warning.code));
        let warnings = standing.take(MOST_WARNINGS).cloned().collect();
        Header {
            generation: last.generation + 1,
            previous: if self.input.view.manifest.is_absent() { 0 } else { last.generation },
            commit: self.input.request.commit.clone(),
            profile: self.profile(decided),
            files: since(last.files, decided.counts.by_mapping.values().sum()),
            manipulated: since(last.manipulated, decided.counts.manipulated),
            owed,
            mappings: self.mounts.iter().map(record).collect(),
            warnings,
            kept: self.kept(decided),
            origin: self.input.request.origin.clone().or_else(|| last.origin.clone()),
        }
    }

    /// Returns what must be equal for the next run to trust directories unseen. After a deletion
    /// that was withheld nothing is: the next run must find those files again.
    fn profile(&self, decided: &Decided) -> ObjectId {
        if decided.withheld.is_some() {
            return ObjectId([0; 20]);
        }
        self.input.request.profile(self.mounts.iter().map(|mount| mount.content.shape()))
    }

    /// Returns the foreign files that are kept. Where not all directories were searched, those of
    /// the last sync are still there as far as this run knows.
    fn kept(&self, decided: &Decided) -> Listed {
        let found = Listed::first(decided.kept.iter(), MOST_KEPT);
        if self.looks_everywhere {
            return found;
        }
        let last = &self.last().kept;
        let mut paths: Vec<_> = last.paths.iter().chain(&found.paths).cloned().collect();
        paths.sort();
        paths.dedup();
        paths.truncate(MOST_KEPT);
        Listed { count: last.count.max(found.count).max(paths.len() as u64), paths }
    }
}

/// Returns whether this run took a directory as the last one left it, so that what was said of it
/// then still holds. One that is gone was seen by the nearest directory above it.
fn is_unseen(directory: &[u8], dirs: &[Composed]) -> bool {
    let find = |path: &[u8]| dirs.binary_search_by(|dir| dir.path.as_bytes().cmp(path)).ok();
    if find(directory).is_some() {
        return false;
    }
    let above = path::ancestors(directory).filter_map(find).last();
    above.map(|place| &dirs[place]).is_some_and(|above| {
        let below = path::below(directory, &above.path).unwrap_or_default();
        let next = below.split(|byte| *byte == b'/').next().unwrap_or_default();
        above.children.contains(next)
    })
}

/// Returns the patches that have a match among the files of this run, by mapping and position. One
/// that changes nothing, or has done so before, still has a match.
fn matched_patches(transformer: &Transformer<'_>, drafts: &[DirDraft]) -> HashSet<(u16, usize)> {
    let mut matched = HashSet::new();
    if transformer.request.mappings.iter().all(|mapping| mapping.patches.is_empty()) {
        return matched;
    }
    for draft in drafts {
        let new = draft.candidates.iter().map(|file| (file.mapping, &file.name));
        let kept = draft.kept.iter().map(|file| (file.mapping, &file.name));
        for (mapping, name) in new.chain(kept) {
            let transform = transformer.transform(mapping, &draft.path.join(name));
            for step in transform.into_iter().flat_map(|transform| transform.steps) {
                if let Manipulation::JsonPatch(position) = step {
                    matched.insert((mapping, position));
                }
            }
        }
    }
    matched
}

fn explain_unmatched(patch: &Patch, mount: &Mount) -> String {
    match (&patch.file, mount.content) {
        (None, Content::Dir(_)) => {
            "a patch of a directory does not say which file it is for; it was skipped".to_owned()
        }
        (None, _) => "a patch has no file to change; it was skipped".to_owned(),
        (Some(glob), _) => format!("a patch for {:?} matches no file", glob.as_str()),
    }
}
