//! How the first fetch of a store works: one fetch if all files are wanted, otherwise trees first.
//!
//! To sync a small part of a large repository, fetch the trees and then exactly the wanted files.
//! To sync a whole repository that way would make the server walk the commit twice. A small fetch
//! of the top directory shows which case it is.

use std::path::Path;

use stoker_api::word::Commit;
use stoker_sync::RelPath;
use stoker_sync::source::{Entry, Kind, ObjectId};

use super::objects::{Header, ObjectKind, Objects};
use super::source::MAX_TREE;
use super::{Error, Store, fetch, layout, rebuild, tree};
use crate::diagnosis::Fault;
use crate::error;
use crate::remote::with_fresh_credentials;

/// How a commit is fetched into an empty store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FetchStrategy {
    /// Its trees. Files are fetched when they are requested.
    Trees,
    /// Its trees and all files except big ones.
    Whole,
    /// Nothing is left to fetch: the server does not support filters and sent the whole commit.
    Done,
}

impl FetchStrategy {
    /// Chooses how to fetch a commit of which these directories will be read.
    pub(super) fn choose(
        store: &Store,
        commit: &Commit,
        expected: &[RelPath],
    ) -> Result<Self, error::Error> {
        if expected.iter().any(RelPath::is_root) {
            return Ok(Self::Whole);
        }
        if expected.is_empty() {
            return Ok(Self::Trees);
        }
        let failed = |source| error::Error::Store { path: store.directory.clone(), source };
        let repository = store.directory.join(layout::NEXT);
        let fetched = layout::recreate(&repository)
            .map_err(failed)
            .and_then(|()| fetch_top(store, commit, &repository));
        let strategy = match fetched {
            // The fetch of trees handles both.
            Err(error) if rebuild::is_full(&error) => Self::Trees,
            Err(error) if matches!(error.fault(), Some(Fault::NotOurRef)) => Self::Trees,
            Err(error) => return Err(error),
            Ok(()) => inspect_top(store, commit, expected).unwrap_or(Self::Trees),
        };
        if strategy == Self::Done {
            layout::adopt(&store.directory, layout::REPOSITORY).map_err(failed)?;
        } else {
            layout::remove(&repository).map_err(failed)?;
        }
        Ok(strategy)
    }
}

fn fetch_top(store: &Store, commit: &Commit, repository: &Path) -> Result<(), error::Error> {
    with_fresh_credentials(
        &store.access,
        &store.cancel,
        |session| fetch::top(store, session, repository, commit),
        |source| store.not_fetched(commit, source),
    )
}

fn inspect_top(
    store: &Store,
    commit: &Commit,
    expected: &[RelPath],
) -> Result<FetchStrategy, Error> {
    let id = ObjectId::parse_hex(commit.as_str().as_bytes()).expect("a commit has 40 digits");
    let mut objects = Objects::start(&store.directory.join(layout::NEXT), &store.cancel)?;
    let missing = Error::Missing { id };
    let top = objects.whole(&[id], MAX_TREE, |_, bytes| tree::of_commit(bytes))?[0];
    let Some(top) = top else { return Err(missing) };
    let entries = objects.whole(&[top], MAX_TREE, |kind, bytes| match kind {
        ObjectKind::Tree => tree::parse(bytes),
        ObjectKind::Commit | ObjectKind::Blob | ObjectKind::Tag => None,
    })?;
    let Some(entries) = entries.into_iter().next().flatten() else { return Err(missing) };
    let dirs: Vec<&Entry> = entries.iter().filter(|entry| entry.kind == Kind::Dir).collect();
    let ids: Vec<ObjectId> = dirs.iter().map(|dir| dir.id).collect();
    let is_here = |header: &Header| *header != Header::Missing;
    if !ids.is_empty() && objects.info(&ids[..1])?.iter().all(is_here) {
        return Ok(FetchStrategy::Done);
    }
    Ok(if is_all(&dirs, expected) { FetchStrategy::Whole } else { FetchStrategy::Trees })
}

/// Returns whether every top-level directory is expected as a whole.
fn is_all(dirs: &[&Entry], expected: &[RelPath]) -> bool {
    let is_expected = |dir: &&Entry| expected.iter().any(|path| **path == *dir.name);
    !dirs.is_empty() && dirs.iter().all(is_expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_wanted_if_every_directory_of_the_top_is() {
        let dir = |name: &[u8]| Entry { name: name.into(), kind: Kind::Dir, id: ObjectId([1; 20]) };
        let (projects, config, docs) = (dir(b"projects"), dir(b"config"), dir(b"docs"));
        let path = |path: &str| RelPath::parse(path).unwrap();
        let expected = [path("projects"), path("config")];
        assert!(is_all(&[&projects, &config], &expected));
        assert!(is_all(&[&config], &expected));
        assert!(!is_all(&[&projects, &config, &docs], &expected));
        assert!(!is_all(&[&projects], &[path("projects/line-1")]));
        assert!(!is_all(&[], &expected));
    }
}
