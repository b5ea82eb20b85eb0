//! All output: results to standard output, everything else to standard error.

mod escape;
mod requested_format;
mod stream;
mod summary;
mod tree;

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::path::Path;

use serde::Serialize;
use stoker_run::Quoted;

use crate::failure::{Blame, Failure};
use crate::run_document::{RunDocument, Warned};
pub(crate) use escape::{line as one_line, word};
pub(crate) use requested_format::requested_format;
use stream::{Stdout, print_stderr};

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
#[derive(Debug, Clone)]
pub(crate) struct Console {
    pub(crate) format: Format,
    volume: Volume,
    /// The command that prints; empty where none could be read.
    command: &'static str,
    stdout: Stdout,
}

/// How many warnings of one code are printed to those who did not ask for more.
const MOST_WARNINGS: usize = 10;

/// The commands that talk to a cluster; what they print has nothing of a run.
const OF_A_CLUSTER: [&str; 9] =
    ["bootstrap", "sync-now", "status", "doctor", "pause", "resume", "render", "logs", "migrate"];

/// The document of a command that talks to a cluster and failed before it had a result.
#[derive(Serialize)]
struct Failed<'a> {
    status: &'static str,
    error: &'a Failure,
}

impl Console {
    pub(crate) fn new(format: Format, volume: Volume, command: &'static str) -> Self {
        Self { format, volume, command, stdout: Stdout::default() }
    }

    /// Whether a person reads along.
    pub(crate) fn is_for_people(&self) -> bool {
        self.format == Format::Table && self.volume > Volume::Quiet
    }

    /// Whether every changed path is printed.
    pub(crate) fn has_paths(&self) -> bool {
        self.volume >= Volume::Paths
    }

    /// Whether it is printed what is being done.
    pub(crate) fn has_details(&self) -> bool {
        self.volume >= Volume::Everything
    }

    /// Prints what a run came to.
    pub(crate) fn document(&self, document: &RunDocument) {
        if self.volume > Volume::Quiet {
            self.warnings(&document.warnings);
        }
        match self.format {
            Format::Json | Format::Yaml => self.value(document),
            Format::Table if self.volume > Volume::Quiet => {
                let text = match (&document.changes, self.has_paths()) {
                    (Some(changes), true) => tree::draw(document, changes, usize::MAX),
                    (Some(changes), false) => tree::draw(document, changes, tree::SCREEN),
                    (None, _) => summary::draw(document),
                };
                self.stdout.text(&self.timed(&text));
            }
            Format::Table => {}
        }
        if let Some(failure) = &document.error {
            self.lines_of(failure);
        }
    }

    /// Prints a result as a document for scripts, or as text for people; and why it is not what was
    /// asked for, if so.
    pub(crate) fn result(&self, value: &impl Serialize, text: &str, failure: Option<&Failure>) {
        match self.format {
            Format::Json | Format::Yaml => self.value(value),
            Format::Table => self.say(text),
        }
        if let Some(failure) = failure {
            self.lines_of(failure);
        }
    }

    /// Whether a person reads at a terminal that shows colours.
    pub(crate) fn has_colours(&self) -> bool {
        let is_refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        self.is_for_people() && io::stdout().is_terminal() && !is_refused
    }

    /// Prints a result as a document for scripts, or as text that was escaped and coloured.
    pub(crate) fn styled(&self, value: &impl Serialize, text: &str) {
        match self.format {
            Format::Json | Format::Yaml => self.value(value),
            Format::Table if self.is_for_people() => self.stdout.exact(text),
            Format::Table => {}
        }
    }

    /// The same in place of what was printed before, where that is a terminal.
    pub(crate) fn redraw(&self, value: &impl Serialize, text: &str) {
        let is_terminal = self.is_for_people() && io::stdout().is_terminal();
        // Home, the text, and nothing of the old one below it: less flicker than an empty screen.
        let text = text.replace('\n', "\u{1b}[K\n");
        let text = if is_terminal { format!("\u{1b}[H{text}\u{1b}[J") } else { text };
        self.styled(value, &text);
    }

    /// Prints the warnings that the run before did not have: all of them, or the first of a code.
    fn warnings(&self, warnings: &[Warned]) {
        let most = if self.has_paths() { usize::MAX } else { MOST_WARNINGS };
        let fresh: Vec<&Warned> = warnings.iter().filter(|warning| !warning.is_known).collect();
        let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
        for warning in fresh {
            let count = counts.entry(warning.code.as_str()).or_default();
            *count += 1;
            if *count <= most {
                self.print_line(&format!("warning: {warning}"));
            }
        }
        for (code, count) in counts.into_iter().filter(|(_, count)| *count > most) {
            let more = count - most;
            self.print_line(&format!("warning: … and {more} more of {code}; -v shows all"));
        }
    }

    /// Prints a failure on standard error, for every format: a log has both streams.
    fn lines_of(&self, failure: &Failure) {
        self.print_line(&format!("error: {}", failure.message));
        if let Some(hint) = &failure.hint {
            self.print_line(&format!("hint: {hint}"));
        }
    }

    /// Prints one line on standard error.
    fn print_line(&self, line: &str) {
        print_stderr(&self.timed(line));
    }

    /// Puts the time before each line, where a command goes on and on and its lines are read later.
    fn timed(&self, text: &str) -> String {
        if self.command != "watch" {
            return text.to_owned();
        }
        let now = jiff::Timestamp::now();
        let lines: Vec<String> = text.lines().map(|line| format!("{now:.0} {line}")).collect();
        lines.join("\n")
    }

    /// Prints why there is no result.
    pub(crate) fn failure(&self, failure: &Failure) {
        let mut failure = failure.clone();
        if failure.blame == Blame::Usage {
            failure.hint.get_or_insert_with(|| self.help());
        }
        self.lines_of(&failure);
        if self.format == Format::Table {
            return;
        }
        if OF_A_CLUSTER.contains(&self.command) {
            return self.value(&Failed { status: "failed", error: &failure });
        }
        let mut document = RunDocument::failed(failure.git_ref.clone().as_deref(), failure);
        // Those who read a plan find its list, whatever went wrong.
        document.changes = (self.command == "plan").then(Vec::new);
        self.value(&document);
    }

    /// The help that describes the flags of the command.
    fn help(&self) -> String {
        match self.command {
            "" => "see the commands: stoker --help".to_owned(),
            command => format!("see the flags, with an example: stoker {command} --help"),
        }
    }

    /// Prints a page that was asked for, whatever the format of results.
    pub(crate) fn page(&self, text: &str) {
        self.stdout.exact(text);
    }

    /// Prints what the parser of command lines says about harmless words: help that was asked for,
    /// or what is wrong.
    pub(crate) fn parsed(&self, error: &clap::Error) {
        let printed = error.print();
        if !error.use_stderr() {
            self.stdout.judge(printed);
        }
    }

    /// Whether a part of the result is lost, because standard output did not take it.
    pub(crate) fn is_lost(&self) -> bool {
        self.stdout.is_lost()
    }

    /// Prints a line of text, unless results are for scripts.
    pub(crate) fn say(&self, line: &str) {
        if self.is_for_people() {
            self.stdout.text(line);
        }
    }

    /// Prints a line for people on standard error.
    pub(crate) fn note(&self, line: &str) {
        if self.volume > Volume::Quiet {
            self.print_line(line);
        }
    }

    /// Prints on standard error what is needed to go on, however little is wanted.
    #[expect(clippy::unused_self, reason = "one door to the terminal")]
    pub(crate) fn announce(&self, line: &str) {
        print_stderr(line);
    }

    /// Prints what a person at a terminal is to know while a command goes on.
    pub(crate) fn invite(&self, line: &str) {
        if io::stderr().is_terminal() {
            self.note(line);
        }
    }

    /// Prints what is being done, to those who want to know.
    pub(crate) fn detail(&self, line: &str) {
        if self.has_details() {
            self.print_line(line);
        }
    }

    fn value(&self, value: &impl Serialize) {
        let failed = |error| format!("{{\"status\":\"failed\",\"error\":{error:?}}}");
        match self.format {
            Format::Yaml => self.stdout.document(&escape::yaml(value).unwrap_or_else(failed)),
            Format::Json | Format::Table => {
                self.stdout.exact(&escape::json(value).unwrap_or_else(failed));
            }
        }
    }
}

/// A path as it is printed for people.
pub(crate) fn shown(path: &Path) -> Quoted<'_> {
    Quoted(path.as_os_str().as_encoded_bytes())
}
