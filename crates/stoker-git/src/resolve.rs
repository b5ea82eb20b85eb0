//! From a wanted ref to its commit, with as little traffic as the form of the ref allows.

use std::path::Path;
use std::time::Duration;

use stoker_core::refs::{self, Answer, History, HistoryQuery, Resolution, Unreachable, Wanted};

use crate::Cancel;
use crate::access::Access;
use crate::error::Error;
use crate::remote;
use crate::store::{Location, Store, find_in_history};

/// Where and how to resolve a ref.
#[derive(Debug, Clone, Copy)]
pub struct Resolver<'a> {
    /// The repository.
    pub access: &'a Access,
    /// The store's directory, which is used only if the history is needed.
    pub store: &'a Path,
    /// How long to wait for another process to let go of the store.
    pub lock_timeout: Duration,
    /// Whether a commit that no branch or tag reaches may be used.
    pub unreachable: Unreachable,
}

/// Resolves a ref: one listing of refs, and the history only for ids that are not an advertised tip.
pub fn resolve(
    resolver: &Resolver<'_>,
    wanted: &Wanted,
    cancel: &Cancel,
) -> Result<Resolution, Error> {
    let access = resolver.access;
    let failed = |source| Error::Resolve { remote: access.remote(), source };
    let advertised = remote::list(access, wanted.scope(), cancel)?;
    let query = match refs::resolve(wanted, &advertised).map_err(failed)? {
        Answer::Resolved(resolution) => return Ok(resolution),
        Answer::NeedsHistory(query) => query,
    };
    let store = Store::open(resolver.store, access.clone(), cancel, resolver.lock_timeout)?;
    let history = find_in_history(&store, &query)?;
    refs::resolve_in(&history, wanted, resolver.unreachable).map_err(failed)
}

/// Searches the history of all branches and tags, which is fetched into the store first.
///
/// For callers that list refs once for many wanted refs: [`remote::list`], then
/// [`refs::resolve`] for each, then this if the history is needed.
pub fn history(
    access: &Access,
    store: impl Into<Location>,
    query: &HistoryQuery,
    cancel: &Cancel,
) -> Result<History, Error> {
    let store = Store::open(store, access.clone(), cancel, access.limits.timeout)?;
    find_in_history(&store, query)
}
