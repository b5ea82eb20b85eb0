//! The steps that apply a plan, in an order that is safe for a reader and safe to repeat.
//!
//! # Promises
//!
//! Steps come in groups, one per directory: a gateway that scans between two groups sees whole
//! resources. Within a group, payload is written before `resource.json`, and `resource.json` is
//! deleted before its payload (R26). Every step can be repeated: that is how a killed run is
//! finished.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use crate::halves::Halves;
use crate::manifest::codec::{Reader, Writer};
use crate::path::{self, RelPath};
use crate::plan::Work;
use crate::reserved::RESOURCE_MANIFEST;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// Rename the staged file to this path.
    Place { staged: u64, to: RelPath },
    /// Move the staged directory to this path.
    PlaceDir { staged: u64, to: RelPath },
    /// Delete this file, which is managed or foreign.
    Delete { path: RelPath, is_ours: bool },
    /// Remove this directory and the empty directories in it.
    Clear { path: RelPath },
    /// Make this file executable, or not.
    Mode { path: RelPath, is_executable: bool },
    /// Remove this directory if it is empty.
    RemoveDir { path: RelPath },
    /// Spell the name of what is here like this, on a volume that ignores case.
    RenameCase { path: RelPath },
}

pub(crate) type Group = Vec<Step>;

pub(crate) fn staged_file(number: u64) -> Vec<u8> {
    format!("f{number}").into_bytes()
}

pub(crate) fn staged_dir(number: u64) -> Vec<u8> {
    format!("d{number}").into_bytes()
}

/// Returns the position of the new directory that a path lies within.
pub(crate) fn new_dir_of(new_dirs: &[RelPath], path: &[u8]) -> Option<usize> {
    path::ancestors(path)
        .find_map(|above| new_dirs.binary_search_by(|new_dir| (**new_dir).cmp(above)).ok())
}

pub(crate) fn steps(work: &Work) -> Vec<Group> {
    let mut groups: BTreeMap<RelPath, Parts> = BTreeMap::new();
    let mut deletes: BTreeSet<RelPath> = work.deletes.clone();
    let delete = |path: &RelPath| {
        let is_ours = !work.orphans.contains(path);
        Step::Delete { path: path.clone(), is_ours }
    };
    for path in &work.clears {
        let (from, to) = (path.join(b""), [path, &b"0"[..]].concat());
        let below = (Bound::Excluded(&*from), Bound::Excluded(&*to));
        let inside: Vec<RelPath> = deletes.range::<[u8], _>(below).cloned().collect();
        let first = &mut groups.entry(path.parent()).or_default().first;
        for path in inside.into_iter().filter(|file| path::within(file, path)) {
            deletes.remove(&path);
            first.push(delete(&path));
        }
        first.push(Step::Clear { path: path.clone() });
    }
    for (staged, to) in (0..).zip(&work.new_dirs) {
        let parts = groups.entry(to.parent()).or_default();
        if deletes.remove(to) {
            parts.first.push(delete(to));
        }
        parts.payload.push(Step::PlaceDir { staged, to: to.clone() });
    }
    for (staged, put) in (0..).zip(&work.puts) {
        if new_dir_of(&work.new_dirs, &put.path).is_none() {
            let step = Step::Place { staged, to: put.path.clone() };
            groups.entry(put.path.parent()).or_default().add(&put.path, step);
        }
    }
    for (path, is_executable) in &work.chmods {
        let step = Step::Mode { path: path.clone(), is_executable: *is_executable };
        groups.entry(path.parent()).or_default().add(path, step);
    }
    for path in deletes {
        groups.entry(path.parent()).or_default().delete(delete(&path));
    }
    let mut ordered: Vec<Group> = groups.into_values().map(Parts::ordered).collect();
    ordered
        .extend(work.case_renames.iter().map(|path| vec![Step::RenameCase { path: path.clone() }]));
    ordered.extend(work.empties.iter().map(|path| vec![Step::RemoveDir { path: path.clone() }]));
    ordered
}

/// The steps of one directory, by when they are taken.
#[derive(Debug, Default)]
struct Parts {
    first: Vec<Step>,
    payload: Vec<Step>,
    manifest: Vec<Step>,
    last: Vec<Step>,
}

impl Parts {
    fn add(&mut self, path: &RelPath, step: Step) {
        let is_manifest = path::file_name(path) == RESOURCE_MANIFEST;
        if is_manifest { self.manifest.push(step) } else { self.payload.push(step) }
    }

    fn delete(&mut self, step: Step) {
        let is_manifest = path::file_name(step.path()) == RESOURCE_MANIFEST;
        if is_manifest { self.first.push(step) } else { self.last.push(step) }
    }

    fn ordered(self) -> Group {
        [self.first, self.payload, self.manifest, self.last].concat()
    }
}

impl Step {
    pub(crate) fn path(&self) -> &RelPath {
        match self {
            Self::Place { to, .. } | Self::PlaceDir { to, .. } => to,
            Self::Delete { path, .. }
            | Self::Clear { path }
            | Self::Mode { path, .. }
            | Self::RemoveDir { path }
            | Self::RenameCase { path } => path,
        }
    }

    fn pack(&self, writer: &mut Writer) {
        let (tag, number) = match self {
            Self::Place { staged, .. } => (0, *staged),
            Self::PlaceDir { staged, .. } => (1, *staged),
            Self::Delete { is_ours, .. } => (2, u64::from(!is_ours)),
            Self::Clear { .. } => (3, 0),
            Self::Mode { is_executable, .. } => (4, u64::from(*is_executable)),
            Self::RemoveDir { .. } => (5, 0),
            Self::RenameCase { .. } => (6, 0),
        };
        writer.byte(tag);
        writer.number(number);
        writer.bytes(self.path());
    }

    fn unpack(reader: &mut Reader<'_>) -> Option<Self> {
        let (tag, number) = (reader.byte()?, reader.number()?);
        let path = RelPath::parse(reader.bytes()?).ok()?;
        Some(match tag {
            0 => Self::Place { staged: number, to: path },
            1 => Self::PlaceDir { staged: number, to: path },
            2 => Self::Delete { path, is_ours: number == 0 },
            3 => Self::Clear { path },
            4 => Self::Mode { path, is_executable: number != 0 },
            5 => Self::RemoveDir { path },
            6 => Self::RenameCase { path },
            _ => return None,
        })
    }
}

pub(crate) fn halves(groups: &[Group]) -> Halves {
    Halves::of(groups.iter().flatten().map(Step::path))
}

pub(crate) fn pack(groups: &[Group]) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.list(groups, |writer, group| {
        writer.list(group, |writer, step| step.pack(writer));
    });
    writer.0
}

pub(crate) fn unpack(bytes: &[u8]) -> Option<Vec<Group>> {
    Reader(bytes).list(|reader| reader.list(Step::unpack))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Put;
    use crate::source::ObjectId;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    fn put(text: &str) -> Put {
        Put {
            path: path(text),
            blob: ObjectId([0; 20]),
            placed: ObjectId([0; 20]),
            is_executable: false,
            size: 0,
            transform: None,
            slot: (0, 0),
        }
    }

    fn flat(work: &Work) -> Vec<String> {
        let phrase = |step: &Step| {
            let name = format!("{step:?}");
            format!("{} {}", name.split(' ').next().unwrap(), step.path())
        };
        steps(work).iter().flatten().map(phrase).collect()
    }

    // R26
    #[test]
    fn payload_comes_before_its_manifest_and_goes_after_it() {
        let work = Work {
            puts: vec![put("p/v/resource.json"), put("p/v/view.json")],
            deletes: [path("p/old/resource.json"), path("p/old/data.bin"), path("p/v/gone.png")]
                .into(),
            empties: vec![path("p/old")],
            ..Work::default()
        };
        assert_eq!(
            flat(&work),
            [
                "Delete p/old/resource.json",
                "Delete p/old/data.bin",
                "Place p/v/view.json",
                "Place p/v/resource.json",
                "Delete p/v/gone.png",
                "RemoveDir p/old",
            ]
        );
    }

    #[test]
    fn what_is_in_the_way_goes_first() {
        let work = Work {
            puts: vec![put("p/was-dir"), put("p/was-file/x")],
            new_dirs: vec![path("p/was-file")],
            clears: vec![path("p/was-dir")],
            deletes: [path("p/was-dir/a/b"), path("p/was-dir-not"), path("p/was-file")].into(),
            ..Work::default()
        };
        assert_eq!(
            flat(&work),
            [
                "Delete p/was-dir/a/b",
                "Clear p/was-dir",
                "Delete p/was-file",
                "PlaceDir p/was-file",
                "Place p/was-dir",
                "Delete p/was-dir-not",
            ]
        );
    }

    #[test]
    fn steps_are_packed_and_unpacked() {
        let work = Work {
            puts: vec![put("a/b"), put("new/x")],
            new_dirs: vec![path("new")],
            clears: vec![path("c")],
            deletes: [path("d")].into(),
            chmods: vec![(path("e"), true), (path("f"), false)],
            empties: vec![path("g")],
            ..Work::default()
        };
        let steps = steps(&work);
        assert_eq!(unpack(&pack(&steps)), Some(steps));
    }
}
