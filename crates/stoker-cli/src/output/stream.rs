//! Standard output and standard error. All printing goes through here, escaped.

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

    /// A closed pipe does not fail the command: `stoker plan | head` is fine. Any other error
    /// is printed once.
    pub(super) fn judge(&self, written: io::Result<()>) {
        let Err(error) = written else { return };
        if error.kind() == ErrorKind::BrokenPipe || self.is_lost.swap(true, Ordering::Relaxed) {
            return;
        }
        print_stderr(&format!("error: failed to write to standard output: {error}"));
        print_stderr("hint: make room there, or redirect the output; the command itself is done");
    }

    /// Whether something that was printed is lost.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }
}

/// Prints one line on standard error. An error there can't be reported.
pub(super) fn print_stderr(line: &str) {
    writeln!(io::stderr(), "{}", escape::line(line)).ok();
}
