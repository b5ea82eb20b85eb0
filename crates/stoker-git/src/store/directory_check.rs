//! Checks that a directory may be used as a store.
//!
//! A user can name any directory, and opening a store removes damaged files in it. So a directory
//! is refused if another user could change it, or if it has files that Stoker did not write under
//! the names that a store uses.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use stoker_api::word::RepoUrl;

use super::Error;
use super::layout::{FILES, HEAD, HISTORY, LOCK, NEXT, REPOSITORY, URL};
use super::layout::{disk, is_directory, temporary};
use super::location::{Location, Parent};

/// Creates the store's directory with mode 0700, and refuses one that another user could write to.
pub(super) fn make_directory(location: &Location) -> Result<(), Error> {
    let directory = location.directory();
    let failed = disk("create", directory);
    DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
    let found = fs::symlink_metadata(directory).map_err(disk("stat", directory))?;
    let uid = rustix::process::geteuid().as_raw();
    // A Kubernetes volume belongs to root and is writable by our group.
    let ours = found.uid() == uid || found.uid() == 0;
    let open_to_all = found.mode() & 0o002 != 0;
    if !found.is_dir() || !ours || open_to_all {
        return Err(Error::NotOurs { path: directory.to_owned() });
    }
    let parent = directory.parent().unwrap_or(directory);
    if location.parent == Parent::Volume || keeps_its_entries(parent, uid) {
        Ok(())
    } else {
        Err(Error::NotOurs { path: parent.to_owned() })
    }
}

/// Returns whether no other user can replace an entry of this directory: it is not writable by all,
/// or it is sticky like `/tmp`.
fn keeps_its_entries(parent: &Path, uid: u32) -> bool {
    let Ok(parent) = fs::metadata(parent) else { return false };
    let ours = parent.uid() == uid || parent.uid() == 0;
    ours && (parent.mode() & 0o002 == 0 || parent.mode() & 0o1000 != 0)
}

/// Refuses a directory that has a foreign entry under one of our names.
pub(super) fn refuse_foreign(directory: &Path, url: &RepoUrl) -> Result<(), Error> {
    let marker = fs::read_to_string(directory.join(URL)).unwrap_or_default();
    if marker == url.as_str() {
        return Ok(());
    }
    // Three cases: the first run was killed before it wrote the marker, the store will be emptied
    // for another URL, or the directory is not a store.
    let has_marker = RepoUrl::parse(&marker).is_ok();
    let repositories = [REPOSITORY, HISTORY, NEXT].map(|name| directory.join(name));
    let is_ours = |path: &PathBuf| is_made(path) || has_marker && has_our_refs(path);
    let is_foreign = |path: &&PathBuf| is_there(path) && !is_ours(path) && !holds_no_file(path);
    if let Some(path) = repositories.iter().find(is_foreign) {
        return Err(Error::Foreign { path: path.clone() });
    }
    // Beside a repository of ours a bad file is damage, which `layout::repair` fixes.
    if repositories.iter().any(is_ours) {
        return Ok(());
    }
    let files = FILES.map(|name| directory.join(name));
    let mut files = files.into_iter().flat_map(|path| [temporary(&path), path]);
    let lock = directory.join(LOCK);
    let is_foreign = |path: &PathBuf| is_there(path) && !fs::read(path).is_ok_and(|t| is_blank(&t));
    let in_the_way = files.find(is_foreign);
    let in_the_way = in_the_way.or((is_there(&lock) && !has_lock(directory)).then_some(lock));
    in_the_way.map_or(Ok(()), |path| Err(Error::Foreign { path }))
}

/// Returns whether the lock file is ours. A process may or may not hold it.
pub(super) fn has_lock(directory: &Path) -> bool {
    let lock = fs::read(directory.join(LOCK));
    lock.is_ok_and(|text| is_blank(&text) || text.starts_with(b"pid "))
}

fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Returns whether a repository is one of ours, by its `HEAD`. If the `HEAD` was not written yet,
/// or did not reach the disk before a power failure, its refs directory decides.
fn is_made(repository: &Path) -> bool {
    let head = fs::read(repository.join("HEAD")).unwrap_or_default();
    is_directory(repository) && head == HEAD || is_blank(&head) && has_our_refs(repository)
}

fn has_our_refs(repository: &Path) -> bool {
    is_directory(repository) && is_directory(&repository.join("refs/stoker"))
}

/// Returns whether a directory holds no file, so that removing it loses nothing. A repository of
/// ours is like this before its first file is written.
fn holds_no_file(directory: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(directory) else { return false };
    is_directory(directory) && entries.all(|entry| entry.is_ok_and(|e| holds_no_file(&e.path())))
}

/// Returns whether a file is empty or all zeros, as a power failure leaves a small file.
fn is_blank(text: &[u8]) -> bool {
    text.iter().all(|byte| *byte == 0)
}
