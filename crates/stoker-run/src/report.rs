//! The result of a run as data. The CLI's JSON and the agent's report are made from it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use stoker_core::refs::Resolution;
use stoker_ignition::{Scan, ScanOutcome};
use stoker_sync::plan::{Action, Change, Drifted, MassDeletion};
use stoker_sync::recover::Finished;
use stoker_sync::report::{Listed, projects_of};
use stoker_sync::{Half, Halves, Plan, RelPath, Report, View};

use crate::warning::Warning;

/// What came of a run. A run that failed has one, too: see [`Failed`](crate::Failed).
#[derive(Debug, Default)]
pub struct RunReport {
    /// What the run did.
    pub outcome: Outcome,
    /// The ref and its commit, where the files came from a repository.
    pub resolution: Option<Resolution>,
    /// The commit that was asked for, or the label of a working directory.
    pub commit: Option<String>,
    /// The commit whose files are in place now, if one ever was.
    pub live_commit: Option<String>,
    /// The commit whose files were in place before.
    pub previous_commit: Option<String>,
    /// Every change, sorted by path: made, or planned. Those of a killed run that this one finished
    /// are among them.
    pub changes: Vec<Change>,
    /// How many files stayed as they were.
    pub unchanged: u64,
    /// How many bytes of content were written.
    pub bytes_written: u64,
    /// The projects in which something changed, sorted.
    pub projects: Vec<String>,
    /// Live files that differed from the last sync.
    pub drift: Vec<Drifted>,
    /// What was done about them.
    pub repair: Repair,
    /// Files in owned directories that no sync brought and that were kept: how many, and the first.
    /// They are drift until they are removed or their deletion is confirmed.
    pub foreign_kept: Listed,
    /// A mass deletion that needs confirmation. A sync stops at it, or goes on without it where
    /// [`Target::excess`](crate::Target::excess) says so; a plan goes on.
    pub blocked: Option<MassDeletion>,
    /// A killed run that this one finished.
    pub finished: Option<Finished>,
    /// What became of the gateway's scans.
    pub scans: Scans,
    /// Why the scans are owed, where the gateway may be absent
    /// ([`GatewayAbsence::Owes`](crate::GatewayAbsence::Owes)).
    pub gateway_absent: Option<stoker_ignition::Error>,
    /// What people should know although the run went on, in the order of its steps.
    pub warnings: Vec<Warning>,
    /// How long each phase took.
    pub durations: Durations,
}

/// What a run did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing had to be done, or the run failed before anything was.
    #[default]
    Unchanged,
    /// Files were changed, or another commit was applied.
    Synced,
    /// It only planned.
    Planned,
    /// The profile asks for a dry run: it only planned.
    DryRun,
    /// The profile is paused: nothing was done.
    Paused,
}

/// What was done about drift.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Repair {
    /// It was repaired.
    Done,
    /// It was not repaired, because the run failed.
    #[default]
    Failed,
    /// This run only planned; a sync repairs it.
    Planned,
    /// The policy is to report it.
    Reported,
}

/// What became of the gateway's scans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scans {
    /// Of `projects/`.
    pub projects: Scan,
    /// Of `config/`.
    pub config: Scan,
}

/// How long each phase took; zero where nothing happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Durations {
    /// Resolving the ref.
    pub resolve: Duration,
    /// Fetching from the repository.
    pub fetch: Duration,
    /// Comparing and deciding.
    pub plan: Duration,
    /// Writing, renaming and deleting.
    pub apply: Duration,
    /// Waiting for the gateway.
    pub gateway: Duration,
    /// All of it.
    pub total: Duration,
}

impl RunReport {
    /// Returns the changes of these kinds: their number and the first of them.
    pub fn listed(&self, actions: &[Action]) -> Listed {
        Listed::of(&self.changes, actions)
    }

    /// Returns whether a scan is to be made up for, by [`scan_owed`](crate::scan_owed) or by the
    /// next run.
    pub fn owes_scan(&self) -> bool {
        [self.scans.projects, self.scans.config]
            .iter()
            .any(|scan| matches!(scan, Scan::Owed | Scan::Failed))
    }

    /// Takes what the last run left: its commit, and the scans that are still owed.
    pub(crate) fn found(&mut self, view: &View) {
        let before = self.finished.as_ref().map(|finished| finished.previous_commit.clone());
        self.previous_commit = before.unwrap_or_else(|| view.commit().map(str::to_owned));
        self.scans = self.scans.owing(view.owed());
    }

    /// Takes a plan that is not carried out.
    pub(crate) fn planned(&mut self, plan: Plan) {
        self.outcome = Outcome::Planned;
        self.previous_commit = plan.previous_commit;
        self.unchanged = plan.unchanged;
        self.changes = plan.changes;
        self.foreign_kept = plan.foreign_kept;
        self.warn_of(&plan.warnings);
    }

    /// Takes a killed run that opening the data directory has finished: it never reported.
    pub(crate) fn finished(&mut self, view: &View) {
        if let Some(finished) = view.finished() {
            self.finished = Some(finished.clone());
            self.changed(&[]);
        }
    }

    pub(crate) fn applied(&mut self, report: &Report) {
        let before = self.finished.as_ref().map(|finished| &finished.previous_commit);
        self.previous_commit.clone_from(before.unwrap_or(&report.previous_commit));
        self.changed(&report.changes);
        let all = report.unchanged + report.added.count + report.modified.count;
        let written = self.listed(&[Action::Add, Action::Modify, Action::Mode]).count;
        self.unchanged = all.saturating_sub(written);
        self.bytes_written = report.bytes_written;
        self.foreign_kept.clone_from(&report.foreign_kept);
        self.warn_of(&report.warnings);
        let is_new = self.previous_commit != self.commit;
        let is_synced = !self.changes.is_empty() || is_new;
        self.outcome = if is_synced { Outcome::Synced } else { Outcome::Unchanged };
    }

    pub(crate) fn warn_of(&mut self, warnings: &[stoker_sync::warning::Warning]) {
        self.warnings.extend(warnings.iter().cloned().map(Warning::Files));
    }

    /// Takes changes together with those of the run that was finished before.
    fn changed(&mut self, changes: &[Change]) {
        let changes = match &self.finished {
            None => Cow::Borrowed(changes),
            Some(finished) => Cow::Owned(folded(&finished.changes, changes)),
        };
        self.projects = projects_of(&changes);
        self.changes = changes.into_owned();
    }
}

/// Returns what two runs come to, one after the other: a path that changed twice is listed once.
fn folded(first: &[Change], second: &[Change]) -> Vec<Change> {
    let mut all: BTreeMap<&RelPath, Change> =
        first.iter().map(|change| (&change.path, change.clone())).collect();
    for change in second {
        let action = match (all.get(&change.path).map(|first| first.action), change.action) {
            (Some(Action::Add), Action::Delete) => {
                all.remove(&change.path);
                continue;
            }
            (Some(Action::Add), _) => Action::Add,
            (Some(Action::Delete), Action::Add) => Action::Modify,
            (_, action) => action,
        };
        all.insert(&change.path, Change { action, ..change.clone() });
    }
    all.into_values().collect()
}

impl Default for Scans {
    fn default() -> Self {
        Self { projects: Scan::Skipped, config: Scan::Skipped }
    }
}

impl Scans {
    /// To be made up for by a later run.
    pub(crate) const OWED: Self = Self { projects: Scan::Owed, config: Scan::Owed };

    pub(crate) fn of(scanned: &ScanOutcome) -> Self {
        Self { projects: scanned.projects, config: scanned.config }
    }

    /// Owed for these halves; for the others what was done before in the same run.
    pub(crate) fn owing(self, owed: Halves) -> Self {
        self.map(|half, before| match (owed.contains(half), before) {
            (true, _) => Scan::Owed,
            (false, Scan::Done) => Scan::Done,
            (false, _) => Scan::Skipped,
        })
    }

    /// The same for these halves, skipped for the others.
    pub(crate) fn limited_to(self, halves: Halves) -> Self {
        self.map(|half, scan| if halves.contains(half) { scan } else { Scan::Skipped })
    }

    fn map(self, scan: impl Fn(Half, Scan) -> Scan) -> Self {
        Self {
            projects: scan(Half::Projects, self.projects),
            config: scan(Half::Config, self.config),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_are_listed_as_one() {
        let change = |path: &str, action| {
            let path = RelPath::parse(path).unwrap();
            Change { path, action, bytes: 0, mapping: None, source: None }
        };
        for (first, second, both) in [
            (Action::Add, Action::Modify, Some(Action::Add)),
            (Action::Add, Action::Delete, None),
            (Action::Delete, Action::Add, Some(Action::Modify)),
            (Action::Modify, Action::Delete, Some(Action::Delete)),
            (Action::Modify, Action::Mode, Some(Action::Mode)),
        ] {
            let listed = folded(&[change("a", first)], &[change("a", second)]);
            assert_eq!(listed.first().map(|change| change.action), both, "{first:?} {second:?}");
        }
        let apart = folded(&[change("b", Action::Add)], &[change("a", Action::Delete)]);
        assert_eq!(apart.len(), 2);
    }
}
