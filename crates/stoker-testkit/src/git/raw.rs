//! Trees as git would never write them, byte by byte: what a hostile server can send.

use super::{Error, Oid, Repo, import};

/// One entry of a raw tree. Nothing about it is checked, sorted or made unique.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawEntry {
    mode: String,
    name: Vec<u8>,
    object: Oid,
}

impl RawEntry {
    /// Returns an entry with any mode, as text in octal, and any name without a NUL byte.
    ///
    /// `104755` is a setuid file, `40000` a directory, `0` nothing that git knows.
    pub fn new(mode: &str, name: impl AsRef<[u8]>, object: &Oid) -> Self {
        Self { mode: mode.to_owned(), name: name.as_ref().to_vec(), object: object.clone() }
    }

    /// Returns an entry for an ordinary file.
    pub fn file(name: impl AsRef<[u8]>, blob: &Oid) -> Self {
        Self::new("100644", name, blob)
    }

    /// Returns an entry for a directory.
    pub fn directory(name: impl AsRef<[u8]>, tree: &Oid) -> Self {
        Self::new("40000", name, tree)
    }

    fn write(&self, tree: &mut Vec<u8>) {
        tree.extend_from_slice(self.mode.as_bytes());
        tree.push(b' ');
        tree.extend_from_slice(&self.name);
        tree.push(0);
        tree.extend(self.object.to_bytes());
    }
}

impl Repo {
    /// Stores a blob that nothing refers to yet.
    pub fn blob(&self, bytes: impl AsRef<[u8]>) -> Result<Oid, Error> {
        self.object("blob", bytes.as_ref())
    }

    /// Stores a tree made of exactly these entries in exactly this order.
    pub fn raw_tree(&self, entries: &[RawEntry]) -> Result<Oid, Error> {
        let mut bytes = Vec::new();
        for entry in entries {
            entry.write(&mut bytes);
        }
        self.object("tree", &bytes)
    }

    /// Commits a stored tree on top of a branch, which begins here if it does not exist.
    pub fn commit_tree(&self, branch: &str, tree: &Oid) -> Result<Oid, Error> {
        let reference = format!("refs/heads/{branch}");
        let mut ticks = self.ticks();
        let person = format!("{} {}", import::PERSON, import::date(*ticks));
        let parent = match self.resolve(&reference)? {
            Some(parent) => format!("parent {parent}\n"),
            None => String::new(),
        };
        let text =
            format!("tree {tree}\n{parent}author {person}\ncommitter {person}\n\nRaw tree\n");
        let commit = self.object("commit", text.as_bytes())?;
        *ticks += 1;
        drop(ticks);
        self.set_ref(&reference, &commit)?;
        Ok(commit)
    }

    /// Commits a tree with one file of a hostile name next to an innocent one.
    pub fn commit_name(&self, branch: &str, name: impl AsRef<[u8]>) -> Result<Oid, Error> {
        let blob = self.blob("hostile\n")?;
        let tree = self.raw_tree(&[RawEntry::file(name, &blob), RawEntry::file("zz", &blob)])?;
        self.commit_tree(branch, &tree)
    }
}
