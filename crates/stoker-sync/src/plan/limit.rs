//! How much a run may delete without confirmation (A13).

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use crate::path::RelPath;
use crate::request::Deletion;
use crate::source::ObjectId;

/// A mapping that had this many files may not lose all of them without confirmation.
const SMALL: u64 = 10;
/// Fewer deletions than this never stop a run, whatever their share.
const FLOOR: u64 = 50;

/// A run that would delete too much.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct MassDeletion {
    /// Of what, or `None` if it is about all of it.
    pub place: Option<Place>,
    /// How many files would go.
    pub deleted: u64,
    /// How many there are.
    pub total: u64,
}

/// What files are counted by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// A mapping's destination.
    pub destination: RelPath,
    /// Its source.
    pub source: RelPath,
}

#[derive(Debug, Default)]
pub(super) struct DeletionCounts {
    places: BTreeMap<Place, Tally>,
}

/// Files that the last sync had left, and those of them that go.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    deleted: u64,
    total: u64,
}

impl DeletionCounts {
    pub(super) fn add(&mut self, place: Place, files: u64) {
        self.places.entry(place).or_default().total += files;
    }

    /// Counts a file of these that would go.
    pub(super) fn delete(&mut self, place: Place) {
        self.places.entry(place).or_default().deleted += 1;
    }

    pub(super) fn check(&self, deletion: Deletion) -> Result<(), MassDeletion> {
        let percent = match deletion {
            Deletion::Unlimited | Deletion::Percent(100..) => return Ok(()),
            Deletion::Percent(percent) => u64::from(percent),
        };
        let mut all = Tally::default();
        for (place, tally) in &self.places {
            if tally.is_too_much(percent) {
                return Err(tally.refusal(Some(place.clone())));
            }
            all.deleted += tally.deleted;
            all.total += tally.total;
        }
        if all.is_too_much(percent) { Err(all.refusal(None)) } else { Ok(()) }
    }
}

impl Tally {
    fn is_too_much(self, percent: u64) -> bool {
        let is_all = self.deleted >= self.total && self.total >= SMALL;
        let is_most = self.deleted * 100 > self.total * percent && self.deleted >= FLOOR;
        is_all || is_most
    }

    fn refusal(self, place: Option<Place>) -> MassDeletion {
        MassDeletion { place, deleted: self.deleted, total: self.total }
    }
}

impl fmt::Display for MassDeletion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, deleted, total } = self;
        write!(f, "this would delete {deleted} of {total} ")?;
        match place {
            None => write!(f, "managed files"),
            Some(place) => write!(f, "files {place}"),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.destination.is_root() {
            f.write_str("in the data directory")?;
        } else {
            write!(f, "in {:?}", self.destination)?;
        }
        if self.source.is_root() {
            return Ok(());
        }
        write!(f, " that came from {:?}", self.source)
    }
}

/// Blobs that are written at places where they were not: a deleted file with such a blob only
/// moved.
#[derive(Debug, Default)]
pub(super) struct AddedBlobs(HashMap<ObjectId, u64>);

impl AddedBlobs {
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

    fn place(source: &str) -> Place {
        let path = |text: &str| RelPath::parse(text).unwrap();
        Place { destination: path("projects"), source: path(source) }
    }

    // A13
    #[test]
    fn all_of_ten_files_and_most_of_many_stop_a_run() {
        for (total, deleted, is_stopped) in [
            (9, 9, false),
            (10, 9, false),
            (10, 10, true),
            (60, 49, false),
            (60, 50, true),
            (200, 100, false),
            (200, 101, true),
        ] {
            let mut counts = DeletionCounts::default();
            counts.add(place("p"), total);
            (0..deleted).for_each(|_| counts.delete(place("p")));
            let stopped = counts.check(Deletion::Percent(50));
            assert_eq!(stopped.is_err(), is_stopped, "{deleted} of {total}");
        }
    }

    #[test]
    fn a_mapping_may_not_lose_all_though_others_at_its_place_keep_theirs() {
        let mut counts = DeletionCounts::default();
        counts.add(place("core"), 60);
        counts.add(place("site"), 12);
        (0..11).for_each(|_| counts.delete(place("site")));
        assert_eq!(counts.check(Deletion::Percent(50)), Ok(()));
        counts.delete(place("site"));
        let refusal = MassDeletion { place: Some(place("site")), deleted: 12, total: 12 };
        assert_eq!(counts.check(Deletion::Percent(50)), Err(refusal));
        assert_eq!(counts.check(Deletion::Unlimited), Ok(()));
    }

    #[test]
    fn one_arrival_excuses_one_deletion() {
        let (mut added, blob) = (AddedBlobs::default(), ObjectId([7; 20]));
        added.add(blob);
        assert!(added.take(blob));
        assert!(!added.take(blob));
        assert!(!added.take(ObjectId([8; 20])));
    }
}
