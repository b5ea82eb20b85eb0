//! A commit as the file engine sees it: trees level by level, files fetched when they are wanted.

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
    /// How much of the commit was looked at, to tell whether nearly all of it is wanted.
    seen: Seen,
    /// How the commit is fetched.
    strategy: FetchStrategy,
    /// Whether all files were fetched that are not big.
    has_all: bool,
    /// Whether the store is not to blame for what goes wrong: nothing in it is older than this run,
    /// or it was made anew already.
    is_cleared: bool,
    /// The object with which a store made anew did not help.
    unfetchable: Option<ObjectId>,
    /// Whether the server sent everything that it has.
    has_everything: bool,
    /// Why the last answer was [`source::Error::Failed`].
    failure: Option<error::Error>,
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
        let (seen, strategy) = (Seen::default(), FetchStrategy::Trees);
        let is_cleared = store.found == Found::Nothing;
        let unfetchable = rebuild::recall_unfetchable(&store, &commit);
        let (has_all, has_everything, objects) = (false, false, None);
        let mut opened = Self {
            store,
            commit,
            objects,
            seen,
            strategy,
            has_all,
            is_cleared,
            unfetchable,
            has_everything,
            failure: None,
        };
        if !opened.is_here().unwrap_or(false) {
            if opened.store.found == Found::Crowded {
                // What it had was enough but for a few files, so few of them are wanted now.
                opened.empty()?;
            } else if layout::object_count(&opened.store.repository()) == 0 {
                opened.strategy = FetchStrategy::choose(&opened.store, &opened.commit, expected)?;
            }
            opened.fetch_commit()?;
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

    /// Returns an error in the words of sources, and keeps it where those say too little.
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

    /// Asks git, which is started where it does not run.
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
            // After an error git may be in the middle of an answer: that one is not asked again.
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
