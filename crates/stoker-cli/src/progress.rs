//! The current phase of a run: lines with -vv, a spinner on a terminal, nothing elsewhere.

use std::collections::HashSet;
use std::io::IsTerminal as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use stoker_api::word::SafeUrl;
use stoker_run::Phase;

use crate::output::Console;

/// Shows the phases of a run.
#[derive(Debug)]
pub(crate) struct Progress {
    console: Console,
    display: Display,
}

/// How phases are shown.
#[derive(Debug)]
enum Display {
    /// A spinner on a terminal.
    Spinner(ProgressBar),
    /// A line per phase, each once.
    Lines { printed: Mutex<HashSet<String>> },
    /// Nothing.
    Silent,
}

impl Progress {
    /// As much as a console wants.
    pub(crate) fn on(console: &Console) -> Self {
        let is_watched = std::io::stderr().is_terminal() && std::env::var_os("TERM").is_some();
        let display = if console.has_details() {
            Display::Lines { printed: Mutex::default() }
        } else if console.is_for_people() && is_watched {
            Display::Spinner(spinner())
        } else {
            Display::Silent
        };
        Self { console: console.clone(), display }
    }

    /// Says for whom the run waits: on every display, because nothing else happens meanwhile.
    fn wait(&self, words: &str) {
        match &self.display {
            Display::Spinner(bar) => bar.set_message(words.to_owned()),
            Display::Lines { .. } | Display::Silent => self.console.note(words),
        }
    }

    /// Says that a ref is being resolved.
    pub(crate) fn resolving(&self, remote: &SafeUrl, git_ref: &str) {
        self.show(format!("asking {remote} for {git_ref}"));
    }

    fn show(&self, words: String) {
        match &self.display {
            Display::Spinner(bar) => bar.set_message(words),
            Display::Lines { printed } => {
                let mut printed = printed.lock().unwrap_or_else(PoisonError::into_inner);
                if !printed.contains(&words) {
                    self.console.detail(&words);
                    printed.insert(words);
                }
            }
            Display::Silent => {}
        }
    }

    /// Removes the spinner before something else is printed.
    pub(crate) fn clear(&self) {
        if let Display::Spinner(bar) = &self.display {
            bar.finish_and_clear();
        }
    }
}

impl stoker_run::Progress for Progress {
    fn phase(&self, phase: Phase<'_>) {
        self.show(match phase {
            Phase::Opening => "opening the data directory".to_owned(),
            Phase::WaitingForLock { holder } => {
                return self
                    .wait(&format!("waiting for another run on the data directory: {holder}"));
            }
            Phase::Comparing => "comparing".to_owned(),
            Phase::Fetching { commit, remote } => format!("fetching {commit} from {remote}"),
            Phase::AskingGateway => "asking the gateway".to_owned(),
            Phase::Writing { changes: 1 } => "writing 1 file".to_owned(),
            Phase::Writing { changes } => format!("writing {changes} files"),
            Phase::Applying => "applying".to_owned(),
            Phase::Scanning => "waiting for the gateway's scan".to_owned(),
        });
    }
}

fn spinner() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}
