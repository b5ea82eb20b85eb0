//! Chooses the directory of the object store: outside the data directory, whose gateway would read
//! it as its own files.

use std::path::{Path, PathBuf};

use stoker_api::word::RepoUrl;
use stoker_git::store;

use crate::arguments::{RepositoryArguments, TargetArguments};
use crate::failure::Failure;
use crate::output::shown;

/// Chooses the store's directory: an absolute path, because git runs in a directory of its own.
pub(super) fn choose(
    repository: &RepositoryArguments,
    target: &TargetArguments,
    url: &RepoUrl,
) -> Result<PathBuf, Failure> {
    let directory = repository.store.clone().unwrap_or_else(|| {
        let uid = rustix::process::getuid().as_raw();
        store::default_directory(&|name| std::env::var_os(name), uid, url)
    });
    let (store, data) = (real(&directory), real(&target.data));
    // A mapping could prune the store; rebuilding the store could remove the files of a gateway.
    if store.starts_with(&data) || data.starts_with(&store) {
        let (store, data) = (shown(&store), shown(&data));
        let message = format!("--store {store} and --data {data} lie within each other");
        return Err(Failure::usage(message).hint("choose a directory beside it: --store DIR"));
    }
    Ok(std::path::absolute(&directory).unwrap_or(directory))
}

/// The path without links, as far as it exists.
pub(crate) fn real(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let known = whole.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    match known {
        Some((above, real)) => real.join(whole.strip_prefix(above).unwrap_or(Path::new(""))),
        None => whole,
    }
}
