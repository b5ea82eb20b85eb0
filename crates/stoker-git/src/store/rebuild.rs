//! Two ways to fix a store: rebuild it beside the old one if it may be damaged, or empty it in
//! place if the volume is full.
//!
//! Git's messages do not always distinguish a damaged store from a fault of the server. So after any
//! failure that a damaged store could cause, the same operation runs once more with a new, empty
//! repository (`next.git`). If it succeeds, the new repository replaces the old one. If it fails
//! too, the store was not the cause, and the old one stays.
//!
//! On a full volume there is no room for a second repository, and old packs may be what fills it.
//! So the store is emptied in place ([`layout::empty`]) and the operation runs once more: once per
//! run, and only if earlier runs left packs. If it fails again, the volume is too small for one
//! commit.
//!
//! Some faults are in the repository itself: an object that the server has lost, a tree that is too
//! large. A rebuild does not help there. The object is recorded with its commit, so that the store
//! is not rebuilt on every poll. The record of another commit does not count.

use std::fs;
use std::io;
use std::path::Path;

use stoker_api::word::Commit;
use stoker_sync::source::ObjectId;

use super::{Error, Store, layout};
use crate::diagnosis::Fault;
use crate::error;

/// Returns whether a damaged store may be the cause of a failure.
pub(super) fn is_suspect(error: &error::Error) -> bool {
    let error::Error::Store { source, .. } = error else {
        // The server does not send what we claim to have. If it is damaged here, git says that the
        // server left something out.
        return matches!(
            error.fault(),
            Some(Fault::Store | Fault::Damaged | Fault::NotOurRef | Fault::Other { .. })
        );
    };
    match source {
        Error::Read { source } => *source == Fault::Store,
        // A damaged object may claim any size.
        Error::Missing { .. }
        | Error::Damaged { .. }
        | Error::Torn { .. }
        | Error::TreeTooLarge { .. } => true,
        Error::Disk { .. }
        | Error::Locked { .. }
        | Error::NotOurs { .. }
        | Error::Foreign { .. }
        | Error::NotACommit { .. }
        | Error::Cancelled => false,
    }
}

/// Returns whether the volume is full, perhaps because of old packs of ours.
pub(super) fn is_full(error: &error::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    match error {
        error::Error::Store { source: Error::Disk { source, .. }, .. } => {
            matches!(source.kind(), StorageFull | QuotaExceeded)
        }
        error => matches!(error.fault(), Some(Fault::DiskFull | Fault::StoreFull { .. })),
    }
}

/// Fills a new repository, which then replaces the one with this name.
pub(super) fn replace<T>(
    directory: &Path,
    name: &str,
    fill: impl FnOnce(&Path) -> Result<T, error::Error>,
) -> Result<T, error::Error> {
    let failed = |source| error::Error::Store { path: directory.to_owned(), source };
    let next = directory.join(layout::NEXT);
    layout::recreate(&next).map_err(failed)?;
    let filled = fill(&next);
    match filled {
        Ok(_) => layout::adopt(directory, name),
        Err(_) => layout::remove(&next),
    }
    .map_err(failed)?;
    filled
}

/// Returns the object of a failure that a rebuilt store may have as well.
pub(super) fn unfetchable_object(error: &error::Error) -> Option<ObjectId> {
    match error {
        error::Error::Store {
            source: Error::Missing { id } | Error::TreeTooLarge { id, .. },
            ..
        } => Some(*id),
        _ => None,
    }
}

pub(super) fn recall_unfetchable(store: &Store, commit: &Commit) -> Option<ObjectId> {
    let text = fs::read_to_string(store.directory.join(layout::UNFETCHABLE)).ok()?;
    let (of, id) = text.trim_end().split_once(' ')?;
    ObjectId::parse_hex(id.as_bytes()).filter(|_| of == commit.as_str())
}

pub(super) fn remember_unfetchable(
    store: &Store,
    commit: &Commit,
    id: ObjectId,
) -> Result<(), Error> {
    let path = store.directory.join(layout::UNFETCHABLE);
    layout::write(&path, format!("{commit} {id}\n").as_bytes())
}
