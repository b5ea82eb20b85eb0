//! The reference model: what a run should leave, computed path by path, without regard to speed.

use std::collections::{BTreeMap, BTreeSet};

use super::{Blob, Files};
use crate::compose::Case;
use crate::path::{self, below, file_name, within};
use crate::request::{Mapping, Presence, Prune, Request};
use crate::reserved;
use crate::source::Kind;

type Path = Vec<u8>;
/// The content of a file, and whether it can be executed.
type Content = (Vec<u8>, bool);

/// A data directory as people see it, with what the manifest should know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct World {
    pub(crate) live: BTreeMap<Path, Content>,
    /// Which files are ours, and the mapping they came by: its source and destination.
    pub(crate) ours: BTreeMap<Path, Option<(Path, Path)>>,
}

/// A run that must not change anything.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused;

enum Found<'a> {
    Absent,
    File(&'a Blob),
    Dir(Vec<(&'a [u8], &'a Blob)>),
}

pub(crate) fn sync(world: &World, commit: &Files, request: &Request) -> Result<World, Refused> {
    let found: Vec<(&Mapping, Found<'_>)> =
        request.mappings.iter().map(|mapping| (mapping, find(commit, &mapping.source))).collect();
    let is_missing = |(mapping, found): &(&Mapping, Found<'_>)| {
        matches!(found, Found::Absent) && mapping.presence == Presence::Required
    };
    let is_link = |mapping: &Mapping| {
        let way = path::ancestors(&mapping.source).chain([mapping.source.as_bytes()]);
        let kinds = way.filter_map(|path| commit.get(path)).map(|(kind, _)| kind);
        kinds.into_iter().any(|kind| matches!(kind, Kind::Symlink | Kind::Submodule))
    };
    if found.iter().any(is_missing) || request.mappings.iter().any(is_link) {
        return Err(Refused);
    }
    if has_clash(&items(&found, request), &[], 0) {
        return Err(Refused);
    }
    let desired = desired(&found, request);
    let dropped = |path: &Path| !desired.contains_key(path) && !stays(path, world, &found, request);
    let dropped: BTreeSet<Path> = world.ours.keys().filter(|path| dropped(path)).cloned().collect();
    for path in desired.keys() {
        let in_the_way = |live: &&Path| are_nested(live, path);
        if world.live.keys().filter(in_the_way).any(|live| !dropped.contains(live)) {
            return Err(Refused);
        }
    }
    let mut after = World::default();
    for (path, content) in &world.live {
        let is_orphan = !world.ours.contains_key(path) && is_pruned(path, &found, request);
        if !dropped.contains(path) && !is_orphan {
            after.live.insert(path.clone(), content.clone());
        }
    }
    for (path, owner) in &world.ours {
        if !desired.contains_key(path) && is_held(path, owner.as_ref(), &found, request) {
            let still = owner
                .clone()
                .filter(|owner| request.mappings.iter().any(|mapping| is_of(mapping, owner)));
            after.ours.insert(path.clone(), still);
        }
    }
    for (path, (content, mapping)) in desired {
        let owner = (mapping.source.to_vec(), mapping.destination.to_vec());
        after.live.insert(path.clone(), content);
        after.ours.insert(path, Some(owner));
    }
    Ok(after)
}

/// Returns whether one path lies below the other, so that not both are files.
pub(crate) fn are_nested(one: &[u8], other: &[u8]) -> bool {
    below(one, other).is_some() || below(other, one).is_some()
}

/// Something that a mapping has at a path.
struct Item {
    path: Path,
    mapping: usize,
    is_dir: bool,
    is_destination: bool,
}

/// Returns what each mapping has, and where, as far as it is neither excluded nor kept.
fn items(found: &[(&Mapping, Found<'_>)], request: &Request) -> Vec<Item> {
    let mut items = Vec::new();
    for (number, (mapping, found)) in found.iter().enumerate() {
        let target = destination(mapping, found);
        let is_out = |path: &[u8], is_dir: bool| {
            let inner = match found {
                Found::File(_) if !is_dir => file_name(path),
                _ => below(path, &target).unwrap_or_default(),
            };
            is_out(request, path, inner, is_dir)
        };
        let mut add = |path: &[u8], is_dir: bool| {
            let way = path::ancestors(path).skip(1).map(|dir| (dir, true));
            for (at, is_dir) in way.chain([(path, is_dir)]) {
                if is_out(at, is_dir) {
                    return;
                }
                let is_destination = within(&target, at);
                let path = at.to_vec();
                items.push(Item { path, mapping: number, is_dir, is_destination });
            }
        };
        match found {
            Found::Absent => {}
            Found::File(_) => add(&target, false),
            Found::Dir(files) => {
                if !target.is_empty() {
                    add(&target, true);
                }
                for (name, (kind, _)) in files {
                    let path = join(&target, name);
                    if matches!(kind, Kind::File | Kind::Executable) {
                        add(&path, false);
                    } else if path::parent(&path) != target.as_slice() {
                        add(path::parent(&path), true);
                    }
                }
            }
        }
    }
    items
}

/// Returns whether nothing may be written at a path, which a mapping has as `inner`.
fn is_out(request: &Request, path: &[u8], inner: &[u8], is_dir: bool) -> bool {
    let excludes = &request.excludes;
    let is_excluded = if is_dir {
        excludes.excludes_all_below(path) || !inner.is_empty() && excludes.excludes_all_below(inner)
    } else {
        excludes.excludes(path) || excludes.excludes(inner)
    };
    is_excluded || reserved::reserved_for(path, Case::Matters).is_some()
}

/// Returns whether the destination of a file is a directory of another mapping.
fn has_clash(items: &[Item], dir: &[u8], floor: usize) -> bool {
    let is_here = |item: &&Item| path::parent(&item.path) == dir && item.mapping >= floor;
    let here: Vec<&Item> = items.iter().filter(is_here).collect();
    let paths: BTreeSet<&Path> = here.iter().map(|item| &item.path).collect();
    paths.into_iter().any(|name| {
        let mut named: Vec<&&Item> = here.iter().filter(|item| item.path == *name).collect();
        named.sort_by_key(|item| item.mapping);
        let Some(top) = named.last() else { return false };
        let covered = named.iter().rev().find(|item| item.is_dir != top.is_dir);
        let is_mapped_file = |item: &&&Item| !item.is_dir && item.is_destination;
        if covered.is_some() && named.iter().any(is_mapped_file) {
            return true;
        }
        top.is_dir && has_clash(items, name, covered.map_or(floor, |item| item.mapping + 1))
    })
}

fn is_of(mapping: &Mapping, (source, destination): &(Path, Path)) -> bool {
    *mapping.source == **source && *mapping.destination == **destination
}

fn find<'a>(commit: &'a Files, source: &[u8]) -> Found<'a> {
    if let Some(file) = commit.get(source) {
        return Found::File(file);
    }
    let inside: Vec<_> =
        commit.iter().filter_map(|(path, file)| Some((below(path, source)?, file))).collect();
    if inside.is_empty() && !source.is_empty() { Found::Absent } else { Found::Dir(inside) }
}

fn join(dir: &[u8], name: &[u8]) -> Path {
    if dir.is_empty() { name.to_vec() } else { [dir, b"/", name].concat() }
}

fn destination(mapping: &Mapping, found: &Found<'_>) -> Path {
    match found {
        Found::File(_) if mapping.destination.is_root() => file_name(&mapping.source).to_vec(),
        _ => mapping.destination.to_vec(),
    }
}

fn desired<'a>(
    found: &[(&'a Mapping, Found<'_>)],
    request: &Request,
) -> BTreeMap<Path, (Content, &'a Mapping)> {
    let mut desired: BTreeMap<Path, (Content, &Mapping)> = BTreeMap::new();
    for (mapping, found) in found {
        let target = destination(mapping, found);
        let files: Vec<(Path, Path, &Blob)> = match found {
            Found::Absent => Vec::new(),
            Found::File(file) => vec![(target.clone(), file_name(&target).to_vec(), file)],
            Found::Dir(files) => files
                .iter()
                .map(|(name, file)| (join(&target, name), name.to_vec(), *file))
                .collect(),
        };
        for (path, inner, (kind, content)) in files {
            // A directory covers a file of an earlier mapping even if nothing in it counts.
            for dir in path::ancestors(&path).filter(|dir| !dir.is_empty()) {
                if is_out(request, dir, below(dir, &target).unwrap_or_default(), true) {
                    break;
                }
                desired.remove(dir);
            }
            let is_file = matches!(kind, Kind::File | Kind::Executable);
            if is_file && !is_out(request, &path, &inner, false) {
                desired.retain(|other, _| below(other, &path).is_none());
                let content = (content.clone(), *kind == Kind::Executable);
                desired.insert(path, (content, mapping));
            }
        }
    }
    desired
}

/// Returns whether a path is excluded for the mapping that it came by, if that is still asked for,
/// and else for the innermost mapped directory that it lies in.
fn is_excluded(
    path: &[u8],
    owner: Option<&(Path, Path)>,
    found: &[(&Mapping, Found<'_>)],
    request: &Request,
) -> bool {
    let own = owner.filter(|owner| request.mappings.iter().any(|mapping| is_of(mapping, owner)));
    let dirs = found.iter().filter(|(_, found)| matches!(found, Found::Dir(_)));
    let claims = dirs.map(|(mapping, _)| mapping.destination.to_vec());
    let innermost = claims.filter(|dir| below(path, dir).is_some()).max_by_key(Vec::len);
    let root = own.map(|(_, destination)| destination.clone()).or(innermost);
    let inner = |root: Path| match below(path, &root) {
        Some(inner) => inner.to_vec(),
        None => file_name(path).to_vec(),
    };
    request.excludes.excludes(path)
        || root.is_some_and(|root| request.excludes.excludes(&inner(root)))
}

fn is_held(
    path: &[u8],
    owner: Option<&(Path, Path)>,
    found: &[(&Mapping, Found<'_>)],
    request: &Request,
) -> bool {
    let dirs = found.iter().filter(|(_, found)| matches!(found, Found::Dir(_)));
    let claims = dirs.filter(|(mapping, _)| below(path, &mapping.destination).is_some());
    let innermost = claims.map(|(mapping, _)| mapping.destination.len()).max();
    let is_frozen = |(mapping, found): &(&Mapping, Found<'_>)| {
        let place = &mapping.destination;
        let is_there = || {
            !place.is_root() && within(path, place) && innermost.is_none_or(|len| place.len() > len)
        };
        matches!(found, Found::Absent) && owner.map_or_else(is_there, |owner| is_of(mapping, owner))
    };
    reserved::reserved_for(path, Case::Matters).is_none()
        && !is_excluded(path, owner, found, request)
        && found.iter().any(is_frozen)
}

/// Returns whether a file of ours stays though the commit does not hold it.
fn stays(path: &[u8], world: &World, found: &[(&Mapping, Found<'_>)], request: &Request) -> bool {
    let owner = world.ours.get(path).and_then(Option::as_ref);
    reserved::reserved_for(path, Case::Matters).is_some()
        || is_excluded(path, owner, found, request)
        || is_held(path, owner, found, request)
}

/// Returns whether a foreign file at this path goes.
fn is_pruned(path: &[u8], found: &[(&Mapping, Found<'_>)], request: &Request) -> bool {
    let claims = found.iter().filter(|(mapping, found)| {
        matches!(found, Found::Dir(_)) && below(path, &mapping.destination).is_some()
    });
    let innermost = claims.clone().map(|(mapping, _)| mapping.destination.len()).max();
    let mut deciding = claims.filter(|(mapping, _)| Some(mapping.destination.len()) == innermost);
    innermost.is_some_and(|length| length > 0)
        && deciding.all(|(mapping, _)| mapping.prune == Prune::Foreign)
        && reserved::reserved_for(path, Case::Matters).is_none()
        && !is_excluded(path, None, found, request)
        && !is_held(path, None, found, request)
}
