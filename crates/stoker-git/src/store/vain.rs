//! What a store made anew did not help with, so that it is not tried again with every poll.
//!
//! Some faults are in the repository itself: a file that the server has lost, a tree that is too
//! large. The object is remembered with its commit, and forgotten for the next one.

use std::fs;

use stoker_api::word::Commit;
use stoker_sync::source::ObjectId;

use super::{Error, Store, layout};
use crate::error;

/// Returns the object that a failure is about, if it may be the same in every store.
pub(super) fn object(error: &error::Error) -> Option<ObjectId> {
    match error {
        error::Error::Store {
            source: Error::Missing { id } | Error::TreeTooLarge { id, .. },
            ..
        } => Some(*id),
        _ => None,
    }
}

pub(super) fn recall(store: &Store, commit: &Commit) -> Option<ObjectId> {
    let text = fs::read_to_string(store.directory.join(layout::VAIN)).ok()?;
    let (of, id) = text.trim_end().split_once(' ')?;
    ObjectId::parse_hex(id.as_bytes()).filter(|_| of == commit.as_str())
}

pub(super) fn remember(store: &Store, commit: &Commit, id: ObjectId) -> Result<(), Error> {
    let path = store.directory.join(layout::VAIN);
    layout::write(&path, format!("{commit} {id}\n").as_bytes())
}
