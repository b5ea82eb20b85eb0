//! The course of planning: each line of `run` one step, each step in a file of its own.

use std::collections::{BTreeMap, HashSet};

use super::conclude::Conclusion;
use super::foresight::Foresight;
use super::planning::Planning;
use crate::compose::mount::Mount;
use crate::compose::{self, Composition, Trust};
use crate::disk::Nature;
use crate::drift::round::Round;
use crate::drift::{Findings, Inspection};
use crate::make;
use crate::manipulate::Workshop;
use crate::own::Ownership;
use crate::path::{self, RelPath};
use crate::plan::decide::{Decided, Decision, Facts};
use crate::plan::draft::{Candidate, DirDraft, DirState, Drafting};
use crate::plan::{Error, Plan};
use crate::request::Look;
use crate::source::{ObjectId, Source};
use crate::survey::{Found, Site, Survey};

/// How many of the files that were kept are named.
pub(super) const MOST_KEPT: usize = 10;

/// Planning with the sources of all mappings found.
pub(super) struct Course<'a> {
    pub(super) planning: Planning<'a>,
    pub(super) mounts: &'a [Mount],
    pub(super) ownership: Ownership<'a>,
    /// Whether mappings are those of the last sync, so that equal layers are equal content.
    goes_on: bool,
}

impl<'a> Course<'a> {
    pub(super) fn new(planning: Planning<'a>, mounts: &'a [Mount], goes_on: bool) -> Self {
        let ownership = Ownership::new(planning.request, mounts, planning.view.volume.case);
        Self { planning, mounts, ownership, goes_on }
    }

    /// Returns whether a run of the same commit would find nothing to do.
    pub(super) fn is_settled(&self) -> Result<bool, Error> {
        let stale = make::stale_dirs(&self.planning.view.manifest, &self.workshop());
        let is_nothing_kept = self.planning.view.manifest.header().kept.count == 0;
        Ok(stale.is_empty()
            && ((self.is_foreseen() && is_nothing_kept) || self.is_as_before(&self.inspect()?)))
    }

    /// Returns whether a look has found what the last sync left: all files of ours as they were,
    /// and of others only those that it kept and this run would keep again.
    fn is_as_before(&self, findings: &Findings) -> bool {
        let last = &self.planning.view.manifest.header().kept;
        let is_confirmed = self.planning.request.deletion.is_confirmed();
        // A run that does not look for foreign files has found none, which says nothing of them.
        let is_same =
            !self.looks_everywhere() || findings.pruned(&self.ownership, MOST_KEPT) == *last;
        findings.suspects.is_empty() && is_same && (last.count == 0 || !is_confirmed)
    }

    /// Returns whether this run looks for foreign files in all owned directories. One in which
    /// their deletion was confirmed looks for those that the last run kept.
    pub(super) fn looks_everywhere(&self) -> bool {
        let Planning { view, request, .. } = self.planning;
        let is_awaited = view.manifest.header().kept.count > 0 && request.deletion.is_confirmed();
        request.look != Look::Touched || !self.goes_on || is_awaited
    }

    /// Whether a look that was taken before the commit was known says all that this one would.
    fn is_foreseen(&self) -> bool {
        let Planning { view, request, .. } = self.planning;
        let holds = |foresight: &Foresight| foresight.holds_for(view);
        self.goes_on && request.look == Look::Stat && view.foresight.as_ref().is_some_and(holds)
    }

    /// Plans.
    pub(super) fn run(&self, source: &mut dyn Source) -> Result<Plan, Error> {
        let Planning { view, request, .. } = self.planning;
        let findings = self.inspect()?;
        let Composition { dirs, warnings, .. } = self.compose(&self.visit(&findings), source)?;
        let mut conclusion = Conclusion::new(self.planning, self.mounts, self.goes_on);
        conclusion.looks_everywhere = self.looks_everywhere();
        conclusion.warn(warnings, &dirs);
        let mut drafts = Drafting {
            request,
            manifest: &view.manifest,
            ownership: &self.ownership,
            suspects: &findings.suspects,
        }
        .run(dirs);
        make::resolve(&mut drafts, &self.workshop(), source)?;
        conclusion.warn_of_patches(&self.workshop(), &drafts);
        let mut facts = self.survey(&drafts, findings)?;
        self.disregard_noise(&drafts, &mut facts, source)?;
        let decision = Decision {
            request,
            mounts: self.mounts,
            ownership: &self.ownership,
            last: view.manifest.header(),
            manifest: &view.manifest,
            is_same_profile: self.goes_on,
            user: rustix::process::geteuid().as_raw(),
        };
        let mut decided = decision.run(drafts, &facts)?;
        measure(&mut decided, source)?;
        Ok(conclusion.plan(decided))
    }

    pub(super) fn workshop(&self) -> Workshop<'_> {
        Workshop { request: self.planning.request, mounts: self.mounts }
    }

    /// Looks at live files, as far as the request and the circumstances ask for it.
    fn inspect(&self) -> Result<Findings, Error> {
        let is_brief = self.planning.request.look == Look::Touched;
        let mut findings = Findings::default();
        if self.looks_everywhere() {
            let found = Round::new(self.inspection()).run();
            findings = found.map_err(|source| Error::Drift { source })?;
        }
        if is_brief {
            findings.suspects = self.returned();
        }
        Ok(findings)
    }

    pub(super) fn inspection(&self) -> Inspection<'_> {
        let Planning { view, request, cancel } = self.planning;
        Inspection {
            root: &view.root,
            manifest: &view.manifest,
            ownership: &self.ownership,
            look: request.look,
            cancel,
        }
    }

    /// Returns the directories that must be composed though their layers may be as they were.
    fn visit(&self, findings: &Findings) -> HashSet<RelPath> {
        let mut visit = HashSet::new();
        if !self.goes_on {
            return visit;
        }
        let stale = make::stale_dirs(&self.planning.view.manifest, &self.workshop());
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
        let Planning { view, request, cancel } = self.planning;
        let task = compose::Task {
            request,
            mounts: self.mounts,
            manifest: &view.manifest,
            trust: if self.goes_on { Trust::EqualLayers } else { Trust::Nothing },
            visit,
            volume: view.volume,
            most_entries: compose::MOST_ENTRIES,
            cancel,
        };
        compose::compose(&task, source).map_err(|source| Error::Compose { source })
    }

    /// Looks at every place that may change.
    fn survey(&self, drafts: &[DirDraft], findings: Findings) -> Result<Facts, Error> {
        let cancel = self.planning.cancel;
        let mut survey = Survey::new(&self.planning.view.root, cancel);
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
        let site = if is_idle { Site::Present } else { survey.site(&draft.path).map_err(fail)? };
        let is_there = !matches!(site, Site::Missing { .. });
        let nothing = if is_there { 0 } else { draft.candidates.len() };
        let mut found = vec![Found::Nothing; nothing];
        for file in draft.candidates.iter().filter(|_| is_there) {
            let record = file.record.as_ref().filter(|_| !self.is_doubted(file));
            let path = draft.path.join(&file.name);
            found.push(survey.file(&path, record, file.placed).map_err(fail)?);
        }
        for file in &draft.dropped {
            let path = draft.path.join(&file.name);
            let found = survey.file(&path, Some(file), file.placed).map_err(fail)?;
            if matches!(found, Found::Other(_) | Found::Odd) && !file.is_unknown() {
                facts.changed_drops.insert(path);
            }
        }
        if self.needs_listing(draft, &site) {
            facts.foreign.extend(self.foreign_within(&draft.path)?);
        }
        facts.sites.push(site);
        facts.found.push(found);
        Ok(())
    }

    /// When contents are compared, a look that fits proves nothing.
    fn is_doubted(&self, file: &Candidate) -> bool {
        file.is_suspect && self.planning.request.look == Look::Content
    }

    /// A directory that comes or goes may hold files that nobody knows, in a run that would not
    /// look for them elsewhere.
    fn needs_listing(&self, draft: &DirDraft, site: &Site) -> bool {
        let is_listed = self.looks_everywhere();
        let comes = draft.last.is_none() && *site == Site::Present && !draft.candidates.is_empty();
        let goes = draft.state == DirState::Gone;
        !is_listed && (comes || goes)
    }

    fn foreign_within(&self, path: &RelPath) -> Result<BTreeMap<RelPath, Nature>, Error> {
        if !self.ownership.prunes_in(path) {
            return Ok(BTreeMap::new());
        }
        let found = self.inspection().foreign_within(path);
        Ok(found.map_err(|source| Error::Drift { source })?.foreign)
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
        if put.recipe.is_none() {
            put.size = size;
        }
        let change = decided.changes.binary_search_by(|change| change.path.cmp(&put.path));
        if let Ok(change) = change {
            decided.changes[change].bytes = put.size;
        }
    }
    Ok(())
}
