//! Limits how many entries a tree expands to, without expanding it.
//!
//! A tree that names one subtree many times is a few kilobytes to send and can expand without end.
//! If a level looks like that, everything below is counted by tree, and each tree is read once
//! however often it is named. Excludes and unchanged directories are counted too: a tree that needs
//! them to stay under the limit is not an ordinary one.

use std::collections::HashMap;

use super::{Error, MOST_LEVELS, Node, Task};
use crate::source::{Entry, Kind, ObjectId, Source};

/// Levels with fewer directories are just visited.
const WORTH_COUNTING: usize = 1_000;
/// On average an honest tree is not at more places of one level.
const HONEST_PLACES: usize = 8;

type Listings = HashMap<ObjectId, Vec<Entry>>;

#[derive(Debug, Default)]
pub(super) struct ExpansionLimit {
    is_done: bool,
}

impl ExpansionLimit {
    /// Refuses a level that expands to too many entries.
    pub(super) fn check(
        &mut self,
        task: &Task<'_>,
        level: &[Node<'_>],
        listings: &Listings,
        so_far: usize,
        source: &mut dyn Source,
    ) -> Result<(), Error> {
        let is_honest = level.len() < WORTH_COUNTING
            || level.len() < listings.len().saturating_mul(HONEST_PLACES);
        if self.is_done || is_honest {
            return Ok(());
        }
        let mut places: HashMap<ObjectId, usize> = HashMap::new();
        for (_, tree) in level.iter().flat_map(|node| &node.layers) {
            *places.entry(*tree).or_default() += 1;
        }
        // Everything below is counted, so that once is enough.
        self.is_done = true;
        count_expanded(task, places, listings, so_far, source)
    }
}

fn count_expanded(
    task: &Task<'_>,
    mut places: HashMap<ObjectId, usize>,
    listings: &Listings,
    mut total: usize,
    source: &mut dyn Source,
) -> Result<(), Error> {
    let mut listed;
    let mut listings = listings;
    for _ in 0..MOST_LEVELS {
        let mut below: HashMap<ObjectId, usize> = HashMap::new();
        for (tree, count) in &places {
            let entries = listings.get(tree).map(Vec::as_slice).unwrap_or_default();
            total = total.saturating_add(entries.len().saturating_mul(*count));
            for entry in entries.iter().filter(|entry| entry.kind == Kind::Dir) {
                let places = below.entry(entry.id).or_default();
                *places = places.saturating_add(*count);
            }
        }
        if total > task.most_entries {
            return Err(Error::TooManyEntries { most: task.most_entries });
        }
        if below.is_empty() {
            break;
        }
        task.cancel.check().map_err(Error::Cancelled)?;
        let trees: Vec<ObjectId> = below.keys().copied().collect();
        let lists = source.list(&trees).map_err(Error::reading)?;
        listed = trees.into_iter().zip(lists).collect();
        listings = &listed;
        places = below;
    }
    Ok(())
}
