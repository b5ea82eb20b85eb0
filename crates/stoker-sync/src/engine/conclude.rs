//! The end of planning: the warnings that stand, and the header of the manifest to come.

use std::collections::HashSet;

use super::planning::Planning;
use crate::compose::mount::{Content, Mount};
use crate::manifest::header::{Header, MappingRecord};
use crate::path::RelPath;
use crate::plan::decide::Decided;
use crate::plan::draft::DirDraft;
use crate::plan::{Action, Change, Plan};
use crate::report::Halves;
use crate::request::Scan;
use crate::warning::{Code, Warning};

/// How many standing warnings the manifest keeps.
const MOST_WARNINGS: usize = 256;

/// A plan in the making.
pub(super) struct Conclusion<'a> {
    planning: Planning<'a>,
    mounts: &'a [Mount],
    goes_on: bool,
    standing: Vec<Warning>,
}

impl<'a> Conclusion<'a> {
    pub(super) fn new(planning: Planning<'a>, mounts: &'a [Mount], goes_on: bool) -> Self {
        Self { planning, mounts, goes_on, standing: Vec::new() }
    }

    fn last(&self) -> &Header {
        self.planning.view.manifest.header()
    }

    /// Returns the patches that match no file, as far as this run has seen all files.
    fn unmatched_patches(&self, drafts: &[DirDraft]) -> Vec<Warning> {
        if self.goes_on {
            return Vec::new();
        }
        let mut matched = HashSet::new();
        for file in drafts.iter().flat_map(|draft| &draft.candidates) {
            matched.extend(file.patches());
        }
        let mut warnings = Vec::new();
        for (index, mapping) in self.planning.request.mappings.iter().enumerate() {
            for (position, patch) in mapping.patches.iter().enumerate() {
                if !matched.contains(&(index, position)) {
                    let glob = patch.file.as_ref().map_or("the file", |glob| glob.as_str());
                    let message = format!("a patch for {glob:?} matches no file");
                    let path = mapping.destination.clone();
                    warnings.push(Warning::new(Code::PatchUnmatched, path, message));
                }
            }
        }
        warnings
    }

    /// Gathers the warnings that hold for the commit and the profile as a whole.
    pub(super) fn warn(
        &mut self,
        composed: Vec<Warning>,
        visited: &HashSet<RelPath>,
        drafts: &[DirDraft],
    ) {
        let mut standing = composed;
        standing.extend(self.unmatched_patches(drafts));
        for mount in self.mounts.iter().filter(|mount| mount.content == Content::Absent) {
            let path = self.planning.request.mappings[usize::from(mount.mapping)].source.clone();
            let message = "the source is not in the commit; its destination is left alone";
            standing.push(Warning::new(Code::SourceAbsent, path, message));
        }
        if self.goes_on {
            let is_carried = |warning: &&Warning| match warning.code {
                Code::SourceAbsent => false,
                Code::PatchUnmatched => true,
                _ => !visited.contains(&warning.path.parent()),
            };
            standing.extend(self.last().warnings.iter().filter(is_carried).cloned());
        }
        standing.sort();
        standing.dedup();
        self.standing = standing;
    }

    /// Concludes.
    pub(super) fn plan(self, decided: Decided) -> Plan {
        let header = self.header(&decided);
        let written = |change: &&Change| change.action != Action::Delete;
        let touched = decided.changes.iter().filter(written).count() as u64;
        let mut plan = self.planning.nothing();
        plan.unchanged = header.files.saturating_sub(touched);
        let notices = self.planning.view.notices.iter().cloned();
        plan.warnings = notices.chain(self.standing.iter().cloned()).collect();
        plan.warnings.extend(decided.warnings);
        plan.drift = decided.drift;
        plan.changes = decided.changes;
        plan.work = decided.work;
        let is_news = !plan.changes.is_empty()
            || !plan.work.patches.is_empty()
            || Header { generation: 0, previous: 0, ..header.clone() }
                != Header { generation: 0, previous: 0, ..self.last().clone() };
        plan.work.header = is_news.then_some(header);
        plan
    }

    fn header(&self, decided: &Decided) -> Header {
        let last = self.last();
        let since =
            |before: u64, by: i64| if self.goes_on { before } else { 0 }.saturating_add_signed(by);
        let record = |mount: &Mount| {
            let mapping = &self.planning.request.mappings[usize::from(mount.mapping)];
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
        let owed = match self.planning.request.scan {
            Scan::Owed => self.planning.view.owed().and(touched),
            Scan::None => self.planning.view.owed(),
        };
        let standing = self.standing.iter().filter(|warning| warning.code.is_standing());
        let warnings = standing.take(MOST_WARNINGS).cloned().collect();
        Header {
            generation: last.generation + 1,
            previous: if self.planning.view.manifest.is_absent() { 0 } else { last.generation },
            commit: self.planning.request.commit.clone(),
            profile: self.planning.request.profile(self.mounts.iter().map(|m| m.content.shape())),
            files: since(last.files, decided.counts.by_mapping.values().sum()),
            manipulated: since(last.manipulated, decided.counts.manipulated),
            owed,
            mappings: self.mounts.iter().map(record).collect(),
            warnings,
        }
    }
}
