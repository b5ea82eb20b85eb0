//! Warnings of a run. They are data; the message is made when a program prints it.

use std::fmt::{self, Display, Formatter};

use stoker_api::chain::Chain;
use stoker_api::warning::WarningCode;
use stoker_core::refs;
use stoker_sync::RelPath;
use stoker_sync::plan::MassDeletion;

/// Something that people should know although the run went on.
#[derive(Debug)]
pub enum Warning {
    /// The engine skipped, adopted or repaired something.
    Files(stoker_sync::warning::Warning),
    /// The ref can be read in two ways, or nothing reaches its commit.
    Ref(refs::Warning),
    /// The profile is paused.
    Paused,
    /// A plan deletes more than a sync may without confirmation.
    DeletionBlocked(MassDeletion),
    /// A sync went on without deletions that need confirmation.
    DeletionWithheld(MassDeletion),
    /// A plan deletes files of another repository than its own, which needs confirmation.
    OtherRepository {
        /// The repository of the last run.
        last: String,
        /// The repository of this run.
        now: String,
        /// How many files would go.
        files: u64,
    },
    /// Another run is at work, or was killed. This one only reads.
    Unfinished,
    /// A killed run could not be finished.
    NotFinished,
    /// The gateway is not up. The files are in place.
    GatewayNotReady(stoker_ignition::Error),
    /// The gateway has no scan lock, or not for both halves.
    ScanLockNotOffered,
    /// A killed run was finished without the scan lock, which the gateway refused.
    ScanLockRefused(stoker_ignition::Error),
    /// The scan lock was lost before all files were in place.
    ScanLockLost(stoker_ignition::Error),
    /// The gateway does not say which projects it has loaded.
    NotVerified(stoker_ignition::Error),
}

impl Warning {
    /// Returns the word that scripts match on.
    pub fn code(&self) -> WarningCode {
        match self {
            Self::Files(warning) => warning.code,
            Self::Ref(refs::Warning::Unreachable { .. }) => WarningCode::UnreachableCommit,
            Self::Ref(_) => WarningCode::AmbiguousRef,
            Self::Paused => WarningCode::Paused,
            Self::DeletionBlocked(_) | Self::DeletionWithheld(_) | Self::OtherRepository { .. } => {
                WarningCode::DeletionBlocked
            }
            Self::Unfinished | Self::NotFinished => WarningCode::Unfinished,
            Self::GatewayNotReady(_) => WarningCode::GatewayNotReady,
            Self::ScanLockNotOffered | Self::ScanLockRefused(_) => WarningCode::NoScanLock,
            Self::ScanLockLost(_) => WarningCode::ScanLockLost,
            Self::NotVerified(_) => WarningCode::NotVerified,
        }
    }

    /// Returns the path that it is about; the root where it is about none.
    pub fn path(&self) -> RelPath {
        match self {
            Self::Files(warning) => warning.path.clone(),
            _ => RelPath::root(),
        }
    }
}

/// The message, without the path.
impl Display for Warning {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files(warning) => f.write_str(&warning.message),
            Self::Ref(warning) => write!(f, "{warning}"),
            Self::Paused => f.write_str("the profile is paused: nothing was done"),
            Self::DeletionBlocked(blocked) => {
                write!(f, "{blocked}: a sync would stop here until it is confirmed")
            }
            Self::DeletionWithheld(blocked) => {
                write!(f, "{blocked}, so these files stay until it is confirmed")
            }
            Self::OtherRepository { last, now, files } => write!(
                f,
                "the last run brought files from {last:?}, this one is from {now:?}: a sync would \
                 stop before it deletes {files} of those files, until it is confirmed"
            ),
            Self::Unfinished => f.write_str(
                "another run is at work, or was killed: then the next sync finishes it first",
            ),
            Self::NotFinished => f.write_str("a run that had ended early can't be finished yet"),
            Self::GatewayNotReady(error) => {
                write!(f, "{}; the files land, the next run has it scan them", Chain(error))
            }
            Self::ScanLockNotOffered => f.write_str(
                "the gateway has no scan lock, or not for both halves; the run went on without it",
            ),
            Self::ScanLockRefused(error) => {
                write!(f, "a run that had ended early was finished without it: {}", Chain(error))
            }
            Self::ScanLockLost(error) => write!(
                f,
                "the scan lock could not be kept: {}; the remaining files were put in place \
                 without it",
                Chain(error)
            ),
            Self::NotVerified(error) => {
                write!(f, "the gateway does not say what it has loaded: {}", Chain(error))
            }
        }
    }
}
