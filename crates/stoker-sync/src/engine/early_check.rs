//! A drift check that runs before it is known whether there is another commit.
//!
//! Most runs wait for the remote only to learn that nothing is new, and then check the files. The
//! check does not need the remote's response, so it runs during the wait. Only one result is used,
//! and only if no other run synced since: that everything was unchanged. Any other result is
//! discarded, and the run checks again under the lock.

use super::View;
use super::plan::{PlanInput, Planner};
use crate::cancel::Cancel;
use crate::compose::mount;
use crate::disk::Modes;
use crate::drift::parallel::ParallelInspection;
use crate::request::{DriftCheck, Request};

/// That all live files were as the last sync had left them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlyCheck {
    generation: u64,
    commit: String,
    modes: Modes,
}

impl EarlyCheck {
    /// Returns whether it speaks of this sync, and not of one before it, and was seen in the same
    /// light.
    pub(super) fn holds_for(&self, view: &View) -> bool {
        let header = view.manifest.header();
        let is_same_sync = self.generation == header.generation && self.commit == header.commit;
        is_same_sync && self.modes == view.root.modes()
    }
}

impl View {
    /// Waits, and checks meanwhile whether the live files are as the last sync left
    /// them, if a run of `request` would. When the wait is over and its result asks for another
    /// commit, the check is abandoned.
    pub fn check_while<T>(
        &self,
        request: &Request,
        cancel: &Cancel,
        wait: impl FnOnce() -> T,
        is_same_commit: impl FnOnce(&T) -> bool,
    ) -> (T, Option<EarlyCheck>) {
        let input = PlanInput { view: self, request, cancel };
        let header = self.manifest.header();
        let is_due = request.drift_check == DriftCheck::Stat && input.is_same_profile();
        let mounts = mount::remembered(&request.mappings, &header.mappings);
        let planner = Planner::new(input, &mounts, true);
        let check = ParallelInspection::new(planner.inspection());
        if !is_due || !check.is_worth_a_thread() {
            return (wait(), None);
        }
        let (mut awaited, mut is_wanted) = (None, false);
        let findings = check.share(|| {
            let result = wait();
            is_wanted = is_same_commit(&result);
            if !is_wanted {
                check.abandon();
            }
            awaited = Some(result);
        });
        let is_clean = findings.is_ok_and(|findings| findings.is_clean(&planner.ownership));
        let is_sound = is_wanted && is_clean && !self.manifest.is_damaged();
        let (generation, commit) = (header.generation, header.commit.clone());
        let early_check =
            is_sound.then(|| EarlyCheck { generation, commit, modes: self.root.modes() });
        (awaited.expect("the wait is over"), early_check)
    }

    /// Takes over the result of an early check.
    pub fn set_early_check(&mut self, early_check: Option<EarlyCheck>) {
        self.early_check = early_check;
    }
}
