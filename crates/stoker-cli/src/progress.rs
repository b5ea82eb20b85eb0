//! What a run is doing right now: lines for those who asked for them, a spinner on a terminal,
//! nothing elsewhere.

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
pub(crate) enum Progress {
    /// For a person who looks.
    Spinner(ProgressBar),
    /// For whoever reads along: each phase once.
    Lines { console: Console, told: Mutex<HashSet<String>> },
    /// For nobody.
    Silent,
}

impl Progress {
    /// As much as a console wants.
    pub(crate) fn on(console: &Console) -> Self {
        if console.has_details() {
            return Self::Lines { console: console.clone(), told: Mutex::default() };
        }
        let is_watched = std::io::stderr().is_terminal() && std::env::var_os("TERM").is_some();
        if console.is_for_people() && is_watched { Self::Spinner(spinner()) } else { Self::Silent }
    }

    /// Says that a ref is being resolved.
    pub(crate) fn resolving(&self, remote: &SafeUrl, git_ref: &str) {
        self.show(format!("asking {remote} for {git_ref}"));
    }

    fn show(&self, words: String) {
        match self {
            Self::Spinner(bar) => bar.set_message(words),
            Self::Lines { console, told } => {
                let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
                if !told.contains(&words) {
                    console.detail(&words);
                    told.insert(words);
                }
            }
            Self::Silent => {}
        }
    }

    /// Takes the spinner away, so that what is printed next stands alone.
    pub(crate) fn clear(&self) {
        if let Self::Spinner(bar) = self {
            bar.finish_and_clear();
        }
    }
}

impl stoker_run::Progress for Progress {
    fn phase(&self, phase: Phase<'_>) {
        self.show(match phase {
            Phase::Opening => "opening the data directory".to_owned(),
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
