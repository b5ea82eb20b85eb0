//! Fills the fields of the agent's report that follow from a run's report.

use stoker_api::contract::report::{Counts, DeletionBlocked, Drift, ForeignFiles, Report};
use stoker_api::limit;
use stoker_api::word::{Commit, Interval};
use stoker_sync::plan::Action;
use stoker_sync::report::Listed;

use crate::report::{Outcome, Repair, RunReport, Scans};

impl RunReport {
    /// Fills in what the run says: commit, counts, projects, scans, drift, a blocked deletion and
    /// the duration. Status, reason and message are the agent's.
    pub fn describe(&self, report: &mut Report) {
        let is_commit = |text: &String| Commit::parse(text).ok();
        report.commit = self.live_commit.as_ref().and_then(is_commit);
        let counts = Counts {
            added: self.listed(&[Action::Add]).count,
            modified: self.listed(&[Action::Modify, Action::Mode]).count,
            deleted: self.listed(&[Action::Delete]).count,
        };
        let is_only_planned = matches!(self.outcome, Outcome::Planned | Outcome::DryRun);
        let done = if is_only_planned { Counts::default() } else { counts };
        (report.files_added, report.files_modified, report.files_deleted) =
            (done.added, done.modified, done.deleted);
        report.dry_run = is_only_planned.then_some(counts);
        report.projects_synced.clone_from(&self.projects);
        report.scan_result = self.scans.to_string();
        report.drift = self.drift();
        report.foreign_files = self.foreign_files();
        report.deletion_blocked = self.deletion_blocked();
        report.duration = Some(Interval::from_secs(self.durations.total.as_secs()));
    }

    fn drift(&self) -> Option<Drift> {
        let first = self.drift.iter().take(limit::REPORT_PATHS);
        let drift = Drift {
            count: self.drift.len() as u64,
            paths: first.map(|drifted| drifted.path.to_string()).collect(),
            repaired: self.repair == Repair::Done,
        };
        (drift.count > 0).then_some(drift)
    }

    fn foreign_files(&self) -> Option<ForeignFiles> {
        let Listed { count, paths } = &self.foreign_kept;
        let paths = paths.iter().map(ToString::to_string).collect();
        (*count > 0).then_some(ForeignFiles { count: *count, paths })
    }

    fn deletion_blocked(&self) -> Option<DeletionBlocked> {
        let blocked = self.blocked.as_ref()?;
        let commit = self.commit.as_ref().and_then(|commit| Commit::parse(commit).ok())?;
        Some(DeletionBlocked { commit, deletes: blocked.deleted, of: blocked.total })
    }
}

impl std::fmt::Display for Scans {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "projects {}, config {}", self.projects.as_str(), self.config.as_str())
    }
}

#[cfg(test)]
mod tests {
    use stoker_ignition::Scan;
    use stoker_sync::RelPath;
    use stoker_sync::plan::{Change, DriftKind, Drifted, MassDeletion};

    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    /// An agent's report, as far as the run says something about it.
    fn described(run: &RunReport) -> Report {
        let mut report = serde_json::from_value(serde_json::json!({
            "protocol": "1", "gateway": "plant", "podName": "plant-0", "syncStatus": "Syncing",
        }))
        .unwrap();
        run.describe(&mut report);
        report
    }

    fn run() -> RunReport {
        let commit = Some(COMMIT.to_owned());
        RunReport { commit: commit.clone(), live_commit: commit, ..RunReport::default() }
    }

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    #[test]
    fn drift_is_counted_named_and_capped() {
        let kind = DriftKind::Modified;
        let drift =
            (0..30).map(|number| Drifted { path: path(&format!("projects/{number}")), kind });
        let report =
            described(&RunReport { drift: drift.collect(), repair: Repair::Done, ..run() });
        let drift = report.drift.unwrap();
        assert_eq!((drift.count, drift.paths.len(), drift.repaired), (30, 20, true));
        assert_eq!(drift.paths[0], "projects/0");
        assert_eq!(described(&run()).drift, None);
    }

    #[test]
    fn foreign_files_that_were_kept_are_counted_and_named() {
        let foreign_kept = Listed { count: 4_962, paths: vec![path("projects/made/here")] };
        let report = described(&RunReport { foreign_kept, ..run() });
        let paths = vec!["projects/made/here".to_owned()];
        assert_eq!(report.foreign_files, Some(ForeignFiles { count: 4_962, paths }));
        assert_eq!(described(&run()).foreign_files, None);
    }

    #[test]
    fn a_blocked_deletion_has_its_commit_and_its_counts() {
        let blocked = Some(MassDeletion { place: None, deleted: 60, total: 80 });
        let live_commit = Some("f".repeat(40));
        let report = described(&RunReport { blocked, live_commit: live_commit.clone(), ..run() });
        let commit = Commit::parse(COMMIT).unwrap();
        assert_eq!(report.deletion_blocked, Some(DeletionBlocked { commit, deletes: 60, of: 80 }));
        assert_eq!(report.commit.map(|commit| commit.to_string()), live_commit, "it stays live");
    }

    #[test]
    fn an_owed_scan_is_named_beside_what_landed() {
        let change = |name: &str, action| Change {
            path: path(name),
            action,
            bytes: 1,
            mapping: None,
            source: None,
        };
        let changes = vec![
            change("projects/plant/a", Action::Add),
            change("projects/plant/b", Action::Mode),
            change("projects/plant/c", Action::Delete),
        ];
        let run = RunReport {
            outcome: Outcome::Synced,
            changes,
            projects: vec!["plant".to_owned()],
            scans: Scans { projects: Scan::Owed, config: Scan::Skipped },
            ..run()
        };
        assert!(run.owes_scan());
        let report = described(&run);
        assert_eq!(report.scan_result, "projects owed, config skipped");
        assert_eq!((report.files_added, report.files_modified, report.files_deleted), (1, 1, 1));
        assert_eq!((report.projects_synced, report.dry_run), (vec!["plant".to_owned()], None));
        assert_eq!(report.commit.unwrap().as_str(), COMMIT);
    }

    #[test]
    fn a_dry_run_counts_and_has_changed_nothing() {
        let path = path("projects/plant/a");
        let change = Change { path, action: Action::Add, bytes: 1, mapping: None, source: None };
        let run = RunReport { outcome: Outcome::DryRun, changes: vec![change], ..run() };
        let report = described(&run);
        assert_eq!(report.dry_run, Some(Counts { added: 1, modified: 0, deleted: 0 }));
        assert_eq!(report.files_added, 0);
    }
}
