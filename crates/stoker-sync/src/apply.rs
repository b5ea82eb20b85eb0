//! Puts written files in place: journal, renames, deletes, manifest.
//!
//! # Flow
//!
//! The caller has made the prepared segment durable, and holds the gateway's scan lock if there is
//! a gateway. The segment becomes the journal. Its steps run group by group. The directories that
//! they changed are fsynced. Then the journal becomes the manifest.
//!
//! # Promises
//!
//! Until the segment is renamed to the journal, everything can be undone. After that everything is
//! finished, now or at the next start. A step whose effect is already there counts as done. A path
//! that can't be changed (A6) is reported, the rest is applied, and the next run tries its whole
//! directory again.

mod case_rename;
mod correct_manifest;
mod dirty_dirs;
mod move_file;
mod step;
#[cfg(test)]
mod tests;

use crate::disk::{Dir, DiskError};
use crate::journal::Group;
use crate::lock::Lock;
use crate::manifest::Manifest;
use crate::manifest::header::Header;
use crate::manifest::record::DirPatch;
use crate::manifest::storage;
use crate::report::Report;
use crate::write::Stage;
use correct_manifest::ManifestCorrection;
pub(crate) use step::Pass;
pub(crate) use step::Undone;
use step::{Staged, Stepper};

/// Why a run was not applied, or not in full.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("another run took over the data directory; nothing was changed")]
    LockLost,
    #[error("failed to begin the journal; nothing was changed")]
    Begin { source: DiskError },
    /// The journal or the manifest could not be written; the next start finishes the run.
    #[error("failed to keep the record of the run")]
    Record { source: DiskError },
    #[error("{} could not be changed, first {:?}; everything else was applied", count(.failed), .failed[0].path())]
    Incomplete {
        /// What the system said, path by path.
        failed: Vec<DiskError>,
        /// What was done.
        report: Box<Report>,
    },
}

fn count(failed: &[DiskError]) -> String {
    if failed.len() == 1 { "a path".into() } else { format!("{} paths", failed.len()) }
}

impl Error {
    /// Returns whether nothing was changed, so that everything written can be removed.
    pub(crate) fn is_untouched(&self) -> bool {
        match self {
            Self::LockLost | Self::Begin { .. } => true,
            Self::Record { .. } | Self::Incomplete { .. } => false,
        }
    }
}

pub(crate) struct Application<'a, 's> {
    pub(crate) root: &'a Dir,
    pub(crate) state: &'a Dir,
    pub(crate) groups: &'s [Group],
    pub(crate) header: &'a Header,
    pub(crate) patches: &'a [DirPatch],
    /// What the last sync had left, if that is known.
    pub(crate) last: Option<&'a Manifest>,
}

impl<'s> Application<'_, 's> {
    /// Applies what is prepared, and returns what could not be done.
    pub(crate) fn run(
        &self,
        lock: &Lock,
        renew: &mut dyn FnMut(),
    ) -> Result<Vec<Undone<'s>>, Error> {
        let record = |source| Error::Record { source };
        if !lock.is_held(self.state) {
            return Err(Error::LockLost);
        }
        let begun = self.state.rename(storage::PREPARED, self.state, storage::JOURNAL);
        begun.map_err(|source| Error::Begin { source })?;
        self.state.sync().map_err(record)?;
        self.take(Pass::First, renew).map_err(record)
    }

    /// Takes the steps of the journal, makes it the manifest, and returns what could not be done.
    pub(crate) fn take(
        &self,
        pass: Pass,
        renew: &mut dyn FnMut(),
    ) -> Result<Vec<Undone<'s>>, DiskError> {
        let staged = Staged::open(self.root, pass);
        let mut stepper = Stepper::new(self.root, &staged);
        for (index, group) in self.groups.iter().enumerate() {
            if index > 0 {
                renew();
            }
            stepper.take(group);
        }
        let taken = stepper.finish()?;
        let Self { header, patches, last, .. } = *self;
        let correction = ManifestCorrection { header, patches, taken: &taken, last };
        if correction.is_needed() {
            correction.write(self.state)?;
        }
        commit(self.root, self.state, self.header.generation)?;
        Ok(taken.undone)
    }
}

/// Turns the journal into the manifest and clears the stage.
fn commit(root: &Dir, state: &Dir, generation: u64) -> Result<(), DiskError> {
    state.rename_new(storage::JOURNAL, state, &storage::segment_name(generation))?;
    state.sync()?;
    Stage::remove(root)
}
