//! Compares the wanted files with the last sync. Pure; the result is as large as the change.

use std::collections::{BTreeSet, HashMap};

use crate::compose::{Composed, Wanted};
use crate::manifest::header::MappingRecord;
use crate::manifest::record::{FileRecord, Inputs, Key, NO_MAPPING};
use crate::manifest::{DirRecord, Manifest};
use crate::manipulate::Transform;
use crate::ownership::{Ownership, Spared};
use crate::path::RelPath;
use crate::request::Request;
use crate::source::ObjectId;

#[derive(Debug)]
pub(crate) struct DirDraft {
    pub(crate) path: RelPath,
    pub(crate) key: Key,
    pub(crate) state: DirState,
    /// Files that stay exactly as they are, by their position in the last record.
    pub(crate) same: Vec<usize>,
    /// Files that stay as they are, with the mapping they belong to now.
    pub(crate) kept: Vec<FileRecord>,
    pub(crate) candidates: Vec<Candidate>,
    /// Files of ours that are not wanted any more.
    pub(crate) dropped: Vec<FileRecord>,
    /// Files that are not ours any more and stay.
    pub(crate) forgotten: Vec<FileRecord>,
    pub(crate) last: Option<DirRecord>,
}

impl DirDraft {
    /// Returns whether the manifest will not know the directory: it is not part of the commit, or
    /// only on the way to something that is, and holds no file of ours.
    pub(crate) fn is_forgotten(&self) -> bool {
        let is_way = self.state == DirState::Wanted && self.key.0.is_empty();
        let holds_files =
            !(self.candidates.is_empty() && self.kept.is_empty() && self.same.is_empty());
        !holds_files && (is_way || self.state == DirState::Gone)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DirState {
    Wanted,
    Gone,
}

#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) name: Box<[u8]>,
    pub(crate) blob: ObjectId,
    /// The id that its bytes must have: the blob's, until a transform changes them.
    pub(crate) placed: ObjectId,
    /// The size of its bytes, if they are made.
    pub(crate) transformed_size: Option<u64>,
    pub(crate) inputs: Inputs,
    pub(crate) transform: Option<Transform>,
    pub(crate) is_executable: bool,
    pub(crate) mapping: u16,
    pub(crate) record: Option<FileRecord>,
    /// Whether the stat of the live file differs from the last sync.
    pub(crate) is_suspect: bool,
    pub(crate) cause: Cause,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The commit, or what it is made with, differs from the last sync.
    Commit,
    /// The live file differs from the last sync.
    Drift,
}

pub(crate) struct Drafting<'a> {
    pub(crate) request: &'a Request,
    pub(crate) manifest: &'a Manifest,
    pub(crate) ownership: &'a Ownership<'a>,
    pub(crate) suspects: &'a BTreeSet<RelPath>,
}

impl DirDraft {
    /// A directory about whose files nothing is decided yet.
    fn new(path: RelPath, key: Key, state: DirState) -> Self {
        Self {
            path,
            key,
            state,
            same: Vec::new(),
            kept: Vec::new(),
            candidates: Vec::new(),
            dropped: Vec::new(),
            forgotten: Vec::new(),
            last: None,
        }
    }
}

impl Candidate {
    /// A file of which nothing is made and nothing is suspected.
    pub(crate) fn new(
        name: Box<[u8]>,
        blob: ObjectId,
        is_executable: bool,
        mapping: u16,
        record: Option<FileRecord>,
    ) -> Self {
        Self {
            name,
            blob,
            placed: blob,
            transformed_size: None,
            inputs: Inputs::default(),
            transform: None,
            is_executable,
            mapping,
            record,
            is_suspect: false,
            cause: Cause::Commit,
        }
    }
}

impl Drafting<'_> {
    pub(crate) fn run(&self, composed: Vec<Composed>) -> Vec<DirDraft> {
        let mut drafts = Vec::with_capacity(composed.len());
        let renumber = self.renumber();
        for dir in composed {
            for name in self.manifest.children_beside(&dir.path, &dir.children) {
                self.drop_tree(&dir.path.join(&name), &renumber, &mut drafts);
            }
            drafts.push(self.draft(dir, &renumber));
        }
        drafts.sort_by(|one, other| one.path.cmp(&other.path));
        drafts
    }

    fn draft(&self, dir: Composed, renumber: &HashMap<u16, u16>) -> DirDraft {
        let last = self.manifest.dir(&dir.path);
        let mut draft = DirDraft::new(dir.path, dir.key, DirState::Wanted);
        let known = last.as_ref().map(|last| last.files.as_slice()).unwrap_or_default();
        let place = |wanted: &Wanted| known.binary_search_by(|file| file.name.cmp(&wanted.name));
        for record in known {
            if dir.files.binary_search_by(|wanted| wanted.name.cmp(&record.name)).is_err() {
                self.leave(record, renumber, &mut draft);
            }
        }
        for wanted in dir.files {
            let record = place(&wanted).ok().map(|place| (place, &known[place]));
            self.want(wanted, record, &mut draft);
        }
        draft.last = last;
        draft
    }

    fn want(&self, wanted: Wanted, record: Option<(usize, &FileRecord)>, draft: &mut DirDraft) {
        let Wanted { name, blob, is_executable, mapping } = wanted;
        let is_same = |record: &FileRecord| {
            record.blob == blob && record.is_executable == is_executable && !record.is_manipulated()
        };
        let is_suspect =
            !self.suspects.is_empty() && self.suspects.contains(&draft.path.join(&name));
        let may_stay = !is_suspect && !self.request.manipulates(mapping);
        match record {
            Some((place, record)) if may_stay && is_same(record) => {
                if record.mapping == mapping {
                    draft.same.push(place);
                } else {
                    draft.kept.push(FileRecord { mapping, ..record.clone() });
                }
                return;
            }
            _ => {}
        }
        let record = record.map(|(_, record)| record.clone());
        let candidate = Candidate::new(name, blob, is_executable, mapping, record);
        draft.candidates.push(Candidate { is_suspect, ..candidate });
    }

    /// Decides about a file of ours that the commit does not hold.
    fn leave(&self, record: &FileRecord, renumber: &HashMap<u16, u16>, draft: &mut DirDraft) {
        let path = draft.path.join(&record.name);
        let mapping = self.manifest.header().mappings.get(usize::from(record.mapping));
        match self.ownership.spares_own(&path, mapping) {
            Some(Spared::Forget) => draft.forgotten.push(record.clone()),
            Some(Spared::Hold) => draft.kept.push(renumbered(record, renumber)),
            None => draft.dropped.push(record.clone()),
        }
    }

    /// Decides about a directory of ours that the commit does not hold, and all below it.
    fn drop_tree(&self, root: &RelPath, renumber: &HashMap<u16, u16>, drafts: &mut Vec<DirDraft>) {
        for path in self.manifest.dirs_within(root) {
            let Some(last) = self.manifest.dir(path) else { continue };
            let path = RelPath::from_clean(path);
            let mut draft = DirDraft::new(path, last.key.clone(), DirState::Gone);
            for record in &last.files {
                self.leave(record, renumber, &mut draft);
            }
            draft.last = Some(last);
            drafts.push(draft);
        }
    }

    /// Returns which mapping of the request each mapping of the last sync is now.
    fn renumber(&self) -> HashMap<u16, u16> {
        let last = self.manifest.header().mappings.iter();
        let now = &self.request.mappings;
        let place = |(index, old): (usize, &MappingRecord)| {
            let new = u16::try_from(now.iter().position(|new| old.is_of(new))?).ok()?;
            Some((u16::try_from(index).ok()?, new))
        };
        last.enumerate().filter_map(place).collect()
    }
}

fn renumbered(record: &FileRecord, renumber: &HashMap<u16, u16>) -> FileRecord {
    let mapping = renumber.get(&record.mapping).copied().unwrap_or(NO_MAPPING);
    FileRecord { mapping, ..record.clone() }
}
