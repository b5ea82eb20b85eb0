//! Fetches a commit into the store, and fixes a store that fails: by a rebuild, or by emptying it.

use stoker_api::word::Commit;
use stoker_sync::source::{self, ObjectId};

use super::{CommitSource, Fetched, Rebuild};
use crate::command::Session;
use crate::diagnosis::Fault;
use crate::error::Error;
use crate::remote::with_fresh_credentials;
use crate::store::fetch_strategy::FetchStrategy;
use crate::store::{self, Store, fetch, layout, rebuild};

impl CommitSource {
    /// Fetches the commit, into a rebuilt store if the old one fails.
    pub(super) fn fetch_commit(&mut self, strategy: FetchStrategy) -> Result<(), Error> {
        self.fetched = match strategy {
            FetchStrategy::Trees => Fetched::Trees,
            FetchStrategy::Whole | FetchStrategy::Done => Fetched::SmallFiles,
        };
        let fetched = match self.fetch_by(strategy) {
            Err(error) if self.may_rebuild(&error) => self.rebuild(Self::fetch_trees),
            Err(error) if is_not_our_ref(&error) => self.fetch_everything(),
            fetched => fetched,
        };
        self.or_after_emptying(fetched, Self::fetch_trees)
    }

    fn fetch_by(&mut self, strategy: FetchStrategy) -> Result<(), Error> {
        self.objects = None;
        match strategy {
            FetchStrategy::Trees => self.run(fetch::trees)?,
            FetchStrategy::Whole => self.run(fetch::whole)?,
            FetchStrategy::Done => {}
        }
        if self.is_here()? {
            return Ok(());
        }
        Err(self.store.failed(store::Error::Missing { id: self.id() }))
    }

    /// Runs an attempt. If the store may be the cause of a failure, runs it once more with a rebuilt
    /// or emptied store.
    pub(super) fn with_repair<T>(
        &mut self,
        attempt: impl Fn(&mut Self) -> Result<T, Error>,
    ) -> Result<T, source::Error> {
        let first = attempt(self);
        let may_rebuild = first.as_ref().is_err_and(|error| self.may_rebuild(error));
        let again = |source: &mut Self| {
            source.fetch_trees()?;
            attempt(source)
        };
        let answer = if may_rebuild { self.rebuild(again) } else { first };
        let answer = self.or_after_emptying(answer, again);
        let missed = answer.as_ref().err().and_then(rebuild::unfetchable_object);
        if let Some(id) = missed.filter(|_| may_rebuild || self.fetched == Fetched::Everything) {
            self.remember_unfetchable(id);
        }
        answer.map_err(|error| self.fail(error))
    }

    pub(super) fn may_rebuild(&self, error: &Error) -> bool {
        let is_unfetchable =
            self.unfetchable.is_some() && rebuild::unfetchable_object(error) == self.unfetchable;
        self.rebuild == Rebuild::Allowed && !is_unfetchable && rebuild::is_suspect(error)
    }

    /// Records that a rebuild does not bring this object. If that can't be written, the next run
    /// rebuilds the store once more.
    fn remember_unfetchable(&mut self, id: ObjectId) {
        if self.unfetchable != Some(id) {
            drop(rebuild::remember_unfetchable(&self.store, &self.commit, id));
            self.unfetchable = Some(id);
        }
    }

    /// Runs an attempt with an empty repository, which replaces ours on success. Once per run.
    pub(super) fn rebuild<T>(
        &mut self,
        attempt: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.rebuild = Rebuild::NotAllowed;
        let had = std::mem::replace(&mut self.fetched, Fetched::Trees);
        let directory = self.store.directory.clone();
        let tried = rebuild::replace(&directory, layout::REPOSITORY, |_| {
            self.objects = None;
            self.store.used = layout::NEXT;
            let tried = attempt(self);
            self.store.used = layout::REPOSITORY;
            self.objects = None;
            tried
        });
        if tried.is_err() {
            self.fetched = had;
        }
        tried
    }

    /// On a full volume, removes what earlier runs left and runs the attempt once more.
    pub(super) fn or_after_emptying<T>(
        &mut self,
        tried: Result<T, Error>,
        attempt: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if !self.store.had_packs || !tried.as_ref().is_err_and(rebuild::is_full) {
            return tried;
        }
        self.empty()?;
        attempt(self)
    }

    /// Removes everything that the store holds.
    pub(super) fn empty(&mut self) -> Result<(), Error> {
        self.store.had_packs = false;
        self.rebuild = Rebuild::NotAllowed;
        self.fetched = Fetched::Trees;
        // An open file would keep its space.
        self.objects = None;
        layout::empty(&self.store.directory, &self.store.access.url)
            .map_err(|source| self.store.failed(source))
    }

    /// Fetches the commit's trees into an empty repository.
    pub(super) fn fetch_trees(&mut self) -> Result<(), Error> {
        match self.run(fetch::trees) {
            Err(error) if is_not_our_ref(&error) => self.fetch_everything(),
            fetched => fetched,
        }
    }

    /// Fetches all branches and tags from a server that does not serve objects by id. The commit
    /// must be among them.
    pub(super) fn fetch_everything(&mut self) -> Result<(), Error> {
        if self.store.used == layout::REPOSITORY {
            return self.rebuild(Self::fetch_everything);
        }
        self.objects = None;
        let repository = self.store.repository();
        layout::recreate(&repository).map_err(|source| self.store.failed(source))?;
        self.run(|store, session, _| fetch::everything(store, session))?;
        if self.is_here()? {
            self.fetched = Fetched::Everything;
            return Ok(());
        }
        Err(self.store.not_fetched(&self.commit, Fault::NotOurRef))
    }

    pub(super) fn run(
        &self,
        fetch: impl Fn(&Store, &Session, &Commit) -> Result<(), Fault>,
    ) -> Result<(), Error> {
        with_fresh_credentials(
            &self.store.access,
            &self.store.cancel,
            |session| fetch(&self.store, session, &self.commit),
            |fault| self.store.not_fetched(&self.commit, fault),
        )
    }
}

pub(super) fn is_not_our_ref(error: &Error) -> bool {
    matches!(error.fault(), Some(Fault::NotOurRef))
}
