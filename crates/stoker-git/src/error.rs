//! What can go wrong between us and a repository, with the reason and the way out.

use std::path::PathBuf;

use stoker_api::condition::Reason;
use stoker_api::word::{Commit, SafeUrl};
use stoker_core::refs;

use crate::auth;
use crate::diagnosis::Fault;
use crate::store;

/// Why git could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The credentials can't be used.
    #[error("failed to authenticate to {remote}")]
    Credentials {
        /// The repository.
        remote: SafeUrl,
        /// Why not.
        source: auth::Error,
    },
    /// The refs could not be listed.
    #[error("failed to list the refs of {remote}")]
    ListRefs {
        /// The repository.
        remote: SafeUrl,
        /// Why not.
        source: Fault,
    },
    /// The ref could not be resolved.
    #[error("failed to resolve a ref of {remote}")]
    Resolve {
        /// The repository.
        remote: SafeUrl,
        /// Why not.
        source: refs::Error,
    },
    /// The history could not be fetched.
    #[error("failed to fetch the history of {remote}")]
    FetchHistory {
        /// The repository.
        remote: SafeUrl,
        /// Why not.
        source: Fault,
    },
    /// The commit could not be fetched.
    #[error("failed to fetch commit {commit} from {remote}")]
    FetchCommit {
        /// The repository.
        remote: SafeUrl,
        /// The commit.
        commit: Commit,
        /// Why not.
        source: Fault,
    },
    /// The ref stands for something, but not for a commit.
    #[error(
        "what the ref stands for on {remote}, {object}, is a file or a directory, not a commit"
    )]
    NotACommit {
        /// The repository.
        remote: SafeUrl,
        /// What the ref stands for.
        object: Commit,
    },
    /// Files could not be fetched.
    #[error("failed to fetch {count} files from {remote}")]
    FetchFiles {
        /// The repository.
        remote: SafeUrl,
        /// How many files.
        count: usize,
        /// Why not.
        source: Fault,
    },
    /// The object store could not be used.
    #[error("failed to use the object store {path:?}")]
    Store {
        /// Where it is.
        path: PathBuf,
        /// Why not.
        source: store::Error,
    },
}

impl Error {
    /// Returns the reason for conditions, reports and `-o json`.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Credentials { source, .. } => match source {
                auth::Error::GithubApp { .. } => Reason::GithubAppExchangeFailed,
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
            Fault::NotFound { .. }
            | Fault::HostKey
            | Fault::Tls { .. }
            | Fault::NoTls
            | Fault::Unreachable { .. }
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

    /// Returns what to do next, in one line, where there is something to do.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Credentials { source, remote } => credential_hint(source, remote),
            Self::Resolve { source, remote } => Some(resolve_hint(source, remote)),
            Self::NotACommit { remote, .. } => Some(format!(
                "choose a branch, or a tag on a commit; list what is there: git ls-remote {remote}"
            )),
            Self::Store { source, .. } => Some(source.hint()),
            Self::ListRefs { source, remote }
            | Self::FetchHistory { source, remote }
            | Self::FetchCommit { source, remote, .. }
            | Self::FetchFiles { source, remote, .. } => Some(fault_hint(source, remote)),
        }
    }
}

fn credential_hint(error: &auth::Error, remote: &SafeUrl) -> Option<String> {
    Some(match error {
        auth::Error::Read { path, .. } | auth::Error::Empty { path, .. } => {
            format!("look at the file: ls -l {}", path.display())
        }
        auth::Error::Malformed { path, .. } => {
            format!("look at the file, without showing it: wc -lc {}", path.display())
        }
        auth::Error::Mismatch { .. } if remote.to_string().starts_with("http") => {
            "give a token with --token-file".to_owned()
        }
        auth::Error::Missing { .. } | auth::Error::Mismatch { .. } => {
            "give a key with --ssh-key-file and --known-hosts-file".to_owned()
        }
        auth::Error::PlainHttp { .. } => {
            "use https://, or accept the risk with --allow-insecure-http".to_owned()
        }
        auth::Error::GithubApp { .. } | auth::Error::Memory { .. } => return None,
    })
}

fn resolve_hint(error: &refs::Error, remote: &SafeUrl) -> String {
    match error {
        refs::Error::NoVersion { .. } => format!("list the tags: git ls-remote --tags {remote}"),
        refs::Error::Unreachable { .. } => {
            "if you trust that commit, say so with --allow-unreachable".to_owned()
        }
        refs::Error::Ambiguous { .. } => "give more digits of the commit's id".to_owned(),
        refs::Error::Range { .. } | refs::Error::NotFound { .. } => {
            format!("list what is there: git ls-remote {remote}")
        }
    }
}

fn fault_hint(fault: &Fault, remote: &SafeUrl) -> String {
    match fault {
        Fault::Authentication { .. } | Fault::NotFound { .. } => {
            format!("check the URL and the credentials: git ls-remote {remote}")
        }
        Fault::CredentialsNeeded { .. } => {
            "give a token with --token-file FILE (and --username NAME where it is not for a forge), \
             or a GitHub App with --github-app-id; in a cluster git.auth"
                .to_owned()
        }
        Fault::NoTls => {
            "use the port that serves https, or http:// if that is what the server speaks".to_owned()
        }
        Fault::HostKey => {
            "compare the server's key with a trusted one: ssh-keyscan HOST, then add it to the known \
             hosts file"
                .to_owned()
        }
        Fault::Tls { .. } => "give the server's CA with --ca-file, or git.caSecretRef".to_owned(),
        Fault::Unreachable { .. }
        | Fault::Server { .. }
        | Fault::Damaged
        | Fault::Store
        | Fault::Other { .. } => {
            format!("try the same by hand: git ls-remote {remote}")
        }
        Fault::Redirected { to } => format!("if that is right, use the URL {to}"),
        Fault::DubiousOwnership { path, .. } => {
            format!("if you trust it: git config --global --add safe.directory {path}")
        }
        Fault::TimedOut { .. } | Fault::Stalled => {
            "if the server is only slow, allow more time with --timeout".to_owned()
        }
        Fault::NotInstalled { program } => format!("install {program}: apt-get install {}", package(program)),
        Fault::GitTooOld => "see the version: git --version".to_owned(),
        Fault::NoPasswdEntry => {
            "install libnss-wrapper, use https:// with a token, or run as a user that exists".to_owned()
        }
        Fault::DiskFull => "see what is free: df -h".to_owned(),
        Fault::NotOurRef => format!("check the commit's id; list what is there: git ls-remote {remote}"),
        Fault::TooLarge { .. } => format!("check that it is the right repository: {remote}"),
        Fault::Cancelled => "run the same command again".to_owned(),
    }
}

fn package(program: &str) -> &str {
    if program == "ssh" { "openssh-client" } else { "git" }
}
