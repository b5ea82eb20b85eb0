//! A working directory as a source: saved files count, committed or not.
//!
//! Ids are git's own, so a clean checkout has the ids of its commit. Links are entries and are
//! never followed. `.git` and the temporary files of editors are skipped. Files whose stat did not
//! change since the last scan are not read again.

mod scope;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sha1::{Digest, Sha1};

use crate::cancel::Cancel;
use crate::disk::{Dir, DiskError, FileType, Stat};
use crate::drift;
use crate::hash::BlobHash;
use crate::manifest::record::FileStamp;
use crate::path::{self, RelPath};
use crate::source::{Entry, Error, Kind, ObjectId, Sink, Source};
pub use scope::Scope;

/// What the directory is called in errors.
const TOP: &str = "the working directory";

/// The clocks of volumes tick every 1 to 10 ms; FAT's every 2 s, but people do not edit on FAT.
const TICK: Duration = Duration::from_millis(20);

/// A directory that people edit.
#[derive(Debug)]
pub struct WorkDir {
    root: Dir,
    scope: Scope,
    /// The ids of files by path and stat.
    known: HashMap<RelPath, (FileStamp, ObjectId)>,
    trees: HashMap<ObjectId, Vec<Entry>>,
    blobs: HashMap<ObjectId, Blob>,
    scanned: Option<ObjectId>,
    cancel: Cancel,
}

#[derive(Debug, Clone)]
struct Blob {
    path: RelPath,
    size: u64,
    kind: Kind,
}

impl WorkDir {
    /// Opens a directory, of which only these parts matter.
    pub fn open(path: &Path, parts: Vec<RelPath>, cancel: &Cancel) -> Result<Self, DiskError> {
        let (root, scope) = (Dir::open_top(path, TOP)?, Scope::of(parts));
        let (known, trees, blobs) = (HashMap::new(), HashMap::new(), HashMap::new());
        Ok(Self { root, scope, known, trees, blobs, scanned: None, cancel: cancel.clone() })
    }

    /// Returns whether a path leads to this very directory, and not to one that has taken its
    /// place.
    pub fn is_at(&self, path: &Path) -> bool {
        // As long as ours is open, no other gets its number.
        let place = |dir: &Dir| dir.stat_self().map(|stat| (stat.device, stat.stamp.inode));
        let there = Dir::open_top(path, TOP).and_then(|dir| place(&dir));
        there.is_ok_and(|there| place(&self.root).is_ok_and(|own| own == there))
    }

    /// Looks at everything again and returns the id of the whole. Until the next scan the source
    /// serves what was found, so that a plan and its writes speak of one state.
    pub fn scan(&mut self) -> Result<ObjectId, DiskError> {
        self.trees.clear();
        self.blobs.clear();
        let settled = settled();
        let mut scan = TreeWalk { dir: self, known: HashMap::new(), settled };
        let root = scan.dir.root.open(b"")?;
        let id = scan.tree(&root)?.unwrap_or(ObjectId::EMPTY_TREE);
        let known = scan.known;
        self.known = known;
        self.trees.entry(id).or_default();
        self.scanned = Some(id);
        Ok(id)
    }

    fn blob(&self, id: ObjectId) -> Result<&Blob, Error> {
        self.blobs.get(&id).ok_or(Error::Missing { id })
    }
}

/// One scan of everything.
struct TreeWalk<'a> {
    dir: &'a mut WorkDir,
    known: HashMap<RelPath, (FileStamp, ObjectId)>,
    /// What was saved before this moment would show a later save by its time.
    settled: u64,
}

impl TreeWalk<'_> {
    /// Returns the id of a directory; an empty one is none, as in git.
    fn tree(&mut self, dir: &Dir) -> Result<Option<ObjectId>, DiskError> {
        let mut entries = Vec::new();
        for entry in dir.list()? {
            let path = dir.path().join(&entry.name);
            let is_dir = matches!(entry.file_type, FileType::Dir);
            if !self.dir.scope.holds(&path) || !is_dir && !self.dir.scope.holds_file(&path) {
                continue;
            }
            // What vanishes meanwhile was not there.
            let found = match entry.file_type {
                FileType::Dir => match dir.open(&entry.name) {
                    Ok(child) => self.tree(&child)?.map(|id| (Kind::Dir, id)),
                    Err(error) if error.is_absence() => None,
                    Err(error) => return Err(error),
                },
                FileType::File => self.file(dir, &entry.name, path)?,
                FileType::Link => self.link(dir, &entry.name, path)?,
                FileType::Special => Some((Kind::Special, BlobHash::of(b""))),
            };
            entries.extend(found.map(|(kind, id)| Entry { name: entry.name, kind, id }));
        }
        if entries.is_empty() {
            return Ok(None);
        }
        let id = tree_id(&mut entries);
        self.dir.trees.insert(id, entries);
        Ok(Some(id))
    }

    fn file(
        &mut self,
        dir: &Dir,
        name: &[u8],
        path: RelPath,
    ) -> Result<Option<(Kind, ObjectId)>, DiskError> {
        let Some(stat) = dir.stat(name)? else { return Ok(None) };
        let id = match self.dir.known.get(&path) {
            Some((stamp, id)) if *stamp == stat.stamp => *id,
            _ => match drift::content_id(dir, name, &self.dir.cancel) {
                Err(error) if error.is_absence() => return Ok(None),
                id => id?,
            },
        };
        let kind = kind_of(&stat);
        if stat.stamp.modified < self.settled {
            self.known.insert(path.clone(), (stat.stamp, id));
        }
        self.dir.blobs.insert(id, Blob { path, size: stat.stamp.size, kind });
        Ok(Some((kind, id)))
    }

    fn link(
        &mut self,
        dir: &Dir,
        name: &[u8],
        path: RelPath,
    ) -> Result<Option<(Kind, ObjectId)>, DiskError> {
        let target = match dir.read_link(name) {
            Err(error) if error.is_absence() => return Ok(None),
            target => target?,
        };
        let id = BlobHash::of(&target);
        let blob = Blob { path, size: target.len() as u64, kind: Kind::Symlink };
        self.dir.blobs.insert(id, blob);
        Ok(Some((Kind::Symlink, id)))
    }
}

/// Two saves within one tick of a volume's clock have the same time.
#[expect(clippy::disallowed_methods, reason = "compares with the times of files")]
fn settled() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.saturating_sub(TICK).as_nanos()).unwrap_or(u64::MAX)
}

fn kind_of(stat: &Stat) -> Kind {
    if stat.is_executable() { Kind::Executable } else { Kind::File }
}

/// Returns git's id of a tree, with its entries in git's order.
fn tree_id(entries: &mut [Entry]) -> ObjectId {
    let key = |entry: &Entry| {
        let slash: &[u8] = if entry.kind == Kind::Dir { b"/" } else { b"" };
        [&entry.name, slash].concat()
    };
    entries.sort_by_cached_key(key);
    let mut bytes = Vec::new();
    for Entry { name, kind, id: ObjectId(id) } in entries.iter() {
        let mode = match kind {
            Kind::Dir => "40000",
            Kind::File => "100644",
            Kind::Executable => "100755",
            Kind::Symlink => "120000",
            Kind::Submodule => "160000",
            // Git has no mode for it.
            Kind::Special => "10000",
        };
        bytes.extend_from_slice(mode.as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(name);
        bytes.push(0);
        bytes.extend_from_slice(id);
    }
    let hash = Sha1::new_with_prefix(format!("tree {}\0", bytes.len()));
    ObjectId(hash.chain_update(&bytes).finalize().into())
}

fn failed(source: DiskError) -> Error {
    Error::Disk { source }
}

impl Source for WorkDir {
    fn root(&mut self) -> Result<ObjectId, Error> {
        match self.scanned {
            Some(id) => Ok(id),
            None => self.scan().map_err(failed),
        }
    }

    fn list(&mut self, trees: &[ObjectId]) -> Result<Vec<Vec<Entry>>, Error> {
        let list = |id: &ObjectId| self.trees.get(id).cloned().ok_or(Error::Missing { id: *id });
        trees.iter().map(list).collect()
    }

    fn fetch(&mut self, blobs: &[ObjectId]) -> Result<Vec<u64>, Error> {
        blobs.iter().map(|id| self.blob(*id).map(|blob| blob.size)).collect()
    }

    fn read(&mut self, blobs: &[ObjectId], sink: &mut Sink<'_>) -> Result<(), Error> {
        for (index, id) in blobs.iter().enumerate() {
            let Blob { path, size, kind } = self.blob(*id)?;
            let dir = self.root.open(path::parent(path)).map_err(failed)?;
            let name = path::file_name(path);
            let flow = if *kind == Kind::Symlink {
                let target = dir.read_link(name).map_err(failed)?;
                sink(index, *size, &mut target.as_slice())
            } else {
                sink(index, *size, &mut dir.open_file(name).map_err(failed)?)
            };
            if flow == ControlFlow::Break(()) {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::WorkDir;
    use crate::source::{Kind, ObjectId, Source};
    use crate::testing::{Scratch, map};
    use crate::{Cancel, RelPath, Request};

    fn whole(scratch: &Scratch) -> WorkDir {
        WorkDir::open(&scratch.path("work"), Vec::new(), &Cancel::default()).unwrap()
    }

    #[test]
    fn ids_are_those_that_git_gives() {
        let scratch = Scratch::new();
        scratch.write("work/a/file", "hello\n");
        scratch.write("work/a.b/run", "#!");
        scratch.chmod("work/a.b/run", 0o755);
        scratch.write("work/.git/config", "x");
        scratch.write("work/a/.git", "gitdir: elsewhere");
        scratch.make_dir("work/empty");
        scratch.link("work/link", "/etc/passwd");
        let mut source = whole(&scratch);
        let root = source.root().unwrap();
        // git init; git add; git write-tree, with the same files.
        assert_eq!(root.to_string(), "078302be2ef1dd3cd265b696a404dfa0c392716f");
        let listing = &source.list(&[root]).unwrap()[0];
        let kinds: BTreeMap<_, _> =
            listing.iter().map(|entry| (entry.name.to_vec(), entry.kind)).collect();
        let all = [(&b"a"[..], Kind::Dir), (b"a.b", Kind::Dir), (b"link", Kind::Symlink)];
        assert_eq!(kinds, all.map(|(name, kind)| (name.to_vec(), kind)).into());
    }

    #[test]
    fn an_empty_directory_is_the_empty_tree() {
        let scratch = Scratch::new();
        scratch.make_dir("work/nothing");
        let mut source = whole(&scratch);
        assert_eq!(source.root().unwrap(), ObjectId::EMPTY_TREE);
        assert_eq!(source.list(&[ObjectId::EMPTY_TREE]).unwrap(), [vec![]]);
    }

    #[test]
    fn a_save_is_seen_and_arrives() {
        let scratch = Scratch::new();
        scratch.write("work/p/a", "1");
        scratch.write("work/p/b", "2");
        scratch.write("work/ignored/huge", "3");
        let parts = vec![RelPath::parse("p").unwrap()];
        let mut source = WorkDir::open(&scratch.path("work"), parts, &Cancel::default()).unwrap();
        let cancel = Cancel::default();
        let mut engine = scratch.engine();
        for (content, changes) in [("1", 2), ("saved", 1), ("saved", 0)] {
            scratch.write("work/p/a", content);
            let commit = source.scan().unwrap().to_string();
            let request = Request::new(commit, vec![map("p:projects")]);
            let plan = engine.plan(&mut source, &request, &cancel).unwrap();
            assert_eq!(plan.changes.len(), changes);
            let written = engine.write(plan, &mut source, &cancel).unwrap();
            written.apply(&mut || {}).unwrap();
            assert_eq!(scratch.read("data/projects/a"), content);
        }
        assert!(source.list(&[*source.blobs.keys().next().unwrap()]).is_err());
    }

    #[test]
    fn a_second_save_within_a_tick_is_seen() {
        let scratch = Scratch::new();
        scratch.write("work/a", "1");
        let mut source = whole(&scratch);
        let before = source.scan().unwrap();
        scratch.edit_unseen("work/a", "2");
        assert_ne!(source.scan().unwrap(), before);
    }

    #[test]
    fn a_directory_that_took_the_place_of_another_is_not_the_same() {
        let scratch = Scratch::new();
        scratch.write("work/a", "1");
        let source = whole(&scratch);
        assert!(source.is_at(&scratch.path("work")));
        scratch.rename("work", "away");
        assert!(!source.is_at(&scratch.path("work")), "there is none");
        assert!(source.is_at(&scratch.path("away")));
        scratch.write("work/a", "1");
        assert!(!source.is_at(&scratch.path("work")));
    }

    #[test]
    fn temporary_files_of_editors_are_not_content() {
        let scratch = Scratch::new();
        scratch.write("work/4913/a", "1");
        let mut source = whole(&scratch);
        let before = source.scan().unwrap();
        assert_ne!(before, ObjectId::EMPTY_TREE, "a directory may be called so");
        scratch.write("work/4913/.a.swp", "x");
        scratch.write("work/4913/4913", "x");
        scratch.link("work/4913/.#a", "somebody@somewhere");
        assert_eq!(source.scan().unwrap(), before);
    }
}
