//! The object store: a bare repository that holds what a commit needs, and no more.
//!
//! # Flow
//!
//! [`Store::open`] takes the lock and repairs what a crash left. [`Store::commit`] fetches a
//! commit, its trees but not its files (unless all of them are wanted), and returns a
//! [`CommitSource`], which serves trees and fetches files as the planner asks for them. There is no
//! work tree.
//!
//! # Promises
//!
//! - A store repairs itself. Stale locks and torn files are removed. A store of another URL, or one
//!   that git fails on while a new one works, is rebuilt. Old packs are removed when the volume is
//!   full or when they take many times the size of the rest.
//! - Every object that a store returns has the requested id.
//! - Files in its directory that a store did not write stay as they are.
//! - One process uses a store at a time.
//! - Only what was requested is fetched.

mod budget;
mod directory_check;
mod fetch;
mod fetch_strategy;
mod history;
mod layout;
mod location;
mod lock;
mod objects;
mod rebuild;
mod source;
mod tree;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use stoker_api::word::Commit;
use stoker_sync::RelPath;
use stoker_sync::file_lock::{FileLock, Holder};
use stoker_sync::source::ObjectId;

use crate::Cancel;
use crate::access::Access;
use crate::diagnosis::Fault;
use crate::error;

pub use location::{Location, default_directory, name_of};
pub use source::CommitSource;

pub(crate) use history::find as find_in_history;

/// An object store that this process alone uses, for as long as the value lives.
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
    budget: Option<budget::Budget>,
    access: Access,
    cancel: Cancel,
    found: layout::Found,
    /// Whether earlier runs had left packs in it.
    had_packs: bool,
    /// Which repository is used: ours, or the one that may take its place.
    used: &'static str,
    _lock: FileLock,
}

/// Why a store could not be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("failed to {action} {path:?}")]
    Disk {
        /// The operation, as a verb.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("the store is in use by {holder}")]
    Locked { holder: Holder },
    /// Another user could replace the content of the directory.
    #[error("{path:?} is a link, belongs to another user, or others may write to it")]
    NotOurs { path: PathBuf },
    #[error("{path:?} is there already, and no part of a store")]
    Foreign { path: PathBuf },
    #[error("git could not read the store")]
    Read { source: Fault },
    /// An object is missing although it was fetched.
    #[error("object {id} is missing")]
    Missing { id: ObjectId },
    #[error("object {id} is damaged")]
    Damaged { id: ObjectId },
    /// An object turned out to be damaged after a part of it was returned.
    #[error("object {id} is damaged")]
    Torn { id: ObjectId },
    #[error("{commit} is not a commit")]
    NotACommit { commit: Commit },
    #[error("tree {id} has more than {limit} bytes")]
    TreeTooLarge { id: ObjectId, limit: u64 },
    #[error("cancelled")]
    Cancelled,
}

impl Store {
    /// Opens the store at `location` for the repository of `access`, and repairs it where needed.
    ///
    /// Waits up to `timeout` for another process to release it.
    pub fn open(
        location: impl Into<Location>,
        access: Access,
        cancel: &Cancel,
        timeout: Duration,
    ) -> Result<Self, error::Error> {
        let location = location.into();
        let directory = location.directory();
        let failed = |source| error::Error::Store { path: directory.to_owned(), source };
        directory_check::make_directory(&location).map_err(failed)?;
        let judge = || directory_check::refuse_foreign(directory, &access.url).map_err(failed);
        let judged = judge();
        if judged.is_err() && !directory_check::has_lock(directory) {
            judged?;
        }
        let lock = directory.join(layout::LOCK);
        let lock = lock::take(&lock, timeout, cancel).map_err(failed)?;
        // Checked again under the lock: files that another run was writing or removing may have
        // looked foreign.
        judge()?;
        let found = layout::repair(directory, &access.url).map_err(failed)?;
        let had_packs = layout::has_packs(directory);
        let (directory, cancel) = (directory.to_owned(), cancel.clone());
        let budget = budget::Budget::of(&location);
        let used = layout::REPOSITORY;
        Ok(Self { directory, budget, access, cancel, found, had_packs, used, _lock: lock })
    }

    /// Fetches a commit and its trees, unless they are here, and returns what it holds.
    ///
    /// `expected` are the directories that will be read. If the commit has no others, its files are
    /// fetched together with its trees.
    pub fn commit(
        self,
        commit: &Commit,
        expected: &[RelPath],
    ) -> Result<CommitSource, error::Error> {
        CommitSource::open(self, commit.clone(), expected)
    }

    /// The repository that is read and fetched into.
    fn repository(&self) -> PathBuf {
        self.directory.join(self.used)
    }

    fn not_fetched(&self, commit: &Commit, source: Fault) -> error::Error {
        let remote = self.access.remote();
        error::Error::FetchCommit { remote, commit: commit.clone(), source }
    }

    fn failed(&self, source: Error) -> error::Error {
        match source {
            // The store works; the ref is wrong.
            Error::NotACommit { commit } => {
                error::Error::NotACommit { remote: self.access.remote(), object: commit }
            }
            source => error::Error::Store { path: self.directory.clone(), source },
        }
    }
}
