//! Writes the decisions into the records of the next manifest.

use super::{Counts, Deciding, FileDecision};
use crate::manifest::record::{DirChange, DirPatch, FileRecord, FileStamp};
use crate::plan::draft::{Candidate, DirDraft};

impl Counts {
    fn add(&mut self, record: &FileRecord, by: i64) {
        *self.by_mapping.entry(record.mapping).or_default() += by;
        if record.is_manipulated() {
            self.manipulated += by;
        }
    }
}

impl Deciding<'_> {
    /// Returns the new record of a candidate, if it differs from the last.
    pub(super) fn record(&mut self, file: &Candidate, outcome: FileDecision) -> Option<FileRecord> {
        let record = match (outcome, &file.record) {
            (FileDecision::Leave, Some(record)) => {
                FileRecord { mapping: file.mapping, ..record.clone() }
            }
            (FileDecision::Adopt(stamp), _) => new_record(file, stamp),
            (FileDecision::Write(_) | FileDecision::Leave, _) => {
                new_record(file, FileStamp::default())
            }
        };
        if let Some(last) = &file.record {
            self.uncount(last);
        }
        self.out.counts.add(&record, 1);
        (file.record.as_ref() != Some(&record)).then_some(record)
    }

    /// Takes a file of the last sync out of the count, where counting goes on from there.
    fn uncount(&mut self, record: &FileRecord) {
        if self.input.is_same_profile {
            self.out.counts.add(record, -1);
        }
    }

    /// Writes down what the manifest has to know about a directory.
    pub(super) fn patch(
        &mut self,
        draft: DirDraft,
        mut upserts: Vec<FileRecord>,
        is_forgotten: bool,
    ) {
        let DirDraft { path, key, same, kept, dropped, forgotten, last, .. } = draft;
        for record in dropped.iter().chain(&forgotten) {
            self.uncount(record);
        }
        let known = last.as_ref().map(|last| last.files.as_slice()).unwrap_or_default();
        for place in same.iter().filter(|_| !self.input.is_same_profile) {
            self.out.counts.add(&known[*place], 1);
        }
        for record in kept {
            if !self.input.is_same_profile {
                self.out.counts.add(&record, 1);
            }
            let known = last.as_ref().and_then(|last| last.file(&record.name));
            if known != Some(&record) {
                upserts.push(record);
            }
        }
        let removals: Vec<_> =
            dropped.into_iter().chain(forgotten).map(|record| record.name).collect();
        let has_same_key = last.as_ref().is_some_and(|last| last.key == key);
        let is_unstamped = self.unstamped.contains(&path);
        let change = if is_forgotten {
            if last.is_none() {
                return;
            }
            DirChange::Forgotten
        } else if has_same_key && upserts.is_empty() && removals.is_empty() && !is_unstamped {
            return;
        } else {
            // If files are added or removed, the stamp will differ. If something else changes
            // it, the old stamp proves nothing, and does no harm.
            let is_touched = !upserts.is_empty() || !removals.is_empty() || is_unstamped;
            let stamp = last.as_ref().and_then(|last| last.stamp).filter(|_| !is_touched);
            DirChange::Known { key, stamp, upserts, removals }
        };
        self.out.work.patches.push(DirPatch { path, change });
    }
}

fn new_record(file: &Candidate, stamp: FileStamp) -> FileRecord {
    FileRecord {
        name: file.name.clone(),
        blob: file.blob,
        placed: file.placed,
        inputs: file.inputs,
        is_executable: file.is_executable,
        mapping: file.mapping,
        stamp,
    }
}
