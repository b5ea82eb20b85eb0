//! What the tests of this crate share: access to a repository, a store, a commit as a flat list.

use std::fs;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use stoker_api::chain::Chain;
use stoker_api::word::{Commit, RefName, RepoUrl};
use stoker_core::refs::{Resolution, Unreachable, Wanted};
use stoker_git::resolve::{Resolver, resolve};
use stoker_git::{Access, Cancel, CommitSource, Error, Store};
use stoker_sync::RelPath;
use stoker_sync::source::{Kind, ObjectId, Source};
use stoker_testkit::git::{Oid, Repo, Tree};
use stoker_testkit::leak::Canary;
use tempfile::TempDir;

pub(crate) const HELPER: &str = env!("CARGO_BIN_EXE_stoker-git-helper");

/// A store's directory, and how it is used.
pub(crate) struct Place {
    pub(crate) root: TempDir,
    pub(crate) cancel: Cancel,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { root: TempDir::with_prefix("stoker-store-").unwrap(), cancel: Cancel::default() }
    }

    pub(crate) fn directory(&self) -> PathBuf {
        self.root.path().join("store")
    }

    pub(crate) fn open(&self, access: &Access) -> Result<Store, Error> {
        Store::open(&self.directory(), access.clone(), &self.cancel, Duration::from_secs(1))
    }

    pub(crate) fn commit(&self, access: &Access, commit: &Oid) -> Result<CommitSource, Error> {
        self.commit_expecting(access, commit, &[])
    }

    pub(crate) fn commit_expecting(
        &self,
        access: &Access,
        commit: &Oid,
        expected: &[&str],
    ) -> Result<CommitSource, Error> {
        let expected: Vec<_> = expected.iter().map(|path| RelPath::parse(path).unwrap()).collect();
        self.open(access)?.commit(&Commit::parse(commit.as_str()).unwrap(), &expected)
    }

    pub(crate) fn resolve(&self, access: &Access, wanted: &str) -> Result<Resolution, Error> {
        self.resolve_with(access, wanted, Unreachable::Refused)
    }

    pub(crate) fn resolve_with(
        &self,
        access: &Access,
        wanted: &str,
        unreachable: Unreachable,
    ) -> Result<Resolution, Error> {
        let wanted = Wanted::read(&RefName::parse(wanted).unwrap()).unwrap();
        let directory = self.directory();
        let lock_timeout = Duration::from_secs(1);
        let resolver = Resolver { access, store: &directory, lock_timeout, unreachable };
        resolve(&resolver, &wanted, &self.cancel)
    }
}

/// A repository with one commit, on a server that sends exactly the objects that are requested.
pub(crate) fn filtering(tree: Tree) -> (Repo, Oid) {
    let (repo, commit) = Repo::with(tree).unwrap();
    repo.config("uploadpack.allowFilter", "true").unwrap();
    repo.config("uploadpack.allowAnySHA1InWant", "true").unwrap();
    (repo, commit)
}

/// The commit of a repository, opened in a new store.
pub(crate) fn opened((repo, commit): (Repo, Oid)) -> (Repo, Place, CommitSource) {
    let place = Place::new();
    let source = place.commit(&public(&repo.url()), &commit).unwrap();
    (repo, place, source)
}

pub(crate) fn pack_bytes(store: &Path) -> u64 {
    let packs = fs::read_dir(store.join("repo.git/objects/pack")).into_iter().flatten().flatten();
    packs.map(|entry| entry.metadata().unwrap().len()).sum()
}

/// Claims that no text of an error has a secret in it.
#[track_caller]
pub(crate) fn hides(error: &Error, secret: &Canary) {
    let told = format!("{} {error:?} {error:#?} {:?}", Chain(error), error.remedy());
    assert!(!secret.is_in(told.as_bytes()), "{told}");
}

pub(crate) fn public(url: &str) -> Access {
    Access::public(RepoUrl::parse(url).unwrap(), HELPER)
}

/// Every file of a commit with its content, by path.
pub(crate) fn files(source: &mut dyn Source) -> Vec<(String, String)> {
    let (paths, ids) = walk(source);
    let sizes = source.fetch(&ids).unwrap();
    let contents = contents(source, &ids);
    assert!(contents.iter().zip(&sizes).all(|(content, size)| content.len() as u64 == *size));
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    paths.into_iter().zip(contents.into_iter().map(text)).collect()
}

pub(crate) fn walk(source: &mut dyn Source) -> (Vec<String>, Vec<ObjectId>) {
    let mut level = vec![(String::new(), source.root().unwrap())];
    let (mut paths, mut ids) = (Vec::new(), Vec::new());
    while !level.is_empty() {
        let trees: Vec<_> = level.iter().map(|(_, id)| *id).collect();
        let listed = source.list(&trees).unwrap();
        let mut next = Vec::new();
        for ((prefix, _), entries) in level.iter().zip(listed) {
            for entry in entries {
                let path = format!("{prefix}{}", String::from_utf8_lossy(&entry.name));
                match entry.kind {
                    Kind::Dir => next.push((format!("{path}/"), entry.id)),
                    Kind::File | Kind::Executable => {
                        paths.push(path);
                        ids.push(entry.id);
                    }
                    Kind::Symlink | Kind::Submodule | Kind::Special => {}
                }
            }
        }
        level = next;
    }
    (paths, ids)
}

pub(crate) fn contents(source: &mut dyn Source, ids: &[ObjectId]) -> Vec<Vec<u8>> {
    let mut contents = Vec::new();
    source
        .read(ids, &mut |index, size, bytes: &mut dyn Read| {
            assert_eq!(index, contents.len());
            let mut content = Vec::new();
            bytes.read_to_end(&mut content).unwrap();
            assert_eq!(content.len() as u64, size);
            contents.push(content);
            ControlFlow::Continue(())
        })
        .unwrap();
    contents
}
