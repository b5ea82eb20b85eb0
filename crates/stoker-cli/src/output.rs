//! The one door to the terminal: results to standard output, everything else to standard error.

mod escape;
mod summary;
mod tree;

use std::ffi::OsString;
use std::io::{self, Write as _};

use serde::Serialize;

use crate::cycle::Outcome;
use crate::failure::{Blame, Failure};

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// One JSON object
    Json,
    /// The same as YAML
    Yaml,
}

/// How much is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Volume {
    /// Errors only.
    Quiet,
    /// A summary.
    Usual,
    /// And every changed path.
    Paths,
    /// And what is being done.
    Everything,
}

/// Where and how results are printed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Console {
    /// The format of results.
    pub(crate) format: Format,
    volume: Volume,
    /// The command that prints; empty where none could be read.
    command: &'static str,
}

impl Console {
    pub(crate) fn new(format: Format, volume: Volume, command: &'static str) -> Self {
        Self { format, volume, command }
    }

    /// Whether a person reads along.
    pub(crate) fn is_for_people(self) -> bool {
        self.format == Format::Table && self.volume > Volume::Quiet
    }

    /// Prints what a run came to.
    pub(crate) fn outcome(self, outcome: &Outcome) {
        if self.volume > Volume::Quiet {
            for warning in &outcome.warnings {
                eprintln!("warning: {warning}");
            }
        }
        match self.format {
            Format::Json | Format::Yaml => self.value(outcome),
            Format::Table => {
                if self.volume > Volume::Quiet {
                    let with_paths = self.volume >= Volume::Paths;
                    print(&match &outcome.changes {
                        Some(changes) => tree::draw(outcome, changes),
                        None => summary::draw(outcome, with_paths),
                    });
                }
                if let Some(failure) = &outcome.error {
                    self.failure(failure);
                }
            }
        }
    }

    /// Prints why there is no result.
    pub(crate) fn failure(self, failure: &Failure) {
        let mut failure = failure.clone();
        if failure.blame == Blame::Usage {
            failure.hint.get_or_insert_with(|| self.help());
        }
        if self.format == Format::Table {
            eprintln!("error: {}", failure.message);
            if let Some(hint) = &failure.hint {
                eprintln!("hint: {hint}");
            }
            return;
        }
        let mut outcome = Outcome::begin(failure.git_ref.as_deref());
        // Those who read a plan find its list, whatever went wrong.
        outcome.changes = (self.command == "plan").then(Vec::new);
        outcome.conclude(Err(failure));
        self.value(&outcome);
    }

    /// Where the flags of the command are told.
    fn help(self) -> String {
        match self.command {
            "" => "see the commands: stoker --help".to_owned(),
            command => format!("see the flags, with an example: stoker {command} --help"),
        }
    }

    /// Prints a page that was asked for, whatever the format of results.
    #[expect(clippy::unused_self, reason = "one door to the terminal")]
    pub(crate) fn page(self, text: &str) {
        print(text);
    }

    /// Prints a line of a story that a person follows.
    pub(crate) fn say(self, line: &str) {
        if self.is_for_people() {
            print(line);
        }
    }

    /// Prints a line that is no result: for people, on standard error.
    pub(crate) fn note(self, line: &str) {
        if self.volume > Volume::Quiet {
            eprintln!("{line}");
        }
    }

    /// Prints what is being done, to those who want to know.
    pub(crate) fn detail(self, line: &str) {
        if self.volume >= Volume::Everything {
            eprintln!("{line}");
        }
    }

    fn value(self, value: &impl Serialize) {
        let text = match self.format {
            Format::Yaml => escape::yaml(value),
            Format::Json | Format::Table => escape::json(value),
        };
        print(
            &text.unwrap_or_else(|error| format!("{{\"status\":\"failed\",\"error\":{error:?}}}")),
        );
    }
}

/// Whether a command line that could not be read asks for JSON.
pub(crate) fn wants_json(words: &[OsString]) -> bool {
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    words.iter().any(|word| matches!(*word, "-ojson" | "-o=json" | "--output=json"))
        || words.windows(2).any(|pair| matches!(pair, ["-o" | "--output", "json"]))
}

/// A reader that went away is no reason to fail: `stoker plan | head` is fine.
fn print(text: &str) {
    if text.is_empty() {
        return;
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{}", text.trim_end_matches('\n')).and_then(|()| out.flush()).ok();
}
