//! How a commit comes into the store, and how the store is mended where it fails us.

use stoker_api::word::Commit;
use stoker_sync::source::{self, ObjectId};

use super::CommitSource;
use crate::command::Session;
use crate::diagnosis::Fault;
use crate::error::Error;
use crate::remote::with_fresh_credentials;
use crate::store::first::Way;
use crate::store::{self, Store, anew, fetch, layout, vain};

impl CommitSource {
    /// Fetches the commit, if need be into a store made anew.
    pub(super) fn fetch_commit(&mut self) -> Result<(), Error> {
        let way = std::mem::replace(&mut self.way, Way::Trees);
        self.has_all = way != Way::Trees;
        let fetched = match self.fetch_by(way) {
            Err(error) if self.is_to_blame(&error) => self.anew(Self::fetch_trees),
            Err(error) if is_not_our_ref(&error) => self.fetch_everything(),
            fetched => fetched,
        };
        self.or_emptied(fetched, Self::fetch_trees)
    }

    fn fetch_by(&mut self, way: Way) -> Result<(), Error> {
        self.objects = None;
        let repository = self.store.repository();
        match way {
            Way::Trees => self.run(|store, session, commit| {
                fetch::trees(store, session, (&repository, commit))
            })?,
            Way::Whole => self.run(fetch::whole)?,
            Way::Done => {}
        }
        if self.is_here()? {
            return Ok(());
        }
        Err(self.store.failed(store::Error::Missing { id: self.id() }))
    }

    /// Tries, and if the store may be to blame, tries once more with one made anew, or emptied.
    pub(super) fn with_repair<T>(
        &mut self,
        attempt: impl Fn(&mut Self) -> Result<T, Error>,
    ) -> Result<T, source::Error> {
        let first = attempt(self);
        let is_to_blame = first.as_ref().is_err_and(|error| self.is_to_blame(error));
        let again = |source: &mut Self| {
            source.fetch_trees()?;
            attempt(source)
        };
        let answer = if is_to_blame { self.anew(again) } else { first };
        let answer = self.or_emptied(answer, again);
        let missed = answer.as_ref().err().and_then(vain::object);
        if let Some(id) = missed.filter(|_| is_to_blame || self.has_everything) {
            self.give_up(id);
        }
        answer.map_err(|error| self.fail(error))
    }

    pub(super) fn is_to_blame(&self, error: &Error) -> bool {
        let is_in_vain = self.in_vain.is_some() && vain::object(error) == self.in_vain;
        !self.is_cleared && !is_in_vain && anew::is_suspect(error)
    }

    /// Remembers that no other store helps with this object. If that can't be written, it is tried
    /// again next time.
    fn give_up(&mut self, id: ObjectId) {
        if self.in_vain != Some(id) {
            drop(vain::remember(&self.store, &self.commit, id));
            self.in_vain = Some(id);
        }
    }

    /// Tries with an empty repository, which takes the place of ours if that goes well; once is
    /// enough.
    pub(super) fn anew<T>(
        &mut self,
        attempt: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.is_cleared = true;
        let had = (std::mem::replace(&mut self.has_all, false), self.has_everything);
        let directory = self.store.directory.clone();
        let tried = anew::replace(&directory, layout::REPOSITORY, |_| {
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
    pub(super) fn or_emptied<T>(
        &mut self,
        tried: Result<T, Error>,
        attempt: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if !self.store.had_packs || !tried.as_ref().is_err_and(anew::is_full) {
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
            return self.anew(Self::fetch_everything);
        }
        self.objects = None;
        let repository = self.store.repository();
        layout::make_anew(&repository).map_err(|source| self.store.failed(source))?;
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
