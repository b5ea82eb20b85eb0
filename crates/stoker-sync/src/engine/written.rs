//! New files that are durable, but not yet in place.

use std::collections::HashSet;

use super::Engine;
use crate::apply::{self, Application, Undone};
use crate::cancel::Cancel;
use crate::compose::mount;
use crate::disk::DiskError;
use crate::halves::Halves;
use crate::journal::{self, Group, Step};
use crate::manifest::Manifest;
use crate::manifest::segment;
use crate::manifest::storage;
use crate::manipulate::Transformer;
use crate::path::RelPath;
use crate::plan::{Action, Change, Plan};
use crate::report::{self, Listed, Report};
use crate::source::Source;
use crate::write::{self, Stage, Writing};

/// New files, durable and not yet visible. Dropped without [`apply`](Self::apply), they are
/// removed.
#[must_use = "nothing is visible before it is applied"]
pub struct Written<'e> {
    engine: &'e mut Engine,
    plan: Plan,
    groups: Vec<Group>,
    bytes: u64,
    is_open: bool,
}

impl<'e> Written<'e> {
    pub(super) fn write(
        engine: &'e mut Engine,
        plan: Plan,
        source: &mut dyn Source,
        cancel: &Cancel,
    ) -> Result<Self, write::Error> {
        let mut written = Self { engine, plan, groups: Vec::new(), bytes: 0, is_open: true };
        if written.plan.is_noop() {
            return Ok(written);
        }
        if let Err(error) = written.prepare(source, cancel) {
            // One stops the write; a person who commits the files wants to know all of them.
            return match error {
                write::Error::LfsPointers { .. } => {
                    Err(written.plan.refuse_pointers(source).err().unwrap_or(error))
                }
                error => Err(error),
            };
        }
        Ok(written)
    }

    fn prepare(&mut self, source: &mut dyn Source, cancel: &Cancel) -> Result<(), write::Error> {
        let disk = |source| write::Error::Disk { source };
        cancel.check().map_err(write::Error::Cancelled)?;
        let Engine { view, state, lock } = &mut *self.engine;
        // Its staged files are all that a journal has: a new stage would throw them away.
        if state.stat(storage::JOURNAL).map_err(disk)?.is_some() {
            self.is_open = false;
            return Err(write::Error::Unfinished);
        }
        lock.write_holder(state).map_err(disk)?;
        let Plan { request, work, .. } = &mut self.plan;
        let records = work.header.as_ref().map(|header| header.mappings.as_slice());
        let mounts = mount::remembered(&request.mappings, records.unwrap_or_default());
        let transformer = Transformer { request, mounts: &mounts };
        let writing = Writing { root: &view.root, transformer: &transformer, cancel };
        self.bytes = writing.run(work, source)?;
        self.groups = journal::steps(work);
        storage::normalize(&mut work.patches);
        if let Some(header) = &work.header {
            let packed = segment::pack(header, &work.patches, &journal::pack(&self.groups));
            storage::write(state, storage::PREPARED, &packed).map_err(disk)?;
        }
        Ok(())
    }

    /// Returns what will happen.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the halves of the gateway in which files will change. The scan lock of these is
    /// taken before [`apply`](Self::apply).
    pub fn halves(&self) -> Halves {
        journal::halves(&self.groups)
    }

    /// Makes the change: renames, deletes and remembers. `renew` is called between two directories:
    /// the place to renew a lock that would expire. It can wait, but it can't refuse: there is no
    /// way back by then.
    ///
    /// A value that is dropped instead of applied leaves nothing behind.
    pub fn apply(mut self, renew: &mut dyn FnMut()) -> Result<Report, apply::Error> {
        let Some(header) = self.plan.work.header.clone() else {
            self.is_open = false;
            return Ok(self.report());
        };
        let groups = std::mem::take(&mut self.groups);
        let Engine { view, state, lock } = &mut *self.engine;
        let application = Application {
            root: &view.root,
            state,
            groups: &groups,
            header: &header,
            patches: &self.plan.work.patches,
            last: Some(&view.manifest),
        };
        let undone = application.run(lock, renew).inspect_err(|error| {
            // Once the journal is in place nothing can be undone: the next start finishes it.
            self.is_open = error.is_untouched();
        })?;
        self.is_open = false;
        remember(self.engine, header.generation);
        if undone.is_empty() {
            return Ok(self.report());
        }
        self.discount(&undone);
        let mut failed: Vec<DiskError> = undone.into_iter().map(|undone| undone.error).collect();
        failed.dedup_by(|one, other| one.path() == other.path());
        Err(apply::Error::Incomplete { failed, report: Box::new(self.report()) })
    }

    fn discount(&mut self, undone: &[Undone<'_>]) {
        let path = |undone: &Undone<'_>| undone.step.path().clone();
        let (new_dirs, others): (Vec<_>, Vec<_>) =
            undone.iter().partition(|undone| matches!(undone.step, Step::PlaceDir { .. }));
        let mut new_dirs: Vec<RelPath> = new_dirs.into_iter().map(path).collect();
        new_dirs.sort();
        let others: HashSet<RelPath> = others.into_iter().map(path).collect();
        let is_undone = |change: &Change| {
            others.contains(&change.path) || journal::new_dir_of(&new_dirs, &change.path).is_some()
        };
        self.plan.changes.retain(|change| !is_undone(change));
        self.bytes = self.plan.bytes();
    }

    fn report(&mut self) -> Report {
        let plan = &mut self.plan;
        let changes = std::mem::take(&mut plan.changes);
        Report {
            previous_commit: plan.previous_commit.clone(),
            added: Listed::of(&changes, &[Action::Add]),
            modified: Listed::of(&changes, &[Action::Modify, Action::Mode]),
            deleted: Listed::of(&changes, &[Action::Delete]),
            unchanged: plan.unchanged,
            bytes_written: self.bytes,
            projects: report::projects_of(&changes),
            changes,
            drift: plan.drift.clone(),
            foreign_kept: plan.foreign_kept.clone(),
            warnings: plan.warnings.clone(),
        }
    }
}

/// Takes the new segment into the manifest in memory, and keeps the one on disk small.
fn remember(engine: &mut Engine, generation: u64) {
    let manifest = &mut engine.view.manifest;
    engine.view.notices.clear();
    match storage::open(&engine.state, generation) {
        Ok(Some(segment)) => manifest.append(segment),
        // It exists but can't be read: what was known before is lost.
        Ok(None) | Err(_) => *manifest = Manifest::lost(generation),
    }
    // The record is complete as it is; if it can't be made smaller now, the next run tries again.
    if let Ok(Some(merged)) = storage::tidy(&engine.view.root, &engine.state, manifest) {
        *manifest = merged;
    }
}

impl Drop for Written<'_> {
    fn drop(&mut self) {
        let Engine { view, state, lock } = &mut *self.engine;
        // Whoever took over has a stage of its own by now.
        if self.is_open && !self.plan.is_noop() && lock.is_held(state) {
            // Best effort: what stays is removed by the next start.
            drop(Stage::remove(&view.root));
            drop(state.remove_tree(storage::PREPARED));
        }
    }
}
