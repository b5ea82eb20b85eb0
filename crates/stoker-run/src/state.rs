//! What is applied in a data directory, read without a run and without its lock.

use std::path::Path;

use stoker_sync::{Halves, OpenError, View};

use crate::target::Target;

/// What is applied in a data directory.
#[derive(Debug)]
pub struct State {
    view: View,
    is_unfinished: bool,
}

/// Reads what is applied in a data directory.
pub fn state(data: &Path) -> Result<State, OpenError> {
    let is_unfinished = View::is_unfinished(data).map_err(|source| OpenError::Disk { source })?;
    Ok(State { view: View::open(data)?, is_unfinished })
}

impl State {
    /// Returns the commit whose files are in place, if one ever was.
    pub fn commit(&self) -> Option<&str> {
        self.view.commit()
    }

    /// Returns how many files are ours.
    pub fn files(&self) -> u64 {
        self.view.files()
    }

    /// Returns the scans that are still owed: the gateway has not done them yet.
    pub fn owed(&self) -> Halves {
        self.view.owed()
    }

    /// Returns whether a run is at work, or was killed and is not finished yet.
    pub fn is_unfinished(&self) -> bool {
        self.is_unfinished
    }

    /// Returns whether a gateway can start with the files that are there: some commit was applied,
    /// and no killed run has left a mixture of two.
    pub fn is_last_good(&self) -> bool {
        self.view.commit().is_some() && !self.is_unfinished
    }

    /// Returns whether this commit is applied with the mappings and excludes of this target. Values
    /// that only change the content of files are not compared: a run finds those.
    pub fn is_applied(&self, target: &Target, commit: &str) -> bool {
        let is_same_commit = self.view.commit() == Some(commit);
        is_same_commit && target.request(commit).is_ok_and(|request| self.view.is_of(&request))
    }
}
