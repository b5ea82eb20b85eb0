//! Two ways to mend a store: aside, where it may be damaged, and in place, where there is no room.
//!
//! Git has many words for a damaged store, and not all of them tell it from what a server did. So
//! whatever may be the store's fault is tried once more without it, to its end: a new repository is
//! filled aside, and put in its place when it is whole. If that fails, too, the store was not to
//! blame, or nothing better is to be had: it stays as it is.
//!
//! On a full volume there is no room aside, and what fills it may be old packs of ours. So the store
//! is emptied where it is ([`layout::empty`]), and tried once more: once per run, and only if
//! earlier runs had left something in it. If that fails, too, one commit is more than the volume
//! holds.

use std::fs;
use std::io;
use std::path::Path;

use stoker_api::word::Commit;
use stoker_sync::source::ObjectId;

use super::{Error, Store, layout};
use crate::diagnosis::Fault;
use crate::error;

/// Whether the store may be to blame for a failure.
pub(super) fn is_suspect(error: &error::Error) -> bool {
    let error::Error::Store { source, .. } = error else {
        // What we claim to have is not sent: git then says that the server left something out.
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

/// Whether a failure is for want of room, which old packs of ours may take.
pub(super) fn is_full(error: &error::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    match error {
        error::Error::Store { source: Error::Disk { source, .. }, .. } => {
            matches!(source.kind(), StorageFull | QuotaExceeded)
        }
        error => matches!(error.fault(), Some(Fault::DiskFull | Fault::StoreFull { .. })),
    }
}

/// Fills a new repository, which then takes the place of the one with this name.
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

/// Returns the object that a failure is about, if it may be the same in every store.
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
