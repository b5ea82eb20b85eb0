//! Merges the layers of one directory, in the order of the mappings.

use std::collections::HashMap;

use super::mount::{Content, MountTree};
use super::{Composition, Node, Task, Wanted, below_mapping};
use crate::path::{self, RelPath};
use crate::reserved::{self, NameFault, Reserved};
use crate::source::{Entry, Kind, ObjectId};
use crate::warning::{Warning, WarningCode};

/// What one mapping wants to have at one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    /// A directory with this tree.
    Dir(ObjectId),
    /// A directory on the way to a mount further below.
    Parent,
    /// A file.
    File { blob: ObjectId, is_executable: bool },
}

/// What one mapping wants to have at one name of this directory.
#[derive(Debug)]
struct Named {
    name: Box<[u8]>,
    mapping: u16,
    item: Item,
    origin: ItemOrigin,
}

/// Why a mapping has something at a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ItemOrigin {
    /// Its directory in the commit holds it.
    Tree,
    /// It is the destination of the mapping, or on the way there.
    Destination,
}

pub(super) struct Merge<'t, 'n, 'm> {
    task: &'t Task<'t>,
    node: &'n Node<'m>,
    items: Vec<Named>,
}

pub(super) struct Merged<'m> {
    pub(super) files: Vec<Wanted>,
    pub(super) dirs: Vec<(Box<[u8]>, Node<'m>)>,
}

impl<'t, 'n, 'm> Merge<'t, 'n, 'm> {
    pub(super) fn new(task: &'t Task<'t>, node: &'n Node<'m>) -> Self {
        Self { task, node, items: Vec::new() }
    }

    /// Merges the listings of the node's layers and the mounts directly below it.
    pub(super) fn run(
        mut self,
        listings: &HashMap<ObjectId, Vec<Entry>>,
        out: &mut Composition,
    ) -> Merged<'m> {
        for (mapping, tree) in &self.node.layers {
            for entry in listings.get(tree).into_iter().flatten() {
                self.add_entry(*mapping, entry, out);
            }
        }
        if let Some(mounts) = self.node.mounts {
            self.add_mounts(mounts, out);
        }
        self.lay(out)
    }

    fn add_entry(&mut self, mapping: u16, entry: &Entry, out: &mut Composition) {
        let item = match entry.kind {
            Kind::Dir => Item::Dir(entry.id),
            Kind::File => Item::File { blob: entry.id, is_executable: false },
            Kind::Executable => Item::File { blob: entry.id, is_executable: true },
            Kind::Symlink | Kind::Submodule | Kind::Special => {
                return self.skip(mapping, entry, out);
            }
        };
        self.add(&entry.name, mapping, item, ItemOrigin::Tree, out);
    }

    fn skip(&self, mapping: u16, entry: &Entry, out: &mut Composition) {
        if let Err(fault) = reserved::check_component(&entry.name) {
            return out.refuse(&self.node.path, &entry.name, fault);
        }
        let path = self.node.path.join(&entry.name);
        if self.is_excluded(mapping, &path, Item::File { blob: entry.id, is_executable: false }) {
            return;
        }
        let (code, message) = match entry.kind {
            Kind::Symlink => {
                (WarningCode::SymlinkSkipped, "a symbolic link is not followed and was skipped")
            }
            Kind::Special => (WarningCode::SpecialSkipped, "not a regular file, skipped"),
            _ => (WarningCode::SubmoduleSkipped, "a submodule is not fetched and was skipped"),
        };
        out.warnings.push(Warning::new(code, path, message));
    }

    fn add_mounts(&mut self, mounts: &MountTree, out: &mut Composition) {
        for (name, child) in &mounts.children {
            for mapping in child.below.range(self.node.floor..) {
                self.add(name, *mapping, Item::Parent, ItemOrigin::Destination, out);
            }
            for (mapping, content) in &child.here {
                let item = match *content {
                    Content::Dir(tree) => Item::Dir(tree),
                    Content::File { blob, is_executable } => Item::File { blob, is_executable },
                    Content::Absent => continue,
                };
                if *mapping >= self.node.floor {
                    self.add(name, *mapping, item, ItemOrigin::Destination, out);
                }
            }
        }
    }

    fn add(
        &mut self,
        name: &[u8],
        mapping: u16,
        item: Item,
        origin: ItemOrigin,
        out: &mut Composition,
    ) {
        if let Err(fault) = reserved::check_component(name) {
            return out.refuse(&self.node.path, name, fault);
        }
        let path = self.node.path.join(name);
        // The gateway's cache is excluded by rule, but reported: it should not be in git.
        let is_cache = matches!(self.reserved_for(&path), Some(Reserved::RuntimeCache));
        if !is_cache && self.is_excluded(mapping, &path, item) || self.is_kept(&path, mapping, out)
        {
            return;
        }
        if let Err(fault) = reserved::check_destination(&path, self.task.volume.longest_path) {
            return out.refuse(&self.node.path, name, fault);
        }
        self.items.push(Named { name: name.into(), mapping, item, origin });
    }

    fn reserved_for(&self, path: &RelPath) -> Option<Reserved> {
        reserved::reserved_for(path, self.task.volume.case)
    }

    /// Returns whether the path is out of reach for a mapping, and says so once.
    fn is_kept(&self, path: &RelPath, mapping: u16, out: &mut Composition) -> bool {
        let (code, message) = match self.reserved_for(path) {
            // A repository within a repository is refused as a name, below.
            None | Some(Reserved::Repository) => return false,
            Some(Reserved::Local) if self.is_local(mapping) => return false,
            Some(Reserved::Stoker) => {
                out.refuse(&path.parent(), path::file_name(path), NameFault::Reserved);
                return true;
            }
            Some(Reserved::Identity | Reserved::Local) => (
                WarningCode::IdentityPath,
                "this is the identity of one gateway and was not written",
            ),
            Some(Reserved::RuntimeCache) => (
                WarningCode::RuntimeFilesInGit,
                "this is the gateway's own cache and was not written",
            ),
        };
        let warning = Warning::new(code, path.clone(), message);
        if out.warnings.last() != Some(&warning) {
            out.warnings.push(warning);
        }
        true
    }

    /// Returns whether a mapping names the gateway's local resources as its destination.
    fn is_local(&self, mapping: u16) -> bool {
        let mount = &self.task.mounts[usize::from(mapping)];
        self.reserved_for(&mount.destination) == Some(Reserved::Local)
    }

    fn is_excluded(&self, mapping: u16, path: &RelPath, item: Item) -> bool {
        let excludes = &self.task.request.excludes;
        if excludes.is_empty() {
            return false;
        }
        let below = below_mapping(&self.task.mounts[usize::from(mapping)], path);
        match item {
            Item::File { .. } => excludes.excludes(path) || excludes.excludes(below),
            Item::Dir(_) => {
                excludes.excludes_all_below(path)
                    || (!below.is_empty() && excludes.excludes_all_below(below))
            }
            Item::Parent => excludes.excludes_all_below(path),
        }
    }

    /// Lays the items of each name over each other: the last one says file or directory.
    fn lay(mut self, out: &mut Composition) -> Merged<'m> {
        let mut merged = Merged { files: Vec::new(), dirs: Vec::new() };
        self.items
            .sort_by(|one, other| one.name.cmp(&other.name).then(one.mapping.cmp(&other.mapping)));
        for items in self.items.chunk_by(|one, other| one.name == other.name) {
            let Some(top) = items.last() else { continue };
            // A mapping has one tree here, so that tree names two things alike.
            if items.windows(2).any(|pair| pair[0].mapping == pair[1].mapping) {
                out.refuse(&self.node.path, &top.name, NameFault::Twice);
                continue;
            }
            let covered = items.iter().rev().find(|below| below.is_dir() != top.is_dir());
            if covered.is_some() {
                // The destination of a file, said in so many words, can't be a directory as well:
                // one of the two mappings would bring nothing.
                if let Some(file) = items.iter().find(|item| item.is_mapped_file()) {
                    let path = self.node.path.join(&file.name);
                    out.clash.get_or_insert((path, file.mapping));
                }
                let path = self.node.path.join(&top.name);
                let message = "a later mapping has a directory where an earlier one has a file, \
                               or the reverse; the later counts";
                out.warnings.push(Warning::new(WarningCode::MappingShadowed, path, message));
            }
            let name = top.name.clone();
            match top.item {
                Item::File { blob, is_executable } => {
                    merged.files.push(Wanted { name, blob, is_executable, mapping: top.mapping });
                }
                Item::Dir(_) | Item::Parent => {
                    let path = self.node.path.join(&name);
                    let floor = covered.map_or(self.node.floor, |below| below.mapping + 1);
                    let layers = items.iter().filter_map(|layer| layer.tree_from(floor)).collect();
                    let mounts = self.node.mounts.and_then(|mounts| mounts.children.get(&name));
                    merged.dirs.push((name, Node { path, layers, mounts, floor }));
                }
            }
        }
        merged
    }
}

impl Named {
    fn is_dir(&self) -> bool {
        !matches!(self.item, Item::File { .. })
    }

    fn is_mapped_file(&self) -> bool {
        !self.is_dir() && self.origin == ItemOrigin::Destination
    }

    /// Returns the tree as a layer, unless it is covered.
    fn tree_from(&self, floor: u16) -> Option<(u16, ObjectId)> {
        match self.item {
            Item::Dir(tree) if self.mapping >= floor => Some((self.mapping, tree)),
            Item::Dir(_) | Item::Parent | Item::File { .. } => None,
        }
    }
}
