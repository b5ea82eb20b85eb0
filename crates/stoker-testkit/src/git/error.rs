//! What can go wrong while a test sets up its git world.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// A failure of the test's surroundings, not of the code under test.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "a field is named after what it holds")]
#[non_exhaustive]
pub enum Error {
    /// A program could not be started: not installed, most likely.
    #[error("failed to start {program}")]
    Start { program: &'static str, source: io::Error },
    /// A program could not be talked to.
    #[error("failed to talk to {program}")]
    Talk { program: &'static str, source: io::Error },
    /// A program ran and reported failure.
    #[error("{program} ended with {status}: {stderr}")]
    Failed { program: String, status: ExitStatus, stderr: String },
    /// Git printed something else than an object id.
    #[error("{text:?} is not an object id")]
    NotAnId { text: String },
    /// A program printed something else than a key.
    #[error("{program} printed something that is not a key")]
    NotAKey { program: &'static str },
    /// A file or directory could not be made or read.
    #[error("failed to access {path:?}")]
    File { path: PathBuf, source: io::Error },
    /// A server could not listen on loopback.
    #[error("failed to listen on loopback")]
    Listen { source: io::Error },
    /// A certificate could not be made.
    #[error("failed to make a certificate")]
    Certificate { source: rcgen::Error },
    /// A certificate that we made is not one that a server can use.
    #[error("failed to set up TLS")]
    Tls { source: rustls::Error },
}

impl Error {
    /// Returns a converter for file errors, to be used as `map_err(Error::file(path))`.
    pub(super) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
