//! The result of a run for people: one line, then the figures.

use std::fmt::Write as _;
use std::time::Duration;

use crate::run_document::{OutputPath, RunDocument, Status, Warned};

/// How many deleted paths are listed.
const MOST_DELETED: usize = 100;
/// How many added paths are listed, and how many modified ones.
const MOST_CHANGED: usize = 10;

impl std::fmt::Display for Warned {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.path.0.is_empty() {
            return write!(formatter, "{}", self.message);
        }
        write!(formatter, "{}: {}", self.path, self.message)
    }
}

pub(super) fn draw(document: &RunDocument) -> String {
    let changed = document.files_added + document.files_modified + document.files_deleted;
    if document.status == Status::Failed && changed == 0 {
        return String::new(); // the error says it all
    }
    let mut text = headline(document);
    let mut row = |label: &str, value: String| {
        if !value.is_empty() {
            write!(text, "\n  {label:<10} {value}").ok();
        }
    };
    let counts = [
        ("added", document.files_added),
        ("modified", document.files_modified),
        ("deleted", document.files_deleted),
    ];
    for (label, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        row(label, count.to_string());
    }
    row("unchanged", document.files_unchanged.to_string());
    if document.bytes_written > 0 {
        row("written", bytes(document.bytes_written));
    }
    row("projects", document.projects.join(", "));
    row("scan", scans(document));
    row("took", times(document));
    text.push_str(&paths(document));
    text
}

/// The changed paths: deletions first, because they can't be undone. All of them where that was
/// asked for.
fn paths(document: &RunDocument) -> String {
    let RunDocument { added, modified, deleted, .. } = document;
    let kinds = [
        Kind { sign: "-", count: document.files_deleted, names: deleted, most: MOST_DELETED },
        Kind { sign: "+", count: document.files_added, names: added, most: MOST_CHANGED },
        Kind { sign: "~", count: document.files_modified, names: modified, most: MOST_CHANGED },
    ];
    let mut text = String::new();
    for Kind { sign, count, names, most } in kinds {
        if !document.all.is_empty() {
            for planned in document.all.iter().filter(|planned| sign_of(planned.action) == sign) {
                write!(text, "\n  {sign} {}", planned.path).ok();
            }
            continue;
        }
        for name in names.iter().take(most) {
            write!(text, "\n  {sign} {name}").ok();
        }
        let shown = names.len().min(most) as u64;
        if count > shown {
            write!(text, "\n  {sign} … and {} more; -v lists them", count - shown).ok();
        }
    }
    text
}

/// The changes of one kind.
struct Kind<'a> {
    sign: &'static str,
    count: u64,
    names: &'a [OutputPath],
    /// How many are listed.
    most: usize,
}

fn sign_of(action: &str) -> &'static str {
    match action {
        "delete" => "-",
        "add" => "+",
        _ => "~",
    }
}

fn headline(document: &RunDocument) -> String {
    let word = match document.status {
        Status::Synced => "synced",
        Status::Unchanged => "unchanged",
        Status::Failed => "failed",
        Status::DryRun => "dry run",
        Status::Planned => "planned",
    };
    let short = |commit: &String| commit.chars().take(7).collect::<String>();
    if document.is_paused {
        let live = document.commit.as_ref().map(short);
        return live.map_or("paused: nothing was ever synced".to_owned(), |live| {
            format!("paused: still at {live}")
        });
    }
    let commit = document.commit.as_ref().map(short).unwrap_or_default();
    let git_ref = document.git_ref.as_deref().unwrap_or("working directory");
    let previous = document.previous_commit.as_ref().map(short).filter(|old| *old != commit);
    let from = previous.map_or_else(String::new, |old| format!(" (was {old})"));
    // A range of versions does not say which tag it came to.
    let is_range = git_ref.starts_with("semver:");
    let tag = document.resolved_ref.as_deref().filter(|_| is_range);
    let tag = tag.map_or_else(String::new, |tag| format!(" ({tag})"));
    format!("{word}: {git_ref}{tag} at {commit}{from}")
}

fn scans(document: &RunDocument) -> String {
    let (projects, config) = (document.scans.projects, document.scans.config);
    if projects == "skipped" && config == "skipped" {
        return String::new();
    }
    format!("projects {projects}, config {config}")
}

fn times(document: &RunDocument) -> String {
    let all = &document.durations;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn names(prefix: &str, count: usize) -> Vec<OutputPath> {
        (0..count).map(|number| OutputPath(format!("{prefix}{number:03}").into_bytes())).collect()
    }

    #[test]
    fn deleted_paths_come_first_and_what_is_left_out_is_counted() {
        let document = RunDocument {
            files_deleted: 130,
            deleted: names("gone", 100),
            files_added: 12,
            added: names("new", 12),
            files_modified: 10,
            modified: names("other", 10),
            ..RunDocument::default()
        };
        let text = paths(&document);
        let lines: Vec<&str> = text.trim_start().lines().map(str::trim).collect();
        assert_eq!(lines.len(), 101 + 11 + 10);
        assert_eq!((lines[0], lines[99]), ("- gone000", "- gone099"));
        assert_eq!(lines[100], "- … and 30 more; -v lists them");
        assert_eq!((lines[101], lines[111]), ("+ new000", "+ … and 2 more; -v lists them"));
        assert_eq!((lines[112], lines[121]), ("~ other000", "~ other009"));
    }
}
