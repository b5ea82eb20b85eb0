//! What a run warns of although it goes on: one word for scripts to match on.

use crate::registry::registry_in_json;

registry_in_json! {
    /// The code of a warning.
    pub enum WarningCode {
        /// A symbolic link in a mapped directory was skipped.
        SymlinkSkipped = "SymlinkSkipped",
        /// A submodule in a mapped directory was skipped.
        SubmoduleSkipped = "SubmoduleSkipped",
        /// A pipe, a socket or a device in a mapped directory was skipped.
        SpecialSkipped = "SpecialSkipped",
        /// The source of an optional mapping is not in the commit; its destination is left alone.
        SourceAbsent = "SourceAbsent",
        /// Git holds a path that is the identity of one gateway; it was not written.
        IdentityPath = "IdentityPath",
        /// Git holds the gateway's own cache (`.resources`); it was not written.
        RuntimeFilesInGit = "RuntimeFilesInGit",
        /// A patch names a file that no file of its mapping matches.
        PatchUnmatched = "PatchUnmatched",
        /// The record of the last sync could not be read; files were compared by content.
        ManifestCorrupt = "ManifestCorrupt",
        /// A live file had been changed by someone else and was overwritten by a change in git.
        DriftOverwritten = "DriftOverwritten",
        /// A later mapping put a directory where an earlier one had a file, or the reverse.
        MappingShadowed = "MappingShadowed",
        /// Files in owned directories that no sync brought were kept.
        ForeignFilesKept = "ForeignFilesKept",
        /// Another process brought another ref, or another repository, to this data directory.
        OtherSource = "OtherSource",
        /// A run that had been killed was finished or undone.
        Recovered = "Recovered",
        /// A live file differed from what the last sync left there; the message says what was done.
        Drift = "Drift",
        /// The profile is paused, so nothing was done.
        Paused = "Paused",
        /// A plan shows deletions that would stop a sync.
        DeletionBlocked = "DeletionBlocked",
        /// Another run is at work, or was killed and is not finished yet.
        Unfinished = "Unfinished",
        /// The ref is the name of a branch and of a tag.
        AmbiguousRef = "AmbiguousRef",
        /// No branch and no tag holds the commit.
        UnreachableCommit = "UnreachableCommit",
        /// The gateway is not up yet: the files have landed all the same.
        GatewayNotReady = "GatewayNotReady",
        /// Files were put in place without the gateway's scan lock: the gateway does not offer one,
        /// or refused it to a run that had to finish a killed one.
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
