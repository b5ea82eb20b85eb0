//! Claims about the manifest.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::io::Write;

use proptest::prelude::*;

use super::header::Header;
use super::record::{DirChange, DirPatch, DirStamp, FileRecord, FileStamp, Inputs, Key};
use super::segment::{self, Damaged, Segment};
use super::{DirRecord, Manifest};
use crate::path::RelPath;
use crate::source::ObjectId;

fn record() -> impl Strategy<Value = FileRecord> {
    let name = prop::sample::select(vec!["a", "b", "c", "d"]);
    (name, any::<[u8; 20]>(), any::<(u16, u64, u64, u64, u64, bool, bool)>()).prop_map(
        |(name, id, (uses, fingerprint, size, modified, inode, is_executable, is_made))| {
            let inputs = if is_made {
                Inputs { uses, fingerprint: fingerprint.max(1) }
            } else {
                Inputs::default()
            };
            let placed = if is_made { ObjectId([9; 20]) } else { ObjectId(id) };
            let stamp = FileStamp { size, modified, inode };
            let name = name.as_bytes().into();
            FileRecord {
                name,
                blob: ObjectId(id),
                placed,
                inputs,
                is_executable,
                mapping: uses,
                stamp,
            }
        },
    )
}

fn stamp(noise: &[u8; 20]) -> DirStamp {
    let [modified, changed, inode] =
        [0, 6, 12].map(|at| u64::from(noise[at]) << (noise[at + 1] % 56));
    DirStamp { modified, changed, inode }
}

fn change() -> impl Strategy<Value = DirChange> {
    let removals = prop::sample::subsequence(vec!["a", "b", "c", "d"], 0..3);
    let known = (prop::collection::vec(record(), 0..4), removals, any::<[u8; 20]>()).prop_map(
        |(mut upserts, removals, tree)| {
            upserts.sort_by(|one, other| one.name.cmp(&other.name));
            upserts.dedup_by(|one, other| one.name == other.name);
            let removals = removals.into_iter().map(|name| name.as_bytes().into());
            let removals =
                removals.filter(|name| !upserts.iter().any(|file| file.name == *name)).collect();
            let stamp = (tree[0] > 99).then(|| stamp(&tree));
            DirChange::Known { key: Key(vec![(1, ObjectId(tree))]), stamp, upserts, removals }
        },
    );
    prop_oneof![3 => known, 1 => Just(DirChange::Forgotten)]
}

fn patches() -> impl Strategy<Value = Vec<DirPatch>> {
    let dirs = prop::sample::select(vec!["", "a", "a-b", "a/b", "a/b/c", "a0", "b/c", "b/c/d"]);
    prop::collection::btree_map(dirs, change(), 0..6).prop_map(|patches| {
        let patch = |(path, change): (&str, DirChange)| DirPatch {
            path: RelPath::parse(path).unwrap(),
            change,
        };
        patches.into_iter().map(patch).collect()
    })
}

fn open(bytes: &[u8]) -> Option<Segment> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    Segment::open(file)
}

fn chain(parts: &[Vec<DirPatch>]) -> Manifest {
    let segment = |(previous, patches): (u64, &Vec<DirPatch>)| {
        let header = Header { generation: previous + 1, previous, ..Header::default() };
        open(&segment::pack(&header, patches, b"steps")).unwrap()
    };
    Manifest::chain((0..).zip(parts).map(segment).collect()).unwrap()
}

/// Folds patches the slow way.
fn expected(parts: &[Vec<DirPatch>]) -> std::collections::BTreeMap<Vec<u8>, DirRecord> {
    let mut dirs = std::collections::BTreeMap::new();
    for patch in parts.iter().flatten() {
        match &patch.change {
            DirChange::Forgotten => {
                dirs.remove(patch.path.as_bytes());
            }
            DirChange::Known { key, stamp, upserts, removals } => {
                let dir: &mut DirRecord = dirs.entry(patch.path.to_vec()).or_default();
                dir.key = key.clone();
                dir.stamp = *stamp;
                dir.files.retain(|file| {
                    !removals.contains(&file.name)
                        && !upserts.iter().any(|new| new.name == file.name)
                });
                dir.files.extend(upserts.iter().cloned());
                dir.files.sort_by(|one, other| one.name.cmp(&other.name));
            }
        }
    }
    dirs
}

proptest! {
    #[test]
    fn segments_patch_each_other(parts in prop::collection::vec(patches(), 1..5)) {
        let manifest = chain(&parts);
        let expected = expected(&parts);
        let paths = manifest.dirs_within(b"");
        prop_assert_eq!(&paths, &expected.keys().map(Vec::as_slice).collect::<Vec<_>>());
        for (path, dir) in &expected {
            prop_assert_eq!(manifest.dir(path), Some(dir.clone()));
            prop_assert_eq!(manifest.key(path), Some(dir.key.clone()));
        }
        for parent in [&b""[..], b"a", b"a/b", b"b", b"b/c"] {
            let mut children: Vec<Box<[u8]>> = expected
                .keys()
                .filter_map(|path| crate::path::below(path, parent))
                .map(|below| below.split(|byte| *byte == b'/').next().unwrap().into())
                .collect();
            children.dedup();
            children.sort();
            children.dedup();
            let none = BTreeSet::new();
            prop_assert_eq!(manifest.children_beside(parent, &none), children.clone());
            let all = children.into_iter().collect();
            prop_assert!(manifest.children_beside(parent, &all).is_empty());
        }
    }

    #[test]
    fn merged_segments_say_the_same(parts in prop::collection::vec(patches(), 2..5), keep in 0..2usize) {
        let manifest = chain(&parts);
        let mut merged = parts[..keep].to_vec();
        merged.push(manifest.patches_since(keep));
        let merged = chain(&merged);
        let all = |manifest: &Manifest| -> Vec<(Vec<u8>, Option<DirRecord>)> {
            let paths = manifest.dirs_within(b"").into_iter();
            paths.map(|path| (path.to_vec(), manifest.dir(path))).collect()
        };
        prop_assert_eq!(all(&merged), all(&manifest));
    }

    #[test]
    fn damage_is_noticed(patches in patches(), position: prop::sample::Index, bit in 0..8u8) {
        let header = Header { generation: 1, ..Header::default() };
        let mut bytes = segment::pack(&header, &patches, &[]);
        let position = position.index(bytes.len());
        bytes[position] ^= 1 << bit;
        let segment = open(&bytes);
        let steps = segment.as_ref().and_then(Segment::steps);
        let read = segment.map(|segment| segment.patches());
        prop_assert!(steps.is_none() || read == Some(Err(Damaged)));
    }

    #[test]
    fn a_part_that_is_missing_is_noticed(patches in patches(), cut: prop::sample::Index) {
        let header = Header { generation: 1, ..Header::default() };
        let bytes = segment::pack(&header, &patches, b"");
        let segment = open(&bytes[..cut.index(bytes.len())]);
        prop_assert!(segment.is_none_or(|segment| segment.steps().is_none()));
    }

    #[test]
    fn a_walk_meets_every_directory_once(
        parts in prop::collection::vec(patches(), 1..5),
        count in 1..4usize,
    ) {
        let manifest = chain(&parts);
        let mut seen = Vec::new();
        for range in manifest.split(count) {
            let Ok(()) = manifest.walk(range, |path, record| {
                seen.push((path.to_vec(), record));
                Ok::<(), Infallible>(())
            });
        }
        prop_assert_eq!(seen, expected(&parts).into_iter().collect::<Vec<_>>());
        prop_assert!(!manifest.is_damaged());
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
        prop_assert!(open(&bytes).is_none());
    }
}

/// Enough directories for many pages.
fn many() -> Vec<DirPatch> {
    let patch = |number: u32| {
        let name = format!("file-of-{number}").into_bytes().into();
        let record = FileRecord { inputs: Inputs::default(), ..FileRecord::unknown(b"", 0) };
        let upserts = vec![FileRecord { name, ..record }];
        let key = Key(vec![(0, ObjectId([7; 20]))]);
        let path = RelPath::parse(format!("projects/{:03}/{number:05}", number / 100)).unwrap();
        DirPatch { path, change: DirChange::Known { key, stamp: None, upserts, removals: vec![] } }
    };
    (0..5_000).map(patch).collect()
}

#[test]
fn a_directory_is_found_among_many_pages() {
    let patches = many();
    let manifest = chain(std::slice::from_ref(&patches));
    for patch in &patches {
        assert!(manifest.dir(&patch.path).is_some(), "{:?}", patch.path);
        assert_eq!(manifest.dir(&patch.path.join(b"none")), None);
    }
    assert_eq!(manifest.dir(b"a"), None);
    assert_eq!(manifest.dir(b"zzz"), None);
    assert_eq!(manifest.dirs_within(b"projects/007").len(), 100);
    assert!(manifest.split(2).len() == 2 && !manifest.is_damaged());
}

#[test]
fn damage_far_away_does_not_matter_until_it_is_read() {
    let patches = many();
    let header = Header { generation: 1, ..Header::default() };
    let mut bytes = segment::pack(&header, &patches, b"steps");
    let last_page = bytes.len() - 200;
    bytes[last_page] ^= 1;
    let manifest = Manifest::chain(vec![open(&bytes).unwrap()]).unwrap();
    assert!(manifest.dir(&patches[0].path).is_some());
    assert!(!manifest.is_damaged());
    assert_eq!(manifest.dir(&patches[4_999].path), None);
    assert!(manifest.is_damaged());
}
