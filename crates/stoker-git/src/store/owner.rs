//! Whose directory is it? A user may name any, and what is in our way in a store is removed.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

use stoker_api::word::RepoUrl;

use super::Error;
use super::layout::{HEAD, HISTORY, KNOWN, LOCK, NEXT, REPOSITORY, URL, disk, is_directory};

/// Makes the store's directory, private to us, and refuses one that others could have prepared.
pub(super) fn make_directory(directory: &Path) -> Result<(), Error> {
    let failed = disk("make", directory);
    DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
    let found = fs::symlink_metadata(directory).map_err(disk("look at", directory))?;
    let uid = rustix::process::geteuid().as_raw();
    // A volume of Kubernetes belongs to root and is writable by our group: that is not a stranger.
    let ours = found.uid() == uid || found.uid() == 0;
    let open_to_all = found.mode() & 0o002 != 0;
    if !found.is_dir() || !ours || open_to_all {
        return Err(Error::NotOurs { path: directory.to_owned() });
    }
    let parent = directory.parent().unwrap_or(directory);
    if keeps_its_entries(parent, uid) {
        Ok(())
    } else {
        Err(Error::NotOurs { path: parent.to_owned() })
    }
}

/// Whether nobody else could swap a directory in this one for another: who may write to it could,
/// unless it is one like `/tmp`, where everyone keeps what is theirs.
fn keeps_its_entries(parent: &Path, uid: u32) -> bool {
    let Ok(parent) = fs::metadata(parent) else { return false };
    let ours = parent.uid() == uid || parent.uid() == 0;
    ours && (parent.mode() & 0o002 == 0 || parent.mode() & 0o1000 != 0)
}

/// Refuses a directory that holds something of someone else under one of our names.
pub(super) fn refuse_foreign(directory: &Path) -> Result<(), Error> {
    if has_marker(directory) {
        return Ok(());
    }
    // The first run was killed before it had come so far, or this is no store at all.
    let is_foreign_repository = |name: &&str| {
        let repository = directory.join(name);
        is_there(&repository) && !is_made(&repository) && !holds_no_file(&repository)
    };
    let is_foreign_file = |name: &&str| {
        let path = directory.join(name);
        let is_ours = |text: Vec<u8>| is_blank(&text) || *name == LOCK && text.starts_with(b"pid ");
        is_there(&path) && !fs::read(&path).is_ok_and(is_ours)
    };
    let mut in_the_way = [REPOSITORY, HISTORY, NEXT].into_iter().find(is_foreign_repository);
    // Beside a repository of ours a bad file is damage.
    if in_the_way.is_none() && !is_made(&directory.join(REPOSITORY)) {
        in_the_way = [URL, KNOWN, LOCK].into_iter().find(is_foreign_file);
    }
    in_the_way.map_or(Ok(()), |name| Err(Error::Foreign { path: directory.join(name) }))
}

fn has_marker(directory: &Path) -> bool {
    let marker = fs::read_to_string(directory.join(URL));
    marker.is_ok_and(|url| RepoUrl::parse(&url).is_ok())
}

fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Whether a repository is one of ours: by its `HEAD`, or, where that was not written yet or did
/// not reach the disk before the power failed, by where its refs are.
fn is_made(repository: &Path) -> bool {
    let head = fs::read(repository.join("HEAD")).unwrap_or_default();
    let refs = repository.join("refs/stoker");
    is_directory(repository) && (head == HEAD || is_blank(&head) && is_directory(&refs))
}

/// Whether nothing is lost with a directory. Before the first file, ours looks like that, too.
fn holds_no_file(directory: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(directory) else { return false };
    is_directory(directory) && entries.all(|entry| entry.is_ok_and(|e| holds_no_file(&e.path())))
}

/// Empty, or as long as it should be, but never written: what a power cut leaves of a small file.
fn is_blank(text: &[u8]) -> bool {
    text.iter().all(|byte| *byte == 0)
}
