//! Decides what to do, from the wanted files and the files on disk. Pure.

mod case_folding;
mod delete;
mod foreign;
mod record;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::draft::{Candidate, Cause, DirDraft};
use super::{Action, Change, DriftKind, Drifted, Error, MassDeletion, Put, Work};
use crate::compose::below_mapping;
use crate::compose::mount::{Content, Mount};
use crate::disk::{FileType, Stat};
use crate::manifest::Manifest;
use crate::manifest::header::Header;
use crate::manifest::record::{FileRecord, FileStamp};
use crate::ownership::Ownership;
use crate::path::{self, RelPath};
use crate::request::{DriftPolicy, Request};
use crate::survey::{FoundDir, FoundFile};
use crate::warning::{Warning, WarningCode};

/// What is on disk, in the order of the drafts and their candidates.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) found_dirs: Vec<FoundDir>,
    pub(crate) found_files: Vec<Vec<FoundFile>>,
    /// Dropped files that are not as the last sync left them.
    pub(crate) changed_drops: HashSet<RelPath>,
    pub(crate) foreign: BTreeMap<RelPath, FileType>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct DecideInput<'a> {
    pub(crate) request: &'a Request,
    pub(crate) mounts: &'a [Mount],
    pub(crate) ownership: &'a Ownership<'a>,
    pub(crate) last: &'a Header,
    pub(crate) manifest: &'a Manifest,
    /// Whether the profile is that of the last sync, so that what differs is drift.
    pub(crate) is_same_profile: bool,
    pub(crate) user: u32,
}

/// What was decided, before sizes are known.
#[derive(Debug, Default)]
pub(crate) struct Decided {
    pub(crate) work: Work,
    pub(crate) changes: Vec<Change>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) drift: Vec<Drifted>,
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

struct Deciding<'a> {
    input: DecideInput<'a>,
    facts: &'a Facts,
    /// Files of ours that go, with the mapping of the last sync that brought them.
    dropped: HashMap<RelPath, u16>,
    /// Files that no sync brought, in directories of ours, and what they are to the commit.
    foreign: Vec<Drifted>,
    /// Those of them that go.
    orphans: BTreeSet<RelPath>,
    /// Files of ours that stay under another spelling: how they will be spelled, and how they were.
    case_renamed: HashMap<RelPath, RelPath>,
    /// Directories that may still hold a file that is no longer managed: that their stat is as it
    /// did proves nothing.
    unstamped: HashSet<RelPath>,
    new_dirs: BTreeSet<RelPath>,
    out: Decided,
}

#[derive(Debug, Clone, Copy)]
enum FileDecision {
    Write(Action),
    /// It is there already.
    Adopt(FileStamp),
    /// It differs, and the policy is to say so only.
    Leave,
}

impl DecideInput<'_> {
    pub(crate) fn run(self, mut drafts: Vec<DirDraft>, facts: &Facts) -> Result<Decided, Error> {
        let is_left_behind = |draft: &&DirDraft| draft.last.is_some() && draft.is_forgotten();
        let mut deciding = Deciding {
            input: self,
            facts,
            dropped: HashMap::new(),
            foreign: Vec::new(),
            orphans: BTreeSet::new(),
            case_renamed: HashMap::new(),
            unstamped: drafts
                .iter()
                .filter(is_left_behind)
                .map(|draft| draft.path.parent())
                .collect(),
            new_dirs: BTreeSet::new(),
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
        self.out.work.new_dirs = outermost(self.new_dirs);
        self.out.changes.sort_by(|one, other| one.path.cmp(&other.path));
        self.out.drift.sort();
        self.out
    }

    fn decide_dir(&mut self, mut draft: DirDraft, index: usize) -> Result<(), Error> {
        let facts = self.facts;
        let is_forgotten = draft.is_forgotten();
        let candidates = std::mem::take(&mut draft.candidates);
        if !candidates.is_empty() {
            self.check_site(&facts.found_dirs[index])?;
        }
        let mut upserts = Vec::new();
        for (file, found) in candidates.into_iter().zip(&facts.found_files[index]) {
            let path = draft.path.join(&file.name);
            let outcome = self.judge(&file, &path, found)?;
            self.out.left += u64::from(matches!(outcome, FileDecision::Leave));
            let slot = (self.out.work.patches.len(), upserts.len());
            upserts.extend(self.record(&file, outcome));
            if let FileDecision::Write(action) = outcome {
                self.change(&path, action, file.mapping);
                self.out.work.puts.push(put(file, path, slot));
            }
        }
        self.patch(draft, upserts, is_forgotten);
        Ok(())
    }

    /// Checks the place of a directory in which files are to be written.
    fn check_site(&mut self, site: &FoundDir) -> Result<(), Error> {
        match site {
            FoundDir::Present => {}
            FoundDir::Missing { from } => {
                self.new_dirs.insert(from.clone());
            }
            FoundDir::Blocked { at, .. } if self.dropped.contains_key(at) => {
                self.new_dirs.insert(at.clone());
            }
            FoundDir::Blocked { at, file_type: FileType::Link } => {
                return Err(Error::Link { path: at.clone() });
            }
            FoundDir::Blocked { at, .. } => {
                let found = "there is a file that no sync brought";
                return Err(Error::Conflict { path: at.clone(), wanted: "a directory", found });
            }
        }
        Ok(())
    }

    fn judge(
        &mut self,
        file: &Candidate,
        path: &RelPath,
        found: &FoundFile,
    ) -> Result<FileDecision, Error> {
        match found {
            FoundFile::Wanted(stat) if !self.case_renamed.contains_key(path) => {
                return Ok(self.adopt(file, path, stat));
            }
            FoundFile::Dir(files) => {
                // A directory of ours may hold orphans, which are deleted with it; a foreign one
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
            FoundFile::Other(_) | FoundFile::Odd
                if file.cause == Cause::Commit && file.record.as_ref().is_some_and(is_known) =>
            {
                let message = "it had been changed here; the new content has replaced it";
                self.warn(WarningCode::DriftOverwritten, path, message);
            }
            FoundFile::Nothing
            | FoundFile::Wanted(_)
            | FoundFile::Intact(_)
            | FoundFile::Other(_)
            | FoundFile::Odd => {}
        }
        // A directory that is replaced is not a modified file.
        let is_missing = matches!(found, FoundFile::Nothing | FoundFile::Dir(_));
        let kind = if is_missing { DriftKind::Missing } else { DriftKind::Modified };
        if self.is_left(file, path, kind) {
            return Ok(FileDecision::Leave);
        }
        Ok(FileDecision::Write(if is_missing { Action::Add } else { Action::Modify }))
    }

    /// Takes a file that has the right bytes already; its permissions may have to follow. Those of
    /// another user's file can't be changed; but the file can be replaced.
    fn adopt(&mut self, file: &Candidate, path: &RelPath, stat: &Stat) -> FileDecision {
        if !stat.is_mode_of(file.is_executable) {
            if self.is_left(file, path, DriftKind::Modified) {
                return FileDecision::Leave;
            }
            if !stat.may_be_chmoded_by(self.input.user) {
                return FileDecision::Write(Action::Modify);
            }
            self.out.work.chmods.push((path.clone(), file.is_executable));
            self.change(path, Action::Mode, file.mapping);
        }
        FileDecision::Adopt(stat.stamp)
    }

    /// Names a file that drifted; returns whether that is all that is to be done.
    fn is_left(&mut self, file: &Candidate, path: &RelPath, kind: DriftKind) -> bool {
        if file.cause != Cause::Drift {
            return false;
        }
        self.out.drift.push(Drifted { path: path.clone(), kind });
        self.input.request.drift == DriftPolicy::Report
    }

    fn warn(&mut self, code: WarningCode, path: &RelPath, message: &str) {
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
        let mount = self.input.mounts.get(mapping)?;
        let mut source = self.input.request.mappings.get(mapping)?.source.clone();
        if matches!(mount.content, Content::Dir(_)) {
            source.push(below_mapping(mount, path));
        }
        Some(source)
    }
}

/// A run that could not change a file has left a record that says nothing: what is there now is not
/// another process's doing.
fn is_known(record: &FileRecord) -> bool {
    !record.is_unknown()
}

fn dropped(draft: &DirDraft) -> impl Iterator<Item = (RelPath, u16)> {
    draft.dropped.iter().map(|file| (draft.path.join(&file.name), file.mapping))
}

fn put(file: Candidate, path: RelPath, slot: (usize, usize)) -> Put {
    let Candidate { blob, placed, is_executable, transform, transformed_size, .. } = file;
    let size = transformed_size.unwrap_or_default();
    Put { path, blob, placed, is_executable, size, transform, slot }
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

fn all_paths<'d, I: Iterator<Item = &'d [u8]>>(
    drafts: &'d [DirDraft],
    names: impl Fn(&'d DirDraft) -> I,
) -> HashSet<RelPath> {
    let paths = |draft: &'d DirDraft| names(draft).map(|name| draft.path.join(name));
    drafts.iter().flat_map(paths).collect()
}
