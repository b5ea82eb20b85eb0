//! The commit as a source that costs nothing until someone looks into it.
//!
//! When nothing has changed nobody does, and the listing of refs stays the only process of the run.

use std::time::{Duration, Instant};

use stoker_api::word::Commit;
use stoker_git::{CommitSource, Store};
use stoker_sync::source::{Entry, Error, ObjectId, Sink, Source};
use stoker_sync::{Cancel, RelPath, WorkDir};

use crate::job::Origin;
use crate::progress::Progress;

/// Where content comes from, as a run sees it.
pub(crate) trait Supply: Source {
    /// Lets others have what it keeps to itself, until it is asked again.
    fn rest(&mut self) {}

    /// How long fetching took so far.
    fn spent(&self) -> Duration {
        Duration::ZERO
    }
}

/// A commit that is fetched when it is first looked into.
pub(crate) struct CommitOnDemand<'a> {
    origin: &'a Origin,
    commit: &'a Commit,
    cancel: &'a Cancel,
    progress: &'a Progress,
    /// The directories that will be asked for.
    expected: Vec<RelPath>,
    /// How long another process may have the store.
    patience: Duration,
    opened: Option<CommitSource>,
    /// Others may have had the store since it was filled.
    has_rested: bool,
    spent: Duration,
}

impl<'a> CommitOnDemand<'a> {
    pub(crate) fn new(
        (origin, commit): (&'a Origin, &'a Commit),
        patience: Duration,
        (cancel, progress): (&'a Cancel, &'a Progress),
    ) -> Self {
        Self {
            origin,
            commit,
            cancel,
            progress,
            expected: Vec::new(),
            patience,
            opened: None,
            has_rested: false,
            spent: Duration::ZERO,
        }
    }

    fn timed<T>(
        &mut self,
        ask: impl FnOnce(&mut CommitSource) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let started = Instant::now();
        let result = self.open().and_then(ask);
        self.spent += started.elapsed();
        result
    }

    fn open(&mut self) -> Result<&mut CommitSource, Error> {
        if self.opened.is_none() {
            let Origin { store, access, .. } = self.origin;
            self.progress.phase(format!("fetching {} from {}", self.commit, access.remote()));
            let opened = Store::open(store, access.clone(), self.cancel, self.patience)
                .and_then(|store| store.commit(self.commit, &self.expected))
                .map_err(|error| Error::Failed { source: Box::new(error) })?;
            self.opened = Some(opened);
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
            // Who had it meanwhile may have made it anew.
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
}

impl Supply for WorkDir {}
