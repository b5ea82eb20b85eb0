//! What a commit holds, as a value: paths and what stands there.
//!
//! Paths are bytes, because git's are. What git itself would not write (`..`, slashes inside a
//! name, odd modes) is not here but in [`RawEntry`](super::RawEntry).

use std::collections::BTreeMap;

use super::Oid;

/// Files, links and submodules by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    entries: BTreeMap<Vec<u8>, Entry>,
}

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// Bytes with a mode; a symlink's bytes are its target.
    Blob(Mode, Content),
    /// A commit of another repository.
    Gitlink(Oid),
}

/// The modes that git writes for blobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// 100644
    File,
    /// 100755
    Executable,
    /// 120000
    Symlink,
}

/// The bytes of a blob. Big ones are described and made while they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "a field is named after what it holds")]
pub enum Content {
    /// Exactly these bytes.
    Bytes(Vec<u8>),
    /// This many bytes that do not compress, the same for the same seed.
    Noise { seed: u64, length: u64 },
    /// This many zero bytes: huge on disk, nothing on the wire.
    Zeros { length: u64 },
}

impl Tree {
    /// Returns a tree with nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces whatever stands at `path`.
    #[must_use]
    pub fn entry(mut self, path: impl AsRef<[u8]>, entry: Entry) -> Self {
        self.insert(path, entry);
        self
    }

    /// Adds or replaces whatever stands at `path`, in place.
    pub fn insert(&mut self, path: impl AsRef<[u8]>, entry: Entry) {
        self.entries.insert(path.as_ref().to_vec(), entry);
    }

    /// Adds a file with mode 100644.
    #[must_use]
    pub fn file(self, path: impl AsRef<[u8]>, bytes: impl AsRef<[u8]>) -> Self {
        self.entry(path, Entry::Blob(Mode::File, Content::Bytes(bytes.as_ref().to_vec())))
    }

    /// Adds a file with mode 100755.
    #[must_use]
    pub fn executable(self, path: impl AsRef<[u8]>, bytes: impl AsRef<[u8]>) -> Self {
        self.entry(path, Entry::Blob(Mode::Executable, Content::Bytes(bytes.as_ref().to_vec())))
    }

    /// Adds a symbolic link.
    #[must_use]
    pub fn symlink(self, path: impl AsRef<[u8]>, target: impl AsRef<[u8]>) -> Self {
        self.entry(path, Entry::Blob(Mode::Symlink, Content::Bytes(target.as_ref().to_vec())))
    }

    /// Adds a file of `length` bytes that do not compress.
    #[must_use]
    pub fn noise(self, path: impl AsRef<[u8]>, seed: u64, length: u64) -> Self {
        self.entry(path, Entry::Blob(Mode::File, Content::Noise { seed, length }))
    }

    /// Adds a file of `length` zero bytes.
    #[must_use]
    pub fn zeros(self, path: impl AsRef<[u8]>, length: u64) -> Self {
        self.entry(path, Entry::Blob(Mode::File, Content::Zeros { length }))
    }

    /// Adds a submodule: the gitlink, and its section in `.gitmodules`.
    #[must_use]
    pub fn submodule(self, path: &str, url: &str, commit: &Oid) -> Self {
        let mut modules = match self.get(".gitmodules") {
            Some(Entry::Blob(_, Content::Bytes(bytes))) => bytes.clone(),
            _ => Vec::new(),
        };
        let section = format!("[submodule \"{path}\"]\n\tpath = {path}\n\turl = {url}\n");
        modules.extend_from_slice(section.as_bytes());
        self.entry(path, Entry::Gitlink(commit.clone())).file(".gitmodules", modules)
    }

    /// Adds a Git LFS pointer to an object of `size` bytes, which is nowhere.
    #[must_use]
    pub fn lfs_pointer(self, path: impl AsRef<[u8]>, size: u64) -> Self {
        let pointer = format!(
            "version https://git-lfs.github.com/spec/v1\noid sha256:{size:064x}\nsize {size}\n"
        );
        self.file(path, pointer)
    }

    /// Removes whatever stands at `path`.
    #[must_use]
    pub fn without(mut self, path: impl AsRef<[u8]>) -> Self {
        self.entries.remove(path.as_ref());
        self
    }

    /// Returns what stands at `path`.
    pub fn get(&self, path: impl AsRef<[u8]>) -> Option<&Entry> {
        self.entries.get(path.as_ref())
    }

    /// Returns all paths with their entries, sorted by bytes.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &Entry)> {
        self.entries.iter().map(|(path, entry)| (path.as_slice(), entry))
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Says whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
