//! From what should be and what is to what will be done: pure.

mod delete;
mod foreign;
mod record;
mod spelling;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::draft::{Candidate, Cause, DirDraft};
use super::{Action, Change, DriftKind, Drifted, Error, MassDeletion, Put, Work};
use crate::compose::below_mapping;
use crate::compose::mount::{Content, Mount};
use crate::disk::{Look, Nature};
use crate::manifest::Manifest;
use crate::manifest::header::Header;
use crate::manifest::record::{FileRecord, Stat};
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
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decision<'a> {
    pub(crate) request: &'a Request,
    pub(crate) mounts: &'a [Mount],
    pub(crate) ownership: &'a Ownership<'a>,
    /// The header of the last sync.
    pub(crate) last: &'a Header,
    /// What the last sync left.
    pub(crate) manifest: &'a Manifest,
    /// Whether the profile is that of the last sync, so that what differs is drift.
    pub(crate) is_same_profile: bool,
    /// Who we are to the disk.
    pub(crate) user: u32,
}

/// What was decided, before sizes are known.
#[derive(Debug, Default)]
pub(crate) struct Decided {
    pub(crate) work: Work,
    pub(crate) changes: Vec<Change>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) drift: Vec<Drifted>,
    /// A mass deletion that is left out.
    pub(crate) withheld: Option<MassDeletion>,
    /// Files that no sync brought and that are kept, sorted.
    pub(crate) kept: BTreeSet<RelPath>,
    /// How many files of ours are not as they should be and stay so.
    pub(crate) left: u64,
    pub(crate) counts: Counts,
}

/// How many files are ours, by mapping of the request.
#[derive(Debug, Default, Clone)]
pub(crate) struct Counts {
    pub(crate) by_mapping: HashMap<u16, i64>,
    pub(crate) manipulated: i64,
}

/// Decisions in the making.
struct Deciding<'a> {
    by: Decision<'a>,
    facts: &'a Facts,
    /// Files of ours that go, with the mapping of the last sync that brought them.
    dropped: HashMap<RelPath, u16>,
    /// Files that no sync brought, in directories of ours, and what they are to the commit.
    foreign: Vec<Drifted>,
    /// Those of them that go.
    orphans: BTreeSet<RelPath>,
    /// Files of ours that stay under another spelling: how they will be spelled, and how they were.
    respelled: HashMap<RelPath, RelPath>,
    /// Directories that may go on to hold one that nobody knows any more: that they look as they
    /// did proves nothing.
    unsealed: HashSet<RelPath>,
    grafts: BTreeSet<RelPath>,
    out: Decided,
}

/// What becomes of a candidate.
#[derive(Debug, Clone, Copy)]
enum Outcome {
    /// It is written.
    Write(Action),
    /// It is there already.
    Adopt(Stat),
    /// It differs, and the policy is to say so only.
    Leave,
}

impl Decision<'_> {
    /// Decides.
    pub(crate) fn run(self, mut drafts: Vec<DirDraft>, facts: &Facts) -> Result<Decided, Error> {
        let is_left_behind = |draft: &&DirDraft| draft.last.is_some() && draft.is_forgotten();
        let mut deciding = Deciding {
            by: self,
            facts,
            dropped: HashMap::new(),
            foreign: Vec::new(),
            orphans: BTreeSet::new(),
            respelled: HashMap::new(),
            unsealed: drafts
                .iter()
                .filter(is_left_behind)
                .map(|draft| draft.path.parent())
                .collect(),
            grafts: BTreeSet::new(),
            out: Decided::default(),
        };
        deciding.see_what_goes(&drafts);
        deciding.keep_foreign(&drafts);
        deciding.check_repository()?;
        deciding.limit(&mut drafts)?;
        for (index, draft) in drafts.into_iter().enumerate() {
            deciding.decide_dir(draft, index)?;
        }
        deciding.delete_all();
        Ok(deciding.finish())
    }
}

impl Deciding<'_> {
    fn finish(mut self) -> Decided {
        self.report_foreign();
        self.out.work.grafts = outermost(self.grafts);
        self.out.changes.sort_by(|one, other| one.path.cmp(&other.path));
        self.out.drift.sort();
        self.out
    }

    fn decide_dir(&mut self, mut draft: DirDraft, index: usize) -> Result<(), Error> {
        let facts = self.facts;
        let is_forgotten = draft.is_forgotten();
        let candidates = std::mem::take(&mut draft.candidates);
        if !candidates.is_empty() {
            self.check_site(&facts.sites[index])?;
        }
        let mut upserts = Vec::new();
        for (file, found) in candidates.into_iter().zip(&facts.found[index]) {
            let path = draft.path.join(&file.name);
            let outcome = self.judge(&file, &path, found)?;
            self.out.left += u64::from(matches!(outcome, Outcome::Leave));
            let slot = (self.out.work.patches.len(), upserts.len());
            upserts.extend(self.record(&file, outcome));
            if let Outcome::Write(action) = outcome {
                self.change(&path, action, file.mapping);
                self.out.work.puts.push(put(file, path, slot));
            }
        }
        self.patch(draft, upserts, is_forgotten);
        Ok(())
    }

    /// Checks the place of a directory in which files are to be written.
    fn check_site(&mut self, site: &Site) -> Result<(), Error> {
        match site {
            Site::Present => {}
            Site::Missing { from } => {
                self.grafts.insert(from.clone());
            }
            Site::Blocked { at, .. } if self.dropped.contains_key(at) => {
                self.grafts.insert(at.clone());
            }
            Site::Blocked { at, nature: Nature::Link } => {
                return Err(Error::Link { path: at.clone() });
            }
            Site::Blocked { at, .. } => {
                let found = "there is a file that no sync brought";
                return Err(Error::Conflict { path: at.clone(), wanted: "a directory", found });
            }
        }
        Ok(())
    }

    fn judge(&mut self, file: &Candidate, path: &RelPath, found: &Found) -> Result<Outcome, Error> {
        match found {
            Found::Wanted(look) if !self.respelled.contains_key(path) => {
                return Ok(self.adopt(file, path, look));
            }
            Found::Dir(files) => {
                // A directory of ours may hold orphans, which go with it; one that nobody here made
                // may not.
                let is_ours = files.iter().any(|inside| self.dropped.contains_key(inside));
                let goes = |inside: &RelPath| {
                    self.dropped.contains_key(inside) || is_ours && self.orphans.contains(inside)
                };
                if !files.iter().all(goes) {
                    let found = "there is a directory with files that no sync brought";
                    return Err(Error::Conflict { path: path.clone(), wanted: "a file", found });
                }
                self.out.work.clears.push(path.clone());
            }
            Found::Other(_) | Found::Odd
                if file.cause == Cause::Commit && file.record.as_ref().is_some_and(is_known) =>
            {
                let message = "it had been changed here; the new content has replaced it";
                self.warn(Code::DriftOverwritten, path, message);
            }
            Found::Nothing | Found::Wanted(_) | Found::Intact(_) | Found::Other(_) | Found::Odd => {
            }
        }
        // A directory that makes way is no file that was modified.
        let is_missing = matches!(found, Found::Nothing | Found::Dir(_));
        let kind = if is_missing { DriftKind::Missing } else { DriftKind::Modified };
        if self.is_left(file, path, kind) {
            return Ok(Outcome::Leave);
        }
        Ok(Outcome::Write(if is_missing { Action::Add } else { Action::Modify }))
    }

    /// Takes a file that has the right bytes already; its permissions may have to follow. Those of
    /// somebody else's file can't be changed; but the file can be replaced.
    fn adopt(&mut self, file: &Candidate, path: &RelPath, look: &Look) -> Outcome {
        if !look.is_mode_of(file.is_executable) {
            if self.is_left(file, path, DriftKind::Modified) {
                return Outcome::Leave;
            }
            if !look.may_be_chmoded_by(self.by.user) {
                return Outcome::Write(Action::Modify);
            }
            self.out.work.chmods.push((path.clone(), file.is_executable));
            self.change(path, Action::Mode, file.mapping);
        }
        Outcome::Adopt(look.stat)
    }

    /// Names a file that drifted; returns whether that is all that is to be done.
    fn is_left(&mut self, file: &Candidate, path: &RelPath, kind: DriftKind) -> bool {
        if file.cause != Cause::Drift {
            return false;
        }
        self.out.drift.push(Drifted { path: path.clone(), kind });
        self.by.request.drift == DriftPolicy::Report
    }

    fn warn(&mut self, code: Code, path: &RelPath, message: &str) {
        self.out.warnings.push(Warning::new(code, path.clone(), message));
    }

    fn change(&mut self, path: &RelPath, action: Action, mapping: u16) {
        let index = usize::from(mapping);
        let source = self.source_of(path, index);
        let mapping = source.is_some().then_some(index);
        self.out.changes.push(Change { path: path.clone(), action, bytes: 0, mapping, source });
    }

    /// Returns where a mapping has a path in the source.
    fn source_of(&self, path: &RelPath, mapping: usize) -> Option<RelPath> {
        let mount = self.by.mounts.get(mapping)?;
        let mut source = self.by.request.mappings.get(mapping)?.source.clone();
        if matches!(mount.content, Content::Dir(_)) {
            source.push(below_mapping(mount, path));
        }
        Some(source)
    }
}

/// A run that could not change a file has left a record that says nothing: what is there now is not
/// somebody else's doing.
fn is_known(record: &FileRecord) -> bool {
    !record.is_unknown()
}

fn dropped(draft: &DirDraft) -> impl Iterator<Item = (RelPath, u16)> {
    draft.dropped.iter().map(|file| (draft.path.join(&file.name), file.mapping))
}

fn put(file: Candidate, path: RelPath, slot: (usize, usize)) -> Put {
    let Candidate { blob, placed, is_executable, recipe, made_size, .. } = file;
    let size = made_size.unwrap_or_default();
    Put { path, blob, placed, is_executable, size, recipe, slot }
}

/// Of directories within each other only the outermost is moved.
fn outermost(dirs: BTreeSet<RelPath>) -> Vec<RelPath> {
    let mut kept: BTreeSet<RelPath> = BTreeSet::new();
    for dir in dirs {
        if !path::ancestors(&dir).any(|above| kept.contains(above)) {
            kept.insert(dir);
        }
    }
    kept.into_iter().collect()
}

/// Returns the paths of some files of all drafts.
fn all_paths<'d, I: Iterator<Item = &'d [u8]>>(
    drafts: &'d [DirDraft],
    names: impl Fn(&'d DirDraft) -> I,
) -> HashSet<RelPath> {
    let paths = |draft: &'d DirDraft| names(draft).map(|name| draft.path.join(name));
    drafts.iter().flat_map(paths).collect()
}
