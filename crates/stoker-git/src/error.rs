//! What can go wrong between us and a repository, with the reason and the way out.

mod remedy;

use std::path::PathBuf;

use stoker_api::condition::Reason;
use stoker_api::word::{Commit, SafeUrl};
use stoker_core::refs;

use crate::auth;
use crate::diagnosis::Fault;
use crate::store;

/// Why git could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("failed to authenticate to {remote}")]
    Credentials { remote: SafeUrl, source: auth::Error },
    #[error("failed to list the refs of {remote}")]
    ListRefs { remote: SafeUrl, source: Fault },
    #[error("failed to resolve a ref of {remote}")]
    Resolve { remote: SafeUrl, source: refs::Error },
    #[error("failed to fetch the history of {remote}")]
    FetchHistory { remote: SafeUrl, source: Fault },
    #[error("failed to fetch commit {commit} from {remote}")]
    FetchCommit { remote: SafeUrl, commit: Commit, source: Fault },
    #[error("the ref on {remote} points to {object}, which is a file or a directory, not a commit")]
    NotACommit { remote: SafeUrl, object: Commit },
    #[error("failed to fetch {count} files from {remote}")]
    FetchFiles { remote: SafeUrl, count: usize, source: Fault },
    #[error("failed to use the object store {path:?}")]
    Store { path: PathBuf, source: store::Error },
}

impl Error {
    /// Returns the reason for conditions, reports and `-o json`.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Credentials { source, .. } => match source {
                auth::Error::GithubApp { .. } | auth::Error::PlainHttpApi { .. } => {
                    Reason::GithubAppExchangeFailed
                }
                auth::Error::Read { source, .. }
                    if source.kind() == std::io::ErrorKind::NotFound =>
                {
                    Reason::SecretNotFound
                }
                _ => Reason::AuthenticationFailed,
            },
            Self::Resolve { .. } => Reason::RefNotFound,
            Self::NotACommit { .. } => Reason::RefResolutionFailed,
            Self::Store { .. } => Reason::FetchFailed,
            Self::ListRefs { source, .. }
            | Self::FetchHistory { source, .. }
            | Self::FetchCommit { source, .. }
            | Self::FetchFiles { source, .. } => self.reason_of(source),
        }
    }

    /// Returns what git said, where it was git that failed.
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Self::ListRefs { source, .. }
            | Self::FetchHistory { source, .. }
            | Self::FetchCommit { source, .. }
            | Self::FetchFiles { source, .. } => Some(source),
            Self::Credentials { .. }
            | Self::Resolve { .. }
            | Self::NotACommit { .. }
            | Self::Store { .. } => None,
        }
    }

    fn reason_of(&self, fault: &Fault) -> Reason {
        match fault {
            Fault::Authentication { .. } | Fault::CredentialsNeeded { .. } => {
                Reason::AuthenticationFailed
            }
            Fault::StoreFull { .. } => Reason::StoreFull,
            Fault::NotFound { .. }
            | Fault::HostKey
            | Fault::Tls { .. }
            | Fault::NoTls
            | Fault::Unreachable { .. }
            | Fault::Proxy { .. }
            | Fault::Server { .. }
            | Fault::Redirected { .. }
            | Fault::TimedOut { .. }
            | Fault::Stalled => Reason::RemoteUnreachable,
            _ => match self {
                Self::ListRefs { .. } | Self::FetchHistory { .. } => Reason::RefResolutionFailed,
                _ => Reason::FetchFailed,
            },
        }
    }
}
