//! Repositories made anew: filled aside, and put in their place when they are whole.
//!
//! Git has many words for a damaged store, and not all of them tell it from what a server did. So
//! whatever may be the store's fault is tried once more without it. If that fails, too, the store was
//! not to blame, and stays as it is.

use std::path::Path;

use super::{Error, Store, layout};
use crate::diagnosis::Fault;
use crate::error;

/// Whether the store may be to blame for a failure.
pub(super) fn is_suspect(error: &error::Error) -> bool {
    match (error, error.fault()) {
        (error::Error::Store { source, .. }, _) => {
            matches!(source, Error::Missing { .. } | Error::Read { source: Fault::Store })
        }
        // What we claim to have is not sent: git then says that the server left something out.
        (_, Some(fault)) => {
            matches!(fault, Fault::Store | Fault::Damaged | Fault::NotOurRef | Fault::Other { .. })
        }
        (_, None) => false,
    }
}

/// Fills a new repository, which then takes the place of the one with this name.
pub(super) fn replace<T>(
    store: &Store,
    name: &str,
    fill: impl FnOnce(&Path) -> Result<T, error::Error>,
) -> Result<T, error::Error> {
    let failed = |source| store.failed(source);
    let next = store.directory.join(layout::NEXT);
    layout::make_anew(&next).map_err(failed)?;
    let filled = fill(&next);
    match filled {
        Ok(_) => layout::adopt(&store.directory, name),
        Err(_) => layout::remove(&next),
    }
    .map_err(failed)?;
    filled
}
