//! A commit in memory, as honest or hostile as a test needs it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use sha1::{Digest, Sha1};

use crate::hash::BlobHash;
use crate::source::{Entry, Error, Kind, ObjectId, Sink, Source};

#[derive(Debug, Clone, Default)]
pub(crate) struct Commit {
    trees: BTreeMap<ObjectId, Vec<Entry>>,
    blobs: BTreeMap<ObjectId, Vec<u8>>,
    pub(super) root: Option<ObjectId>,
    /// How many trees were listed, and how many blobs read.
    pub(crate) listed: usize,
    pub(crate) read: usize,
}

/// A file of a commit, by its path.
pub(crate) type Files = BTreeMap<Vec<u8>, Blob>;

/// What a file of a commit is, and its content.
pub(crate) type Blob = (Kind, Vec<u8>);

type Placed<'a> = (&'a [u8], &'a Blob);

impl Commit {
    pub(crate) fn of<const N: usize>(files: [(&str, &str); N]) -> Self {
        Self::of_kinds(files.map(|(path, content)| (path, Kind::File, content)))
    }

    pub(crate) fn of_kinds<const N: usize>(files: [(&str, Kind, &str); N]) -> Self {
        let file =
            |(path, kind, content): (&str, Kind, &str)| (path.into(), (kind, content.into()));
        Self::from_files(&files.into_iter().map(file).collect())
    }

    pub(crate) fn from_files(files: &Files) -> Self {
        let mut commit = Self::default();
        let all: Vec<_> = files.iter().map(|(path, file)| (path.as_slice(), file)).collect();
        commit.root = Some(commit.add_tree(&all));
        commit
    }

    fn add_tree(&mut self, files: &[Placed<'_>]) -> ObjectId {
        let mut entries: Vec<Entry> = Vec::new();
        let mut dirs: BTreeMap<&[u8], Vec<Placed<'_>>> = BTreeMap::new();
        for (path, file) in files {
            match path.iter().position(|byte| *byte == b'/') {
                Some(slash) => {
                    dirs.entry(&path[..slash]).or_default().push((&path[slash + 1..], file));
                }
                None => entries.push(self.add_blob(path, file)),
            }
        }
        for (name, files) in dirs {
            let id = self.add_tree(&files);
            entries.push(Entry { name: name.into(), kind: Kind::Dir, id });
        }
        self.add_entries(entries)
    }

    fn add_blob(&mut self, name: &[u8], (kind, content): &Blob) -> Entry {
        let id = BlobHash::of(content);
        self.blobs.insert(id, content.clone());
        Entry { name: name.into(), kind: *kind, id }
    }

    /// Adds a tree as it is, however hostile.
    pub(crate) fn add_entries(&mut self, entries: Vec<Entry>) -> ObjectId {
        let mut hash = Sha1::new_with_prefix("tree");
        for entry in &entries {
            hash.update(format!("{:?} {:?} {:?}\n", entry.name, entry.kind, entry.id));
        }
        let id = ObjectId(hash.finalize().into());
        self.trees.insert(id, entries);
        id
    }

    pub(crate) fn set_root(&mut self, tree: ObjectId) {
        self.root = Some(tree);
    }

    /// A commit whose top directory has one entry of this name beside an honest one.
    pub(crate) fn with_name(name: &[u8], kind: Kind) -> Self {
        let mut commit = Self::default();
        let blob = commit.add_blob(name, &(Kind::File, b"content".to_vec()));
        let inner = commit.add_entries(vec![Entry { name: (*b"inner").into(), ..blob.clone() }]);
        let id = if kind == Kind::Dir { inner } else { blob.id };
        let honest = Entry { name: (*b"honest").into(), ..blob };
        commit.root = Some(commit.add_entries(vec![honest, Entry { name: name.into(), kind, id }]));
        commit
    }

    /// Makes the bytes of a blob others than its id says.
    pub(crate) fn corrupt(&mut self, content: &str) {
        self.blobs.insert(BlobHash::of(content.as_bytes()), b"something else".to_vec());
    }

    fn blob(&self, id: ObjectId) -> Result<&Vec<u8>, Error> {
        self.blobs.get(&id).ok_or(Error::Missing { id })
    }
}

impl Source for Commit {
    fn root(&mut self) -> Result<ObjectId, Error> {
        Ok(self.root.unwrap_or_else(|| self.add_entries(Vec::new())))
    }

    fn list(&mut self, trees: &[ObjectId]) -> Result<Vec<Vec<Entry>>, Error> {
        self.listed += trees.len();
        let list = |id: &ObjectId| self.trees.get(id).cloned().ok_or(Error::Missing { id: *id });
        trees.iter().map(list).collect()
    }

    fn fetch(&mut self, blobs: &[ObjectId]) -> Result<Vec<u64>, Error> {
        blobs.iter().map(|id| self.blob(*id).map(|blob| blob.len() as u64)).collect()
    }

    fn read(&mut self, blobs: &[ObjectId], sink: &mut Sink<'_>) -> Result<(), Error> {
        self.read += blobs.len();
        for (index, id) in blobs.iter().enumerate() {
            let blob = self.blob(*id)?;
            if sink(index, blob.len() as u64, &mut blob.as_slice()) == ControlFlow::Break(()) {
                break;
            }
        }
        Ok(())
    }
}
