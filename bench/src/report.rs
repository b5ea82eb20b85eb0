//! The table for people and the file for programs.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;

use crate::finding::{Finding, Verdict};

/// A whole run.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The suite's name.
    pub suite: &'static str,
    /// Where it ran, without names.
    pub machine: Machine,
    /// How many turns each comparison had.
    pub pairs: usize,
    /// What was found, in the order of measuring.
    pub findings: Vec<Finding>,
}

/// What of a machine explains its figures.
#[derive(Debug, Serialize)]
pub struct Machine {
    /// Cores that we may use.
    pub cores: usize,
    /// The kernel's release.
    pub kernel: String,
    /// The file system that everything lay on.
    pub file_system: String,
    /// Reference tools and their versions.
    pub tools: Vec<String>,
}

impl Machine {
    /// Looks at this machine.
    pub fn observe(file_system: String, tools: Vec<String>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, Into::into);
        let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
        Self { cores, kernel, file_system, tools }
    }
}

impl Report {
    /// Returns the table, as Markdown that also reads well on a terminal.
    pub fn table(&self) -> String {
        let rows: Vec<[String; 5]> = self.findings.iter().map(row).collect();
        let head = ["bar", "measured", "value", "limit", "verdict"].map(String::from);
        let width = |column: usize| {
            let cells = rows.iter().chain([&head]).map(|row| row[column].chars().count());
            cells.max().unwrap_or_default()
        };
        let widths: [usize; 5] = std::array::from_fn(width);
        let mut text = line(&head, &widths);
        text.push_str(&line(&widths.map(|width| "-".repeat(width)), &widths));
        for row in &rows {
            text.push_str(&line(row, &widths));
        }
        text
    }

    /// Writes the run as JSON.
    pub fn save(&self, path: &Path) -> anyhow::Result<()> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory).context("failed to make the report's directory")?;
        }
        let json = serde_json::to_vec_pretty(self).context("failed to write the report")?;
        fs::write(path, json).with_context(|| format!("failed to write {}", path.display()))
    }

    /// Returns how many bars do not hold.
    pub fn misses(&self) -> usize {
        self.findings.iter().filter(|finding| finding.verdict == Verdict::Misses).count()
    }
}

fn row(finding: &Finding) -> [String; 5] {
    let bar = &finding.bar;
    let has_limit = bar.limit.is_finite();
    [
        format!("{}: {}", bar.id, bar.claim),
        finding.measured.clone(),
        finding.value.map_or_else(|| "–".to_owned(), |value| bar.unit.show(value)),
        if has_limit { format!("≤ {}", bar.unit.show(bar.limit)) } else { "–".to_owned() },
        if has_limit { finding.verdict.word() } else { "–" }.to_owned(),
    ]
}

fn line(cells: &[String; 5], widths: &[usize; 5]) -> String {
    let mut text = String::from("|");
    for (cell, width) in cells.iter().zip(widths) {
        write!(text, " {cell:<width$} |").expect("a string takes any text");
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Bar;

    #[test]
    fn the_table_lines_up_and_names_what_misses() {
        let bar = |limit| Bar::ratio("P4", "first sync", limit);
        let findings = vec![
            bar(1.0).judge(0.5, "1 s to 2 s".into()),
            bar(0.04).judge(0.5, "1 s to 2 s".into()),
            bar(1.0).skip("no rsync here"),
        ];
        let machine = Machine::observe("tmpfs".into(), Vec::new());
        let report = Report { suite: "engine", machine, pairs: 7, findings };
        let table = report.table();
        let widths: Vec<_> = table.lines().map(|line| line.chars().count()).collect();
        assert_eq!(widths, [widths[0]; 5]);
        assert!(table.contains("| 0.50x | ≤ 0.040x | MISSES "), "{table}");
        assert!(table.contains("skipped"), "{table}");
        assert_eq!(report.misses(), 1);
    }
}
