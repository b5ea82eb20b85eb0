//! The budget of a store: how many more bytes a fetch may bring.
//!
//! A volume with a size limit would make the kubelet evict the gateway, so the limit is ours. It is
//! checked before each fetch, and git's own files are limited to what is left. Where little is left,
//! idle stores in the same volume make way, the least recently used first; where nothing is, the
//! caller empties this one.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::layout::{self, HISTORY, LOCK, NEXT, REPOSITORY, URL};
use super::location::{Location, Parent};
use super::lock::Lock;
use crate::Cancel;
use crate::diagnosis::Fault;

/// Less than this part of a budget is little.
const LITTLE: u64 = 4;

/// How many bytes the packs of a store may have, or those of all stores in one volume.
#[derive(Debug)]
pub(super) struct Budget {
    own: PathBuf,
    volume: Option<PathBuf>,
    limit: u64,
}

impl Budget {
    /// Returns the budget of a location that has a limit.
    pub(super) fn of(location: &Location) -> Option<Self> {
        let own = location.directory().to_owned();
        let volume = match location.parent {
            Parent::Volume => own.parent().map(Path::to_owned),
            Parent::Checked => None,
        };
        Some(Self { own, volume, limit: location.limit? })
    }

    /// Returns how many bytes are left. While that is little, other stores make way; where nothing
    /// is left after that, it is an error.
    pub(super) fn room(&self) -> Result<u64, Fault> {
        let is_little = |left: u64| left < self.limit / LITTLE;
        let mut left = self.left();
        let mut idle = if is_little(left) { self.others() } else { Vec::new() };
        idle.sort_by_key(|store| std::cmp::Reverse(last_used(store)));
        while let Some(store) = idle.pop().filter(|_| is_little(left)) {
            make_way(&store);
            left = self.left();
        }
        if left == 0 { Err(self.full()) } else { Ok(left) }
    }

    /// Returns the error for a fetch that needed more than was left.
    pub(super) fn full(&self) -> Fault {
        Fault::StoreFull { limit: self.limit }
    }

    fn left(&self) -> u64 {
        let others = self.others();
        let stores = others.iter().chain([&self.own]);
        self.limit.saturating_sub(stores.map(|store| bytes_of(store)).sum())
    }

    /// The other stores in the volume.
    fn others(&self) -> Vec<PathBuf> {
        let entries = self.volume.iter().filter_map(|volume| fs::read_dir(volume).ok()).flatten();
        let stores = entries.flatten().map(|entry| entry.path());
        stores.filter(|path| *path != self.own && path.join(URL).is_file()).collect()
    }
}

fn bytes_of(store: &Path) -> u64 {
    [REPOSITORY, HISTORY, NEXT].iter().map(|name| layout::pack_bytes(&store.join(name))).sum()
}

/// Every run writes its name into the lock.
fn last_used(store: &Path) -> Option<SystemTime> {
    fs::metadata(store.join(LOCK)).and_then(|found| found.modified()).ok()
}

/// Empties a store that is not in use. One that can't be emptied is left as it is.
fn make_way(store: &Path) {
    if let Ok(_lock) = Lock::take(&store.join(LOCK), Duration::ZERO, &Cancel::default()) {
        drop(layout::wipe(store));
    }
}
