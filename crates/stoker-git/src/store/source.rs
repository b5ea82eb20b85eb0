//! A commit as a [`Source`] of the engine: lists trees level by level, fetches files on demand.

mod fetch_blobs;
mod read_blobs;
mod repair;

use std::collections::{HashMap, HashSet};

use stoker_api::word::Commit;
use stoker_sync::RelPath;
use stoker_sync::source::{self, Entry, Kind, ObjectId, Sink, Source};

use super::fetch_strategy::FetchStrategy;
use super::layout::Found;
use super::objects::{Header, ObjectKind, Objects};
use super::{Error, Store, layout, rebuild, tree};
use crate::diagnosis::Fault;
use crate::error;

/// A directory with a million entries has about 35 MB.
pub(super) const MAX_TREE: u64 = 64 * 1024 * 1024;

/// What one commit holds.
#[derive(Debug)]
pub struct CommitSource {
    store: Store,
    commit: Commit,
    objects: Option<Objects>,
    /// How much of the commit was listed, to find out whether nearly all of it is wanted.
    seen: Seen,
    /// What of the commit is in the store besides its trees.
    fetched: Fetched,
    /// Whether the store may be rebuilt when it fails.
    rebuild: Rebuild,
    /// The object that a rebuild did not bring.
    unfetchable: Option<ObjectId>,
    /// The error behind the last [`source::Error::Failed`].
    failure: Option<error::Error>,
}

/// What was fetched of a commit. Each variant includes the ones above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fetched {
    /// Its trees, and files as they were requested.
    Trees,
    /// All of its files except big ones.
    SmallFiles,
    /// All that the server has, because it serves nothing by id.
    Everything,
}

/// Whether the store may be rebuilt when it fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rebuild {
    /// Its content is older than this run, so it may be damaged.
    Allowed,
    /// The store is new, or this run has rebuilt it already: it is not the cause of a failure.
    NotAllowed,
}

#[derive(Debug, Default)]
struct Seen {
    trees: u64,
    files: u64,
}

impl CommitSource {
    pub(super) fn open(
        store: Store,
        commit: Commit,
        expected: &[RelPath],
    ) -> Result<Self, error::Error> {
        let rebuild = match store.found {
            Found::Nothing => Rebuild::NotAllowed,
            Found::Kept | Found::Crowded => Rebuild::Allowed,
        };
        let unfetchable = rebuild::recall_unfetchable(&store, &commit);
        let mut opened = Self {
            store,
            commit,
            objects: None,
            seen: Seen::default(),
            fetched: Fetched::Trees,
            rebuild,
            unfetchable,
            failure: None,
        };
        if !opened.is_here().unwrap_or(false) {
            let mut strategy = FetchStrategy::Trees;
            if opened.store.found == Found::Crowded {
                // Nearly all of this commit was here before, so few files are fetched again.
                opened.empty()?;
            } else if layout::object_count(&opened.store.repository()) == 0 {
                strategy = FetchStrategy::choose(&opened.store, &opened.commit, expected)?;
            }
            opened.fetch_commit(strategy)?;
        }
        Ok(opened)
    }

    /// Takes the error behind the last [`source::Error::Failed`].
    pub fn take_error(&mut self) -> Option<error::Error> {
        self.failure.take()
    }

    /// Returns the commit.
    pub fn commit(&self) -> &Commit {
        &self.commit
    }

    /// Converts an error to one of a source, and keeps the original if that says less.
    fn fail(&mut self, error: error::Error) -> source::Error {
        match error {
            error::Error::Store { source: Error::Missing { id }, .. } => {
                source::Error::Missing { id }
            }
            error::Error::Store { source: Error::Cancelled, .. } => source::Error::Cancelled,
            error if matches!(error.fault(), Some(Fault::Cancelled)) => source::Error::Cancelled,
            error => {
                self.failure = Some(error);
                source::Error::Failed
            }
        }
    }

    fn id(&self) -> ObjectId {
        ObjectId::parse_hex(self.commit.as_str().as_bytes()).expect("a commit has 40 digits")
    }

    fn is_here(&mut self) -> Result<bool, error::Error> {
        if layout::object_count(&self.store.repository()) == 0 {
            return Ok(false);
        }
        let id = self.id();
        match self.ask(|objects| objects.info(&[id]))?[..] {
            [Header::Found { kind: ObjectKind::Commit, .. }] => Ok(true),
            [Header::Found { .. }] => {
                Err(self.store.failed(Error::NotACommit { commit: self.commit.clone() }))
            }
            _ => Ok(false),
        }
    }

    /// Sends a request to `git cat-file`, which is started if it does not run.
    fn ask<T>(
        &mut self,
        ask: impl FnOnce(&mut Objects) -> Result<T, Error>,
    ) -> Result<T, error::Error> {
        let running = self
            .objects
            .take()
            .map_or_else(|| Objects::start(&self.store.repository(), &self.store.cancel), Ok);
        let answered = running.and_then(|mut objects| {
            let answer = ask(&mut objects)?;
            // After an error git may be in the middle of a response: that process is
            // not used again.
            self.objects = Some(objects);
            Ok(answer)
        });
        answered.map_err(|source| self.store.failed(source))
    }
}

impl Source for CommitSource {
    fn root(&mut self) -> Result<ObjectId, source::Error> {
        let (id, commit) = (self.id(), self.commit.clone());
        self.with_repair(|source| {
            source.ask(|objects| {
                let trees = objects.whole(&[id], MAX_TREE, |_, bytes| tree::of_commit(bytes))?;
                trees[0].ok_or_else(|| Error::NotACommit { commit: commit.clone() })
            })
        })
    }

    fn list(&mut self, trees: &[ObjectId]) -> Result<Vec<Vec<Entry>>, source::Error> {
        if trees.is_empty() {
            return Ok(Vec::new());
        }
        let parse = |kind, bytes: &[u8]| match kind {
            ObjectKind::Tree => tree::parse(bytes),
            ObjectKind::Commit | ObjectKind::Blob | ObjectKind::Tag => None,
        };
        let read =
            self.with_repair(|source| source.ask(|objects| objects.whole(trees, MAX_TREE, parse)))?;
        let mut listed = Vec::with_capacity(trees.len());
        for (entries, id) in read.into_iter().zip(trees) {
            listed.push(entries.ok_or(source::Error::MalformedTree { id: *id })?);
        }
        self.seen.trees += trees.len() as u64;
        let is_file = |entry: &&Entry| matches!(entry.kind, Kind::File | Kind::Executable);
        self.seen.files += listed.iter().flatten().filter(is_file).count() as u64;
        Ok(listed)
    }

    fn fetch(&mut self, blobs: &[ObjectId]) -> Result<Vec<u64>, source::Error> {
        if blobs.is_empty() {
            return Ok(Vec::new());
        }
        let distinct = distinct(blobs);
        let sizes = self.with_repair(|source| source.fetch_blobs(&distinct))?;
        let sizes: HashMap<_, _> = distinct.into_iter().zip(sizes).collect();
        Ok(blobs.iter().map(|id| sizes[id]).collect())
    }

    fn read(&mut self, blobs: &[ObjectId], sink: &mut Sink<'_>) -> Result<(), source::Error> {
        if blobs.is_empty() {
            return Ok(());
        }
        self.stream(blobs, sink).map_err(|error| self.fail(error))
    }
}

fn distinct(blobs: &[ObjectId]) -> Vec<ObjectId> {
    let mut once = HashSet::with_capacity(blobs.len());
    blobs.iter().copied().filter(|id| once.insert(*id)).collect()
}
