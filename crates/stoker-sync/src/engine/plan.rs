//! Planning: from a commit, the manifest and the live files to a [`Plan`].
//!
//! [`PlanInput::run`] ends early if there is nothing to do. Otherwise each line of [`Planner::run`]
//! is one step, and each step has a file of its own. `plan/finish.rs` makes the plan and the header
//! of the next manifest from what was decided.

mod finish;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::View;
use super::early_check::EarlyCheck;
use crate::cancel::Cancel;
use crate::compose::mount::{self, Content, Mount};
use crate::compose::{self, Composition, Trust};
use crate::disk::FileType;
use crate::drift::parallel::ParallelInspection;
use crate::drift::{Findings, Inspection};
use crate::manifest::header::{MappingRecord, Shape};
use crate::manipulate::Transformer;
use crate::ownership::Ownership;
use crate::path::{self, RelPath};
use crate::plan::decide::{DecideInput, Decided, Facts};
use crate::plan::draft::{Candidate, DirDraft, DirState, Drafting};
use crate::plan::{Error, Plan, Work};
use crate::request::{DriftCheck, Request};
use crate::source::{ObjectId, Source};
use crate::survey::{FoundDir, FoundFile, Survey};
use crate::{transform, warning};
use finish::PlanFinish;

pub(super) const MOST_KEPT: usize = 10;

#[derive(Debug, Clone, Copy)]
pub(super) struct PlanInput<'a> {
    pub(super) view: &'a View,
    pub(super) request: &'a Request,
    pub(super) cancel: &'a Cancel,
}

/// Planning with the sources of all mappings found.
pub(super) struct Planner<'a> {
    pub(super) input: PlanInput<'a>,
    pub(super) mounts: &'a [Mount],
    pub(super) ownership: Ownership<'a>,
    /// Whether mappings are those of the last sync, so that equal layers are equal content.
    is_incremental: bool,
}

impl PlanInput<'_> {
    pub(super) fn run(&self, source: &mut dyn Source) -> Result<Plan, Error> {
        let last = self.view.manifest.header();
        if self.is_same_profile() && last.commit == self.request.commit {
            let mounts = mount::remembered(&self.request.mappings, &last.mappings);
            if Planner::new(*self, &mounts, true).is_settled()? {
                return Ok(self.nothing());
            }
        }
        let sources = self.request.mappings.iter().map(|mapping| mapping.source.clone());
        source.expect(&sources.collect::<Vec<_>>());
        let mounts = mount::resolve(&self.request.mappings, source);
        let mounts = mounts.map_err(|source| Error::Compose { source })?;
        let is_incremental = self.is_same_profile() && self.has_same_shapes(&mounts);
        Planner::new(*self, &mounts, is_incremental).run(source)
    }

    pub(super) fn is_same_profile(&self) -> bool {
        let manifest = &self.view.manifest;
        let shapes = manifest.header().mappings.iter().map(|mapping| mapping.shape);
        !manifest.is_absent() && manifest.header().profile == self.request.profile(shapes)
    }

    /// A source that comes or goes changes who owns what, as much as another profile does.
    fn has_same_shapes(&self, mounts: &[Mount]) -> bool {
        let last = self.view.manifest.header().mappings.iter().map(|mapping| mapping.shape);
        last.eq(mounts.iter().map(|mount| mount.content.shape()))
    }

    /// Returns the plan to leave everything as it is.
    pub(super) fn nothing(&self) -> Plan {
        let mut warnings = self.view.notices.clone();
        warnings.extend(self.view.manifest.header().warnings.iter().cloned());
        let foreign_kept = self.view.manifest.header().kept.clone();
        warnings.extend(warning::of_kept(&foreign_kept));
        Plan {
            changes: Vec::new(),
            unchanged: self.view.manifest.header().files,
            warnings,
            drift: Vec::new(),
            foreign_kept,
            withheld: None,
            previous_commit: self.view.commit().map(String::from),
            request: self.request.clone(),
            work: Work::default(),
        }
    }
}

impl<'a> Planner<'a> {
    pub(super) fn new(input: PlanInput<'a>, mounts: &'a [Mount], is_incremental: bool) -> Self {
        let ownership = Ownership::new(input.request, mounts, input.view.volume.case);
        Self { input, mounts, ownership, is_incremental }
    }

    /// Returns whether a run of the same commit would find nothing to do.
    pub(super) fn is_settled(&self) -> Result<bool, Error> {
        let stale = transform::stale_dirs(&self.input.view.manifest, &self.transformer());
        let is_nothing_kept = self.input.view.manifest.header().kept.count == 0;
        Ok(stale.is_empty()
            && ((self.was_checked_early() && is_nothing_kept)
                || self.is_as_before(&self.inspect()?)))
    }

    /// Returns whether a check has found what the last sync left: all files of ours as they were,
    /// and of others only those that it kept and this run would keep again.
    fn is_as_before(&self, findings: &Findings) -> bool {
        let last = &self.input.view.manifest.header().kept;
        let is_confirmed = self.input.request.deletion.is_confirmed();
        // A run that does not check for foreign files has found none, which proves nothing.
        let is_same =
            !self.looks_everywhere() || findings.pruned(&self.ownership, MOST_KEPT) == *last;
        findings.suspects.is_empty() && is_same && (last.count == 0 || !is_confirmed)
    }

    /// Returns whether this run checks for foreign files in all owned directories. One in which
    /// their deletion was confirmed checks for those that the last run kept.
    pub(super) fn looks_everywhere(&self) -> bool {
        let PlanInput { view, request, .. } = self.input;
        let is_awaited = view.manifest.header().kept.count > 0 && request.deletion.is_confirmed();
        request.drift_check != DriftCheck::Touched || !self.is_incremental || is_awaited
    }

    /// Whether the check that ran before the commit was known replaces the one of this run.
    fn was_checked_early(&self) -> bool {
        let PlanInput { view, request, .. } = self.input;
        let holds = |early_check: &EarlyCheck| early_check.holds_for(view);
        self.is_incremental
            && request.drift_check == DriftCheck::Stat
            && view.early_check.as_ref().is_some_and(holds)
    }

    pub(super) fn run(&self, source: &mut dyn Source) -> Result<Plan, Error> {
        let PlanInput { view, request, .. } = self.input;
        let findings = self.inspect()?;
        let Composition { dirs, warnings, .. } = self.compose(&self.visit(&findings), source)?;
        let mut finish = PlanFinish::new(self.input, self.mounts, self.is_incremental);
        finish.looks_everywhere = self.looks_everywhere();
        finish.warn(warnings, &dirs);
        let mut drafts = Drafting {
            request,
            manifest: &view.manifest,
            ownership: &self.ownership,
            suspects: &findings.suspects,
        }
        .run(dirs);
        transform::resolve(&mut drafts, &self.transformer(), source)?;
        finish.warn_of_patches(&self.transformer(), &drafts);
        let mut facts = self.survey(&drafts, findings)?;
        self.ignore_gateway_edits(&drafts, &mut facts, source)?;
        let input = DecideInput {
            request,
            mounts: self.mounts,
            ownership: &self.ownership,
            last: view.manifest.header(),
            manifest: &view.manifest,
            is_same_profile: self.is_incremental,
            user: rustix::process::geteuid().as_raw(),
        };
        let mut decided = input.run(drafts, &facts)?;
        measure(&mut decided, source)?;
        Ok(finish.plan(decided))
    }

    pub(super) fn transformer(&self) -> Transformer<'_> {
        Transformer { request: self.input.request, mounts: self.mounts }
    }

    /// Looks at live files, as far as the request and the circumstances ask for it.
    fn inspect(&self) -> Result<Findings, Error> {
        let is_brief = self.input.request.drift_check == DriftCheck::Touched;
        let mut findings = Findings::default();
        if self.looks_everywhere() {
            let found = ParallelInspection::new(self.inspection()).run();
            findings = found.map_err(|source| Error::Drift { source })?;
        }
        if is_brief {
            findings.suspects = self.reappeared();
        }
        Ok(findings)
    }

    pub(super) fn inspection(&self) -> Inspection<'_> {
        let PlanInput { view, request, cancel } = self.input;
        Inspection {
            root: &view.root,
            manifest: &view.manifest,
            ownership: &self.ownership,
            check: request.drift_check,
            cancel,
        }
    }

    /// Returns the directories that must be composed though their layers may be as they were.
    fn visit(&self, findings: &Findings) -> HashSet<RelPath> {
        let mut visit = HashSet::new();
        if !self.is_incremental {
            return visit;
        }
        let stale = transform::stale_dirs(&self.input.view.manifest, &self.transformer());
        let suspects = findings.suspects.iter().map(RelPath::parent);
        for dir in stale.into_iter().chain(suspects) {
            if visit.insert(dir.clone()) {
                visit.extend(path::ancestors(&dir).map(RelPath::from_clean));
            }
        }
        visit
    }

    fn compose(
        &self,
        visit: &HashSet<RelPath>,
        source: &mut dyn Source,
    ) -> Result<Composition, Error> {
        let PlanInput { view, request, cancel } = self.input;
        let task = compose::Task {
            request,
            mounts: self.mounts,
            manifest: &view.manifest,
            trust: if self.is_incremental { Trust::EqualLayers } else { Trust::Nothing },
            visit,
            volume: view.volume,
            most_entries: compose::MOST_ENTRIES,
            cancel,
        };
        compose::compose(&task, source).map_err(|source| Error::Compose { source })
    }

    fn survey(&self, drafts: &[DirDraft], findings: Findings) -> Result<Facts, Error> {
        let cancel = self.input.cancel;
        let mut survey = Survey::new(&self.input.view.root, cancel);
        let mut facts = Facts { foreign: findings.foreign, ..Facts::default() };
        for draft in drafts {
            self.survey_dir(draft, &mut survey, &mut facts)?;
            cancel.check().map_err(Error::Cancelled)?;
        }
        Ok(facts)
    }

    fn survey_dir(
        &self,
        draft: &DirDraft,
        survey: &mut Survey<'_>,
        facts: &mut Facts,
    ) -> Result<(), Error> {
        let fail = |source| Error::Survey { source };
        let is_idle = draft.candidates.is_empty();
        let site =
            if is_idle { FoundDir::Present } else { survey.site(&draft.path).map_err(fail)? };
        let is_there = !matches!(site, FoundDir::Missing { .. });
        let nothing = if is_there { 0 } else { draft.candidates.len() };
        let mut found = vec![FoundFile::Nothing; nothing];
        for file in draft.candidates.iter().filter(|_| is_there) {
            let record = file.record.as_ref().filter(|_| !self.is_doubted(file));
            let path = draft.path.join(&file.name);
            found.push(survey.file(&path, record, file.placed).map_err(fail)?);
        }
        for file in &draft.dropped {
            let path = draft.path.join(&file.name);
            let found = survey.file(&path, Some(file), file.placed).map_err(fail)?;
            if matches!(found, FoundFile::Other(_) | FoundFile::Odd) && !file.is_unknown() {
                facts.changed_drops.insert(path);
            }
        }
        if self.needs_listing(draft, &site) {
            facts.foreign.extend(self.foreign_within(&draft.path)?);
        }
        facts.found_dirs.push(site);
        facts.found_files.push(found);
        Ok(())
    }

    /// When contents are compared, an equal stat proves nothing.
    fn is_doubted(&self, file: &Candidate) -> bool {
        file.is_suspect && self.input.request.drift_check == DriftCheck::Content
    }

    /// A directory that is added or removed may hold foreign files, in a run that would not
    /// check for them elsewhere.
    fn needs_listing(&self, draft: &DirDraft, site: &FoundDir) -> bool {
        let is_listed = self.looks_everywhere();
        let comes =
            draft.last.is_none() && *site == FoundDir::Present && !draft.candidates.is_empty();
        let goes = draft.state == DirState::Gone;
        !is_listed && (comes || goes)
    }

    fn foreign_within(&self, path: &RelPath) -> Result<BTreeMap<RelPath, FileType>, Error> {
        if !self.ownership.prunes_in(path) {
            return Ok(BTreeMap::new());
        }
        let found = self.inspection().foreign_within(path);
        Ok(found.map_err(|source| Error::Drift { source })?.foreign)
    }

    /// Managed files that no run has checked since: their records prove nothing.
    pub(super) fn reappeared(&self) -> BTreeSet<RelPath> {
        let manifest = &self.input.view.manifest;
        let mut files = BTreeSet::new();
        for mount in self.mounts {
            let Some(number) = self.absent_number(mount) else { continue };
            // A mapping of a file is known to the directory that it is in.
            let above = mount.destination.parent();
            let mut dirs = vec![above.as_bytes()];
            dirs.extend(manifest.dirs_within(&mount.destination));
            for dir in dirs {
                let known = manifest.dir(dir).unwrap_or_default().files;
                let held = known.iter().filter(|file| usize::from(file.mapping) == number);
                files.extend(held.map(|file| RelPath::from_clean(dir).join(&file.name)));
            }
        }
        files
    }

    /// The number that a mapping had in the last sync, if its source was absent then and is not now.
    fn absent_number(&self, mount: &Mount) -> Option<usize> {
        let mapping = &self.input.request.mappings[usize::from(mount.mapping)];
        let last = &self.input.view.manifest.header().mappings;
        let was_absent = |last: &MappingRecord| last.shape == Shape::Absent && last.is_of(mapping);
        last.iter().position(was_absent).filter(|_| mount.content != Content::Absent)
    }
}

/// Fetches what will be written, so that sizes are known before the first byte is.
fn measure(decided: &mut Decided, source: &mut dyn Source) -> Result<(), Error> {
    decided.work.puts.sort_by(|one, other| {
        path::parent(&one.path).cmp(path::parent(&other.path)).then(one.path.cmp(&other.path))
    });
    let puts = &mut decided.work.puts;
    let blobs: Vec<ObjectId> = puts.iter().map(|put| put.blob).collect();
    let sizes = source.fetch(&blobs).map_err(|source| Error::Fetch { source })?;
    for (put, size) in puts.iter_mut().zip(sizes) {
        if put.transform.is_none() {
            put.size = size;
        }
        let change = decided.changes.binary_search_by(|change| change.path.cmp(&put.path));
        if let Ok(change) = change {
            decided.changes[change].bytes = put.size;
        }
    }
    Ok(())
}
