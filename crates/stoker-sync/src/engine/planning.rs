#![expect(clippy::disallowed_methods, reason = "times the phases of a plan for the report")]
//! The course of planning: each line one step, each step in a file of its own.

use std::collections::{BTreeMap, HashSet};
use std::io::Read;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::View;
use crate::cancel::Cancel;
use crate::compose::mount::{self, Mount};
use crate::compose::{self, Composition, Trust};
use crate::disk::Nature;
use crate::drift::{Findings, Inspection};
use crate::make;
use crate::manifest::header::{Header, MappingRecord};
use crate::manipulate::Workshop;
use crate::name::RESOURCE_MANIFEST;
use crate::own::Ownership;
use crate::path::{self, RelPath};
use crate::plan::decide::{Decided, Decision, Facts};
use crate::plan::draft::{Candidate, DirDraft, DirState, Drafting};
use crate::plan::{Action, Error, Plan, Work};
use crate::report::{Durations, Halves};
use crate::request::{Look, Request, Scan};
use crate::source::{self, Entry, ObjectId, Sink, Source};
use crate::survey::{Found, Site, Survey};
use crate::warning::{Code, Warning};

/// How many standing warnings the manifest keeps.
const MOST_WARNINGS: usize = 256;

/// What planning goes by.
pub(super) struct Planning<'a> {
    pub(super) view: &'a View,
    pub(super) request: &'a Request,
    pub(super) cancel: &'a Cancel,
}

impl Planning<'_> {
    /// Plans.
    pub(super) fn run(&self, source: &mut dyn Source) -> Result<Plan, Error> {
        let begin = Instant::now();
        let mut source = Timed { source, spent: Duration::ZERO };
        let mut plan = self.plan(&mut source)?;
        plan.durations.fetch = source.spent;
        plan.durations.plan = begin.elapsed().saturating_sub(source.spent);
        Ok(plan)
    }

    fn last(&self) -> &Header {
        self.view.manifest.header()
    }

    fn is_same_profile(&self) -> bool {
        !self.view.manifest.is_absent() && self.last().profile == self.request.profile()
    }

    fn plan(&self, source: &mut dyn Source) -> Result<Plan, Error> {
        if self.is_same_profile() && self.last().commit == self.request.commit {
            let mounts = mount::remembered(&self.request.mappings, &self.last().mappings);
            let ownership = Ownership::new(self.request, &mounts);
            let findings = self.inspect(&ownership)?;
            let stale = make::stale_dirs(&self.view.manifest, &self.workshop(&mounts));
            if stale.is_empty() && findings.is_clean(&ownership) {
                return Ok(self.nothing());
            }
        }
        let mounts = mount::resolve(&self.request.mappings, source);
        let mounts = mounts.map_err(|source| Error::Compose { source })?;
        self.plan_mounts(&mounts, source)
    }

    fn workshop<'a>(&'a self, mounts: &'a [Mount]) -> Workshop<'a> {
        Workshop { request: self.request, mounts }
    }

    fn plan_mounts(&self, mounts: &[Mount], source: &mut dyn Source) -> Result<Plan, Error> {
        let ownership = Ownership::new(self.request, mounts);
        let findings = self.inspect(&ownership)?;
        let visit = self.visit(&findings, mounts);
        let composition = self.compose(mounts, &visit, source)?;
        let visited: HashSet<RelPath> =
            composition.dirs.iter().map(|dir| dir.path.clone()).collect();
        let Composition { dirs, warnings, .. } = composition;
        let mut drafts = Drafting {
            request: self.request,
            manifest: &self.view.manifest,
            ownership: &ownership,
            suspects: &findings.suspects,
        }
        .run(dirs);
        make::resolve(&mut drafts, &self.workshop(mounts), source)?;
        let unmatched = self.unmatched_patches(&drafts);
        let mut facts = self.survey(&drafts, findings, &ownership)?;
        self.disregard_noise(&drafts, &mut facts, (mounts, source))?;
        let decision = Decision {
            request: self.request,
            mounts,
            ownership: &ownership,
            last: self.last(),
            is_same_profile: self.is_same_profile(),
        };
        let mut decided = decision.run(drafts, &facts)?;
        self.measure(&mut decided, source)?;
        let standing = self.standing(warnings, unmatched, mounts, &visited);
        Ok(self.conclude(decided, standing, mounts))
    }

    /// Looks at live files, as far as the request and the circumstances ask for it.
    fn inspect(&self, ownership: &Ownership<'_>) -> Result<Findings, Error> {
        let is_new = !self.is_same_profile();
        if self.request.look == Look::Touched && !is_new {
            return Ok(Findings::default());
        }
        let mut findings =
            self.inspection(ownership).run().map_err(|source| Error::Drift { source })?;
        if self.request.look == Look::Touched {
            findings.suspects.clear();
        }
        Ok(findings)
    }

    fn inspection<'a>(&'a self, ownership: &'a Ownership<'a>) -> Inspection<'a> {
        Inspection {
            root: &self.view.root,
            manifest: &self.view.manifest,
            ownership,
            look: self.request.look,
            cancel: self.cancel,
        }
    }

    /// Returns the directories that must be composed though their layers may be as they were.
    fn visit(&self, findings: &Findings, mounts: &[Mount]) -> HashSet<RelPath> {
        let mut visit = HashSet::new();
        if !self.is_same_profile() {
            return visit;
        }
        let stale = make::stale_dirs(&self.view.manifest, &self.workshop(mounts));
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
        mounts: &[Mount],
        visit: &HashSet<RelPath>,
        source: &mut dyn Source,
    ) -> Result<Composition, Error> {
        let task = compose::Task {
            request: self.request,
            mounts,
            manifest: &self.view.manifest,
            trust: if self.is_same_profile() { Trust::EqualLayers } else { Trust::Nothing },
            visit,
            longest_path: self.view.longest_path,
            cancel: self.cancel,
        };
        compose::compose(&task, source).map_err(|source| Error::Compose { source })
    }

    /// Looks at every place that may change.
    fn survey(
        &self,
        drafts: &[DirDraft],
        findings: Findings,
        ownership: &Ownership<'_>,
    ) -> Result<Facts, Error> {
        let fail = |source| Error::Survey { source };
        let mut survey = Survey::new(&self.view.root);
        let mut facts = Facts { foreign: findings.foreign, ..Facts::default() };
        for draft in drafts {
            self.cancel.check().map_err(Error::Cancelled)?;
            let is_idle = draft.candidates.is_empty();
            let site =
                if is_idle { Site::Present } else { survey.site(&draft.path).map_err(fail)? };
            let mut found = Vec::with_capacity(draft.candidates.len());
            for file in &draft.candidates {
                let record = file.record.as_ref().filter(|_| !self.is_doubted(file));
                let path = draft.path.join(&file.name);
                found.push(survey.file(&path, record, file.placed).map_err(fail)?);
            }
            for file in &draft.dropped {
                let path = draft.path.join(&file.name);
                let found = survey.file(&path, Some(file), file.placed).map_err(fail)?;
                if matches!(found, Found::Other(_) | Found::Odd) {
                    facts.changed_drops.insert(path);
                }
            }
            if self.needs_listing(draft, &site) {
                facts.foreign.extend(self.foreign_within(&draft.path, ownership)?);
            }
            facts.sites.push(site);
            facts.found.push(found);
        }
        Ok(facts)
    }

    /// When contents are compared, a look that fits proves nothing.
    fn is_doubted(&self, file: &Candidate) -> bool {
        file.is_suspect && self.request.look == Look::Content
    }

    /// A directory that comes or goes may hold files that nobody knows, in a run that would not
    /// look for them elsewhere.
    fn needs_listing(&self, draft: &DirDraft, site: &Site) -> bool {
        let is_listed = self.request.look != Look::Touched || !self.is_same_profile();
        let comes = draft.last.is_none() && *site == Site::Present && !draft.candidates.is_empty();
        let goes = draft.state == DirState::Gone;
        !is_listed && (comes || goes)
    }

    fn foreign_within(
        &self,
        path: &RelPath,
        ownership: &Ownership<'_>,
    ) -> Result<BTreeMap<RelPath, Nature>, Error> {
        if !ownership.prunes_in(path) {
            return Ok(BTreeMap::new());
        }
        let found = self.inspection(ownership).foreign_within(path);
        Ok(found.map_err(|source| Error::Drift { source })?.foreign)
    }

    /// Takes a `resource.json` for what it should be if only the gateway has written to it.
    fn disregard_noise(
        &self,
        drafts: &[DirDraft],
        facts: &mut Facts,
        (mounts, source): (&[Mount], &mut dyn Source),
    ) -> Result<(), Error> {
        let mut doubtful = Vec::new();
        for (index, draft) in drafts.iter().enumerate() {
            for (position, file) in draft.candidates.iter().enumerate() {
                let is_other = matches!(facts.found[index][position], Found::Other(_));
                if is_other && may_be_noise(file) {
                    doubtful.push((index, position));
                }
            }
        }
        let blob = |(index, position): &(usize, usize)| drafts[*index].candidates[*position].blob;
        let blobs: Vec<ObjectId> = doubtful.iter().map(blob).collect();
        source.fetch(&blobs).map_err(|source| Error::Fetch { source })?;
        let workshop = self.workshop(mounts);
        let read = source.read(&blobs, &mut |number, _, content| {
            let (index, position) = doubtful[number];
            let draft = &drafts[index];
            let file = &draft.candidates[position];
            if self.is_noise(&draft.path, file, (&workshop, content))
                && let Found::Other(look) = &facts.found[index][position]
            {
                facts.found[index][position] = Found::Wanted(*look);
            }
            ControlFlow::Continue(())
        });
        read.map_err(|source| Error::Fetch { source })
    }

    fn is_noise(
        &self,
        dir: &RelPath,
        file: &Candidate,
        (workshop, content): (&Workshop<'_>, &mut dyn Read),
    ) -> bool {
        let mut blob = Vec::new();
        if content.read_to_end(&mut blob).is_err() {
            return false;
        }
        let path = dir.join(&file.name);
        let wanted = match &file.recipe {
            Some(recipe) => workshop.make(recipe, &path, &blob).map(|made| made.bytes),
            None => Ok(blob),
        };
        let live = self.view.root.open(dir).and_then(|dir| dir.read(&file.name));
        let (Ok(wanted), Ok(live)) = (wanted, live) else { return false };
        stoker_text::json::resource_equivalent(&wanted, &live)
    }

    /// Fetches what will be written, so that sizes are known before the first byte is.
    fn measure(&self, decided: &mut Decided, source: &mut dyn Source) -> Result<(), Error> {
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

    /// Returns the patches that match no file, as far as this run has seen all files.
    fn unmatched_patches(&self, drafts: &[DirDraft]) -> Vec<Warning> {
        if self.is_same_profile() {
            return Vec::new();
        }
        let mut matched = HashSet::new();
        for file in drafts.iter().flat_map(|draft| &draft.candidates) {
            matched.extend(file.patches());
        }
        let mut warnings = Vec::new();
        for (index, mapping) in self.request.mappings.iter().enumerate() {
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

    /// Returns the warnings that hold for the commit and the profile as a whole.
    fn standing(
        &self,
        composed: Vec<Warning>,
        unmatched: Vec<Warning>,
        mounts: &[Mount],
        visited: &HashSet<RelPath>,
    ) -> Vec<Warning> {
        let mut standing = composed;
        standing.extend(unmatched);
        for mount in mounts.iter().filter(|mount| mount.content == mount::Content::Absent) {
            let path = self.request.mappings[usize::from(mount.mapping)].source.clone();
            let message = "the source is not in the commit; its destination is left alone";
            standing.push(Warning::new(Code::SourceAbsent, path, message));
        }
        if self.is_same_profile() {
            let is_carried = |warning: &&Warning| match warning.code {
                Code::SourceAbsent => false,
                Code::PatchUnmatched => true,
                _ => !visited.contains(&warning.path.parent()),
            };
            standing.extend(self.last().warnings.iter().filter(is_carried).cloned());
        }
        standing.sort();
        standing.dedup();
        standing
    }

    fn nothing(&self) -> Plan {
        let mut warnings = self.view.notices.clone();
        warnings.extend(self.last().warnings.iter().cloned());
        Plan {
            changes: Vec::new(),
            unchanged: self.last().files,
            warnings,
            drift: Vec::new(),
            previous_commit: self.view.commit().map(String::from),
            commit: self.request.commit.clone(),
            durations: Durations::default(),
            work: Work::default(),
        }
    }

    fn conclude(&self, decided: Decided, standing: Vec<Warning>, mounts: &[Mount]) -> Plan {
        let header = self.header(&decided, &standing, mounts);
        let written = |change: &&crate::plan::Change| change.action != Action::Delete;
        let touched = decided.changes.iter().filter(written).count() as u64;
        let mut plan = self.nothing();
        plan.unchanged = header.files.saturating_sub(touched);
        plan.warnings = self.view.notices.iter().cloned().chain(standing).collect();
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

    fn header(&self, decided: &Decided, standing: &[Warning], mounts: &[Mount]) -> Header {
        let last = self.last();
        let goes_on = self.is_same_profile();
        let since =
            |before: u64, by: i64| if goes_on { before } else { 0 }.saturating_add_signed(by);
        let record = |mount: &Mount| {
            let mapping = &self.request.mappings[usize::from(mount.mapping)];
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
        let owed = match self.request.scan {
            Scan::Owed => self.view.owed().and(touched),
            Scan::None => self.view.owed(),
        };
        Header {
            generation: last.generation + 1,
            previous: last.generation,
            commit: self.request.commit.clone(),
            profile: self.request.profile(),
            files: since(last.files, decided.counts.by_mapping.values().sum()),
            manipulated: since(last.manipulated, decided.counts.manipulated),
            owed,
            mappings: mounts.iter().map(record).collect(),
            warnings: standing
                .iter()
                .filter(|warning| warning.code.is_standing())
                .take(MOST_WARNINGS)
                .cloned()
                .collect(),
        }
    }
}

/// Only the gateway's own changes to a file that is otherwise as it should be can be noise.
fn may_be_noise(file: &Candidate) -> bool {
    let is_same = |record: &crate::manifest::record::FileRecord| {
        record.blob == file.blob && record.placed == file.placed
    };
    *file.name == *RESOURCE_MANIFEST && file.record.as_ref().is_none_or(is_same)
}

/// A source that knows how long it was asked.
struct Timed<'a> {
    source: &'a mut dyn Source,
    spent: Duration,
}

impl Timed<'_> {
    fn time<T>(&mut self, ask: impl FnOnce(&mut dyn Source) -> T) -> T {
        let begin = Instant::now();
        let answer = ask(self.source);
        self.spent += begin.elapsed();
        answer
    }
}

impl Source for Timed<'_> {
    fn root(&mut self) -> Result<ObjectId, source::Error> {
        self.time(|source| source.root())
    }

    fn list(&mut self, trees: &[ObjectId]) -> Result<Vec<Vec<Entry>>, source::Error> {
        self.time(|source| source.list(trees))
    }

    fn fetch(&mut self, blobs: &[ObjectId]) -> Result<Vec<u64>, source::Error> {
        self.time(|source| source.fetch(blobs))
    }

    fn read(&mut self, blobs: &[ObjectId], sink: &mut Sink<'_>) -> Result<(), source::Error> {
        self.time(|source| source.read(blobs, sink))
    }
}
