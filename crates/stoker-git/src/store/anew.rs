//! Repositories made anew: filled aside, and put in their place when they are whole.
//!
//! Git has many words for a damaged store, and not all of them tell it from what a server did. So
//! whatever may be the store's fault is tried once more without it, to its end. If that fails, too,
//! the store was not to blame, or nothing better is to be had: it stays as it is.

use std::path::Path;

use super::{Error, layout};
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

/// Fills a new repository, which then takes the place of the one with this name.
pub(super) fn replace<T>(
    directory: &Path,
    name: &str,
    fill: impl FnOnce(&Path) -> Result<T, error::Error>,
) -> Result<T, error::Error> {
    let failed = |source| error::Error::Store { path: directory.to_owned(), source };
    let next = directory.join(layout::NEXT);
    layout::make_anew(&next).map_err(failed)?;
    let filled = fill(&next);
    match filled {
        Ok(_) => layout::adopt(directory, name),
        Err(_) => layout::remove(&next),
    }
    .map_err(failed)?;
    filled
}
