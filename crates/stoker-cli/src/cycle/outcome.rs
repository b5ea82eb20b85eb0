//! What a run came to, as the value that every format prints.

mod name;
mod scans;
mod time;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use stoker_api::gatewaysync::DriftPolicy;
use stoker_sync::plan::{Action, Change, DriftKind, Drifted};
use stoker_sync::recover::Finished;
use stoker_sync::report::{Listed, projects_of};
use stoker_sync::{Plan, RelPath, Report, View};

pub(crate) use name::Name;
pub(crate) use scans::Scans;
pub(crate) use time::Durations;

use crate::failure::Failure;
use crate::word::{Code, Word};

/// How many paths of each kind are listed.
const MOST_LISTED: usize = stoker_sync::report::MOST_LISTED;

/// The result of `sync`, `watch`, `dev` and `plan`; scripts rely on its JSON.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Outcome {
    pub(crate) status: Status,
    #[serde(rename = "ref")]
    pub(crate) git_ref: Option<String>,
    pub(crate) resolved_ref: Option<String>,
    pub(crate) commit: Option<String>,
    pub(crate) previous_commit: Option<String>,
    pub(crate) files_added: u64,
    pub(crate) files_modified: u64,
    pub(crate) files_deleted: u64,
    pub(crate) files_unchanged: u64,
    pub(crate) added: Vec<Name>,
    pub(crate) modified: Vec<Name>,
    pub(crate) deleted: Vec<Name>,
    /// Whether a list has fewer entries than its count says.
    pub(crate) truncated: bool,
    pub(crate) bytes_written: u64,
    pub(crate) projects: Vec<String>,
    #[serde(rename = "scan")]
    pub(crate) scans: Scans,
    #[serde(rename = "durationsMs")]
    pub(crate) durations: Durations,
    pub(crate) warnings: Vec<Warned>,
    pub(crate) error: Option<Failure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changes: Option<Vec<Planned>>,
    /// Every change that was made, where someone wants to see all of them.
    #[serde(skip)]
    pub(crate) all: Option<Vec<Planned>>,
    /// Whether nothing was done because the profile says so.
    #[serde(skip)]
    pub(crate) is_paused: bool,
    /// Whether what the last run left was looked at.
    #[serde(skip)]
    has_looked: bool,
    /// A run that had ended early, and that this one has finished.
    #[serde(skip)]
    finished: Option<Finished>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Status {
    Synced,
    #[default]
    Unchanged,
    Failed,
    DryRun,
    Planned,
}

/// Something that people should know although the run went on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Warned {
    pub(crate) code: Word,
    pub(crate) path: Name,
    pub(crate) message: String,
}

/// One change of a plan.
#[derive(Debug, Serialize)]
pub(crate) struct Planned {
    pub(crate) path: Name,
    pub(crate) action: &'static str,
    pub(crate) bytes: u64,
    pub(crate) mapping: Option<usize>,
    pub(crate) source: Option<Name>,
}

/// How far the repair of drift has come, where it is to be repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repair {
    Done,
    Failed,
    /// This run only looks.
    Ahead,
}

impl Outcome {
    /// A run that has done nothing yet.
    pub(crate) fn begin(git_ref: Option<&str>) -> Self {
        Self { git_ref: git_ref.map(str::to_owned), ..Self::default() }
    }

    /// Notes something that people should know.
    pub(crate) fn warn(&mut self, code: Code, message: &str) {
        let (code, path) = (code.into(), Name(Vec::new()));
        self.warnings.push(Warned { code, path, message: message.to_owned() });
    }

    /// Takes what the last run left: its commit, and the scans that are still owed.
    pub(crate) fn found(&mut self, view: &View) {
        let before = self.finished.as_ref().map(|finished| finished.previous_commit.clone());
        self.previous_commit = before.unwrap_or_else(|| view.commit().map(str::to_owned));
        self.scans = self.scans.owing(view.owed());
        self.has_looked = true;
    }

    /// The same for a run that ended before it looked, as far as it can be seen.
    pub(crate) fn find(&mut self, data: &Path) {
        if self.has_looked {
            return;
        }
        if let Ok(view) = View::open(data) {
            self.found(&view);
        }
    }

    /// Takes what opening the data directory brought to light.
    pub(crate) fn noticed(&mut self, view: &View) {
        self.take_warnings(view.notices());
    }

    /// Takes the end of a run.
    pub(crate) fn conclude(&mut self, result: Result<(), Failure>) {
        if let Err(failure) = result {
            self.status = Status::Failed;
            self.error = Some(failure);
        }
    }

    /// Takes a plan that is not carried out.
    pub(crate) fn planned(&mut self, plan: &Plan) {
        self.status = Status::Planned;
        self.previous_commit.clone_from(&plan.previous_commit);
        self.files_unchanged = plan.unchanged;
        self.list(&plan.changes);
        self.take_warnings(&plan.warnings);
        self.changes = Some(plan.changes.iter().map(Planned::from).collect());
    }

    /// Takes what opening the data directory has finished. Nobody has told of it: its own run died.
    pub(crate) fn finished(&mut self, view: &View) {
        if let Some(finished) = view.finished() {
            self.finished = Some(finished.clone());
            self.brought(&[]);
        }
    }

    /// Takes what was applied.
    pub(crate) fn applied(&mut self, report: &Report) {
        let before = self.finished.as_ref().map(|finished| &finished.previous_commit);
        self.previous_commit.clone_from(before.unwrap_or(&report.previous_commit));
        self.brought(&report.changes);
        let all = report.unchanged + report.added.count + report.modified.count;
        self.files_unchanged = all.saturating_sub(self.files_added + self.files_modified);
        self.bytes_written = report.bytes_written;
        self.take_warnings(&report.warnings);
        let is_changed = self.files_added + self.files_modified + self.files_deleted > 0;
        let is_new = self.previous_commit != self.commit;
        self.status = if is_changed || is_new { Status::Synced } else { Status::Unchanged };
    }

    /// Names the source for what it is, where files come from a working directory: the engine knows
    /// any source as a commit.
    pub(crate) fn speak_of_a_directory(&mut self) {
        let mend = |text: &mut String| {
            let words = [("the commit", "the working directory"), ("the repository", "it")];
            *text = words.iter().fold(std::mem::take(text), |text, (of, to)| text.replace(of, to));
        };
        self.warnings.iter_mut().for_each(|warned| mend(&mut warned.message));
        if let Some(Failure { message, hint, .. }) = &mut self.error {
            mend(message);
            hint.iter_mut().for_each(mend);
        }
    }

    /// Names what someone else changed on the gateway.
    pub(crate) fn drifted(&mut self, drift: &[Drifted], policy: DriftPolicy, repair: Repair) {
        let done = |kind| match (policy, repair, kind) {
            (DriftPolicy::Repair, Repair::Done, DriftKind::Foreign) => "deleted",
            (DriftPolicy::Repair, Repair::Failed, DriftKind::Foreign) => {
                "not deleted, because the run failed"
            }
            (DriftPolicy::Repair, Repair::Ahead, DriftKind::Foreign) => "a sync deletes it",
            (DriftPolicy::Repair, Repair::Done, _) => "repaired",
            (DriftPolicy::Repair, Repair::Failed, _) => "not repaired, because the run failed",
            (DriftPolicy::Repair, Repair::Ahead, _) => "a sync repairs it",
            (DriftPolicy::Report, ..) => "left as it is",
        };
        let most = drift.len().min(MOST_LISTED);
        for drifted in &drift[..most] {
            let how = match drifted.kind {
                DriftKind::Missing => "was removed on the gateway",
                DriftKind::Modified => "was changed on the gateway",
                DriftKind::Foreign => "was added on the gateway",
            };
            let (code, path) = (Code::Drift.into(), Name::from(&drifted.path));
            self.warnings.push(Warned {
                code,
                path,
                message: format!("{how}: {}", done(drifted.kind)),
            });
        }
        if drift.len() > most {
            self.warn(Code::Drift, &format!("… and {} more", drift.len() - most));
        }
    }

    /// Tells of changes, and of those of the run that was finished before.
    fn brought(&mut self, changes: &[Change]) {
        let changes = match &self.finished {
            None => Cow::Borrowed(changes),
            Some(finished) => Cow::Owned(folded(&finished.changes, changes)),
        };
        self.list(&changes);
        self.projects = projects_of(&changes);
        if let Some(all) = &mut self.all {
            *all = changes.iter().map(Planned::from).collect();
        }
    }

    fn list(&mut self, changes: &[Change]) {
        let [added, modified, deleted] =
            [&[Action::Add] as &[_], &[Action::Modify, Action::Mode], &[Action::Delete]]
                .map(|actions| Listed::of(changes, actions));
        let names = |listed: &Listed| listed.paths.iter().map(Name::from).collect();
        (self.files_added, self.added) = (added.count, names(&added));
        (self.files_modified, self.modified) = (modified.count, names(&modified));
        (self.files_deleted, self.deleted) = (deleted.count, names(&deleted));
        self.truncated = [added, modified, deleted].iter().any(Listed::is_truncated);
    }

    fn take_warnings(&mut self, warnings: &[stoker_sync::warning::Warning]) {
        self.warnings.extend(warnings.iter().map(|warning| Warned {
            code: warning.code.into(),
            path: Name::from(&warning.path),
            message: match warning.code {
                stoker_sync::warning::Code::ForeignFilesKept => {
                    format!(
                        "{}; remove them, or let them go with --allow-mass-delete",
                        warning.message
                    )
                }
                _ => warning.message.clone(),
            },
        }));
    }
}

/// What two runs come to, one after the other: what was changed twice is told once.
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

impl From<&Change> for Planned {
    fn from(change: &Change) -> Self {
        let action = match change.action {
            Action::Add => "add",
            Action::Modify => "modify",
            Action::Delete => "delete",
            Action::Mode => "mode",
        };
        let (path, source) = (Name::from(&change.path), change.source.as_ref().map(Name::from));
        Self { path, action, bytes: change.bytes, mapping: change.mapping, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_are_told_as_one() {
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
            let told = folded(&[change("a", first)], &[change("a", second)]);
            assert_eq!(told.first().map(|change| change.action), both, "{first:?} {second:?}");
        }
        let apart = folded(&[change("b", Action::Add)], &[change("a", Action::Delete)]);
        assert_eq!(apart.len(), 2);
    }
}
