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
        /// A gateway: the volume has no room for the commit.
        DiskFull = "DiskFull",
        /// A gateway: another process holds the lock of the data directory.
        DataDirectoryLocked = "DataDirectoryLocked",
        /// A gateway: the data directory is missing, read-only or not a directory.
        DataDirectoryUnusable = "DataDirectoryUnusable",
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
    pub const fn is_of_a_gateway(self) -> bool {
        matches!(
            self,
            Self::DesignerSessionActive
                | Self::GatewayUnreachable
                | Self::GatewayAuthenticationFailed
                | Self::ScanFailed
                | Self::FetchFailed
                | Self::StoreFull
                | Self::RefNotFound
                | Self::MetadataNotFound
                | Self::MetadataInvalid
                | Self::DiskFull
                | Self::DataDirectoryLocked
                | Self::DataDirectoryUnusable
                | Self::GatewayNotReady
                | Self::RefNotPublished
                | Self::PodMismatch
                | Self::ApplyFailed
                | Self::ProfileNotFound
                | Self::RestartNeeded
        )
    }
}
