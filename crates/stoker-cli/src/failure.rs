//! Why a command failed: for people, for scripts, and for the exit code.

use serde::Serialize;
use stoker_api::chain::Chain;
use stoker_api::condition::Reason;

/// A failure with everything that its reader needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Failure {
    /// One word that scripts can rely on.
    pub(crate) reason: Reason,
    /// What failed, on what, and why.
    pub(crate) message: String,
    /// What to do next; where possible, a command to paste. A script finds the key always.
    pub(crate) hint: Option<String>,
    /// Whose fault it is, which decides the exit code.
    #[serde(skip)]
    pub(crate) blame: Blame,
    /// The ref that it was about, where it could be read before things went wrong.
    #[serde(skip)]
    pub(crate) git_ref: Option<String>,
}

/// Whose fault a failure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blame {
    /// The command line or the file: found before anything was contacted; exit code 2.
    Usage,
    /// The world; exit code 1.
    World,
}

impl Failure {
    /// The command line or the `-f` file is wrong. Without a hint of its own it sends the reader to
    /// the help of the command, once that is known.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            reason: Reason::Usage,
            message: message.into(),
            hint: None,
            blame: Blame::Usage,
            git_ref: None,
        }
    }

    /// Something outside of the command line failed.
    pub(crate) fn world(reason: Reason, error: &(dyn std::error::Error + 'static)) -> Self {
        Self::because(reason, Chain(error).to_string())
    }

    /// Something outside of the command line failed, and no error of a library says why.
    pub(crate) fn because(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, blame: Blame::World, ..Self::usage(message) }
    }

    /// Adds the ref that it was about.
    #[must_use]
    pub(crate) fn about(mut self, git_ref: Option<&str>) -> Self {
        self.git_ref = git_ref.map(str::to_owned);
        self
    }

    /// Adds what to do next.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
