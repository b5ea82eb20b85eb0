//! One directory: the entries of all its layers, laid over each other in the order of mappings.

use std::collections::{BTreeMap, HashMap};

use super::mount::{Content, MountTree};
use super::{Composition, Node, Task, Wanted, below_mapping};
use crate::name::{self, Keeper, NameFault};
use crate::path::RelPath;
use crate::source::{Entry, Kind, ObjectId};
use crate::warning::{Code, Warning};

/// What one mapping wants to have at one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    /// A directory with this tree.
    Dir(ObjectId),
    /// A directory on the way to a mount further below.
    Way,
    /// A file.
    File { blob: ObjectId, is_executable: bool },
}

/// The merging of one directory.
pub(super) struct Merge<'t, 'n, 'm> {
    task: &'t Task<'t>,
    node: &'n Node<'m>,
    /// By name, then by mapping.
    items: BTreeMap<Box<[u8]>, BTreeMap<u16, Item>>,
}

/// What a directory holds after merging.
pub(super) struct Merged<'m> {
    pub(super) files: Vec<Wanted>,
    pub(super) dirs: Vec<(Box<[u8]>, Node<'m>)>,
}

impl<'t, 'n, 'm> Merge<'t, 'n, 'm> {
    pub(super) fn new(task: &'t Task<'t>, node: &'n Node<'m>) -> Self {
        Self { task, node, items: BTreeMap::new() }
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
            Kind::Symlink | Kind::Submodule => return self.skip(mapping, entry, out),
        };
        self.add(&entry.name, (mapping, item), out);
    }

    fn skip(&self, mapping: u16, entry: &Entry, out: &mut Composition) {
        if name::check_component(&entry.name).is_err() {
            return out.refuse(self.node.path.join(b"?"), NameFault::NotAName);
        }
        let path = self.node.path.join(&entry.name);
        if self.is_excluded(mapping, &path, Item::File { blob: entry.id, is_executable: false }) {
            return;
        }
        let (code, message) = if entry.kind == Kind::Symlink {
            (Code::SymlinkSkipped, "a symbolic link is not followed and was skipped")
        } else {
            (Code::SubmoduleSkipped, "a submodule is not fetched and was skipped")
        };
        out.warnings.push(Warning::new(code, path, message));
    }

    fn add_mounts(&mut self, mounts: &MountTree, out: &mut Composition) {
        for (name, child) in &mounts.children {
            for mapping in child.below.range(self.node.floor..) {
                self.add(name, (*mapping, Item::Way), out);
            }
            for (mapping, content) in &child.here {
                let item = match *content {
                    Content::Dir(tree) => Item::Dir(tree),
                    Content::File { blob, is_executable } => Item::File { blob, is_executable },
                    Content::Absent => continue,
                };
                if *mapping >= self.node.floor {
                    self.add(name, (*mapping, item), out);
                }
            }
        }
    }

    fn add(&mut self, name: &[u8], (mapping, item): (u16, Item), out: &mut Composition) {
        if let Err(fault) = name::check_component(name) {
            // Such a name must not become part of a path, so the error names the directory.
            return out.refuse(self.node.path.join(b"?"), fault);
        }
        let path = self.node.path.join(name);
        if self.is_excluded(mapping, &path, item) || is_kept(&path, out) {
            return;
        }
        if let Err(fault) = name::check_destination(&path, self.task.volume.longest_path) {
            return out.refuse(path, fault);
        }
        self.items.entry(name.into()).or_default().insert(mapping, item);
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
            Item::Way => excludes.excludes_all_below(path),
        }
    }

    /// Lays the items of each name over each other: the last one says file or directory.
    fn lay(self, out: &mut Composition) -> Merged<'m> {
        let mut merged = Merged { files: Vec::new(), dirs: Vec::new() };
        for (name, items) in self.items {
            let path = self.node.path.join(&name);
            let is_dir = |item: &Item| !matches!(item, Item::File { .. });
            let Some((last, top)) = items.last_key_value() else { continue };
            let covered = items.iter().rev().find(|(_, item)| is_dir(item) != is_dir(top));
            if covered.is_some() {
                let message = "a later mapping has a directory where an earlier one has a file, or the reverse; the later counts";
                out.warnings.push(Warning::new(Code::MappingShadowed, path.clone(), message));
            }
            match *top {
                Item::File { blob, is_executable } => {
                    merged.files.push(Wanted { name, blob, is_executable, mapping: *last });
                }
                Item::Dir(_) | Item::Way => {
                    let floor = covered.map_or(self.node.floor, |(mapping, _)| mapping + 1);
                    let layers = layers_from(&items, floor);
                    let mounts = self.node.mounts.and_then(|mounts| mounts.children.get(&name));
                    merged.dirs.push((name, Node { path, layers, mounts, floor }));
                }
            }
        }
        merged
    }
}

fn layers_from(items: &BTreeMap<u16, Item>, floor: u16) -> Vec<(u16, ObjectId)> {
    let layer = |(mapping, item): (&u16, &Item)| match item {
        Item::Dir(tree) => Some((*mapping, *tree)),
        Item::Way | Item::File { .. } => None,
    };
    items.range(floor..).filter_map(layer).collect()
}

/// Returns whether the path is out of reach for mappings, and says so once.
fn is_kept(path: &RelPath, out: &mut Composition) -> bool {
    let (code, message) = match name::keeper(path) {
        None => return false,
        Some(Keeper::Stoker) => {
            out.refuse(path.clone(), NameFault::Reserved);
            return true;
        }
        Some(Keeper::Identity) => {
            (Code::IdentityPath, "this is the identity of one gateway and was not written")
        }
        Some(Keeper::RuntimeCache) => {
            (Code::RuntimeFilesInGit, "this is the gateway's own cache and was not written")
        }
    };
    let warning = Warning::new(code, path.clone(), message);
    if out.warnings.last() != Some(&warning) {
        out.warnings.push(warning);
    }
    true
}
