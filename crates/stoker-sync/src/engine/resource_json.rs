//! Ignores the edits that the gateway itself makes to a `resource.json`: they are not drift.

use std::io::Read;
use std::ops::ControlFlow;

use super::plan::Planner;
use crate::manifest::record::FileRecord;
use crate::manipulate::Transformer;
use crate::path::RelPath;
use crate::plan::Error;
use crate::plan::decide::Facts;
use crate::plan::draft::{Candidate, DirDraft};
use crate::reserved::RESOURCE_MANIFEST;
use crate::source::{ObjectId, Source};
use crate::survey::FoundFile;

/// A gateway does not write to a `resource.json` larger than this.
const MOST: u64 = 1 << 20;

impl Planner<'_> {
    /// Takes a `resource.json` for what it should be if only the gateway has written to it.
    pub(super) fn ignore_gateway_edits(
        &self,
        drafts: &[DirDraft],
        facts: &mut Facts,
        source: &mut dyn Source,
    ) -> Result<(), Error> {
        let mut doubtful = Vec::new();
        for (index, draft) in drafts.iter().enumerate() {
            for (position, file) in draft.candidates.iter().enumerate() {
                let is_other = matches!(facts.found_files[index][position], FoundFile::Other(_));
                if is_other && may_be_gateway_edit(file) {
                    doubtful.push((index, position));
                }
            }
        }
        let blob = |(index, position): &(usize, usize)| drafts[*index].candidates[*position].blob;
        let blobs: Vec<ObjectId> = doubtful.iter().map(blob).collect();
        source.fetch(&blobs).map_err(|source| Error::Fetch { source })?;
        let transformer = self.transformer();
        let read = source.read(&blobs, &mut |number, _, content| {
            let (index, position) = doubtful[number];
            let draft = &drafts[index];
            let file = &draft.candidates[position];
            if self.is_gateway_edit(&draft.path, file, &transformer, content)
                && let FoundFile::Other(stat) = &facts.found_files[index][position]
            {
                facts.found_files[index][position] = FoundFile::Wanted(*stat);
            }
            ControlFlow::Continue(())
        });
        read.map_err(|source| Error::Fetch { source })
    }

    fn is_gateway_edit(
        &self,
        dir: &RelPath,
        file: &Candidate,
        transformer: &Transformer<'_>,
        content: &mut dyn Read,
    ) -> bool {
        let mut blob = Vec::new();
        if content.take(MOST).read_to_end(&mut blob).is_err() {
            return false;
        }
        let path = dir.join(&file.name);
        let wanted = match &file.transform {
            Some(transform) => transformer.apply(transform, &path, &blob).map(|made| made.bytes),
            None => Ok(blob),
        };
        let live = self.input.view.root.open(dir);
        let live = live.and_then(|dir| dir.read(&file.name, MOST));
        let (Ok(wanted), Ok(live)) = (wanted, live) else { return false };
        let is_whole = [&wanted, &live].iter().all(|bytes| (bytes.len() as u64) < MOST);
        is_whole && stoker_text::json::resource_equivalent(&wanted, &live)
    }
}

/// Only the gateway's own changes to a file that is otherwise as it should be can be noise.
fn may_be_gateway_edit(file: &Candidate) -> bool {
    let is_same = |record: &FileRecord| record.blob == file.blob && record.placed == file.placed;
    *file.name == *RESOURCE_MANIFEST && file.record.as_ref().is_none_or(is_same)
}
