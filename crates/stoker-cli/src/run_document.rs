//! The document that a command prints in every format, made from a run's report.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Serialize, Serializer};
use stoker_api::warning::WarningCode;
use stoker_run::{
    Action, Change, DriftKind, Durations, Listed, MOST_LISTED, Quoted, RelPath, Repair, RunReport,
};

use crate::explain::CONFIRM_IN_DEV;
use crate::failure::Failure;
use crate::job::Warning;

/// The result of `sync`, `watch`, `dev` and `plan`; scripts rely on its JSON.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunDocument {
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
    pub(crate) added: Vec<OutputPath>,
    pub(crate) modified: Vec<OutputPath>,
    pub(crate) deleted: Vec<OutputPath>,
    /// Whether a list has fewer entries than its count says.
    pub(crate) truncated: bool,
    pub(crate) bytes_written: u64,
    pub(crate) projects: Vec<String>,
    #[serde(rename = "scan")]
    pub(crate) scans: Scans,
    #[serde(rename = "durationsMs", serialize_with = "milliseconds")]
    pub(crate) durations: Durations,
    #[serde(serialize_with = "capped")]
    pub(crate) warnings: Vec<Warned>,
    pub(crate) error: Option<Failure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changes: Option<Vec<Planned>>,
    /// Every change that was made, where all of them are printed.
    #[serde(skip)]
    pub(crate) all: Vec<Planned>,
    /// Whether nothing was done because the profile is paused.
    #[serde(skip)]
    pub(crate) is_paused: bool,
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

/// What became of the gateway's scans, by the words that scripts rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Scans {
    pub(crate) projects: &'static str,
    pub(crate) config: &'static str,
}

/// Something that people should know although the run went on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Warned {
    pub(crate) code: WarningCode,
    pub(crate) path: OutputPath,
    pub(crate) message: String,
    /// Whether the run before warned of the same, so that it is not printed again.
    #[serde(skip)]
    pub(crate) is_known: bool,
}

/// One change of a plan.
#[derive(Debug, Serialize)]
pub(crate) struct Planned {
    pub(crate) path: OutputPath,
    pub(crate) action: &'static str,
    pub(crate) bytes: u64,
    pub(crate) mapping: Option<usize>,
    pub(crate) source: Option<OutputPath>,
}

impl RunDocument {
    /// The document of a command that failed before its run began.
    pub(crate) fn failed(git_ref: Option<&str>, failure: Failure) -> Self {
        let git_ref = git_ref.map(str::to_owned);
        Self { status: Status::Failed, git_ref, error: Some(failure), ..Self::default() }
    }

    pub(crate) fn of(report: &RunReport, failure: Option<Failure>) -> Self {
        let is_planned =
            matches!(report.outcome, stoker_run::Outcome::Planned | stoker_run::Outcome::DryRun);
        let is_paused = report.outcome == stoker_run::Outcome::Paused;
        let commit = if is_paused { &report.live_commit } else { &report.commit };
        let listed = |actions: &[Action]| report.listed(actions);
        let (added, modified) = (listed(&[Action::Add]), listed(&[Action::Modify, Action::Mode]));
        let deleted = listed(&[Action::Delete]);
        let names = |listed: &Listed| listed.paths.iter().map(OutputPath::from).collect();
        Self {
            status: if failure.is_some() { Status::Failed } else { report.outcome.into() },
            git_ref: None,
            resolved_ref: report.resolution.as_ref().map(|found| found.name.to_string()),
            commit: commit.clone(),
            previous_commit: report.previous_commit.clone(),
            files_added: added.count,
            files_modified: modified.count,
            files_deleted: deleted.count,
            files_unchanged: report.unchanged,
            added: names(&added),
            modified: names(&modified),
            deleted: names(&deleted),
            truncated: [added, modified, deleted].iter().any(Listed::is_truncated),
            bytes_written: report.bytes_written,
            projects: report.projects.clone(),
            scans: report.scans.into(),
            durations: report.durations,
            warnings: warnings(report),
            error: failure,
            changes: is_planned.then(|| report.changes.iter().map(Planned::from).collect()),
            all: Vec::new(),
            is_paused,
        }
    }

    /// Puts what is to be known of flags and file before what the run warned of.
    pub(crate) fn warn_first(&mut self, warnings: &[Warning]) {
        let warned = warnings.iter().map(|(code, message)| Warned::new(*code, message.clone()));
        self.warnings.splice(0..0, warned);
    }

    /// Returns whether another process had brought another source, and this run replaced it.
    pub(crate) fn has_other_source(&self) -> bool {
        self.warnings.iter().any(|warned| warned.code == WarningCode::OtherSource)
    }

    /// Marks the warnings that the run before had, too, and returns whether there are others.
    pub(crate) fn compare_warnings(&mut self, before: &mut HashSet<String>) -> bool {
        let key = |warned: &Warned| format!("{} {warned}", warned.code.as_str());
        let now: HashSet<String> = self.warnings.iter().map(key).collect();
        for warning in &mut self.warnings {
            warning.is_known = before.contains(&key(warning));
        }
        let is_news = !now.is_subset(before);
        *before = now;
        is_news
    }

    /// Keeps every change, to be printed one by one.
    pub(crate) fn list_all(&mut self, report: &RunReport) {
        self.all = report.changes.iter().map(Planned::from).collect();
    }
}

/// What a run warned of, and the drift that it found.
fn warnings(report: &RunReport) -> Vec<Warned> {
    let mut warned: Vec<Warned> = report.warnings.iter().map(Warned::from).collect();
    let done = |kind| match (report.repair, kind) {
        (Repair::Done, DriftKind::Foreign) => "deleted",
        (Repair::Failed, DriftKind::Foreign) => "not deleted, because the run failed",
        (Repair::Planned, DriftKind::Foreign) => "a sync deletes it",
        (Repair::Done, _) => "repaired",
        (Repair::Failed, _) => "not repaired, because the run failed",
        (Repair::Planned, _) => "a sync repairs it",
        (Repair::Reported, _) => "left as it is",
    };
    for drifted in &report.drift {
        let how = match drifted.kind {
            DriftKind::Missing => "was removed on the gateway",
            DriftKind::Modified => "was changed on the gateway",
            DriftKind::Foreign => "was added on the gateway",
        };
        let (code, path) = (WarningCode::Drift, OutputPath::from(&drifted.path));
        let message = format!("{how}: {}", done(drifted.kind));
        warned.push(Warned { code, path, message, is_known: false });
    }
    warned
}

/// Prints the first warnings of each code, and how many more there are.
fn capped<S: Serializer>(warnings: &[Warned], serializer: S) -> Result<S::Ok, S::Error> {
    let mut counts: BTreeMap<&'static str, (WarningCode, usize)> = BTreeMap::new();
    let mut kept = Vec::new();
    for warning in warnings {
        let (_, count) = counts.entry(warning.code.as_str()).or_insert((warning.code, 0));
        *count += 1;
        if *count <= MOST_LISTED {
            kept.push(Cow::Borrowed(warning));
        }
    }
    let more = counts.into_values().filter(|(_, count)| *count > MOST_LISTED);
    kept.extend(more.map(|(code, count)| {
        Cow::Owned(Warned::new(code, format!("… and {} more", count - MOST_LISTED)))
    }));
    kept.serialize(serializer)
}

impl Warned {
    fn new(code: WarningCode, message: String) -> Self {
        Self { code, path: OutputPath(Vec::new()), message, is_known: false }
    }
}

impl From<&stoker_run::Warning> for Warned {
    fn from(warning: &stoker_run::Warning) -> Self {
        let mut message = warning.to_string();
        match warning {
            stoker_run::Warning::DeletionBlocked(_)
            | stoker_run::Warning::OtherRepository { .. } => {
                message.push_str(" with --allow-mass-delete");
            }
            stoker_run::Warning::DeletionWithheld(_) => {
                message = format!("{message}: {CONFIRM_IN_DEV}");
            }
            stoker_run::Warning::Files(files) if files.code == WarningCode::ForeignFilesKept => {
                message.push_str("; remove them, or let them go with --allow-mass-delete");
            }
            _ => {}
        }
        let (code, path) = (warning.code(), OutputPath::from(&warning.path()));
        Self { code, path, message, is_known: false }
    }
}

impl From<stoker_run::Outcome> for Status {
    fn from(outcome: stoker_run::Outcome) -> Self {
        match outcome {
            stoker_run::Outcome::Synced => Self::Synced,
            stoker_run::Outcome::Unchanged | stoker_run::Outcome::Paused => Self::Unchanged,
            stoker_run::Outcome::Planned => Self::Planned,
            stoker_run::Outcome::DryRun => Self::DryRun,
        }
    }
}

impl From<stoker_run::Scans> for Scans {
    fn from(scans: stoker_run::Scans) -> Self {
        Self { projects: scans.projects.as_str(), config: scans.config.as_str() }
    }
}

impl Default for Scans {
    fn default() -> Self {
        stoker_run::Scans::default().into()
    }
}

impl From<&Change> for Planned {
    fn from(change: &Change) -> Self {
        let action = match change.action {
            Action::Add => "add",
            Action::Modify => "modify",
            Action::Delete => "delete",
            Action::Mode => "mode",
        };
        let (path, source) =
            (OutputPath::from(&change.path), change.source.as_ref().map(OutputPath::from));
        Self { path, action, bytes: change.bytes, mapping: change.mapping, source }
    }
}

/// All phases always, zero where nothing happened.
fn milliseconds<S: Serializer>(durations: &Durations, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Milliseconds {
        resolve: u64,
        fetch: u64,
        plan: u64,
        apply: u64,
        gateway: u64,
        total: u64,
    }
    let whole = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let Durations { resolve, fetch, plan, apply, gateway, total } = *durations;
    Milliseconds {
        resolve: whole(resolve),
        fetch: whole(fetch),
        plan: whole(plan),
        apply: whole(apply),
        gateway: whole(gateway),
        total: whole(total),
    }
    .serialize(serializer)
}

/// A path in a result: text where it is UTF-8, else its bytes; never raw on a terminal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OutputPath(pub(crate) Vec<u8>);

impl From<&RelPath> for OutputPath {
    fn from(path: &RelPath) -> Self {
        Self(path.as_bytes().to_vec())
    }
}

impl Display for OutputPath {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        Quoted(&self.0).fmt(formatter)
    }
}

impl Serialize for OutputPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Bytes {
            bytes: String,
        }
        match str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => Bytes { bytes: BASE64_STANDARD.encode(&self.0) }.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text_and_other_bytes_are_encoded() {
        let json = |bytes: &[u8]| serde_json::to_string(&OutputPath(bytes.to_vec())).unwrap();
        assert_eq!(json("projects/é\n".as_bytes()), r#""projects/é\n""#);
        assert_eq!(json(b"a\xff"), r#"{"bytes":"Yf8="}"#);
    }
}
