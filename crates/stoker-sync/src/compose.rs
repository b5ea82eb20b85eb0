//! Composes what the data directory should hold: all mappings merged, later over earlier.
//!
//! The destination tree is walked level by level from the top, with one request to the source per
//! level. Each directory has layers: the trees that mappings contribute to it. If the layers are
//! those of the last sync, everything below is unchanged and is not read. This module says what
//! should be there; `plan.rs` decides what to do about it.

mod error;
mod expansion_limit;
mod merge;
pub(crate) mod mount;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap, HashSet};

pub use error::{Error, Refused};
use expansion_limit::ExpansionLimit;
use merge::{Merge, Merged};
use mount::{Content, Mount, MountTree};

use crate::cancel::Cancel;
use crate::manifest::Manifest;
use crate::manifest::record::Key;
use crate::path::{self, RelPath};
use crate::request::Request;
use crate::reserved::{self, NameFault};
use crate::source::{Entry, ObjectId, Source};
use crate::warning::Warning;

/// A tree may name the same subtree many times over; no honest one has so many entries.
pub(crate) const MOST_ENTRIES: usize = 1_000_000;
/// No honest directory lies so deep; a path of Linux has room for some 2,000 names of one letter.
const MOST_LEVELS: usize = 512;
/// How many refused names an error lists.
const MOST_REFUSED: usize = 20;

/// What one directory should hold, without what is below its subdirectories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Composed {
    pub(crate) path: RelPath,
    pub(crate) key: Key,
    /// Sorted by name.
    pub(crate) files: Vec<Wanted>,
    pub(crate) children: BTreeSet<Box<[u8]>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) name: Box<[u8]>,
    pub(crate) blob: ObjectId,
    pub(crate) is_executable: bool,
    pub(crate) mapping: u16,
}

#[derive(Debug, Default)]
pub(crate) struct Composition {
    /// The directories that may differ from the last sync, sorted by path.
    pub(crate) dirs: Vec<Composed>,
    pub(crate) warnings: Vec<Warning>,
    refused: Vec<Refused>,
    /// The destination of a file mapping that is a directory of another mapping, and that mapping.
    clash: Option<(RelPath, u16)>,
    entries: usize,
}

pub(crate) struct Task<'a> {
    pub(crate) request: &'a Request,
    pub(crate) mounts: &'a [Mount],
    pub(crate) manifest: &'a Manifest,
    /// Whether equal layers mean equal content: the profile is that of the last sync.
    pub(crate) trust: Trust,
    /// Directories to visit in any case, with all those above them.
    pub(crate) visit: &'a HashSet<RelPath>,
    pub(crate) volume: Volume,
    pub(crate) most_entries: usize,
    pub(crate) cancel: &'a Cancel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Volume {
    /// The longest path, below the data root.
    pub(crate) longest_path: usize,
    pub(crate) case: Case,
}

/// Whether names that differ in case only are two names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    /// They are.
    Matters,
    /// They are one.
    Ignored,
}

/// Whether directories of the last sync may be taken as they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Where the layers are equal.
    EqualLayers,
    /// Nowhere.
    Nothing,
}

/// A directory on the way down.
struct Node<'m> {
    path: RelPath,
    layers: Vec<(u16, ObjectId)>,
    mounts: Option<&'m MountTree>,
    /// Mappings before this one were covered by a file further up.
    floor: u16,
}

/// Composes the destination tree, as far as it may differ from the last sync.
pub(crate) fn compose(task: &Task<'_>, source: &mut dyn Source) -> Result<Composition, Error> {
    let tree = MountTree::build(task.mounts);
    let mut composition = Composition::default();
    let mut level = vec![Node::root(&tree)];
    let mut limit = ExpansionLimit::default();
    for depth in 0.. {
        let Some(first) = level.first() else { break };
        task.cancel.check().map_err(Error::Cancelled)?;
        if depth > MOST_LEVELS {
            let path = path::ancestors(&first.path).nth(3).map(RelPath::from_clean);
            return Err(Error::TooDeep { path: path.unwrap_or_default(), most: MOST_LEVELS });
        }
        let listings = list(&level, source)?;
        limit.check(task, &level, &listings, composition.entries, source)?;
        let mut next = Vec::new();
        for node in level {
            next.extend(composition.visit(task, node, &listings)?);
        }
        level = next;
    }
    if !composition.refused.is_empty() {
        return Err(Error::Names { refused: composition.refused });
    }
    if let Some((path, mapping)) = composition.clash {
        let file = task.request.mappings[usize::from(mapping)].source.clone();
        return Err(Error::FileOverDirectory { path, file });
    }
    composition.dirs.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(composition)
}

/// Lists every tree of a level in one round trip; a tree that is there twice is asked for once.
fn list(
    level: &[Node<'_>],
    source: &mut dyn Source,
) -> Result<HashMap<ObjectId, Vec<Entry>>, Error> {
    let mut trees: Vec<_> =
        level.iter().flat_map(|node| node.layers.iter().map(|(_, tree)| *tree)).collect();
    trees.sort_unstable();
    trees.dedup();
    let listings = source.list(&trees).map_err(Error::reading)?;
    Ok(trees.into_iter().zip(listings).collect())
}

impl<'m> Node<'m> {
    fn root(tree: &'m MountTree) -> Self {
        let layer = |(mapping, content): &(u16, Content)| match content {
            Content::Dir(id) => Some((*mapping, *id)),
            Content::File { .. } | Content::Absent => None,
        };
        let layers = tree.here.iter().filter_map(layer).collect();
        Self { path: RelPath::root(), layers, mounts: Some(tree), floor: 0 }
    }

    fn has_mounts_below(&self) -> bool {
        self.mounts.is_some_and(|mounts| mounts.below.range(self.floor..).next().is_some())
    }
}

impl Composition {
    fn visit<'m>(
        &mut self,
        task: &Task<'_>,
        node: Node<'m>,
        listings: &HashMap<ObjectId, Vec<Entry>>,
    ) -> Result<Vec<Node<'m>>, Error> {
        let merged = Merge::new(task, &node).run(listings, self);
        if task.volume.case == Case::Ignored {
            check_twins(&node.path, &merged)?;
        }
        let children = merged.dirs.iter().map(|(name, _)| name.clone()).collect();
        self.entries += merged.files.len() + merged.dirs.len();
        if self.entries > task.most_entries {
            return Err(Error::TooManyEntries { most: task.most_entries });
        }
        let below = merged.dirs.into_iter().map(|(_, child)| child);
        let next = below.filter(|child| !is_settled(task, child)).collect();
        let key = Key(node.layers);
        self.dirs.push(Composed { path: node.path, key, files: merged.files, children });
        Ok(next)
    }

    fn refuse(&mut self, directory: &RelPath, name: &[u8], fault: NameFault) {
        if self.refused.len() < MOST_REFUSED {
            self.refused.push(Refused { directory: directory.clone(), name: name.into(), fault });
        }
    }
}

/// Refuses names that would fall together on a volume that ignores case.
fn check_twins(dir: &RelPath, merged: &Merged<'_>) -> Result<(), Error> {
    let files = merged.files.iter().map(|file| &file.name);
    let dirs = merged.dirs.iter().map(|(name, _)| name);
    let mut seen: HashMap<String, &[u8]> = HashMap::new();
    for name in files.chain(dirs) {
        if let Some(twin) = seen.insert(reserved::fold(name), name) {
            return Err(Error::CaseTwins { path: dir.join(name), twin: dir.join(twin) });
        }
    }
    Ok(())
}

/// Returns whether the directory and all below it are as the last sync left them.
fn is_settled(task: &Task<'_>, node: &Node<'_>) -> bool {
    task.trust == Trust::EqualLayers
        && !node.has_mounts_below()
        && !task.visit.contains(&node.path)
        && task.manifest.key(&node.path).is_some_and(|key| key.0 == node.layers)
}

/// Returns the path of a destination below its mapping: what excludes and patches also match.
pub(crate) fn below_mapping<'a>(mount: &Mount, path: &'a [u8]) -> &'a [u8] {
    match mount.content {
        Content::File { .. } => path::file_name(path),
        Content::Dir(_) | Content::Absent => {
            path::below(path, &mount.destination).unwrap_or_default()
        }
    }
}
