//! How a commit comes into the store, and how the store is mended where it fails us.

use stoker_api::word::Commit;
use stoker_sync::source::{self, ObjectId};

use super::CommitSource;
use crate::command::Session;
use crate::diagnosis::Fault;
use crate::error::Error;
use crate::remote::with_fresh_credentials;
use crate::store::fetch_strategy::FetchStrategy;
use crate::store::{self, Store, fetch, layout, rebuild};

impl CommitSource {
    /// Fetches the commit, if need be into a rebuilt store.
    pub(super) fn fetch_commit(&mut self) -> Result<(), Error> {
        let strategy = std::mem::replace(&mut self.strategy, FetchStrategy::Trees);
        self.has_all = strategy != FetchStrategy::Trees;
        let fetched = match self.fetch_by(strategy) {
            Err(error) if self.may_rebuild(&error) => self.rebuild(Self::fetch_trees),
            Err(error) if is_not_our_ref(&error) => self.fetch_everything(),
            fetched => fetched,
        };
        self.or_after_emptying(fetched, Self::fetch_trees)
    }

    fn fetch_by(&mut self, strategy: FetchStrategy) -> Result<(), Error> {
        self.objects = None;
        let repository = self.store.repository();
        match strategy {
            FetchStrategy::Trees => self.run(|store, session, commit| {
                fetch::trees(store, session, (&repository, commit))
            })?,
            FetchStrategy::Whole => self.run(fetch::whole)?,
            FetchStrategy::Done => {}
        }
        if self.is_here()? {
            return Ok(());
        }
        Err(self.store.failed(store::Error::Missing { id: self.id() }))
    }

    /// Tries, and if the store may be to blame, tries once more with one made rebuild, or emptied.
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
        if let Some(id) = missed.filter(|_| may_rebuild || self.has_everything) {
            self.remember_unfetchable(id);
        }
        answer.map_err(|error| self.fail(error))
    }

    pub(super) fn may_rebuild(&self, error: &Error) -> bool {
        let is_unfetchable =
            self.unfetchable.is_some() && rebuild::unfetchable_object(error) == self.unfetchable;
        !self.is_cleared && !is_unfetchable && rebuild::is_suspect(error)
    }

    /// Remembers that no other store helps with this object. If that can't be written, it is tried
    /// again next time.
    fn remember_unfetchable(&mut self, id: ObjectId) {
        if self.unfetchable != Some(id) {
            drop(rebuild::remember_unfetchable(&self.store, &self.commit, id));
            self.unfetchable = Some(id);
        }
    }

    /// Tries with an empty repository, which takes the place of ours if that goes well; once is
    /// enough.
    pub(super) fn rebuild<T>(
        &mut self,
        attempt: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.is_cleared = true;
        let had = (std::mem::replace(&mut self.has_all, false), self.has_everything);
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
            (self.has_all, self.has_everything) = had;
        }
        tried
    }

    /// Where the volume is full, what earlier runs left makes way, and it is tried once more.
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

    /// Throws away what the store holds.
    pub(super) fn empty(&mut self) -> Result<(), Error> {
        (self.store.had_packs, self.is_cleared) = (false, true);
        (self.has_all, self.has_everything) = (false, false);
        // Files that are open take their room along.
        self.objects = None;
        layout::empty(&self.store.directory, &self.store.access.url)
            .map_err(|source| self.store.failed(source))
    }

    /// Fetches the commit's trees into an empty repository.
    pub(super) fn fetch_trees(&mut self) -> Result<(), Error> {
        let repository = self.store.repository();
        let fetched =
            self.run(|store, session, commit| fetch::trees(store, session, (&repository, commit)));
        match fetched {
            Err(error) if is_not_our_ref(&error) => self.fetch_everything(),
            fetched => fetched,
        }
    }

    /// For servers that give out nothing by id: everything, and then the commit must be in it.
    pub(super) fn fetch_everything(&mut self) -> Result<(), Error> {
        if self.store.used == layout::REPOSITORY {
            return self.rebuild(Self::fetch_everything);
        }
        self.objects = None;
        let repository = self.store.repository();
        layout::recreate(&repository).map_err(|source| self.store.failed(source))?;
        self.run(|store, session, _| fetch::everything(store, session))?;
        if self.is_here()? {
            self.has_everything = true;
            return Ok(());
        }
        Err(self.store.not_fetched(&self.commit, Fault::NotOurRef))
    }

    pub(super) fn run(
        &self,
        fetch: impl Fn(&Store, &Session, &Commit) -> Result<(), Fault>,
    ) -> Result<(), Error> {
        with_fresh_credentials(
            (&self.store.access, &self.store.cancel),
            |session| fetch(&self.store, session, &self.commit),
            |fault| self.store.not_fetched(&self.commit, fault),
        )
    }
}

pub(super) fn is_not_our_ref(error: &Error) -> bool {
    matches!(error.fault(), Some(Fault::NotOurRef))
}
