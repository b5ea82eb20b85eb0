//! What a run came to, for people: one line that says it all, then the figures.

use std::fmt::Write as _;
use std::time::Duration;

use crate::outcome::{Name, Outcome, Status, Warned};

impl std::fmt::Display for Warned {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.path.0.is_empty() {
            return write!(formatter, "{}", self.message);
        }
        write!(formatter, "{}: {}", self.path, self.message)
    }
}

/// Draws the summary.
pub(super) fn draw(outcome: &Outcome) -> String {
    let changed = outcome.files_added + outcome.files_modified + outcome.files_deleted;
    if outcome.status == Status::Failed && changed == 0 {
        return String::new(); // the error says it all
    }
    let mut text = headline(outcome);
    let mut row = |label: &str, value: String| {
        if !value.is_empty() {
            write!(text, "\n  {label:<10} {value}").ok();
        }
    };
    let rows = [
        ("added", outcome.files_added, &outcome.added),
        ("modified", outcome.files_modified, &outcome.modified),
        ("deleted", outcome.files_deleted, &outcome.deleted),
    ];
    for (label, count, names) in rows {
        row(label, count_of(count, names));
    }
    row("unchanged", outcome.files_unchanged.to_string());
    if outcome.bytes_written > 0 {
        row("written", bytes(outcome.bytes_written));
    }
    row("projects", outcome.projects.join(", "));
    row("scan", scans(outcome));
    row("took", times(outcome));
    let kinds: [(&str, &[&str]); 3] =
        [("+", &["add"]), ("~", &["modify", "mode"]), ("-", &["delete"])];
    for (sign, actions) in kinds {
        let all = outcome.all.iter();
        for planned in all.filter(|planned| actions.contains(&planned.action)) {
            write!(text, "\n  {sign} {}", planned.path).ok();
        }
    }
    text
}

fn headline(outcome: &Outcome) -> String {
    let word = match outcome.status {
        Status::Synced => "synced",
        Status::Unchanged => "unchanged",
        Status::Failed => "failed",
        Status::DryRun => "dry run",
        Status::Planned => "planned",
    };
    let short = |commit: &String| commit.chars().take(7).collect::<String>();
    if outcome.is_paused {
        let live = outcome.commit.as_ref().map(short);
        return live.map_or("paused: nothing was ever synced".to_owned(), |live| {
            format!("paused: still at {live}")
        });
    }
    let commit = outcome.commit.as_ref().map(short).unwrap_or_default();
    let git_ref = outcome.git_ref.as_deref().unwrap_or("working directory");
    let previous = outcome.previous_commit.as_ref().map(short).filter(|old| *old != commit);
    let from = previous.map_or_else(String::new, |old| format!(" (was {old})"));
    // A range of versions does not say which tag it came to.
    let is_range = git_ref.starts_with("semver:");
    let tag = outcome.resolved_ref.as_deref().filter(|_| is_range);
    let tag = tag.map_or_else(String::new, |tag| format!(" ({tag})"));
    format!("{word}: {git_ref}{tag} at {commit}{from}")
}

fn count_of(count: u64, names: &[Name]) -> String {
    match (count, names.first()) {
        (0, _) => String::new(),
        (1, Some(name)) => format!("1  {name}"),
        _ => count.to_string(),
    }
}

fn scans(outcome: &Outcome) -> String {
    let (projects, config) = (outcome.scans.projects, outcome.scans.config);
    if projects == "skipped" && config == "skipped" {
        return String::new();
    }
    format!("projects {projects}, config {config}")
}

fn times(outcome: &Outcome) -> String {
    let all = &outcome.durations;
    let phases = [
        ("resolve", all.resolve),
        ("fetch", all.fetch),
        ("plan", all.plan),
        ("apply", all.apply),
        ("gateway", all.gateway),
    ];
    let parts: Vec<String> = phases
        .into_iter()
        .filter(|(_, time)| *time >= Duration::from_millis(1))
        .map(|(name, time)| format!("{name} {} ms", time.as_millis()))
        .collect();
    let parts = match parts.join(", ") {
        none if none.is_empty() => none,
        parts => format!(" ({parts})"),
    };
    format!("{} ms{parts}", all.total.as_millis())
}

/// `1.4 MiB`.
pub(super) fn bytes(count: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let Some((unit, bits)) = units.into_iter().find(|(_, bits)| count >> bits > 0) else {
        return format!("{count} B");
    };
    // One digit behind the point, by whole numbers.
    let tenths = (u128::from(count) * 10) >> bits;
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}
