//! Why a run failed: one variant per step, each with the error of that step as data.

use std::io::ErrorKind;

use stoker_api::condition::Reason;
use stoker_api::remedy::Remedy;
use stoker_api::retry::Retry;
use stoker_git::diagnosis::Fault;
use stoker_sync::{DiskError, OpenError, apply, compose, lock, plan, source, write};

use crate::profile;
use crate::report::RunReport;

/// A run that failed: what it had done, and which step failed.
#[derive(Debug)]
pub struct Failed {
    /// What was done. Files may have landed although the run failed.
    pub report: Box<RunReport>,
    /// Which step failed, and why.
    pub error: Box<Error>,
}

/// Which step of a run failed, and why.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Error {
    /// The templates of the profile can't be filled in for this commit.
    #[error(transparent)]
    Profile(profile::Error),
    /// The data directory could not be opened, or a killed run in it could not be finished.
    #[error(transparent)]
    Open(OpenError),
    /// The commit could not be fetched.
    #[error(transparent)]
    Fetch(stoker_git::Error),
    /// There is no plan.
    #[error(transparent)]
    Plan(plan::Error),
    /// The gateway refused before anything was written.
    #[error(transparent)]
    Gateway(stoker_ignition::Error),
    /// The new files could not be written; nothing was applied.
    #[error(transparent)]
    Write(write::Error),
    /// The gateway gave no scan lock; nothing was applied.
    #[error(transparent)]
    ScanLock(stoker_ignition::Error),
    /// The new files could not be put in place, or not all of them.
    #[error(transparent)]
    Apply(apply::Error),
    /// The files are in place, and the gateway did not scan them.
    #[error(transparent)]
    Scan(stoker_ignition::Error),
    #[error("the gateway scanned, but has not loaded {}", .projects.join(", "))]
    ProjectsNotLoaded { projects: Vec<String> },
    /// The gateway scanned, and that could not be remembered.
    #[error(transparent)]
    RecordScan(DiskError),
}

impl Error {
    /// Returns the word that scripts, reports and conditions rely on.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Profile(_) => Reason::ProfilesInvalid,
            Self::Open(error) => of_open(error),
            Self::Fetch(error) => git_reason(error),
            Self::Plan(error) => of_plan(error),
            Self::Write(error) => of_write(error),
            Self::Apply(error) => match error {
                apply::Error::Incomplete { failed, .. } if is_full(failed.first()) => {
                    Reason::DiskFull
                }
                _ => Reason::ApplyFailed,
            },
            Self::Gateway(error) | Self::ScanLock(error) | Self::Scan(error) => error.reason(),
            Self::ProjectsNotLoaded { .. } => Reason::ProjectsNotLoaded,
            Self::RecordScan(_) => Reason::DiskFailed,
        }
    }

    /// Returns when to try again.
    pub fn retry(&self) -> Retry {
        if let Self::Gateway(error) | Self::ScanLock(error) | Self::Scan(error) = self {
            return error.retry();
        }
        match self.reason() {
            Reason::ProfilesInvalid
            | Reason::SourceNotFound
            | Reason::MappingInvalid
            | Reason::NamesRefused
            | Reason::LfsPointer
            | Reason::RenderFailed
            | Reason::NotACommit
            | Reason::OtherRepository
            | Reason::DeletionBlocked => Retry::NextChange,
            Reason::Conflict
            | Reason::DataDirectoryMissing
            | Reason::DataDirectoryUnusable
            | Reason::DiskFull
            | Reason::StoreFull
            | Reason::AuthenticationFailed
            | Reason::SecretNotFound
            | Reason::GithubAppExchangeFailed
            | Reason::GitMissing
            | Reason::ProjectsNotLoaded => Retry::NextPeriod,
            _ => Retry::Backoff,
        }
    }

    /// Returns what a user can do about it, where git or the gateway knows. What helps with files
    /// depends on the program, which has the step's own error.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Fetch(error) => error.remedy(),
            Self::Gateway(error) | Self::ScanLock(error) | Self::Scan(error) => {
                Some(error.remedy())
            }
            _ => None,
        }
    }

    /// Returns whether the run ended because it was asked to.
    pub fn is_cancelled(&self) -> bool {
        self.reason() == Reason::Cancelled
    }
}

/// Returns the reason of git's error, finer than conditions have it.
pub fn git_reason(error: &stoker_git::Error) -> Reason {
    let is_cancelled = matches!(error.fault(), Some(Fault::Cancelled))
        || matches!(
            error,
            stoker_git::Error::Store { source: stoker_git::store::Error::Cancelled, .. }
        );
    // A part of git lies in the same package as git.
    let is_missing = matches!(
        error.fault(),
        Some(Fault::NotInstalled { program }) if program.starts_with("git")
    );
    match error {
        stoker_git::Error::NotACommit { .. } => Reason::NotACommit,
        _ if is_missing => Reason::GitMissing,
        _ if is_cancelled => Reason::Cancelled,
        error => error.reason(),
    }
}

/// Returns whether the source failed, so that its own error says more.
pub(crate) fn is_of_source(error: &plan::Error) -> bool {
    matches!(
        error,
        plan::Error::Fetch { source: source::Error::Failed }
            | plan::Error::Compose {
                source: compose::Error::Read { source: source::Error::Failed }
            }
    )
}

fn of_open(error: &OpenError) -> Reason {
    match error {
        OpenError::Lock { source: lock::Error::Held { .. } } => Reason::Locked,
        OpenError::Lock { source: lock::Error::Cancelled(_) } => Reason::Cancelled,
        OpenError::Disk { source } if source.kind() == ErrorKind::NotFound => {
            Reason::DataDirectoryMissing
        }
        _ => Reason::DataDirectoryUnusable,
    }
}

fn of_plan(error: &plan::Error) -> Reason {
    match error {
        plan::Error::Compose { source } => match source {
            compose::Error::Read { source } => of_read(source),
            compose::Error::SourceMissing { .. } => Reason::SourceNotFound,
            compose::Error::Names { .. } => Reason::NamesRefused,
            compose::Error::FileOverDirectory { .. } => Reason::Conflict,
            compose::Error::Cancelled(_) => Reason::Cancelled,
            _ => Reason::MappingInvalid,
        },
        plan::Error::Fetch { source } => of_read(source),
        plan::Error::MassDeletion(_) => Reason::DeletionBlocked,
        plan::Error::Transform { .. } => Reason::RenderFailed,
        plan::Error::Conflict { .. } | plan::Error::Link { .. } => Reason::Conflict,
        plan::Error::OtherRepository { .. } => Reason::OtherRepository,
        plan::Error::Drift { .. } | plan::Error::Survey { .. } => Reason::DiskFailed,
        plan::Error::Cancelled(_) => Reason::Cancelled,
    }
}

fn of_write(error: &write::Error) -> Reason {
    match error {
        write::Error::Space { .. } => Reason::DiskFull,
        write::Error::Disk { source } if is_full(Some(source)) => Reason::DiskFull,
        write::Error::Read { source } => of_read(source),
        write::Error::LfsPointers { .. } => Reason::LfsPointer,
        write::Error::Cancelled(_) => Reason::Cancelled,
        _ => Reason::WriteFailed,
    }
}

fn of_read(error: &source::Error) -> Reason {
    match error {
        source::Error::Cancelled => Reason::Cancelled,
        _ => Reason::SourceFailed,
    }
}

fn is_full(error: Option<&DiskError>) -> bool {
    error.is_some_and(|error| error.kind() == ErrorKind::StorageFull)
}
