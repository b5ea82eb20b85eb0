//! The manifest: every managed file, with its stat at the end of the last sync.
//!
//! A manifest is a complete base segment and a few later segments that patch it. Each is written
//! once and never changed. One changed file costs one small segment, not a rewrite; reading one
//! directory costs a page or two. `manifest/storage.rs` decides when segments are merged.
//!
//! Promise: a damaged manifest counts as absent. Then a run deletes only what is in managed
//! directories, and compares files by content. Pages are checked when they are read, so damage may
//! be found late: [`Manifest::is_damaged`] then says that no earlier result may be used.

pub(crate) mod codec;
pub(crate) mod header;
mod page;
pub(crate) mod record;
pub(crate) mod segment;
pub(crate) mod storage;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use header::Header;
use record::{DirChange, DirPatch, DirStamp, FileRecord, Key};
use segment::{Damaged, Segment};
pub(crate) use walk::PathRange;

use crate::halves::Halves;
use crate::path::RelPath;

/// The manifest, readable by directory.
#[derive(Debug)]
pub(crate) struct Manifest {
    /// Complete first, newest last.
    segments: Vec<Segment>,
    absent: Header,
    is_damaged: AtomicBool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct DirRecord {
    pub(crate) key: Key,
    pub(crate) stamp: Option<DirStamp>,
    /// Sorted by name.
    pub(crate) files: Vec<FileRecord>,
}

impl Manifest {
    fn of(segments: Vec<Segment>, absent: Header) -> Self {
        Self { segments, absent, is_damaged: AtomicBool::new(false) }
    }

    /// Returns the manifest before the first sync.
    pub(crate) fn absent() -> Self {
        Self::of(Vec::new(), Header::default())
    }

    /// Returns the manifest when there was one that can't be read: whatever it said about scans is
    /// lost, so that both are owed. What is written next must count more than `newest`.
    pub(crate) fn lost(newest: u64) -> Self {
        let owed = Halves { projects: true, config: true };
        Self::of(Vec::new(), Header { owed, generation: newest, ..Header::default() })
    }

    /// Puts segments together, oldest first; `None` if they are not one chain.
    pub(crate) fn chain(segments: Vec<Segment>) -> Option<Self> {
        let first = segments.first()?;
        let follows = |pair: &[Segment]| pair[1].header.previous == pair[0].header.generation;
        let is_chain = first.header.previous == 0 && segments.windows(2).all(follows);
        is_chain.then(|| Self::of(segments, Header::default()))
    }

    /// Returns whether no sync has left a readable record.
    pub(crate) fn is_absent(&self) -> bool {
        self.segments.is_empty()
    }

    /// Returns whether a part was asked for that can't be read. Answers given so far are worthless.
    pub(crate) fn is_damaged(&self) -> bool {
        self.is_damaged.load(Ordering::Relaxed)
    }

    /// Returns what was read; damage is noted, and nothing is returned in its place.
    fn sound<T: Default>(&self, read: Result<T, Damaged>) -> T {
        read.unwrap_or_else(|Damaged| {
            self.is_damaged.store(true, Ordering::Relaxed);
            T::default()
        })
    }

    pub(crate) fn header(&self) -> &Header {
        self.segments.last().map_or(&self.absent, |segment| &segment.header)
    }

    pub(crate) fn generations(&self) -> impl Iterator<Item = u64> {
        self.segments.iter().map(|segment| segment.header.generation)
    }

    /// Returns the sizes of the segments in bytes, oldest first.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = usize> {
        self.segments.iter().map(Segment::size)
    }

    /// Returns how many directories the last sync patched.
    pub(crate) fn newest_patches(&self) -> usize {
        match &self.segments[..] {
            [] | [_] => 0,
            [.., newest] => self.sound(newest.len()),
        }
    }

    pub(crate) fn append(&mut self, segment: Segment) {
        if segment.header.previous == 0 {
            self.segments.clear();
        }
        self.segments.push(segment);
    }

    pub(crate) fn key(&self, directory: &[u8]) -> Option<Key> {
        self.sound(key_in(&self.segments, directory))
    }

    pub(crate) fn dir(&self, directory: &[u8]) -> Option<DirRecord> {
        self.sound(dir_in(&self.segments, directory))
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
            self.sound(segment.for_each_child(directory, |name| {
                if !wanted.contains(name) && !names.contains(name) {
                    names.insert(name.into());
                }
            }));
        }
        let base = RelPath::from_clean(directory);
        names.retain(|name| !self.dirs_within(&base.join(name)).is_empty());
        names.into_iter().collect()
    }

    /// Returns every known directory that is `directory` or below it, sorted.
    pub(crate) fn dirs_within(&self, directory: &[u8]) -> Vec<&[u8]> {
        self.sound(self.paths_within(directory))
    }

    fn paths_within(&self, directory: &[u8]) -> Result<Vec<&[u8]>, Damaged> {
        let mut paths: Vec<&[u8]> = Vec::new();
        for segment in &self.segments {
            let own = segment.lower_bound(directory)?;
            if own < segment.len()? && segment.entry(own)?.0 == directory {
                paths.push(segment.entry(own)?.0);
            }
            for position in segment.below_range(directory)? {
                paths.push(segment.entry(position)?.0);
            }
        }
        paths.sort_unstable();
        paths.dedup();
        paths.retain(|path| self.key(path).is_some());
        Ok(paths)
    }

    /// Returns all of it as patches on the first `segments` of it, for a segment that replaces
    /// the others.
    pub(crate) fn patches_since(&self, segments: usize) -> Vec<DirPatch> {
        self.sound(self.differences(segments))
    }

    fn differences(&self, segments: usize) -> Result<Vec<DirPatch>, Damaged> {
        let (base, later) = self.segments.split_at(segments);
        let mut paths: BTreeSet<&[u8]> = BTreeSet::new();
        for segment in later {
            for position in 0..segment.len()? {
                paths.insert(segment.entry(position)?.0);
            }
        }
        let mut patches = Vec::with_capacity(paths.len());
        for path in paths {
            let change = difference(dir_in(base, path)?, dir_in(&self.segments, path)?);
            let path = RelPath::from_clean(path);
            patches.extend(change.map(|change| DirPatch { path, change }));
        }
        Ok(patches)
    }
}

fn key_in(segments: &[Segment], directory: &[u8]) -> Result<Option<Key>, Damaged> {
    for segment in segments.iter().rev() {
        if let Some(mut reader) = segment.find(directory)? {
            return DirPatch::unpack_key(&mut reader);
        }
    }
    Ok(None)
}

fn dir_in(segments: &[Segment], directory: &[u8]) -> Result<Option<DirRecord>, Damaged> {
    let mut folded = None;
    for segment in segments {
        if let Some(mut reader) = segment.find(directory)? {
            fold(&mut folded, DirPatch::unpack_change(&mut reader).ok_or(Damaged)?);
        }
    }
    Ok(folded)
}

impl DirRecord {
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
    Some(DirChange::Known { key: to.key, stamp: to.stamp, upserts, removals })
}

/// Adds a later change to the record of a directory.
fn fold(folded: &mut Option<DirRecord>, change: DirChange) {
    let DirChange::Known { key, stamp, upserts, removals } = change else {
        *folded = None;
        return;
    };
    let dir = folded.get_or_insert_default();
    dir.key = key;
    dir.stamp = stamp;
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
