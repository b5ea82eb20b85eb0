//! Resolves the source of each mapping in the commit, and ties it to its destination.

use std::collections::{BTreeMap, BTreeSet};

use super::{Error, Refused};
use crate::manifest::header::{MappingRecord, Shape};
use crate::path::{self, RelPath};
use crate::request::{Mapping, MappingKind, Presence};
use crate::reserved::NameFault;
use crate::source::{Entry, Kind, ObjectId, Source};

/// How many letters a name may differ by and still be suggested.
const FARTHEST: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    Dir(ObjectId),
    File {
        blob: ObjectId,
        is_executable: bool,
    },
    /// Nothing: the source of an optional mapping is not in the commit.
    Absent,
}

/// A mapping whose source was resolved in the commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    /// The position of the mapping in the request.
    pub(crate) mapping: u16,
    /// Where it goes; for a file, the file itself.
    pub(crate) destination: RelPath,
    pub(crate) content: Content,
}

#[derive(Debug, Default)]
pub(super) struct MountTree {
    pub(super) children: BTreeMap<Box<[u8]>, MountTree>,
    pub(super) here: Vec<(u16, Content)>,
    /// The mappings that are mounted strictly below.
    pub(super) below: BTreeSet<u16>,
}

/// Looks up the source of every mapping, all of them one level at a time.
pub(crate) fn resolve(mappings: &[Mapping], source: &mut dyn Source) -> Result<Vec<Mount>, Error> {
    let root = source.root().map_err(Error::reading)?;
    let mut contents = vec![Some(Content::Dir(root)); mappings.len()];
    let deepest = mappings.iter().map(|mapping| mapping.source.components().count()).max();
    for depth in 0..deepest.unwrap_or_default() {
        descend(mappings, source, depth, &mut contents)?;
    }
    let mut mounts = Vec::with_capacity(mappings.len());
    for (index, (mapping, content)) in mappings.iter().zip(contents).enumerate() {
        mounts.push(match mount(index, mapping, content) {
            Err(Error::SourceMissing { path, .. }) => {
                let nearest = nearest(&path, root, source)?;
                return Err(Error::SourceMissing { path, nearest });
            }
            mounted => mounted?,
        });
    }
    Ok(mounts)
}

/// Returns the path of the commit that is spelled most like a path that is not in it.
fn nearest(
    path: &RelPath,
    root: ObjectId,
    source: &mut dyn Source,
) -> Result<Option<RelPath>, Error> {
    let (mut found, mut tree) = (RelPath::root(), Some(root));
    for name in path.components() {
        let Some(id) = tree else { break };
        let listing = source.list(&[id]).map_err(Error::reading)?.pop().unwrap_or_default();
        let wanted = String::from_utf8_lossy(name).to_lowercase();
        let distance = |entry: &Entry| {
            let there = String::from_utf8_lossy(&entry.name).to_lowercase();
            strsim::damerau_levenshtein(&wanted, &there)
        };
        let exact = listing.iter().find(|entry| *entry.name == *name);
        let alike = || {
            let near = listing.iter().map(|entry| (distance(entry), entry));
            near.min_by_key(|(far, _)| *far)
                .filter(|(far, _)| *far <= FARTHEST.min(wanted.len() / 2))
        };
        let Some(entry) = exact.or_else(|| alike().map(|(_, entry)| entry)) else { break };
        found.push(&entry.name);
        tree = (entry.kind == Kind::Dir).then_some(entry.id);
    }
    // A name that is already complete is not a suggestion.
    Ok(Some(found).filter(|found| !path::within(path, found)))
}

/// Goes one component deeper in every source that is that deep.
fn descend(
    mappings: &[Mapping],
    source: &mut dyn Source,
    depth: usize,
    contents: &mut [Option<Content>],
) -> Result<(), Error> {
    let mut steps = Vec::new();
    for (index, mapping) in mappings.iter().enumerate() {
        if let (Some(name), Some(content)) =
            (mapping.source.components().nth(depth), contents[index])
        {
            match content {
                Content::Dir(tree) => steps.push((index, name, tree)),
                Content::File { .. } | Content::Absent => contents[index] = None,
            }
        }
    }
    let trees: Vec<_> = steps.iter().map(|(_, _, tree)| *tree).collect();
    let listings = source.list(&trees).map_err(Error::reading)?;
    for ((index, name, _), listing) in steps.into_iter().zip(listings) {
        let mut named = listing.into_iter().filter(|entry| *entry.name == *name);
        let entry = named.next();
        if named.next().is_some() {
            let source = &mappings[index].source;
            let (directory, name) = (source.parent(), path::file_name(source).into());
            let refused = Refused { directory, name, fault: NameFault::Twice };
            return Err(Error::Names { refused: vec![refused] });
        }
        contents[index] = entry.map(|entry| enter(&mappings[index], &entry)).transpose()?;
    }
    Ok(())
}

fn enter(mapping: &Mapping, entry: &Entry) -> Result<Content, Error> {
    match entry.kind {
        Kind::Dir => Ok(Content::Dir(entry.id)),
        Kind::File => Ok(Content::File { blob: entry.id, is_executable: false }),
        Kind::Executable => Ok(Content::File { blob: entry.id, is_executable: true }),
        // Followed, a link could make any directory of this machine a source (R18, R19).
        Kind::Symlink => Err(Error::SourceIsLink { path: mapping.source.clone() }),
        Kind::Submodule => Err(Error::SourceIsSubmodule { path: mapping.source.clone() }),
        Kind::Special => Err(Error::SourceIsSpecial { path: mapping.source.clone() }),
    }
}

fn mount(index: usize, mapping: &Mapping, content: Option<Content>) -> Result<Mount, Error> {
    let path = || mapping.source.clone();
    let content = match (content, mapping.kind) {
        (None, _) if mapping.presence == Presence::Required => {
            return Err(Error::SourceMissing { path: path(), nearest: None });
        }
        (None, _) => Content::Absent,
        (Some(Content::Dir(_)), MappingKind::File) => {
            return Err(Error::WrongKind { path: path(), wanted: "file", found: "directory" });
        }
        (Some(Content::File { .. }), MappingKind::Dir) => {
            return Err(Error::WrongKind { path: path(), wanted: "directory", found: "file" });
        }
        (Some(content), _) => content,
    };
    let destination = destination(mapping, content);
    if crate::reserved::is_reserved(&destination) {
        return Err(Error::ReservedDestination { path: destination });
    }
    let mapping = u16::try_from(index).map_err(|_| Error::TooManyMappings)?;
    Ok(Mount { mapping, destination, content })
}

/// A file goes into a directory where the mapping says so, and where the destination is the root.
fn destination(mapping: &Mapping, content: Content) -> RelPath {
    let is_file = matches!(content, Content::File { .. });
    if is_file && (mapping.kind == MappingKind::IntoDir || mapping.destination.is_root()) {
        return mapping.destination.join(path::file_name(&mapping.source));
    }
    mapping.destination.clone()
}

/// Returns the mounts of the last sync, for a request with the same mappings: enough to know which mapping
/// owns what, without asking the source. The trees are not known.
pub(crate) fn remembered(mappings: &[Mapping], records: &[MappingRecord]) -> Vec<Mount> {
    let nothing = ObjectId([0; 20]);
    let mount = |(mapping, (wanted, record)): (u16, (&Mapping, &MappingRecord))| {
        let content = match record.shape {
            Shape::Absent => Content::Absent,
            Shape::Dir => Content::Dir(nothing),
            Shape::File => Content::File { blob: nothing, is_executable: false },
        };
        Mount { mapping, destination: destination(wanted, content), content }
    };
    (0..).zip(mappings.iter().zip(records)).map(mount).collect()
}

impl Content {
    /// Returns what the manifest remembers of it.
    pub(crate) fn shape(self) -> Shape {
        match self {
            Self::Absent => Shape::Absent,
            Self::Dir(_) => Shape::Dir,
            Self::File { .. } => Shape::File,
        }
    }
}

impl MountTree {
    /// Builds the tree of all mounts that bring something.
    pub(super) fn build(mounts: &[Mount]) -> Self {
        let mut tree = Self::default();
        for mount in mounts.iter().filter(|mount| mount.content != Content::Absent) {
            let mut node = &mut tree;
            for component in mount.destination.components() {
                node.below.insert(mount.mapping);
                node = node.children.entry(component.into()).or_default();
            }
            node.here.push((mount.mapping, mount.content));
        }
        tree
    }
}
