//! Which files Stoker may delete: those at the destinations of mappings, except protected paths.
//!
//! A mapped directory owns what is in it, unless its mapping says otherwise; the data root is never
//! owned. Of nested mappings the innermost decides about foreign files; a managed file belongs to
//! the mapping that brought it. Protected are excluded paths, the gateway's identity, Stoker's own
//! state and the destinations of absent sources. In the gateway's local resources a mapping owns
//! only the files that it brought.

use std::collections::HashMap;

use crate::compose::Case;
use crate::compose::mount::{Content, Mount};
use crate::manifest::header::{Header, MappingRecord, Shape};
use crate::path::{self, RelPath};
use crate::request::{Prune, Request};
use crate::reserved::{self, Reserved};

#[derive(Debug)]
pub(crate) struct Ownership<'a> {
    request: &'a Request,
    mounts: &'a [Mount],
    /// Destinations of mapped directories, with whether foreign files go there.
    claims: HashMap<&'a [u8], Prune>,
    /// Destinations of mappings whose source is absent.
    frozen: Vec<&'a RelPath>,
    /// Destinations of mappings that name the gateway's local resources.
    local: Vec<&'a RelPath>,
    /// Whether names have one spelling or many.
    case: Case,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spared {
    /// It is excluded, or out of reach: we do not want to know it.
    Forget,
    /// Its mapping has no source at present: it is as it was, and still ours.
    Hold,
}

impl<'a> Ownership<'a> {
    pub(crate) fn new(request: &'a Request, mounts: &'a [Mount], case: Case) -> Self {
        let mut claims = HashMap::new();
        let mut frozen = Vec::new();
        for mount in mounts {
            let mapping = &request.mappings[usize::from(mount.mapping)];
            match mount.content {
                Content::Dir(_) => {
                    let claim = claims.entry(mount.destination.as_bytes()).or_insert(mapping.prune);
                    // Of two mappings to one place the careful one is heard.
                    if mapping.prune == Prune::OwnOnly {
                        *claim = Prune::OwnOnly;
                    }
                }
                Content::Absent => frozen.push(&mount.destination),
                Content::File { .. } => {}
            }
        }
        let is_local = |place: &&RelPath| {
            reserved::reserved_for(place.as_bytes(), case) == Some(Reserved::Local)
        };
        let local = mounts.iter().map(|mount| &mount.destination).filter(is_local).collect();
        Self { request, mounts, claims, frozen, local, case }
    }

    /// Returns the mapped directory that decides about a path below it.
    pub(crate) fn claim(&self, path: &[u8]) -> Option<&'a [u8]> {
        let mut innermost = None;
        for ancestor in path::ancestors(path) {
            if let Some((destination, _)) = self.claims.get_key_value(ancestor) {
                innermost = Some(*destination);
            }
        }
        innermost
    }

    /// Returns whether a foreign file at this path is an orphan.
    pub(crate) fn prunes(&self, path: &[u8]) -> bool {
        self.claim(path).is_some_and(|claim| self.is_pruned(claim)) && self.spares(path).is_none()
    }

    /// Returns whether foreign files directly in this directory are orphans, exceptions apart.
    pub(crate) fn prunes_in(&self, directory: &[u8]) -> bool {
        let own = self.claims.get_key_value(directory).map(|(destination, _)| *destination);
        own.or_else(|| self.claim(directory)).is_some_and(|claim| self.is_pruned(claim))
    }

    fn is_pruned(&self, destination: &[u8]) -> bool {
        !destination.is_empty() && self.claims.get(destination) == Some(&Prune::Foreign)
    }

    /// Returns the directories in which foreign files are orphans.
    pub(crate) fn pruned_roots(&self) -> impl Iterator<Item = &'a [u8]> {
        let pruned = self.claims.iter().filter(|(_, prune)| **prune == Prune::Foreign);
        pruned.map(|(destination, _)| *destination).filter(|destination| !destination.is_empty())
    }

    pub(crate) fn case(&self) -> Case {
        self.case
    }

    /// Returns whether a mapping begins at this directory.
    pub(crate) fn is_root(&self, directory: &[u8]) -> bool {
        self.claims.contains_key(directory)
    }

    /// Returns the names in a directory at or below which mappings begin.
    pub(crate) fn roots_in(&self, directory: &[u8]) -> impl Iterator<Item = &[u8]> {
        let below = self.claims.keys().filter_map(move |root| path::below(root, directory));
        below.map(|path| path.split(|byte| *byte == b'/').next().unwrap_or_default())
    }

    /// Returns why a foreign file must stay, if it must.
    fn spares(&self, path: &[u8]) -> Option<Spared> {
        let claim = self.claim(path);
        if reserved::reserved_for(path, self.case).is_some() {
            return Some(Spared::Forget);
        }
        self.forgets(claim, path).or_else(|| self.is_frozen(claim, path).then_some(Spared::Hold))
    }

    /// Returns why a file that the last sync brought by this mapping must stay, if it must.
    pub(crate) fn spares_own(&self, path: &[u8], by: Option<&MappingRecord>) -> Option<Spared> {
        let is_asked = |record: &&MappingRecord| {
            self.request.mappings.iter().any(|mapping| record.is_of(mapping))
        };
        let own = by.filter(is_asked).map(|record| record.destination.as_bytes());
        let forgets = self.forgets(own.or_else(|| self.claim(path)), path);
        forgets.or_else(|| self.holds(by, path).then_some(Spared::Hold))
    }

    fn forgets(&self, destination: Option<&[u8]>, path: &[u8]) -> Option<Spared> {
        let is_kept = match reserved::reserved_for(path, self.case) {
            // What a mapping brought to a destination of its own in there is ours.
            Some(Reserved::Local) => !self.local.iter().any(|place| path::within(path, place)),
            reserved => reserved.is_some(),
        };
        (is_kept || self.is_excluded(destination, path)).then_some(Spared::Forget)
    }

    /// Returns whether a path lies where a source is absent. A mapping that is there decides about
    /// its own directory and what is below it, whichever source is absent there or above.
    fn is_frozen(&self, claim: Option<&[u8]>, path: &[u8]) -> bool {
        let is_deeper = |frozen: &RelPath| claim.is_none_or(|claim| frozen.len() > claim.len());
        let mut frozen = self.frozen.iter().filter(|frozen| !frozen.is_root());
        frozen.any(|frozen| path::within(path, frozen) && is_deeper(frozen))
    }

    /// Returns whether a record of the last sync belongs to a mapping whose source is absent now.
    fn holds(&self, record: Option<&MappingRecord>, path: &[u8]) -> bool {
        let Some(record) = record else { return self.is_frozen(self.claim(path), path) };
        self.mounts.iter().any(|mount| {
            let mapping = &self.request.mappings[usize::from(mount.mapping)];
            mount.content == Content::Absent && record.is_of(mapping)
        })
    }

    /// Returns whether everything below a directory is spared, so that a walk can turn back.
    pub(crate) fn spares_all_below(&self, directory: &[u8]) -> bool {
        reserved::reserved_for(directory, self.case).is_some()
            || self.request.excludes.excludes_all_below(directory)
    }

    /// Returns whether a path is excluded, by the test that decides whether it is written: below
    /// the destination of the one mapping that it belongs to, and below the data root. What other
    /// mappings would say of it does not count, or a file could come and never go.
    fn is_excluded(&self, destination: Option<&[u8]>, path: &[u8]) -> bool {
        let excludes = &self.request.excludes;
        // A file that is a mapping's destination is known to excludes by its name.
        let below = |dir: &[u8]| path::below(path, dir).unwrap_or_else(|| path::file_name(path));
        !excludes.is_empty()
            && (excludes.excludes(path)
                || destination.is_some_and(|dir| excludes.excludes(below(dir))))
    }

    /// Returns whether an empty directory may go: it lies below a mapped directory of this or the
    /// last sync, and no mapping begins there or further below.
    pub(crate) fn may_remove_dir(&self, directory: &[u8], last: &Header) -> bool {
        let is_way = |mount: &Mount| path::within(&mount.destination, directory);
        // What lies below the destination of an absent source came when that was a directory.
        let was_below = |mapping: &MappingRecord| {
            mapping.shape != Shape::File && path::below(directory, &mapping.destination).is_some()
        };
        !directory.is_empty()
            && !self.mounts.iter().any(is_way)
            && (self.claim(directory).is_some() || last.mappings.iter().any(was_below))
    }
}
