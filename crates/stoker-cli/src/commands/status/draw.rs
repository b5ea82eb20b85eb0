//! Rows as a table: aligned, and coloured on a terminal.

use jiff::Timestamp;
use stoker_api::condition::SyncStatus;
use stoker_core::view::{GatewayRow, Readiness, SyncRow, age, short};

use crate::output::one_line;

/// Colours and columns of the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    pub(super) has_colours: bool,
    pub(super) has_namespaces: bool,
    /// Whether gateways that are synced have a row.
    pub(super) has_all_gateways: bool,
}

/// What a colour says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
    Plain,
    Good,
    Busy,
    Bad,
    Faint,
}

struct Cell {
    text: String,
    mood: Mood,
}

/// A line of the table, and what is written below it.
struct Line {
    cells: Vec<Cell>,
    below: Vec<Cell>,
}

const DASH: &str = "-";

pub(super) fn table(rows: &[SyncRow], style: Style, now: Timestamp) -> String {
    if rows.is_empty() {
        return "no GatewaySyncs here".to_owned();
    }
    let namespace = style.has_namespaces.then_some("NAMESPACE");
    let names = ["NAME", "READY", "GATEWAYS", "REF", "COMMIT", "SINCE", "STATUS"];
    let header = namespace.into_iter().chain(names).map(|name| cell(name, Mood::Plain)).collect();
    let mut lines = vec![Line { cells: header, below: Vec::new() }];
    lines.extend(rows.iter().map(|row| line(row, style, now)));
    render(&lines, style)
}

fn line(row: &SyncRow, style: Style, now: Timestamp) -> Line {
    let mood = mood_of(row);
    let status = match row.ready {
        Readiness::True => row.message.clone(),
        _ => format!("{}: {}", row.reason, row.message),
    };
    let counts = format!("{}/{}", row.counts.synced, row.counts.discovered);
    let namespace = style.has_namespaces.then(|| cell(&row.namespace, Mood::Plain));
    let commit = row.commit.as_deref().map_or(DASH, short);
    let since = row.since.map_or_else(|| DASH.to_owned(), |since| age(since, now));
    let cells = [
        cell(&row.name, Mood::Plain),
        cell(row.ready.as_str(), mood),
        cell(&counts, Mood::Plain),
        cell(&row.git_ref, Mood::Plain),
        cell(commit, Mood::Plain),
        cell(&since, Mood::Plain),
        cell(&status, Mood::Plain),
    ];
    let shown = |gateway: &&GatewayRow| style.has_all_gateways || needs_attention(gateway);
    let mut below: Vec<Cell> = row
        .gateways
        .iter()
        .filter(shown)
        .map(|gateway| cell(&gateway_line(gateway, now), gateway_mood(gateway.status)))
        .collect();
    below.extend(row.next.as_ref().map(|next| cell(&format!("next: {next}"), Mood::Faint)));
    Line { cells: namespace.into_iter().chain(cells).collect(), below }
}

fn gateway_line(gateway: &GatewayRow, now: Timestamp) -> String {
    let name = if gateway.name == gateway.pod {
        gateway.pod.clone()
    } else {
        format!("{} ({})", gateway.pod, gateway.name)
    };
    let mut parts = vec![name, gateway.status.to_string()];
    parts.extend(gateway.commit.as_deref().map(|commit| short(commit).to_owned()));
    parts.extend(gateway.since.map(|since| age(since, now)));
    parts.extend(gateway.message.iter().chain(&gateway.restart_needed).cloned());
    parts.join("  ")
}

fn needs_attention(gateway: &GatewayRow) -> bool {
    gateway.status != SyncStatus::Synced || gateway.restart_needed.is_some()
}

fn mood_of(row: &SyncRow) -> Mood {
    match (row.ready, &*row.reason) {
        (Readiness::True, _) => Mood::Good,
        (Readiness::Unknown, _) | (_, "GatewaysSyncing" | "Progressing" | "Paused") => Mood::Busy,
        (Readiness::False, _) => Mood::Bad,
    }
}

fn gateway_mood(status: SyncStatus) -> Mood {
    match status {
        SyncStatus::Synced => Mood::Good,
        SyncStatus::Error | SyncStatus::MissingSidecar | SyncStatus::Degraded => Mood::Bad,
        SyncStatus::Pending | SyncStatus::Syncing | SyncStatus::Paused | SyncStatus::DryRun => {
            Mood::Busy
        }
    }
}

/// Texts come from objects that others write: nothing in them reaches the terminal as a command.
fn cell(text: &str, mood: Mood) -> Cell {
    Cell { text: one_line(text).into_owned(), mood }
}

fn render(lines: &[Line], style: Style) -> String {
    let columns = lines.first().map_or(0, |line| line.cells.len());
    let width = |column: usize| {
        let texts = lines.iter().filter_map(|line| line.cells.get(column));
        texts.map(|cell| cell.text.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        for (column, cell) in line.cells.iter().enumerate() {
            let is_last = column + 1 == columns;
            text.push_str(&coloured(cell, style));
            if !is_last {
                let blanks = widths[column] - cell.text.chars().count() + 2;
                text.push_str(&" ".repeat(blanks));
            }
        }
        text.push('\n');
        for cell in &line.below {
            text.push_str("  ");
            text.push_str(&coloured(cell, style));
            text.push('\n');
        }
    }
    text
}

fn coloured(cell: &Cell, style: Style) -> String {
    if !style.has_colours {
        return cell.text.clone();
    }
    let code = match cell.mood {
        Mood::Plain => None,
        Mood::Good => Some(32),
        Mood::Busy => Some(33),
        Mood::Bad => Some(31),
        Mood::Faint => Some(2),
    };
    match code {
        Some(code) => format!("\u{1b}[{code}m{}\u{1b}[0m", cell.text),
        None => cell.text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use stoker_api::gatewaysync::GatewayCounts;

    use super::*;

    const PLAIN: Style =
        Style { has_colours: false, has_namespaces: true, has_all_gateways: false };

    fn gateway(pod: &str, status: SyncStatus) -> GatewayRow {
        GatewayRow {
            name: pod.to_owned(),
            pod: pod.to_owned(),
            status,
            profile: None,
            commit: Some("b".repeat(40)),
            since: None,
            agent_version: None,
            message: Some("no space left\u{1b}[2J".to_owned()),
            restart_needed: None,
        }
    }

    fn rows() -> Vec<SyncRow> {
        let ready = SyncRow {
            namespace: "line-1".to_owned(),
            name: "press".to_owned(),
            ready: Readiness::True,
            reason: "AllSynced".to_owned(),
            message: "1 gateway(s) synced at aaaaaaa".to_owned(),
            git_ref: "main".to_owned(),
            commit: Some("a".repeat(40)),
            since: Some("2026-11-16T11:57:00Z".parse().unwrap()),
            counts: GatewayCounts { discovered: 1, synced: 1, behind: 0, failed: 0 },
            gateways: vec![gateway("press-0", SyncStatus::Synced)],
            next: None,
        };
        let failed = SyncRow {
            name: "packaging".to_owned(),
            ready: Readiness::False,
            reason: "GatewaysFailed".to_owned(),
            message: "1/2 synced".to_owned(),
            since: None,
            counts: GatewayCounts { discovered: 2, synced: 1, behind: 0, failed: 1 },
            gateways: vec![
                gateway("pack-0", SyncStatus::Error),
                gateway("pack-1", SyncStatus::Synced),
            ],
            next: Some("stoker doctor packaging -n line-1".to_owned()),
            ..ready.clone()
        };
        vec![ready, failed]
    }

    #[test]
    fn a_fleet_shows_what_needs_attention_and_the_next_command() {
        let now = "2026-11-16T12:00:00Z".parse().unwrap();
        let expected = "\
NAMESPACE  NAME       READY  GATEWAYS  REF   COMMIT   SINCE  STATUS
line-1     press      True   1/1       main  aaaaaaa  3m     1 gateway(s) synced at aaaaaaa
line-1     packaging  False  1/2       main  aaaaaaa  -      GatewaysFailed: 1/2 synced
  pack-0  Error  bbbbbbb  no space left\\033[2J
  next: stoker doctor packaging -n line-1
";
        assert_eq!(table(&rows(), PLAIN, now), expected);
        let all = table(&rows(), Style { has_all_gateways: true, ..PLAIN }, now);
        assert!(all.contains("pack-1  Synced"), "{all}");
    }

    #[test]
    fn colours_are_for_terminals_and_do_not_shift_columns() {
        let now = "2026-11-16T12:00:00Z".parse().unwrap();
        let coloured = table(&rows(), Style { has_colours: true, ..PLAIN }, now);
        assert!(coloured.contains("\u{1b}[32mTrue\u{1b}[0m   1/1"), "{coloured}");
        assert!(coloured.contains("\u{1b}[31mFalse\u{1b}[0m  1/2"), "{coloured}");
    }
}
