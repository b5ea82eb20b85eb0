#![expect(clippy::disallowed_methods, reason = "tests look at the disk")]
//! A directory that goes with its test, and what is in it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Commit;
use crate::{Cancel, Engine, Missing, OpenError, Opened, Options, Plan, Request};

pub(crate) struct Scratch(tempfile::TempDir);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Live {
    File { content: Vec<u8>, is_executable: bool },
    Link(Vec<u8>),
    Dir,
}

pub(crate) type Snapshot = BTreeMap<Vec<u8>, Live>;

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

    /// Removes the directories above a path of the data directory that are empty.
    pub(crate) fn remove_empty_above(&self, path: &[u8]) {
        let above: Vec<&[u8]> = crate::path::ancestors(path).skip(1).collect();
        for directory in above.into_iter().rev() {
            std::fs::remove_dir(self.path([b"data/", directory].concat())).ok();
        }
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

    /// Gives something to another user; returns whether that is allowed.
    pub(crate) fn chown(&self, below: &str, user: u32, group: u32) -> bool {
        std::os::unix::fs::chown(self.path(below), Some(user), Some(group)).is_ok()
    }

    pub(crate) fn owner(&self, below: impl AsRef<[u8]>) -> (u32, u32) {
        let meta = std::fs::symlink_metadata(self.path(below)).unwrap();
        (meta.uid(), meta.gid())
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
        Options {
            data: self.path("data"),
            missing: Missing::Create,
            lock_timeout: Duration::ZERO,
            follow: Vec::new(),
        }
    }

    pub(crate) fn engine(&self) -> Engine {
        self.try_engine().unwrap()
    }

    pub(crate) fn try_engine(&self) -> Result<Engine, OpenError> {
        Engine::open(&self.options(), &Cancel::default()).and_then(Opened::finish)
    }

    pub(crate) fn plan(&self, commit: &Commit, request: &Request) -> Plan {
        self.engine().plan(&mut commit.clone(), request, &Cancel::default()).unwrap()
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
