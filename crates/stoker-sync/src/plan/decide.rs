//! From what should be and what is to what will be done: pure.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::draft::{Candidate, Cause, DirDraft, DirState};
use super::limit::{self, Census};
use super::{Action, Change, DriftKind, Drifted, Error, Put, Work};
use crate::compose::below_mapping;
use crate::compose::mount::{Content, Mount};
use crate::disk::{Look, Nature};
use crate::manifest::header::Header;
use crate::manifest::record::{DirChange, DirPatch, FileRecord, Stat};
use crate::own::Ownership;
use crate::path::{self, RelPath};
use crate::request::{DriftPolicy, Request};
use crate::survey::{Found, Site};
use crate::warning::{Code, Warning};

/// What is on disk, in the order of the drafts and their candidates.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) sites: Vec<Site>,
    pub(crate) found: Vec<Vec<Found>>,
    /// Dropped files that are not as the last sync left them.
    pub(crate) changed_drops: HashSet<RelPath>,
    /// Files in owned directories that nobody knows.
    pub(crate) foreign: BTreeMap<RelPath, Nature>,
}

/// What deciding goes by.
pub(crate) struct Decision<'a> {
    pub(crate) request: &'a Request,
    pub(crate) mounts: &'a [Mount],
    pub(crate) ownership: &'a Ownership<'a>,
    /// The header of the last sync.
    pub(crate) last: &'a Header,
    /// Whether the profile is that of the last sync, so that what differs is drift.
    pub(crate) is_same_profile: bool,
}

/// What was decided, before sizes are known.
#[derive(Debug, Default)]
pub(crate) struct Decided {
    pub(crate) work: Work,
    pub(crate) changes: Vec<Change>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) drift: Vec<Drifted>,
    pub(crate) counts: Counts,
    /// Files of ours that go.
    dropped: HashSet<RelPath>,
    /// Files that nobody knows and that go.
    orphans: BTreeSet<RelPath>,
    grafts: BTreeSet<RelPath>,
}

/// How many files are ours, by mapping of the request.
#[derive(Debug, Default, Clone)]
pub(crate) struct Counts {
    pub(crate) by_mapping: HashMap<u16, i64>,
    pub(crate) manipulated: i64,
}

impl Counts {
    fn add(&mut self, record: &FileRecord, by: i64) {
        *self.by_mapping.entry(record.mapping).or_default() += by;
        if record.is_manipulated() {
            self.manipulated += by;
        }
    }
}

impl Decision<'_> {
    /// Decides.
    pub(crate) fn run(&self, drafts: Vec<DirDraft>, facts: &Facts) -> Result<Decided, Error> {
        let dropped = all_paths(&drafts, |draft| draft.dropped.iter().map(|file| &file.name));
        let orphans = self.orphans(&drafts, facts);
        let mut out = Decided { dropped, orphans, ..Decided::default() };
        self.limit(&drafts, facts, &out)?;
        self.report_foreign(facts, &mut out);
        for (index, draft) in drafts.into_iter().enumerate() {
            self.decide_dir(draft, facts, index, &mut out)?;
        }
        self.delete_all(facts, &mut out);
        out.work.grafts = outermost(std::mem::take(&mut out.grafts));
        out.changes.sort_by(|one, other| one.path.cmp(&other.path));
        out.drift.sort();
        Ok(out)
    }

    /// Returns the foreign files that go.
    fn orphans(&self, drafts: &[DirDraft], facts: &Facts) -> BTreeSet<RelPath> {
        let orphans = facts.foreign.keys().filter(|path| self.is_orphan(path));
        let wanted = all_paths(drafts, |draft| draft.candidates.iter().map(|file| &file.name));
        orphans.filter(|path| !wanted.contains(path)).cloned().collect()
    }

    fn is_orphan(&self, path: &RelPath) -> bool {
        let is_left = self.is_same_profile && self.request.drift == DriftPolicy::Report;
        !is_left && self.ownership.prunes(path)
    }

    fn limit(&self, drafts: &[DirDraft], facts: &Facts, out: &Decided) -> Result<(), Error> {
        let mut census = Census::default();
        let nowhere = RelPath::root();
        for mapping in &self.last.mappings {
            census.add(&mapping.destination, mapping.files);
        }
        let added: HashSet<_> = drafts
            .iter()
            .flat_map(|draft| &draft.candidates)
            .filter(|file| file.record.is_none())
            .map(|file| file.blob)
            .collect();
        for record in drafts.iter().flat_map(|draft| &draft.dropped) {
            if !limit::is_moved(record.blob, &added) {
                let mapping = self.last.mappings.get(usize::from(record.mapping));
                census.delete(mapping.map_or(&nowhere, |mapping| &mapping.destination));
            }
        }
        for path in facts.foreign.keys().filter(|path| self.ownership.prunes(path)) {
            let claim = self.ownership.claim(path).map(RelPath::from_clean).unwrap_or_default();
            census.add(&claim, 1);
            if out.orphans.contains(path) {
                census.delete(&claim);
            }
        }
        census.check(self.request.deletion).map_err(Error::MassDeletion)
    }

    fn report_foreign(&self, facts: &Facts, out: &mut Decided) {
        if self.is_same_profile {
            let foreign = facts.foreign.keys().filter(|path| self.ownership.prunes(path));
            let drifted = |path: &RelPath| Drifted { path: path.clone(), kind: DriftKind::Foreign };
            out.drift.extend(foreign.map(drifted));
        }
    }

    fn decide_dir(
        &self,
        mut draft: DirDraft,
        facts: &Facts,
        index: usize,
        out: &mut Decided,
    ) -> Result<(), Error> {
        let mut upserts = Vec::new();
        let candidates = std::mem::take(&mut draft.candidates);
        if !candidates.is_empty() {
            self.check_site(&facts.sites[index], out)?;
        }
        let holds_files = !candidates.is_empty() || !draft.kept.is_empty();
        for (candidate, found) in candidates.into_iter().zip(&facts.found[index]) {
            let path = draft.path.join(&candidate.name);
            let outcome = self.judge(&candidate, &path, found, out)?;
            self.count(candidate.record.as_ref(), -1, out);
            let record = record_of(&candidate, &outcome);
            out.counts.add(&record, 1);
            let is_news = candidate.record.as_ref() != Some(&record);
            if let Outcome::Write(action) = outcome {
                let slot = (out.work.patches.len(), upserts.len());
                self.put(candidate, path, (action, slot), out);
            }
            if is_news {
                upserts.push(record);
            }
        }
        self.patch(draft, upserts, holds_files, out);
        Ok(())
    }

    /// Counts what a file of the last sync was, where counting goes on from there.
    fn count(&self, record: Option<&FileRecord>, by: i64, out: &mut Decided) {
        if let Some(record) = record.filter(|_| self.is_same_profile) {
            out.counts.add(record, by);
        }
    }

    /// Checks the place of a directory in which files are to be written.
    fn check_site(&self, site: &Site, out: &mut Decided) -> Result<(), Error> {
        match site {
            Site::Present => {}
            Site::Missing { from } => {
                out.grafts.insert(from.clone());
            }
            Site::Blocked { at, .. } if out.dropped.contains(at) => {
                out.grafts.insert(at.clone());
            }
            Site::Blocked { at, nature } => {
                let found = match nature {
                    Nature::Link => "a symbolic link stands that nobody here made",
                    _ => "a file stands that nobody here made",
                };
                return Err(Error::Conflict { path: at.clone(), wanted: "a directory", found });
            }
        }
        Ok(())
    }

    fn judge(
        &self,
        file: &Candidate,
        path: &RelPath,
        found: &Found,
        out: &mut Decided,
    ) -> Result<Outcome, Error> {
        let is_drift = file.cause == Cause::Drift;
        match found {
            Found::Wanted(look) => return Ok(self.adopt(file, path, look, out)),
            Found::Dir(files) => {
                if files.iter().any(|inside| !out.dropped.contains(inside)) {
                    let found = "a directory stands with files that nobody here made";
                    return Err(Error::Conflict { path: path.clone(), wanted: "a file", found });
                }
                out.work.clears.push(path.clone());
            }
            Found::Other(_) | Found::Odd if !is_drift && file.record.is_some() => {
                let message = "it had been changed here; what the commit holds has replaced it";
                out.warnings.push(Warning::new(Code::DriftOverwritten, path.clone(), message));
            }
            Found::Nothing | Found::Intact(_) | Found::Other(_) | Found::Odd => {}
        }
        let is_missing = *found == Found::Nothing;
        if is_drift {
            let kind = if is_missing { DriftKind::Missing } else { DriftKind::Modified };
            out.drift.push(Drifted { path: path.clone(), kind });
            if self.request.drift == DriftPolicy::Report {
                return Ok(Outcome::Leave);
            }
        }
        Ok(Outcome::Write(if is_missing { Action::Add } else { Action::Modify }))
    }

    /// Takes a file that has the right bytes already; its permissions may have to follow.
    fn adopt(&self, file: &Candidate, path: &RelPath, look: &Look, out: &mut Decided) -> Outcome {
        let is_right = look.mode & 0o7022 == 0 && look.is_executable() == file.is_executable;
        if is_right {
            return Outcome::Adopt(look.stat);
        }
        let is_drift = file.cause == Cause::Drift;
        if is_drift {
            out.drift.push(Drifted { path: path.clone(), kind: DriftKind::Modified });
            if self.request.drift == DriftPolicy::Report {
                return Outcome::Leave;
            }
        }
        out.work.chmods.push((path.clone(), file.is_executable));
        out.changes.push(self.change(path, Action::Mode, file.mapping));
        Outcome::Adopt(look.stat)
    }

    fn put(
        &self,
        file: Candidate,
        path: RelPath,
        (action, slot): (Action, (usize, usize)),
        out: &mut Decided,
    ) {
        out.changes.push(self.change(&path, action, file.mapping));
        let Candidate { blob, placed, is_executable, recipe, made_size, .. } = file;
        let size = made_size.unwrap_or_default();
        out.work.puts.push(Put { path, blob, placed, is_executable, size, recipe, slot });
    }

    fn change(&self, path: &RelPath, action: Action, mapping: u16) -> Change {
        let index = usize::from(mapping);
        let source = self.mounts.get(index).and_then(|mount| {
            let mut source = self.request.mappings.get(index)?.source.clone();
            if matches!(mount.content, Content::Dir(_)) {
                source.push(below_mapping(mount, path));
            }
            Some(source)
        });
        let mapping = source.is_some().then_some(index);
        Change { path: path.clone(), action, bytes: 0, mapping, source }
    }

    /// Writes down what the manifest has to know about the directory.
    fn patch(
        &self,
        draft: DirDraft,
        mut upserts: Vec<FileRecord>,
        holds_files: bool,
        out: &mut Decided,
    ) {
        let DirDraft { path, key, state, kept, dropped, forgotten, last, candidates: _ } = draft;
        for record in dropped.iter().chain(&forgotten) {
            self.count(Some(record), -1, out);
        }
        for record in kept {
            if !self.is_same_profile {
                out.counts.add(&record, 1);
            }
            let known = last.as_ref().and_then(|last| last.file(&record.name));
            if known != Some(&record) {
                upserts.push(record);
            }
        }
        let removals: Vec<_> =
            dropped.into_iter().chain(forgotten).map(|record| record.name).collect();
        let has_new_key = last.as_ref().is_none_or(|last| last.key != key);
        let change = match state {
            DirState::Gone if !holds_files => DirChange::Forgotten,
            DirState::Wanted { .. } if key.0.is_empty() && !holds_files => {
                if last.is_none() {
                    return;
                }
                DirChange::Forgotten
            }
            _ if !has_new_key && upserts.is_empty() && removals.is_empty() => return,
            _ => DirChange::Known { key, upserts, removals },
        };
        out.work.patches.push(DirPatch { path, change });
    }

    fn delete_all(&self, facts: &Facts, out: &mut Decided) {
        let gone = out.dropped.iter().chain(&out.orphans).cloned();
        let deletes: Vec<RelPath> = gone.collect::<BTreeSet<_>>().into_iter().collect();
        for path in &deletes {
            if facts.changed_drops.contains(path) {
                let message = "it had been changed here; the commit does not hold it, so it went";
                out.warnings.push(Warning::new(Code::DriftOverwritten, path.clone(), message));
            }
            out.changes.push(self.change(path, Action::Delete, u16::MAX));
        }
        out.work.empties = self.empties(&deletes);
        out.work.deletes = deletes;
    }

    /// Returns the directories that may be empty once these files are gone, deepest first.
    fn empties(&self, deletes: &[RelPath]) -> Vec<RelPath> {
        let mut dirs = BTreeSet::new();
        for path in deletes {
            for dir in path::ancestors(path) {
                if self.ownership.may_remove_dir(dir, self.last) {
                    dirs.insert(RelPath::from_clean(dir));
                }
            }
        }
        dirs.into_iter().rev().collect()
    }
}

/// What becomes of a candidate.
enum Outcome {
    /// It is written.
    Write(Action),
    /// It is there already.
    Adopt(Stat),
    /// It differs, and the policy is to say so only.
    Leave,
}

fn record_of(file: &Candidate, outcome: &Outcome) -> FileRecord {
    if let (Outcome::Leave, Some(record)) = (outcome, &file.record) {
        return FileRecord { mapping: file.mapping, ..record.clone() };
    }
    let stat = if let Outcome::Adopt(stat) = outcome { *stat } else { Stat::default() };
    FileRecord {
        name: file.name.clone(),
        blob: file.blob,
        placed: file.placed,
        inputs: file.inputs,
        is_executable: file.is_executable,
        mapping: file.mapping,
        stat,
    }
}

/// Of directories within each other only the outermost is moved.
fn outermost(dirs: BTreeSet<RelPath>) -> Vec<RelPath> {
    let mut kept: Vec<RelPath> = Vec::new();
    for dir in dirs {
        let is_inside = path::ancestors(&dir).any(|above| kept.iter().any(|kept| **kept == *above));
        if !is_inside {
            kept.push(dir);
        }
    }
    kept
}

fn all_paths<'d, I: Iterator<Item = &'d Box<[u8]>>>(
    drafts: &'d [DirDraft],
    names: impl Fn(&'d DirDraft) -> I,
) -> HashSet<RelPath> {
    let paths = |draft: &'d DirDraft| names(draft).map(|name| draft.path.join(name));
    drafts.iter().flat_map(paths).collect()
}
