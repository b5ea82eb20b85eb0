//! What every suite does the same way: flags, progress, table, file, exit code.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::finding::Finding;
use crate::program::Program;
use crate::report::{Machine, Report};

/// Flags of a suite.
#[derive(Debug, Clone, clap::Parser)]
#[command(about = "Measure against reference tools, side by side")]
pub struct Flags {
    /// Fewer turns, for a first look
    #[arg(long)]
    pub quick: bool,
    /// Only bars whose number contains one of these, such as P6
    pub only: Vec<String>,
    /// Where the results go [default: bench/SUITE.json below the target directory]
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Fail when a bar does not hold
    #[arg(long)]
    pub strict: bool,
    /// The program to measure [default: the one that cargo built]
    #[arg(long, value_name = "FILE")]
    pub stoker: Option<PathBuf>,
    /// What `cargo bench` adds
    #[arg(long, hide = true)]
    bench: bool,
}

impl Flags {
    /// Returns how many turns each comparison gets.
    pub fn pairs(&self) -> usize {
        if self.quick { 3 } else { 7 }
    }

    /// Says whether bars of this number are wanted.
    pub fn wants(&self, id: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| id.contains(only))
    }

    /// Returns the program to measure.
    pub fn stoker(&self) -> anyhow::Result<Program> {
        match &self.stoker {
            Some(path) => Program::at(path),
            None => Program::built("stoker"),
        }
    }

    /// Prints the table, writes the file, and says how to exit.
    #[expect(clippy::print_stdout, reason = "the table is what people run a benchmark for")]
    pub fn conclude(&self, report: &Report, target: &std::path::Path) -> anyhow::Result<ExitCode> {
        let Machine { cores, kernel, file_system, tools } = &report.machine;
        println!("{}", report.table());
        println!("{cores} cores, Linux {kernel}, {file_system}; {}", tools.join(", "));
        let default = || target.join(format!("bench/{}.json", report.suite));
        let path = self.json.clone().unwrap_or_else(default);
        report.save(&path)?;
        eprintln!("results: {}", path.display());
        let fails = self.strict && report.misses() > 0;
        Ok(if fails { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// Tells the person who waits what was found just now.
pub fn announce(findings: &[Finding]) {
    for finding in findings {
        let bar = &finding.bar;
        let value = finding.value.map_or_else(|| "–".to_owned(), |value| bar.unit.show(value));
        let verdict = finding.verdict.word();
        eprintln!("{:<4} {verdict:<8} {value:>9}  {} ({})", bar.id, bar.claim, finding.measured);
    }
}
