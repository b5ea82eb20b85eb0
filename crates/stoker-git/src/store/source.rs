//! A commit as the file engine sees it: trees level by level, files fetched when they are wanted.

mod wanted;

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use stoker_api::word::Commit;
use stoker_sync::RelPath;
use stoker_sync::source::{self, Entry, Kind, ObjectId, Sink, Source};

use super::first::Way;
use super::layout::Found;
use super::objects::{Header, ObjectKind, Objects};
use super::{Error, Store, fetch, layout, tree};
use crate::command::Session;
use crate::diagnosis::Fault;
use crate::error;
use crate::remote::with_fresh_credentials;

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
    way: Way,
    /// Whether all files were fetched that are not big.
    has_all: bool,
    rebuilt: bool,
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
        let (seen, way) = (Seen::default(), Way::Trees);
        let mut opened =
            Self { store, commit, objects: None, seen, way, has_all: false, rebuilt: false };
        if !opened.is_here().unwrap_or(false) {
            // What a crowded store had was enough but for a few files, so few of them are wanted now.
            let is_new = opened.store.found == Found::Usable;
            if is_new && layout::object_count(&opened.store.repository()) == 0 {
                opened.way = Way::choose(&opened.store, &opened.commit, expected)?;
            }
            opened.fetch_commit()?;
        }
        Ok(opened)
    }

    /// Returns the commit.
    pub fn commit(&self) -> &Commit {
        &self.commit
    }

    fn id(&self) -> ObjectId {
        ObjectId::parse_hex(self.commit.as_str().as_bytes()).expect("a commit has 40 digits")
    }

    fn is_here(&mut self) -> Result<bool, Error> {
        match self.find()? {
            None => Ok(false),
            Some(ObjectKind::Commit) => Ok(true),
            Some(_) => Err(Error::NotACommit { commit: self.commit.clone() }),
        }
    }

    /// Returns what is here under the commit's id.
    fn find(&mut self) -> Result<Option<ObjectKind>, Error> {
        if layout::object_count(&self.store.repository()) == 0 {
            return Ok(None);
        }
        let id = self.id();
        let header = self.objects()?.info(&[id])?;
        Ok(header.into_iter().find_map(|header| match header {
            Header::Found { kind, .. } => Some(kind),
            Header::Missing => None,
        }))
    }

    fn objects(&mut self) -> Result<&mut Objects, Error> {
        if self.objects.is_none() {
            self.objects = Some(Objects::start(&self.store.repository(), &self.store.cancel)?);
        }
        Ok(self.objects.as_mut().expect("it was just started"))
    }

    /// Fetches the commit; a store that git stumbles over is made anew first.
    fn fetch_commit(&mut self) -> Result<(), error::Error> {
        self.objects = None;
        let way = std::mem::replace(&mut self.way, Way::Trees);
        self.has_all = way != Way::Trees;
        let fetched = match way {
            Way::Trees => self.run(fetch::trees),
            Way::Whole => self.run(fetch::whole),
            Way::Done => Ok(()),
        };
        let stumbled = match &fetched {
            Err(error) => matches!(error.fault(), Some(Fault::Store | Fault::Damaged)),
            Ok(()) => !self.is_here().map_err(|source| self.store.failed(source))?,
        };
        if stumbled && !self.rebuilt {
            return self.rebuild();
        }
        match fetched {
            Err(error) if matches!(error.fault(), Some(Fault::NotOurRef)) => {
                self.fetch_everything()
            }
            result => result,
        }
    }

    fn rebuild(&mut self) -> Result<(), error::Error> {
        self.rebuilt = true;
        self.objects = None;
        self.store.rebuild()?;
        self.fetch_commit()
    }

    /// For servers that give out nothing by id: everything, and then the commit must be in it.
    fn fetch_everything(&mut self) -> Result<(), error::Error> {
        self.objects = None;
        self.store.rebuild()?;
        self.run(|store, session, _| fetch::everything(store, session))?;
        let here = self.is_here().map_err(|source| self.store.failed(source))?;
        if here { Ok(()) } else { Err(self.store.not_fetched(&self.commit, Fault::NotOurRef)) }
    }

    fn run(
        &self,
        fetch: impl Fn(&Store, &Session, &Commit) -> Result<(), Fault>,
    ) -> Result<(), error::Error> {
        with_fresh_credentials(
            &self.store.access,
            |session| fetch(&self.store, session, &self.commit),
            |fault| self.store.not_fetched(&self.commit, fault),
        )
    }

    /// Asks, and asks once more of a store made anew if this one lost what it had.
    fn with_repair<T>(
        &mut self,
        ask: impl Fn(&mut Objects) -> Result<T, Error>,
    ) -> Result<T, source::Error> {
        let mut answer = self.objects().and_then(&ask);
        let lost =
            matches!(answer, Err(Error::Missing { .. } | Error::Read { source: Fault::Store }));
        if lost && !self.rebuilt {
            self.rebuild().map_err(to_source)?;
            answer = self.objects().and_then(&ask);
        }
        answer.map_err(|error| {
            // Git may still be in the middle of its answer.
            self.objects = None;
            self.to_source(error)
        })
    }

    fn to_source(&self, error: Error) -> source::Error {
        match error {
            Error::Missing { id } => source::Error::Missing { id },
            Error::Cancelled => source::Error::Cancelled,
            error => to_source(self.store.failed(error)),
        }
    }
}

impl Source for CommitSource {
    fn root(&mut self) -> Result<ObjectId, source::Error> {
        let (id, commit) = (self.id(), self.commit.clone());
        self.with_repair(|objects| {
            let trees = objects.whole(&[id], MAX_TREE, |_, bytes| tree::of_commit(bytes))?;
            trees[0].ok_or_else(|| Error::NotACommit { commit: commit.clone() })
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
        let read = self.with_repair(|objects| objects.whole(trees, MAX_TREE, parse))?;
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
        let mut once = HashSet::with_capacity(blobs.len());
        let distinct: Vec<_> = blobs.iter().copied().filter(|id| once.insert(*id)).collect();
        let headers = self.bring(&distinct)?;
        let mut sizes = HashMap::with_capacity(distinct.len());
        for (id, header) in distinct.iter().zip(headers) {
            match header {
                Header::Found { kind: ObjectKind::Blob, size } => sizes.insert(*id, size),
                Header::Found { .. } | Header::Missing => {
                    return Err(source::Error::Missing { id: *id });
                }
            };
        }
        Ok(blobs.iter().map(|id| sizes[id]).collect())
    }

    fn read(&mut self, blobs: &[ObjectId], sink: &mut Sink<'_>) -> Result<(), source::Error> {
        if blobs.is_empty() {
            return Ok(());
        }
        let read = self.objects().and_then(|objects| {
            objects.contents(blobs, &mut |index, header, content| match header {
                Header::Found { kind: ObjectKind::Blob, size } => Ok(sink(index, size, content)),
                Header::Found { .. } | Header::Missing => Err(Error::Missing { id: blobs[index] }),
            })
        });
        match read {
            Ok(ControlFlow::Continue(())) => Ok(()),
            Ok(ControlFlow::Break(())) => {
                self.objects = None;
                Ok(())
            }
            Err(error) => {
                self.objects = None;
                Err(self.to_source(error))
            }
        }
    }
}

fn to_source(error: error::Error) -> source::Error {
    match error.fault() {
        Some(Fault::Cancelled) => source::Error::Cancelled,
        _ => source::Error::Failed { source: Box::new(error) },
    }
}
