//! The manifest on disk: segments in the state directory, each named by its generation.
//!
//! A segment is first `prepared`. It is renamed to `journal` before its steps run, and to its final
//! name when they are done. One file is both journal and record, and the second rename commits the
//! run.

use super::Manifest;
use super::header::Header;
use super::record::{DirChange, DirPatch};
use super::segment::{self, Segment};
use crate::dir_stamp;
use crate::disk::{Dir, DiskError};

/// A segment that is complete but does not count yet.
pub(crate) const PREPARED: &[u8] = b"prepared";
/// A segment whose steps are being taken.
pub(crate) const JOURNAL: &[u8] = b"journal";
const PREFIX: &[u8] = b"manifest-";
/// Written beside its final name, when segments are merged.
const MERGED: &[u8] = b"merged";

/// More segments than this are merged, the first apart.
const MOST_PATCHES: usize = 16;
/// Patches that are smaller than this, all together, leave the first segment alone.
const SMALL: usize = 256 * 1024;

#[derive(Debug)]
pub(crate) enum Loaded {
    /// There was no sync yet.
    Absent,
    /// The record of the last sync.
    Manifest(Manifest),
    /// There is a record, and it can't be read; the newest of its generations.
    Corrupt { newest: u64 },
}

impl Loaded {
    /// Returns the record of the last sync, if there is one that can be read.
    pub(crate) fn manifest(&self) -> Option<&Manifest> {
        match self {
            Self::Manifest(manifest) => Some(manifest),
            Self::Absent | Self::Corrupt { .. } => None,
        }
    }
}

pub(crate) fn segment_name(generation: u64) -> Vec<u8> {
    [PREFIX, format!("{generation:016x}").as_bytes()].concat()
}

/// Returns the generations that have a file, sorted.
fn generations(state: &Dir) -> Result<Vec<u64>, DiskError> {
    let generation = |name: &[u8]| {
        let digits = str::from_utf8(name.strip_prefix(PREFIX)?).ok()?;
        u64::from_str_radix(digits, 16).ok()
    };
    let mut found: Vec<u64> =
        state.list()?.iter().filter_map(|entry| generation(&entry.name)).collect();
    found.sort_unstable();
    Ok(found)
}

pub(crate) fn load(state: &Dir) -> Result<Loaded, DiskError> {
    let Some(newest) = generations(state)?.last().copied() else { return Ok(Loaded::Absent) };
    let mut segments = Vec::new();
    let mut generation = newest;
    while generation != 0 {
        let Some(segment) = open(state, generation)? else {
            return Ok(Loaded::Corrupt { newest });
        };
        generation = segment.header.previous;
        segments.push(segment);
    }
    segments.reverse();
    Ok(Manifest::chain(segments).map_or(Loaded::Corrupt { newest }, Loaded::Manifest))
}

/// Reads the manifest without the lock: a run may replace segments between two that are opened.
pub(crate) fn load_unlocked(state: &Dir) -> Result<Loaded, DiskError> {
    loop {
        let before = generations(state)?;
        let loaded = load(state)?;
        let is_torn = matches!(loaded, Loaded::Corrupt { .. }) && generations(state)? != before;
        if !is_torn {
            return Ok(loaded);
        }
    }
}

/// Opens the segment of a generation; `None` if it is not there or can't be read.
pub(crate) fn open(state: &Dir, generation: u64) -> Result<Option<Segment>, DiskError> {
    let file = match state.open_file(&segment_name(generation)) {
        Err(error) if error.is_absence() => return Ok(None),
        file => file?,
    };
    let fits = |header: &Header| header.generation == generation && header.previous < generation;
    Ok(Segment::open(file).filter(|segment| fits(&segment.header)))
}

/// Writes a file of the state directory and makes it durable, its name apart.
pub(crate) fn write(state: &Dir, name: &[u8], bytes: &[u8]) -> Result<(), DiskError> {
    state.remove_tree(name)?;
    let mut file = state.create(name, 0o600)?;
    state.write(name, &mut file, bytes)?;
    state.sync_file(name, &file)
}

/// Sorts what the lookups of a segment rely on.
pub(crate) fn normalize(patches: &mut [DirPatch]) {
    for patch in patches.iter_mut() {
        if let DirChange::Known { upserts, removals, .. } = &mut patch.change {
            upserts.sort_by(|one, other| one.name.cmp(&other.name));
            removals.sort();
        }
    }
    patches.sort_by(|one, other| one.path.cmp(&other.path));
}

/// Replaces the manifest, which is wrong, by one that can't be read: that
/// there was one must not be forgotten, or a scan that is owed would be.
pub(crate) fn forget(state: &Dir) -> Result<(), DiskError> {
    let old = generations(state)?;
    let newest = old.last().map_or(1, |newest| newest + 1);
    write(state, &segment_name(newest), b"")?;
    state.sync()?;
    for generation in old {
        state.unlink(&segment_name(generation))?;
    }
    state.sync()
}

/// Merges segments when they have become many or large, and removes those that do not count any
/// more.
///
/// Everything here may fail or be cut short without harm: the segments it replaces are removed
/// after the one that replaces them is durable.
pub(crate) fn tidy(
    root: &Dir,
    state: &Dir,
    manifest: &Manifest,
) -> Result<Option<Manifest>, DiskError> {
    let merged = merge(root, state, manifest)?;
    let kept: Vec<u64> = merged.as_ref().unwrap_or(manifest).generations().collect();
    for generation in generations(state)? {
        if !kept.contains(&generation) {
            state.unlink(&segment_name(generation))?;
        }
    }
    Ok(merged)
}

fn merge(root: &Dir, state: &Dir, manifest: &Manifest) -> Result<Option<Manifest>, DiskError> {
    let sizes: Vec<usize> = manifest.sizes().collect();
    let Some((first, patches)) = sizes.split_first() else { return Ok(None) };
    let bytes: usize = patches.iter().sum();
    let base = if bytes > SMALL.max(first / 2) {
        0
    } else if patches.len() > MOST_PATCHES || manifest.newest_patches() >= dir_stamp::worthwhile() {
        1
    } else {
        return Ok(None);
    };
    let mut header = manifest.header().clone();
    header.previous = manifest.generations().next().filter(|_| base > 0).unwrap_or_default();
    let mut patches = manifest.patches_since(base);
    dir_stamp::Renewal { root, state, manifest }.run(&mut patches);
    let packed = segment::pack(&header, &patches, &[]);
    if manifest.is_damaged() {
        return Ok(None);
    }
    write(state, MERGED, &packed)?;
    state.rename(MERGED, state, &segment_name(header.generation))?;
    state.sync()?;
    let Loaded::Manifest(merged) = load(state)? else { return Ok(None) };
    Ok(Some(merged))
}
