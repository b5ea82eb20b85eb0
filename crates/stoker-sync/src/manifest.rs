//! What the last sync left behind: every file that is ours, and how it looked.
//!
//! A manifest is a complete base segment and a few later ones that patch it, each written once and
//! never changed. One changed file costs one small segment, not a rewrite; a look at one directory
//! unpacks one directory. The disk side (`store.rs`) decides when segments are merged.
//!
//! Promise: a manifest that was damaged is noticed by its checks and counts as absent. Then nothing
//! is deleted but what a managed directory holds, and files are compared by content.

pub(crate) mod codec;
pub(crate) mod header;
pub(crate) mod record;
pub(crate) mod segment;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use header::Header;
use record::{DirChange, DirPatch, FileRecord, Key};
use segment::Segment;

use crate::path::{self, RelPath};
use crate::report::Halves;

/// The manifest, readable by directory.
#[derive(Debug, Clone)]
pub(crate) struct Manifest {
    /// Complete first, newest last.
    segments: Vec<Segment>,
    absent: Header,
}

/// A directory of the manifest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct DirRecord {
    pub(crate) key: Key,
    /// Sorted by name.
    pub(crate) files: Vec<FileRecord>,
}

impl Manifest {
    /// Returns the manifest before the first sync.
    pub(crate) fn absent() -> Self {
        Self { segments: Vec::new(), absent: Header::absent() }
    }

    /// Returns the manifest when there was one that can't be read: whatever it said about scans is
    /// lost, so that both are owed.
    pub(crate) fn lost() -> Self {
        let owed = Halves { projects: true, config: true };
        Self { segments: Vec::new(), absent: Header { owed, ..Header::absent() } }
    }

    /// Puts segments together, oldest first; `None` if they are not one chain.
    pub(crate) fn chain(segments: Vec<Segment>) -> Option<Self> {
        let first = segments.first()?;
        let follows = |pair: &[Segment]| pair[1].header.previous == pair[0].header.generation;
        let is_chain = first.header.previous == 0 && segments.windows(2).all(follows);
        is_chain.then(|| Self { segments, absent: Header::absent() })
    }

    /// Returns whether no sync has left a readable record.
    pub(crate) fn is_absent(&self) -> bool {
        self.segments.is_empty()
    }

    /// Returns the header of the last sync.
    pub(crate) fn header(&self) -> &Header {
        self.segments.last().map_or(&self.absent, |segment| &segment.header)
    }

    /// Returns the segments with their sizes in bytes, oldest first.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = usize> {
        self.segments.iter().map(Segment::size)
    }

    /// Returns the generation of the first segment; 0 without one.
    pub(crate) fn first_generation(&self) -> u64 {
        self.segments.first().map_or(0, |segment| segment.header.generation)
    }

    /// Appends a segment that patches the last one.
    pub(crate) fn append(&mut self, segment: Segment) {
        if segment.header.previous == 0 {
            self.segments.clear();
        }
        self.segments.push(segment);
    }

    /// Returns what the directory was composed from.
    pub(crate) fn key(&self, directory: &[u8]) -> Option<Key> {
        let mut reader = self.segments.iter().rev().find_map(|segment| segment.find(directory))?;
        DirPatch::unpack_key(&mut reader)
    }

    /// Returns the files of one directory.
    pub(crate) fn dir(&self, directory: &[u8]) -> Option<DirRecord> {
        let mut folded = None;
        for segment in &self.segments {
            let change =
                segment.find(directory).and_then(|mut reader| DirPatch::unpack_change(&mut reader));
            if let Some(change) = change {
                fold(&mut folded, change);
            }
        }
        folded
    }

    /// Returns the names of the known directories directly below this one, sorted, those that are
    /// still wanted apart.
    pub(crate) fn children_beside(
        &self,
        directory: &[u8],
        wanted: &BTreeSet<Box<[u8]>>,
    ) -> Vec<Box<[u8]>> {
        let mut names: BTreeSet<Box<[u8]>> = BTreeSet::new();
        for segment in &self.segments {
            for_each_child(segment, directory, |name| {
                if !wanted.contains(name) && !names.contains(name) {
                    names.insert(name.into());
                }
            });
        }
        let base = RelPath::from_clean(directory);
        names.retain(|name| self.any_within(&base.join(name)));
        names.into_iter().collect()
    }

    /// Returns whether the directory, or one below it, is known and not forgotten.
    fn any_within(&self, directory: &[u8]) -> bool {
        self.key(directory).is_some() || self.dirs_within(directory).next().is_some()
    }

    /// Returns every known directory that is `directory` or below it, sorted.
    pub(crate) fn dirs_within<'a>(
        &'a self,
        directory: &[u8],
    ) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut paths: Vec<&[u8]> = Vec::new();
        for segment in &self.segments {
            let own = segment.lower_bound(directory);
            if own < segment.len() && segment.path(own) == directory {
                paths.push(segment.path(own));
            }
            let below = below_range(segment, directory);
            paths.extend(below.map(|position| segment.path(position)));
        }
        paths.sort_unstable();
        paths.dedup();
        paths.into_iter().filter(|path| self.key(path).is_some())
    }

    /// Returns all of it as patches on the first `segments` of it, for a segment that replaces
    /// the others.
    pub(crate) fn patches_since(&self, segments: usize) -> Vec<DirPatch> {
        let base = Self { segments: self.segments[..segments].to_vec(), absent: Header::absent() };
        let later = self.segments[segments..].iter();
        let paths: BTreeSet<&[u8]> =
            later.flat_map(|segment| (0..segment.len()).map(|at| segment.path(at))).collect();
        let patch = |path: &[u8]| {
            let change = difference(base.dir(path), self.dir(path))?;
            Some(DirPatch { path: RelPath::from_clean(path), change })
        };
        paths.into_iter().filter_map(patch).collect()
    }
}

impl DirRecord {
    /// Finds a file by name.
    pub(crate) fn file(&self, name: &[u8]) -> Option<&FileRecord> {
        let found = self.files.binary_search_by(|file| file.name.as_ref().cmp(name)).ok()?;
        self.files.get(found)
    }
}

/// Returns the change that leads from one record of a directory to another.
fn difference(from: Option<DirRecord>, to: Option<DirRecord>) -> Option<DirChange> {
    let Some(to) = to else { return from.map(|_| DirChange::Forgotten) };
    let from = from.unwrap_or_default();
    let removals = from.files.iter().filter(|file| to.file(&file.name).is_none());
    let removals = removals.map(|file| file.name.clone()).collect();
    let mut upserts = to.files;
    upserts.retain(|file| from.file(&file.name) != Some(file));
    Some(DirChange::Known { key: to.key, upserts, removals })
}

fn fold(folded: &mut Option<DirRecord>, change: DirChange) {
    let DirChange::Known { key, upserts, removals } = change else {
        *folded = None;
        return;
    };
    let dir = folded.get_or_insert_default();
    dir.key = key;
    if dir.files.is_empty() {
        dir.files = upserts;
        return;
    }
    dir.files.retain(|file| removals.binary_search(&file.name).is_err());
    dir.files.extend(upserts);
    // The sort is stable, so of two records of one file the newer comes second.
    dir.files.sort_by(|one, other| one.name.cmp(&other.name));
    dir.files.dedup_by(|newer, older| {
        let is_same = newer.name == older.name;
        if is_same {
            std::mem::swap(newer, older);
        }
        is_same
    });
}

/// Returns the positions of the directories strictly below this one.
fn below_range(segment: &Segment, directory: &[u8]) -> std::ops::Range<usize> {
    if directory.is_empty() {
        let start = usize::from(segment.len() > 0 && segment.path(0).is_empty());
        return start..segment.len();
    }
    let bound = |after: u8| segment.lower_bound(&[directory, &[after]].concat());
    // '0' is the byte after '/': the paths between the two are exactly those below.
    bound(b'/')..bound(b'0')
}

fn for_each_child(segment: &Segment, directory: &[u8], mut visit: impl FnMut(&[u8])) {
    let mut range = below_range(segment, directory);
    while !range.is_empty() {
        let found = segment.path(range.start);
        let below = path::below(found, directory).unwrap_or_default();
        let name = below.split(|byte| *byte == b'/').next().unwrap_or_default();
        visit(name);
        // A sibling such as "a-b" sorts between "a" and "a/x", so only what is below is jumped over.
        range.start = if name.len() == below.len() {
            range.start + 1
        } else {
            let end = found.len() - below.len() + name.len();
            segment.lower_bound(&[&found[..end], b"0"].concat())
        };
    }
}
