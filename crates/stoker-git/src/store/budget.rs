//! The budget of a store: how many more bytes a fetch may write.
//!
//! If the volume had a size limit, the kubelet would evict the gateway's pod when it is exceeded.
//! So Stoker enforces the limit itself. It is checked before each fetch, and git may not write a
//! larger file than what is left. When little is left, idle stores in the same volume are emptied,
//! the least recently used first. When nothing is left, the caller empties this store.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::layout::{self, HISTORY, LOCK, NEXT, REPOSITORY, URL};
use super::location::{Location, Parent};
use super::lock;
use crate::Cancel;
use crate::diagnosis::Fault;

/// Other stores are emptied when less than this fraction of the budget is left: a quarter.
const LITTLE: u64 = 4;

/// The limit on the packs of a store, or of all stores in one volume.
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

    /// Returns how many bytes are left. Empties other stores while that is little. Fails if nothing
    /// is left after that.
    pub(super) fn room(&self) -> Result<u64, Fault> {
        let is_little = |left: u64| left < self.limit / LITTLE;
        let mut left = self.left();
        let mut idle = if is_little(left) { self.others() } else { Vec::new() };
        idle.sort_by_key(|store| std::cmp::Reverse(last_used(store)));
        while let Some(store) = idle.pop().filter(|_| is_little(left)) {
            empty_if_idle(&store);
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

/// Every run writes its line into the lock file, so its time is that of the last use.
fn last_used(store: &Path) -> Option<SystemTime> {
    fs::metadata(store.join(LOCK)).and_then(|found| found.modified()).ok()
}

/// Empties a store that is not in use. A store that can't be emptied stays as it is.
fn empty_if_idle(store: &Path) {
    if let Ok(_lock) = lock::take(&store.join(LOCK), Duration::ZERO, &Cancel::default()) {
        drop(layout::wipe(store));
    }
}
