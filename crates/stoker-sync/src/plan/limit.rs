//! How much a run may delete unasked (A13).

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use crate::path::RelPath;
use crate::request::Deletion;
use crate::source::ObjectId;

/// A mapping that had this many files may not lose all of them unasked.
const SMALL: u64 = 10;
/// Fewer deletions than this never stop a run, whatever their share.
const FLOOR: u64 = 50;

/// A run that would delete too much.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct MassDeletion {
    /// The mapping's destination, or the data root if it is about all of them.
    pub destination: RelPath,
    /// How many files would go.
    pub deleted: u64,
    /// How many there are.
    pub total: u64,
}

/// Files and deletions by mapped directory.
#[derive(Debug, Default)]
pub(super) struct Census {
    places: BTreeMap<RelPath, Count>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Count {
    deleted: u64,
    total: u64,
}

impl Census {
    /// Counts files that are there now.
    pub(super) fn add(&mut self, destination: &RelPath, files: u64) {
        self.places.entry(destination.clone()).or_default().total += files;
    }

    /// Counts a file of these that would go.
    pub(super) fn delete(&mut self, destination: &RelPath) {
        self.places.entry(destination.clone()).or_default().deleted += 1;
    }

    /// Stops a run that would delete too much.
    pub(super) fn check(&self, deletion: Deletion) -> Result<(), MassDeletion> {
        let percent = match deletion {
            Deletion::Unlimited | Deletion::Percent(100..) => return Ok(()),
            Deletion::Percent(percent) => u64::from(percent),
        };
        for (destination, count) in &self.places {
            count.check(percent).map_err(|()| count.refusal(destination))?;
        }
        let all = self.places.values().fold(Count::default(), |all, one| Count {
            deleted: all.deleted + one.deleted,
            total: all.total + one.total,
        });
        all.check(percent).map_err(|()| all.refusal(&RelPath::root()))
    }
}

impl Count {
    fn check(self, percent: u64) -> Result<(), ()> {
        let Self { deleted, total } = self;
        let is_all = deleted >= total && total >= SMALL;
        let is_most = deleted * 100 > total * percent && deleted >= FLOOR;
        if is_all || is_most { Err(()) } else { Ok(()) }
    }

    fn refusal(self, destination: &RelPath) -> MassDeletion {
        let Self { deleted, total } = self;
        MassDeletion { destination: destination.clone(), deleted, total }
    }
}

impl fmt::Display for MassDeletion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { destination, deleted, total } = self;
        if destination.is_root() {
            return write!(f, "this would delete {deleted} of {total} managed files");
        }
        write!(f, "this would delete {deleted} of {total} files in {destination:?}")
    }
}

/// Blobs that are written at places where they were not: a deleted file with such a blob only moved.
#[derive(Debug, Default)]
pub(super) struct Arrivals(HashMap<ObjectId, u64>);

impl Arrivals {
    /// Counts a file that is new at its place.
    pub(super) fn add(&mut self, blob: ObjectId) {
        *self.0.entry(blob).or_default() += 1;
    }

    /// Takes one arrival of this blob. Each excuses one deletion, because files often share a blob:
    /// one empty file that comes must not excuse a hundred that go.
    pub(super) fn take(&mut self, blob: ObjectId) -> bool {
        let left = self.0.get_mut(&blob).filter(|left| **left > 0);
        left.map(|left| *left -= 1).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_arrival_excuses_one_deletion() {
        let (mut arrivals, blob) = (Arrivals::default(), ObjectId([7; 20]));
        arrivals.add(blob);
        assert!(arrivals.take(blob));
        assert!(!arrivals.take(blob));
        assert!(!arrivals.take(ObjectId([8; 20])));
    }
}
