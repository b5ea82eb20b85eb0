//! The two streams. Nothing is printed but through here, and nothing harmful gets through.

use std::io::{self, ErrorKind, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::escape;

/// Standard output, which remembers whether it took everything.
#[derive(Debug, Clone, Default)]
pub(super) struct Stdout {
    is_lost: Arc<AtomicBool>,
    has_documents: Arc<AtomicBool>,
}

impl Stdout {
    /// Prints text for people.
    pub(super) fn text(&self, text: &str) {
        self.exact(&escape::text(text));
    }

    /// Prints what was escaped by the rules of its format, or holds no words but our own.
    pub(super) fn exact(&self, text: &str) {
        if text.is_empty() {
            return;
        }
        let mut out = io::stdout().lock();
        let text = text.trim_end_matches('\n');
        self.judge(writeln!(out, "{text}").and_then(|()| out.flush()));
    }

    /// Prints a YAML document, apart from the one before it.
    pub(super) fn document(&self, text: &str) {
        let is_next = self.has_documents.swap(true, Ordering::Relaxed);
        self.exact(&if is_next { format!("---\n{text}") } else { text.to_owned() });
    }

    /// A reader that went away is no reason to fail: `stoker plan | head` is fine. Whatever else
    /// stands in the way is told, once.
    pub(super) fn judge(&self, written: io::Result<()>) {
        let Err(error) = written else { return };
        if error.kind() == ErrorKind::BrokenPipe || self.is_lost.swap(true, Ordering::Relaxed) {
            return;
        }
        tell(&format!("error: failed to write to standard output: {error}"));
        tell("hint: make room there, or print elsewhere; what was to be done is done all the same");
    }

    /// Whether something that was printed is lost.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }
}

/// Prints one line on standard error. Who can't be told there can't be told at all.
pub(super) fn tell(line: &str) {
    writeln!(io::stderr(), "{}", escape::line(line)).ok();
}
