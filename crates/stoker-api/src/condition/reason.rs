//! Why a condition is what it is.

use crate::registry::{registry, registry_in_json};

registry! {
    /// The reason of a condition or of a gateway's state: one word for scripts to match on.
    pub enum Reason {
        /// Every gateway is synced at the resolved commit.
        AllSynced = "AllSynced",
        /// Gateways are on their way to the resolved commit.
        GatewaysSyncing = "GatewaysSyncing",
        /// The GatewaySync is paused: by its spec, its profiles or the emergency stop.
        Paused = "Paused",
        /// A Secret, or a key in it, does not exist. The message names field, Secret and key.
        SecretNotFound = "SecretNotFound",
        /// The ref was resolved to a commit.
        RefResolved = "RefResolved",
        /// The ref could not be resolved for another reason; the message says which.
        RefResolutionFailed = "RefResolutionFailed",
        /// The remote has no such ref. The condition RefResolved says RefResolutionFailed instead,
        /// and its message begins with this word.
        RefNotFound = "RefNotFound",
        /// The remote refused the credentials.
        AuthenticationFailed = "AuthenticationFailed",
        /// The remote could not be reached.
        RemoteUnreachable = "RemoteUnreachable",
        /// GitHub gave no token for the App's key.
        GithubAppExchangeFailed = "GitHubAppExchangeFailed",
        /// Every profile is valid.
        ProfilesValid = "ProfilesValid",
        /// A profile is invalid; the message says which field and why.
        ProfilesInvalid = "ProfilesInvalid",
        /// The spec is invalid although the API server took it; the message says which field.
        SpecInvalid = "SpecInvalid",
        /// Every gateway reported success.
        SyncSucceeded = "SyncSucceeded",
        /// Gateways are still syncing.
        SyncInProgress = "SyncInProgress",
        /// Gateways failed; the message says how many, and the first by name.
        GatewaysFailed = "GatewaysFailed",
        /// No pod asks for this GatewaySync.
        NoGatewaysDiscovered = "NoGatewaysDiscovered",
        /// Every pod has its agent.
        SidecarPresent = "SidecarPresent",
        /// A pod has no agent.
        SidecarMissing = "SidecarMissing",
        /// Host keys are verified.
        HostKeyVerificationEnabled = "HostKeyVerificationEnabled",
        /// `knownHosts` is missing: the host key that was seen first is pinned, and verified since.
        HostKeyTrustedOnFirstUse = "HostKeyTrustedOnFirstUse",
        /// The receiver takes push events for this GatewaySync.
        ListenerActive = "ListenerActive",
        /// The receiver has no secret for this GatewaySync, so it refuses every push event.
        NoSecret = "NoSecret",
        /// The receiver takes push events without authentication (`--receiver-insecure`).
        Insecure = "Insecure",
        /// Files on a gateway were modified, and the policy is to report them.
        FilesModified = "FilesModified",
        /// Files that Stoker did not write are kept below a managed directory.
        ForeignFilesKept = "ForeignFilesKept",
        /// A mass deletion waits until it is confirmed.
        ConfirmationRequired = "ConfirmationRequired",
        /// The controller is at work.
        Progressing = "Progressing",
        /// The run was cancelled; what had begun was finished or undone.
        Cancelled = "Cancelled",
        /// Another run holds the lock of the data directory, and did not end in time.
        Locked = "Locked",
        /// The data directory does not exist.
        DataDirectoryMissing = "DataDirectoryMissing",
        /// The data directory can't be used as one.
        DataDirectoryUnusable = "DataDirectoryUnusable",
        /// The ref is a tag on an object that is not a commit.
        NotACommit = "NotACommit",
        /// The source of a required mapping is not in the commit.
        SourceNotFound = "SourceNotFound",
        /// A mapping does not fit the commit: its source is a link, of another kind, or too large.
        MappingInvalid = "MappingInvalid",
        /// The commit has names that can't be written.
        NamesRefused = "NamesRefused",
        /// The commit holds a pointer to a file instead of the file (Git LFS).
        LfsPointer = "LfsPointer",
        /// A template or a patch failed.
        RenderFailed = "RenderFailed",
        /// A foreign file or directory is where one of the commit should be.
        Conflict = "Conflict",
        /// The last run brought files of another repository, and some of them would be deleted.
        OtherRepository = "OtherRepository",
        /// Another process keeps bringing another ref to the same data directory.
        OtherSource = "OtherSource",
        /// The run would delete more files than it may without confirmation.
        DeletionBlocked = "DeletionBlocked",
        /// The data volume is full.
        DiskFull = "DiskFull",
        /// The live files could not be read, or the record of the run could not be written.
        DiskFailed = "DiskFailed",
        /// The new files could not be written; nothing was applied.
        WriteFailed = "WriteFailed",
        /// The files of the commit could not be read.
        SourceFailed = "SourceFailed",
        /// The gateway scanned, but has not loaded a project.
        ProjectsNotLoaded = "ProjectsNotLoaded",
        /// Git, or a part of it, is not installed.
        GitMissing = "GitMissing",
        /// The command line or the file is wrong; nothing was contacted.
        Usage = "Usage",
        /// The working directory of `dev` can't be read.
        WorkingDirectory = "WorkingDirectory",
        /// The working directory of `dev` can't be watched.
        WatchFailed = "WatchFailed",
        /// The address of `--listen` can't be used.
        ListenFailed = "ListenFailed",
        /// The demo could not be set up.
        DemoFailed = "DemoFailed",
        /// The gateway's address is not valid.
        GatewayAddressInvalid = "GatewayAddressInvalid",
        /// The file with certificates to trust can't be read, or has none.
        GatewayCertificatesUnusable = "GatewayCertificatesUnusable",
        /// There is no API key, or its file can't be read.
        GatewayKeyMissing = "GatewayKeyMissing",
        /// The file of the API key does not hold one key, `name:secret`.
        GatewayKeyUnusable = "GatewayKeyUnusable",
        /// No program listens at the gateway's port.
        GatewayConnectionRefused = "GatewayConnectionRefused",
        /// The gateway did not answer in time.
        GatewayTimedOut = "GatewayTimedOut",
        /// The connection to the gateway ended in the middle of a response.
        GatewayConnectionLost = "GatewayConnectionLost",
        /// One side of the connection uses TLS and the other does not.
        GatewayTlsMismatch = "GatewayTLSMismatch",
        /// The gateway's certificate is not trusted, or is for another host.
        GatewayCertificateUntrusted = "GatewayCertificateUntrusted",
        /// The gateway does not know the API key (401).
        GatewayUnauthorized = "GatewayUnauthorized",
        /// The API key lacks a permission (403).
        GatewayForbidden = "GatewayForbidden",
        /// The gateway has no such API (404).
        GatewayRouteNotFound = "GatewayRouteNotFound",
        /// The gateway has not been commissioned yet.
        GatewayNeedsCommissioning = "GatewayNeedsCommissioning",
        /// The gateway's address redirects to another one.
        GatewayRedirected = "GatewayRedirected",
        /// Requests to the gateway are limited (429).
        GatewayTooManyRequests = "GatewayTooManyRequests",
        /// The gateway did not become ready in time.
        GatewayStarting = "GatewayStarting",
        /// The gateway failed (5xx).
        GatewayServerFault = "GatewayServerFault",
        /// The response is not one of a gateway.
        GatewayUnexpectedAnswer = "GatewayUnexpectedAnswer",
        /// The response is larger than any of a gateway.
        GatewayAnswerTooLarge = "GatewayAnswerTooLarge",
        /// The gateway's scan lock is held by another client.
        ScanLockHeld = "ScanLockHeld",
        /// The gateway's scan did not end in time.
        ScanTimedOut = "ScanTimedOut",
        /// The gateway does not say whether a Designer is open, and the policy is to wait or to
        /// fail.
        DesignerStateUnknown = "DesignerStateUnknown",
        /// This process could not start its client for the gateway.
        Internal = "Internal",
        /// A gateway: a Designer is open, and the policy is to wait or to fail.
        DesignerSessionActive = "DesignerSessionActive",
        /// A gateway: it did not answer, or not in time.
        GatewayUnreachable = "GatewayUnreachable",
        /// A gateway: it refused the API key.
        GatewayAuthenticationFailed = "GatewayAuthenticationFailed",
        /// A gateway: files landed, and its scan of them failed or is owed.
        ScanFailed = "ScanFailed",
        /// A gateway: the commit could not be fetched.
        FetchFailed = "FetchFailed",
        /// A gateway: the object store is full, even after it was emptied.
        StoreFull = "StoreFull",
        /// A gateway: files could not be planned, written or renamed.
        ApplyFailed = "ApplyFailed",
        /// A gateway: the pod asks for a profile that does not exist.
        ProfileNotFound = "ProfileNotFound",
        /// A gateway: the metadata ConfigMap is absent, or the agent may not read it.
        MetadataNotFound = "MetadataNotFound",
        /// A gateway: the metadata ConfigMap can't be read; the message says which key and why.
        MetadataInvalid = "MetadataInvalid",
        /// A gateway: it is starting, or waits to be commissioned.
        GatewayNotReady = "GatewayNotReady",
        /// A gateway: its pod has a ref of its own, and the controller has not published it yet.
        RefNotPublished = "RefNotPublished",
        /// A gateway: the agent's environment does not fit its pod.
        PodMismatch = "PodMismatch",
        /// A gateway: its pod must be restarted before a change takes effect.
        RestartNeeded = "RestartNeeded",
    }
}

registry_in_json!(Reason);

impl Reason {
    /// Says whether reports and the CLI give this reason, rather than conditions.
    #[expect(clippy::too_many_lines, reason = "a list, one line per reason")]
    pub const fn is_of_a_gateway(self) -> bool {
        matches!(
            self,
            Self::Cancelled
                | Self::Locked
                | Self::DataDirectoryMissing
                | Self::DataDirectoryUnusable
                | Self::NotACommit
                | Self::SourceNotFound
                | Self::MappingInvalid
                | Self::NamesRefused
                | Self::LfsPointer
                | Self::RenderFailed
                | Self::Conflict
                | Self::OtherRepository
                | Self::OtherSource
                | Self::DeletionBlocked
                | Self::DiskFull
                | Self::DiskFailed
                | Self::WriteFailed
                | Self::SourceFailed
                | Self::ProjectsNotLoaded
                | Self::GitMissing
                | Self::Usage
                | Self::WorkingDirectory
                | Self::WatchFailed
                | Self::ListenFailed
                | Self::DemoFailed
                | Self::GatewayAddressInvalid
                | Self::GatewayCertificatesUnusable
                | Self::GatewayKeyMissing
                | Self::GatewayKeyUnusable
                | Self::GatewayConnectionRefused
                | Self::GatewayTimedOut
                | Self::GatewayConnectionLost
                | Self::GatewayTlsMismatch
                | Self::GatewayCertificateUntrusted
                | Self::GatewayUnauthorized
                | Self::GatewayForbidden
                | Self::GatewayRouteNotFound
                | Self::GatewayNeedsCommissioning
                | Self::GatewayRedirected
                | Self::GatewayTooManyRequests
                | Self::GatewayStarting
                | Self::GatewayServerFault
                | Self::GatewayUnexpectedAnswer
                | Self::GatewayAnswerTooLarge
                | Self::ScanLockHeld
                | Self::ScanTimedOut
                | Self::DesignerStateUnknown
                | Self::Internal
                | Self::DesignerSessionActive
                | Self::GatewayUnreachable
                | Self::GatewayAuthenticationFailed
                | Self::ScanFailed
                | Self::FetchFailed
                | Self::StoreFull
                | Self::RefNotFound
                | Self::MetadataNotFound
                | Self::MetadataInvalid
                | Self::GatewayNotReady
                | Self::RefNotPublished
                | Self::PodMismatch
                | Self::ApplyFailed
                | Self::ProfileNotFound
                | Self::RestartNeeded
        )
    }
}
