//! What a run is doing right now: lines for those who asked for them, a spinner on a terminal,
//! nothing elsewhere.

use std::collections::HashSet;
use std::io::IsTerminal as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

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

    /// Names the phase that begins.
    pub(crate) fn phase(&self, words: String) {
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

fn spinner() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}
