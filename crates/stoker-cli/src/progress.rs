//! What a run is doing right now: a spinner on a terminal, nothing elsewhere.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Shows the phase of a run.
#[derive(Debug, Clone)]
pub(crate) struct Progress(Option<ProgressBar>);

impl Progress {
    /// For a person, if one is looking.
    pub(crate) fn on_terminal() -> Self {
        let is_watched = std::io::stderr().is_terminal() && std::env::var_os("TERM").is_some();
        Self(is_watched.then(spinner))
    }

    /// For nobody.
    pub(crate) fn silent() -> Self {
        Self(None)
    }

    /// Names the phase that begins.
    pub(crate) fn phase(&self, words: String) {
        if let Some(bar) = &self.0 {
            bar.set_message(words);
        }
    }

    /// Takes the spinner away, so that what is printed next stands alone.
    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.0 {
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
