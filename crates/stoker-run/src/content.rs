//! Where the files of a run come from: a commit of a repository, or a working directory.
//!
//! A commit is read on demand. If commit and profile are already applied and no file drifted, git
//! is not started.

use std::time::{Duration, Instant};

use stoker_core::refs::Resolution;
use stoker_git::store::Location;
use stoker_git::{Access, CommitSource, Store};
use stoker_sync::source::{Entry, Error, ObjectId, Sink, Source};
use stoker_sync::{Cancel, RelPath, WorkDir};

use crate::progress::{Phase, Progress};

/// Where the files of a run come from.
#[derive(Debug)]
pub enum Content<'a> {
    /// A commit that is already known.
    Commit(CommitContent<'a>),
    /// A working directory, as it is now.
    WorkDir {
        /// What its content is called: the id of its top directory.
        label: String,
        /// The directory.
        directory: &'a mut WorkDir,
    },
}

/// A commit of a repository.
#[derive(Debug, Clone, Copy)]
pub struct CommitContent<'a> {
    /// The ref and the commit that it was resolved to.
    pub resolution: &'a Resolution,
    /// The repository.
    pub access: &'a Access,
    /// Where the object store is, and how much it may take.
    pub store: &'a Location,
    /// How long another process may have the store.
    pub store_timeout: Duration,
}

pub(crate) trait Supply: Source {
    /// Releases its locks until it is read again.
    fn rest(&mut self) {}

    /// Returns how long fetching took so far.
    fn spent(&self) -> Duration {
        Duration::ZERO
    }

    /// Takes the error behind the last [`Error::Failed`].
    fn take_error(&mut self) -> Option<stoker_git::Error> {
        None
    }
}

/// A commit that is fetched when it is first read.
pub(crate) struct CommitOnDemand<'a> {
    content: CommitContent<'a>,
    cancel: &'a Cancel,
    progress: &'a dyn Progress,
    /// The directories that will be read.
    expected: Vec<RelPath>,
    opened: Option<CommitSource>,
    /// Whether the lock of the store was released since the fetch.
    has_rested: bool,
    spent: Duration,
    failure: Option<stoker_git::Error>,
}

impl<'a> CommitOnDemand<'a> {
    pub(crate) fn new(
        content: CommitContent<'a>,
        cancel: &'a Cancel,
        progress: &'a dyn Progress,
    ) -> Self {
        Self {
            content,
            cancel,
            progress,
            expected: Vec::new(),
            opened: None,
            has_rested: false,
            spent: Duration::ZERO,
            failure: None,
        }
    }

    fn timed<T>(
        &mut self,
        read: impl FnOnce(&mut CommitSource) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let started = Instant::now();
        let result = self.open().and_then(read);
        self.spent += started.elapsed();
        result
    }

    fn open(&mut self) -> Result<&mut CommitSource, Error> {
        if self.opened.is_none() {
            let CommitContent { resolution, access, store, store_timeout } = self.content;
            let commit = &resolution.commit;
            self.progress.phase(Phase::Fetching { commit, remote: &access.remote() });
            let opened = Store::open(store, access.clone(), self.cancel, store_timeout)
                .and_then(|store| store.commit(commit, &self.expected));
            match opened {
                Ok(opened) => self.opened = Some(opened),
                Err(error) => {
                    self.failure = Some(error);
                    return Err(Error::Failed);
                }
            }
        }
        Ok(self.opened.as_mut().expect("it was just opened"))
    }
}

impl Source for CommitOnDemand<'_> {
    fn expect(&mut self, directories: &[RelPath]) {
        self.expected = directories.to_vec();
    }

    fn root(&mut self) -> Result<ObjectId, Error> {
        self.timed(Source::root)
    }

    fn list(&mut self, trees: &[ObjectId]) -> Result<Vec<Vec<Entry>>, Error> {
        self.timed(|source| source.list(trees))
    }

    fn fetch(&mut self, blobs: &[ObjectId]) -> Result<Vec<u64>, Error> {
        self.timed(|source| source.fetch(blobs))
    }

    fn read(&mut self, blobs: &[ObjectId], sink: &mut Sink<'_>) -> Result<(), Error> {
        if self.has_rested {
            // The process that had the store meanwhile may have rebuilt it.
            self.fetch(blobs)?;
        }
        self.open()?.read(blobs, sink)
    }
}

impl Supply for CommitOnDemand<'_> {
    fn rest(&mut self) {
        self.has_rested |= self.opened.take().is_some();
    }

    fn spent(&self) -> Duration {
        self.spent
    }

    fn take_error(&mut self) -> Option<stoker_git::Error> {
        self.failure.take().or_else(|| self.opened.as_mut().and_then(CommitSource::take_error))
    }
}

impl Supply for WorkDir {}
