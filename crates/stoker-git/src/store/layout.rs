//! The files of a store: how they are created, and how they are repaired after a crash.
//!
//! A bare repository is three directories and two small files, so they are written here instead of
//! by `git init`. The file `url` is written last. Without it, or with another URL in it, the store
//! is emptied when it is opened.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use stoker_api::word::RepoUrl;

use super::Error;

/// The commit's trees and the files that were wanted.
pub(super) const REPOSITORY: &str = "repo.git";
/// Commits only, for ids that no advertised ref points to.
pub(super) const HISTORY: &str = "history.git";
/// The repository that replaces one of them, while it is being filled.
pub(super) const NEXT: &str = "next.git";
/// Ids that were found in the history before.
pub(super) const KNOWN: &str = "known-commits";
/// The object that a rebuild did not bring.
pub(super) const UNFETCHABLE: &str = "unfetchable";
/// The URL of the repository that the store is for.
pub(super) const URL: &str = "url";
/// The small files of a store.
pub(super) const FILES: [&str; 3] = [URL, KNOWN, UNFETCHABLE];
/// The lock, with a line that names its holder.
pub(super) const LOCK: &str = "lock";
/// The content of `HEAD` by which a repository of ours is recognised.
pub(super) const HEAD: &[u8] = b"ref: refs/heads/none\n";

const CONFIG: &[u8] =
    b"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n\tlogAllRefUpdates = false\n";

/// A store with more packs than this is emptied: each one slows every lookup down.
const MAX_PACKS: usize = 60;
/// So is a store whose packs have more bytes than this …
const ROOMY: u64 = 64 * 1024 * 1024;
/// … and more than this many times the bytes of its largest pack. The first commit of a store comes
/// in about one pack, so most of the other packs are outdated. But gateways that share a store may
/// each use another part of a commit. A store that is too small for all of them would be emptied
/// and filled over and over.
const MAX_SHARE: u64 = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing that could be used.
    Nothing,
    /// What earlier runs had left there.
    Kept,
    /// The same, and so much that it is emptied when another commit is fetched.
    Crowded,
}

/// Repairs a store so that git can use it: creates it if absent, empties it if it is for
/// another URL.
pub(super) fn repair(directory: &Path, url: &RepoUrl) -> Result<Found, Error> {
    let marker = directory.join(URL);
    let fits = fs::read(&marker).is_ok_and(|found| found == url.as_str().as_bytes());
    if !fits {
        wipe(directory)?;
    }
    remove(&directory.join(NEXT))?;
    for name in [REPOSITORY, HISTORY] {
        let repository = directory.join(name);
        create(&repository).or_else(|error| match error {
            Error::Disk { source, .. } if is_of_wrong_kind(&source) => recreate(&repository),
            error => Err(error),
        })?;
    }
    if !marker.exists() {
        write(&marker, url.as_str().as_bytes())?;
    }
    Ok(match fits {
        false => Found::Nothing,
        true if is_crowded(&directory.join(REPOSITORY)) => Found::Crowded,
        true => Found::Kept,
    })
}

/// Returns whether a directory is where a file should be, or the reverse.
fn is_of_wrong_kind(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, IsADirectory, NotADirectory};
    matches!(error.kind(), AlreadyExists | IsADirectory | NotADirectory)
}

/// Marks the store as invalid, so that the next open empties it.
pub(super) fn invalidate(directory: &Path) -> Result<(), Error> {
    let path = directory.join(URL);
    clear(&path).map_err(disk("remove", &path))
}

/// Removes everything but the lock.
pub(super) fn wipe(directory: &Path) -> Result<(), Error> {
    // First the file that makes the rest valid: after a crash in between, the store is not used.
    invalidate(directory)?;
    // Files before repositories: leftovers of a crash count as ours while a repository is beside
    // them.
    for file in FILES.map(|name| directory.join(name)) {
        for path in [temporary(&file), file] {
            clear(&path).map_err(disk("remove", &path))?;
        }
    }
    for name in [REPOSITORY, HISTORY, NEXT] {
        remove(&directory.join(name))?;
    }
    Ok(())
}

/// Empties the repositories in place. The recorded ids stay valid.
pub(super) fn empty(directory: &Path, url: &RepoUrl) -> Result<(), Error> {
    // As above: the store is invalid until the end.
    invalidate(directory)?;
    remove(&directory.join(NEXT))?;
    // One after the other: the remaining one shows that the directory is ours.
    for name in [REPOSITORY, HISTORY] {
        recreate(&directory.join(name))?;
    }
    write(&directory.join(URL), url.as_str().as_bytes())
}

/// Removes a repository. `HEAD` goes last: if we are killed meanwhile, it shows that this is ours.
pub(super) fn remove(repository: &Path) -> Result<(), Error> {
    if is_directory(repository) {
        for name in names(repository)?.iter().filter(|name| *name != "HEAD") {
            let path = repository.join(name);
            clear(&path).map_err(disk("remove", &path))?;
        }
    }
    clear(repository).map_err(disk("remove", repository))
}

/// Creates an empty repository, and removes what was there before.
pub(super) fn recreate(repository: &Path) -> Result<(), Error> {
    remove(repository)?;
    create(repository)
}

/// Replaces a repository with `next.git`.
pub(super) fn adopt(directory: &Path, name: &str) -> Result<(), Error> {
    let repository = directory.join(name);
    remove(&repository)?;
    fs::rename(directory.join(NEXT), &repository).map_err(disk("rename", &repository))
}

fn create(repository: &Path) -> Result<(), Error> {
    for name in ["objects/pack", "objects/info", "refs/stoker"] {
        let path = repository.join(name);
        fs::create_dir_all(&path).map_err(disk("create", &path))?;
    }
    for (name, content) in [("HEAD", HEAD), ("config", CONFIG)] {
        let path = repository.join(name);
        if !fs::read(&path).is_ok_and(|found| found == content) {
            write(&path, content)?;
        }
    }
    for name in ["", "refs", "objects/info"] {
        sweep(&repository.join(name))?;
    }
    sweep_packs(repository)
}

/// Removes git's locks. We hold the store's own lock, so the processes that made them are dead.
fn sweep(directory: &Path) -> Result<(), Error> {
    for name in names(directory)? {
        let path = directory.join(&name);
        if has_end(&name, "lock") {
            gone(fs::remove_file(&path)).map_err(disk("remove", &path))?;
        } else if directory.components().any(|part| part.as_os_str() == "refs") && path.is_dir() {
            sweep(&path)?;
        }
    }
    Ok(())
}

/// Removes what an interrupted fetch left: temporary files, and packs without index or the reverse.
pub(super) fn sweep_packs(repository: &Path) -> Result<(), Error> {
    let directory = &repository.join("objects/pack");
    let names = names(directory)?;
    let whole = |stem: &str| {
        ["pack", "idx"].iter().all(|end| {
            let half = fs::metadata(directory.join(format!("{stem}.{end}")));
            half.is_ok_and(|half| half.is_file() && half.len() > 0)
        })
    };
    for name in &names {
        let stem = name.split_once('.').map_or(name.as_str(), |(stem, _)| stem);
        let keep = name.starts_with("pack-") && !has_end(name, "keep") && whole(stem);
        if !keep {
            let path = directory.join(name);
            gone(fs::remove_file(&path)).map_err(disk("remove", &path))?;
        }
    }
    Ok(())
}

/// Returns whether a store has packs that could be removed.
pub(super) fn has_packs(directory: &Path) -> bool {
    [REPOSITORY, HISTORY].iter().any(|name| pack_files(&directory.join(name)).next().is_some())
}

/// Returns whether a repository holds much more than one commit needs, by the sizes of its packs.
fn is_crowded(repository: &Path) -> bool {
    let packs: Vec<u64> = pack_files(repository)
        .filter(|entry| has_end(&entry.file_name().to_string_lossy(), "pack"))
        .filter_map(|entry| Some(entry.metadata().ok()?.len()))
        .collect();
    let (all, largest) = (packs.iter().sum::<u64>(), packs.iter().max().copied().unwrap_or(0));
    packs.len() > MAX_PACKS || all > ROOMY.max(largest.saturating_mul(MAX_SHARE))
}

/// Returns how many objects the packs of a repository hold, by their indexes.
pub(super) fn object_count(repository: &Path) -> u64 {
    let directory = repository.join("objects/pack");
    let indexes = names(&directory).unwrap_or_default();
    let indexes = indexes.iter().filter(|name| has_end(name, "idx"));
    indexes.filter_map(|name| index_count(&directory.join(name)).ok()).sum()
}

/// Reads the last of the 256 running totals that follow the 8-byte header of an index.
fn index_count(index: &Path) -> io::Result<u64> {
    use std::os::unix::fs::FileExt;
    let mut count = [0; 4];
    fs::File::open(index)?.read_exact_at(&mut count, 8 + 255 * 4)?;
    Ok(u64::from(u32::from_be_bytes(count)))
}

/// Returns how many bytes a repository's packs have, unfinished ones included.
pub(super) fn pack_bytes(repository: &Path) -> u64 {
    pack_files(repository).filter_map(|entry| entry.metadata().ok()).map(|found| found.len()).sum()
}

/// Returns the size of the largest file among a repository's packs.
pub(super) fn largest_file(repository: &Path) -> u64 {
    let sizes = pack_files(repository).filter_map(|entry| Some(entry.metadata().ok()?.len()));
    sizes.max().unwrap_or(0)
}

fn pack_files(repository: &Path) -> impl Iterator<Item = fs::DirEntry> {
    fs::read_dir(repository.join("objects/pack")).into_iter().flatten().flatten()
}

fn names(directory: &Path) -> Result<Vec<String>, Error> {
    let entries = fs::read_dir(directory).map_err(disk("list", directory))?;
    entries
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<io::Result<_>>()
        .map_err(disk("list", directory))
}

fn has_end(name: &str, end: &str) -> bool {
    Path::new(name).extension().is_some_and(|found| found == end)
}

/// Writes a small file atomically.
pub(super) fn write(path: &Path, content: &[u8]) -> Result<(), Error> {
    let temporary = temporary(path);
    fs::write(&temporary, content)
        .and_then(|()| fs::rename(&temporary, path))
        .map_err(disk("write", path))
}

/// Returns the name that a small file has while it is being written.
pub(super) fn temporary(path: &Path) -> PathBuf {
    path.with_extension("new")
}

pub(super) fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// Removes a file or a directory, if there is one.
fn clear(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => fs::remove_dir_all(path),
        removed => gone(removed),
    }
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

pub(super) fn disk(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Disk { action, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1024 * 1024;

    /// A store with packs of these sizes, which hold nothing.
    fn store_of(sizes: &[u64]) -> (tempfile::TempDir, RepoUrl) {
        let root = tempfile::tempdir().unwrap();
        let url = RepoUrl::parse("https://git.example/plant.git").unwrap();
        repair(root.path(), &url).unwrap();
        for (number, size) in sizes.iter().enumerate() {
            for (end, size) in [("pack", *size), ("idx", 1)] {
                let name = format!("{REPOSITORY}/objects/pack/pack-{number}.{end}");
                fs::File::create(root.path().join(name)).unwrap().set_len(size).unwrap();
            }
        }
        (root, url)
    }

    #[test]
    fn a_store_is_crowded_by_many_packs_or_by_bytes_that_its_largest_pack_does_not_explain() {
        for (sizes, is_crowded) in [
            (vec![MIB; 60], false),
            (vec![1; 61], true),
            // One large commit, and what changed since.
            ([vec![900 * MIB], vec![40 * MIB; 50]].concat(), false),
            (vec![40 * MIB; 16], false),
            // Nothing of the first is left after a while.
            (vec![40 * MIB; 17], true),
            (vec![3 * MIB; 21], false),
            (vec![3 * MIB; 22], true),
        ] {
            let (root, url) = store_of(&sizes);
            let found = if is_crowded { Found::Crowded } else { Found::Kept };
            assert_eq!(repair(root.path(), &url).unwrap(), found, "{} packs", sizes.len());
            assert!(has_packs(root.path()), "what is there may be what is wanted");
        }
    }

    #[test]
    fn an_emptied_store_is_one_that_is_kept() {
        let (root, url) = store_of(&[MIB]);
        write(&root.path().join(KNOWN), b"1234567 1").unwrap();
        fs::write(root.path().join(HISTORY).join("objects/pack/tmp_pack_x"), "half").unwrap();
        empty(root.path(), &url).unwrap();
        assert!(!has_packs(root.path()));
        assert!(root.path().join(KNOWN).exists());
        assert_eq!(repair(root.path(), &url).unwrap(), Found::Kept);
    }
}
