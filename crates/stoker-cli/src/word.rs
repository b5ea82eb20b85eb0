//! The words that scripts match on: reasons of failures and codes of warnings, each beside its
//! text.

use serde::Serialize;
use stoker_api::registry;

registry! {
    /// Why a command failed, where neither git nor the gateway says so.
    pub(crate) enum Reason {
        /// The command line or the file is wrong; nothing was contacted.
        Usage = "Usage",
        /// The run was asked to end; what had begun was finished or undone.
        Cancelled = "Cancelled",
        /// Another run has the data directory, and did not end in time.
        Locked = "Locked",
        /// The data directory does not exist.
        DataDirectoryMissing = "DataDirectoryMissing",
        /// The data directory can't be used as one.
        DataDirectoryUnusable = "DataDirectoryUnusable",
        /// The ref is a tag on something that is no commit.
        NotACommit = "NotACommit",
        /// The source of a required mapping is not in the commit.
        SourceNotFound = "SourceNotFound",
        /// A mapping does not fit the commit: a link, another kind, too much.
        MappingInvalid = "MappingInvalid",
        /// Names in the commit that can't be written.
        NamesRefused = "NamesRefused",
        /// The commit holds a pointer to a file instead of the file (Git LFS).
        LfsPointer = "LfsPointer",
        /// A template or a patch can't be carried out.
        RenderFailed = "RenderFailed",
        /// The templates of the profile can't be filled in for this commit.
        ProfilesInvalid = "ProfilesInvalid",
        /// Something that nobody here made stands where a file or a directory should be.
        Conflict = "Conflict",
        /// The last run brought files of another repository, and some of them would go.
        OtherRepository = "OtherRepository",
        /// The run would delete more than it may unasked.
        DeletionBlocked = "DeletionBlocked",
        /// The volume has no room for the new files.
        DiskFull = "DiskFull",
        /// The live files could not be looked at, or what was done could not be remembered.
        DiskFailed = "DiskFailed",
        /// The new files could not be written; nothing was applied.
        WriteFailed = "WriteFailed",
        /// The new files could not be put in place, or not all of them.
        ApplyFailed = "ApplyFailed",
        /// The files of the commit could not be read.
        SourceFailed = "SourceFailed",
        /// The working directory of `dev` can't be read.
        WorkingDirectory = "WorkingDirectory",
        /// The working directory of `dev` can't be followed.
        WatchFailed = "WatchFailed",
        /// The address of `--listen` can't be used.
        ListenFailed = "ListenFailed",
        /// The gateway did not let the files be changed.
        GatewayRefused = "GatewayRefused",
        /// The gateway has scanned, and has not loaded a project.
        ProjectsNotLoaded = "ProjectsNotLoaded",
        /// There is no git on this machine, or a part of it is missing.
        GitMissing = "GitMissing",
        /// The demo could not be set up.
        DemoFailed = "DemoFailed",
    }
}

registry! {
    /// What people should know of a run, besides what the engine tells.
    pub(crate) enum Code {
        /// A live file differed from what the last sync left there; the message says what was done.
        Drift = "Drift",
        /// The profile is paused, so nothing was done.
        Paused = "Paused",
        /// A plan shows deletions that would stop a sync.
        DeletionBlocked = "DeletionBlocked",
        /// Another run is at work, or has ended early and is not finished yet.
        Unfinished = "Unfinished",
        /// The ref is the name of a branch and of a tag.
        AmbiguousRef = "AmbiguousRef",
        /// No branch and no tag holds the commit.
        UnreachableCommit = "UnreachableCommit",
        /// The gateway is not up yet: the files have landed all the same.
        GatewayNotReady = "GatewayNotReady",
        /// Files were put in place without the gateway's scan lock: it has none to offer, or gave none
        /// to a run that had to finish another.
        NoScanLock = "NoScanLock",
        /// The scan lock was lost before all files were in place.
        ScanLockLost = "ScanLockLost",
        /// The gateway does not say which projects it has loaded.
        NotVerified = "NotVerified",
        /// A document of the file is for a cluster only, and was skipped.
        DocumentSkipped = "DocumentSkipped",
        /// The file refers to a Secret that it does not hold and that only a cluster uses.
        ReferenceUnused = "ReferenceUnused",
        /// A credential of a flag, the file or the environment is not used; the message says why.
        CredentialUnused = "CredentialUnused",
    }
}

/// One word that scripts can rely on: ours, or that of the part that knows best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Word(&'static str);

macro_rules! words {
    ($($registry:ty),+) => {
        $( impl From<$registry> for Word {
            fn from(known: $registry) -> Self {
                Self(known.as_str())
            }
        } )+
    };
}

words!(Reason, Code, stoker_api::condition::Reason, stoker_ignition::Reason);
words!(stoker_sync::warning::Code);

impl PartialEq<Reason> for Word {
    fn eq(&self, reason: &Reason) -> bool {
        self.0 == reason.as_str()
    }
}
