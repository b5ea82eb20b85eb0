#![expect(clippy::disallowed_methods, reason = "tests look at the disk")]
//! For tests: a scratch directory, a commit in memory, and one run from plan to report.

pub(crate) mod model;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha1::{Digest, Sha1};

use crate::hash::BlobHash;
use crate::request::{Deletion, Mapping};
use crate::source::{Entry, Error, Kind, ObjectId, Sink, Source};
use crate::{Cancel, Engine, Missing, OpenGate, Options, RelPath, Report, Request};

/// A directory that goes with the test.
pub(crate) struct Scratch(tempfile::TempDir);

/// What is at a path of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Live {
    File { content: Vec<u8>, is_executable: bool },
    Link(Vec<u8>),
    Dir,
}

/// Everything in a directory, by path.
pub(crate) type Snapshot = BTreeMap<Vec<u8>, Live>;

/// A commit in memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Commit {
    trees: BTreeMap<ObjectId, Vec<Entry>>,
    blobs: BTreeMap<ObjectId, Vec<u8>>,
    root: Option<ObjectId>,
    /// How many trees were listed, and how many blobs read.
    pub(crate) listed: usize,
    pub(crate) read: usize,
}

/// A file of a commit, by its path.
pub(crate) type Files = BTreeMap<Vec<u8>, Blob>;

/// What a file of a commit is, and its content.
pub(crate) type Blob = (Kind, Vec<u8>);

/// A file and its path below some directory.
type Placed<'a> = (&'a [u8], &'a Blob);

impl Scratch {
    pub(crate) fn new() -> Self {
        // In memory where that is possible: these tests sync thousands of times.
        let in_memory = tempfile::tempdir_in("/dev/shm");
        Self(in_memory.or_else(|_| tempfile::tempdir()).unwrap())
    }

    pub(crate) fn path(&self, below: impl AsRef<[u8]>) -> PathBuf {
        self.0.path().join(OsStr::from_bytes(below.as_ref()))
    }

    pub(crate) fn write(&self, below: impl AsRef<[u8]>, content: impl AsRef<[u8]>) {
        let path = self.path(below);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn make_dir(&self, below: impl AsRef<[u8]>) {
        std::fs::create_dir_all(self.path(below)).unwrap();
    }

    pub(crate) fn read(&self, below: impl AsRef<[u8]>) -> String {
        String::from_utf8(std::fs::read(self.path(below)).unwrap()).unwrap()
    }

    pub(crate) fn exists(&self, below: impl AsRef<[u8]>) -> bool {
        std::fs::symlink_metadata(self.path(below)).is_ok()
    }

    /// Returns whether a directory is at this path or a file above it.
    pub(crate) fn is_dir(&self, root: &str, below: &[u8]) -> bool {
        self.path(root).join(OsStr::from_bytes(below)).is_dir()
    }

    pub(crate) fn remove(&self, below: impl AsRef<[u8]>) {
        std::fs::remove_file(self.path(below)).unwrap();
    }

    pub(crate) fn link(&self, below: impl AsRef<[u8]>, target: impl AsRef<[u8]>) {
        let path = self.path(below);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(OsStr::from_bytes(target.as_ref()), path).unwrap();
    }

    pub(crate) fn mode(&self, below: impl AsRef<[u8]>) -> u32 {
        std::fs::symlink_metadata(self.path(below)).unwrap().mode() & 0o7777
    }

    pub(crate) fn chmod(&self, below: impl AsRef<[u8]>, mode: u32) {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(self.path(below), permissions).unwrap();
    }

    pub(crate) fn rename(&self, from: &str, to: &str) {
        std::fs::rename(self.path(from), self.path(to)).unwrap();
    }

    /// Gives something the times of something else.
    pub(crate) fn set_times_of(&self, below: &str, like: &str) {
        let like = std::fs::metadata(self.path(like)).unwrap();
        let times = std::fs::FileTimes::new();
        let times = times.set_modified(like.modified().unwrap());
        let file = std::fs::File::open(self.path(below)).unwrap();
        file.set_times(times).unwrap();
    }

    /// Puts a link in the place of whatever is there, unless that place is behind another link.
    pub(crate) fn replace_by_link(&self, below: &str, target: &str) {
        let path = self.path(below);
        let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
        if path.ancestors().skip(1).any(is_link) {
            return;
        }
        match path.symlink_metadata() {
            Ok(meta) if meta.is_dir() => std::fs::remove_dir_all(&path).unwrap(),
            Ok(_) => std::fs::remove_file(&path).unwrap(),
            Err(_) => {}
        }
        if let Some(parent) = path.parent()
            && std::fs::create_dir_all(parent).is_ok()
        {
            std::os::unix::fs::symlink(target, path).unwrap();
        }
    }

    /// Writes to, deletes and makes files of a directory, whatever happens to it meanwhile.
    pub(crate) fn harass(&self, below: &str) {
        let dir = self.path(below);
        for name in ["x", "y", "z"] {
            drop(std::fs::remove_file(dir.join(name)));
            drop(std::fs::remove_dir(&dir));
            drop(std::fs::create_dir(&dir));
            drop(std::fs::write(dir.join(name), "gateway"));
        }
    }

    /// Everything below a directory of the scratch, our own state apart.
    pub(crate) fn snapshot(&self, below: &str) -> Snapshot {
        let mut snapshot = self.everything(below);
        snapshot.retain(|path, _| !path.starts_with(b".stoker"));
        snapshot
    }

    /// Everything below a directory of the scratch, our own state included.
    pub(crate) fn everything(&self, below: &str) -> Snapshot {
        let mut snapshot = Snapshot::new();
        collect(&self.path(below), &mut Vec::new(), &mut snapshot);
        snapshot
    }

    /// The files and links below a directory of the scratch, our own state apart.
    pub(crate) fn files(&self, below: &str) -> Snapshot {
        let mut snapshot = self.snapshot(below);
        snapshot.retain(|_, live| *live != Live::Dir);
        snapshot
    }

    /// Our own state, with times, to see whether anything was written.
    pub(crate) fn state(&self) -> BTreeMap<String, (u64, i64, i64, u64)> {
        let state = self.path("data/.stoker");
        let mut entries = BTreeMap::new();
        for path in
            std::fs::read_dir(&state).unwrap().map(|entry| entry.unwrap().path()).chain([state])
        {
            let meta = std::fs::symlink_metadata(&path).unwrap();
            let look = (meta.size(), meta.mtime(), meta.mtime_nsec(), meta.ino());
            entries.insert(path.display().to_string(), look);
        }
        entries
    }

    /// Changes a file and gives it back its time.
    pub(crate) fn edit_unseen(&self, below: &str, content: &str) {
        use std::io::Write;
        let path = self.path(below);
        let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
        let mut file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        file.write_all(content.as_bytes()).unwrap();
        file.set_modified(modified).unwrap();
    }

    fn segments(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.path("data/.stoker")).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.to_string_lossy().contains("manifest-")).collect()
    }

    pub(crate) fn lose_manifest(&self) {
        self.segments().iter().for_each(|path| std::fs::remove_file(path).unwrap());
    }

    /// Flips a bit of every segment, so far from its beginning as `share` of 16 says.
    pub(crate) fn damage_manifest(&self, share: usize) {
        for path in self.segments() {
            let mut bytes = std::fs::read(&path).unwrap();
            let position = bytes.len() * share / 16;
            bytes[position] ^= 1;
            std::fs::write(path, bytes).unwrap();
        }
    }

    pub(crate) fn options(&self) -> Options {
        Options { data: self.path("data"), missing: Missing::Create, lock_timeout: Duration::ZERO }
    }

    pub(crate) fn engine(&self) -> Engine {
        Engine::open(&self.options(), &Cancel::default()).unwrap()
    }
}

fn collect(dir: &Path, prefix: &mut Vec<u8>, snapshot: &mut Snapshot) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let length = prefix.len();
        if length > 0 {
            prefix.push(b'/');
        }
        prefix.extend_from_slice(entry.file_name().as_bytes());
        let meta = entry.metadata().unwrap();
        let live = if meta.is_dir() {
            collect(&entry.path(), prefix, snapshot);
            Live::Dir
        } else if meta.is_symlink() {
            Live::Link(std::fs::read_link(entry.path()).unwrap().as_os_str().as_bytes().to_vec())
        } else {
            let content = std::fs::read(entry.path()).unwrap();
            Live::File { content, is_executable: meta.mode() & 0o100 != 0 }
        };
        snapshot.insert(prefix.clone(), live);
        prefix.truncate(length);
    }
}

impl Commit {
    /// A commit with plain files.
    pub(crate) fn of<const N: usize>(files: [(&str, &str); N]) -> Self {
        let file = |(path, content): (&str, &str)| {
            (path.as_bytes().to_vec(), (Kind::File, content.as_bytes().to_vec()))
        };
        Self::from_files(&files.into_iter().map(file).collect())
    }

    /// A commit with anything in it.
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

    /// Makes a tree the top directory.
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

/// A mapping in the form of `--map`.
pub(crate) fn map(text: &str) -> Mapping {
    let (source, destination) = text.rsplit_once(':').unwrap();
    Mapping::new(RelPath::parse(source).unwrap(), RelPath::parse(destination).unwrap())
}

/// A request for these mappings; the commit's name is made from its content.
pub(crate) fn request<const N: usize>(commit: &Commit, maps: [&str; N]) -> Request {
    let name = commit.root.map_or_else(String::new, |root| root.to_string());
    Request::new(name, maps.into_iter().map(map).collect())
}

/// Lets a request delete as much as it likes.
pub(crate) fn unlimited(request: Request) -> Request {
    Request { deletion: Deletion::Unlimited, ..request }
}

/// One run, from opening to report.
pub(crate) fn sync(
    scratch: &Scratch,
    commit: &Commit,
    request: &Request,
) -> Result<Report, Box<dyn std::error::Error>> {
    let cancel = Cancel::default();
    let mut source = commit.clone();
    let mut engine = Engine::open(&scratch.options(), &cancel)?;
    let plan = engine.plan(&mut source, request, &cancel)?;
    let written = engine.write(plan, &mut source, &cancel)?;
    Ok(written.apply(&mut OpenGate)?)
}
