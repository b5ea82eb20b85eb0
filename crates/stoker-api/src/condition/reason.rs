//! Why a condition is what it is.
//!
//! Long: a registry, one entry per reason.

use crate::registry::registry_in_json;

registry_in_json! {
    /// The reason of a condition, of a gateway's state or of a failed run: one word for
    /// scripts to match.
    pub enum Reason {
        /// Every gateway is synced at the resolved commit.
        AllSynced = "AllSynced",
        /// Gateways are still syncing to the resolved commit.
        GatewaysSyncing = "GatewaysSyncing",
        /// The GatewaySync is paused: by its spec, its profiles or the emergency stop.
        Paused = "Paused",
        /// A Secret, or a key in it, does not exist. The message names field, Secret and key.
        SecretNotFound = "SecretNotFound",
        /// The ref was resolved to a commit.
        RefResolved = "RefResolved",
        /// The ref could not be resolved for another reason, which the message gives.
        RefResolutionFailed = "RefResolutionFailed",
        /// The remote has no such ref. The condition RefResolved says RefResolutionFailed instead,
        /// and its message begins with this word.
        RefNotFound = "RefNotFound",
        /// The remote refused the credentials.
        AuthenticationFailed = "AuthenticationFailed",
        /// The remote could not be reached.
        RemoteUnreachable = "RemoteUnreachable",
        /// GitHub did not issue a token for the App's key.
        GithubAppExchangeFailed = "GitHubAppExchangeFailed",
        /// Every profile is valid.
        ProfilesValid = "ProfilesValid",
        /// A profile is invalid. The message names the field and the reason.
        ProfilesInvalid = "ProfilesInvalid",
        /// The spec is invalid although the API server accepted it. The message names the field.
        SpecInvalid = "SpecInvalid",
        /// Every gateway reported success.
        SyncSucceeded = "SyncSucceeded",
        /// Gateways are still syncing.
        SyncInProgress = "SyncInProgress",
        /// Gateways failed. The message has their number and the name of the first one.
        GatewaysFailed = "GatewaysFailed",
        /// No pod names this GatewaySync in its annotations.
        NoGatewaysDiscovered = "NoGatewaysDiscovered",
        /// Every pod has its agent.
        SidecarPresent = "SidecarPresent",
        /// A pod has no agent.
        SidecarMissing = "SidecarMissing",
        /// Host keys are verified.
        HostKeyVerificationEnabled = "HostKeyVerificationEnabled",
        /// `knownHosts` is missing: the controller pinned the first host key that it
        /// saw, and verifies it since then.
        HostKeyTrustedOnFirstUse = "HostKeyTrustedOnFirstUse",
        /// The receiver accepts push events for this GatewaySync.
        ListenerActive = "ListenerActive",
        /// The receiver has no secret for this GatewaySync, so it refuses every push event.
        NoSecret = "NoSecret",
        /// The receiver accepts push events without authentication (`--receiver-insecure`).
        Insecure = "Insecure",
        /// Files on a gateway were modified, and the policy is to report them.
        FilesModified = "FilesModified",
        /// Files that Stoker did not write are kept below a managed directory.
        ForeignFilesKept = "ForeignFilesKept",
        /// A mass deletion waits for confirmation.
        ConfirmationRequired = "ConfirmationRequired",
        /// The controller is working on this GatewaySync.
        Progressing = "Progressing",
        /// PodBootstrap: the policy is in force.
        PolicyActive = "PolicyActive",
        /// PodBootstrap: the policy is invalid. The last valid one stays in force.
        PolicyInvalid = "PolicyInvalid",
        /// PodBootstrap: only the one named `default` is used.
        NotUsed = "NotUsed",
        /// PodBootstrap: every namespace has its copies.
        Replicated = "Replicated",
        /// PodBootstrap: the pull secret or the certificates to copy do not exist.
        ReplicaSourceMissing = "ReplicaSourceMissing",
        /// PodBootstrap: a namespace has an object of that name that is not a copy. It is kept.
        ReplicaConflict = "ReplicaConflict",
        /// PodBootstrap: copies could not be written. The controller retries.
        ReplicationFailed = "ReplicationFailed",
        /// PodBootstrap: every pod carries the mark of the policy.
        PodsCurrent = "PodsCurrent",
        /// PodBootstrap: pods were created without the policy.
        PodsMissed = "PodsMissed",
        /// PodBootstrap: pods were created with an older policy.
        PodsStale = "PodsStale",
        /// The run was cancelled. Changes that had begun were finished or undone.
        Cancelled = "Cancelled",
        /// Another run holds the lock of the data directory and did not end before the timeout.
        Locked = "Locked",
        /// The data directory does not exist.
        DataDirectoryMissing = "DataDirectoryMissing",
        /// The data directory can't be used: it is not a directory, or its permissions do not fit.
        DataDirectoryUnusable = "DataDirectoryUnusable",
        /// The ref is a tag that points to an object other than a commit.
        NotACommit = "NotACommit",
        /// The commit does not have the source of a required mapping.
        SourceNotFound = "SourceNotFound",
        /// A mapping does not fit the commit: its source is a symbolic link, a file
        /// where a directory is expected (or the reverse), or too large.
        MappingInvalid = "MappingInvalid",
        /// The commit has file names that Stoker refuses to write.
        NamesRefused = "NamesRefused",
        /// The commit has a Git LFS pointer instead of the file.
        LfsPointer = "LfsPointer",
        /// A template or a patch failed.
        RenderFailed = "RenderFailed",
        /// A file or directory that Stoker does not own exists where the commit has one.
        Conflict = "Conflict",
        /// The last run applied another repository, and this run would delete some of its files.
        OtherRepository = "OtherRepository",
        /// Another process keeps applying another ref to the same data directory.
        OtherSource = "OtherSource",
        /// The run would delete more files than the limit allows without confirmation.
        DeletionBlocked = "DeletionBlocked",
        /// The data volume is full.
        DiskFull = "DiskFull",
        /// The live files could not be read, or the manifest could not be written.
        DiskFailed = "DiskFailed",
        /// The new files could not be written. Nothing was applied.
        WriteFailed = "WriteFailed",
        /// The files of the commit could not be read.
        SourceFailed = "SourceFailed",
        /// The gateway scanned its files but did not load a project.
        ProjectsNotLoaded = "ProjectsNotLoaded",
        /// Git, or one of its programs, is not installed.
        GitMissing = "GitMissing",
        /// The command line or the file is not valid. No server was contacted.
        Usage = "Usage",
        /// The working directory of `dev` can't be read.
        WorkingDirectory = "WorkingDirectory",
        /// The working directory of `dev` can't be watched.
        WatchFailed = "WatchFailed",
        /// Stoker can't listen at the address of `--listen`.
        ListenFailed = "ListenFailed",
        /// The demo could not be set up.
        DemoFailed = "DemoFailed",
        /// No kubeconfig was found, or it can't be used.
        KubeconfigUnusable = "KubeconfigUnusable",
        /// The API server could not be reached, or did not answer.
        ClusterUnreachable = "ClusterUnreachable",
        /// The API server refused the credentials, or they lack a permission.
        ClusterForbidden = "ClusterForbidden",
        /// The API server refused a request for another reason, which the message gives.
        ClusterFailed = "ClusterFailed",
        /// The cluster does not have Stoker's custom resources.
        NotInstalled = "NotInstalled",
        /// The namespace has no GatewaySync of that name.
        GatewaySyncNotFound = "GatewaySyncNotFound",
        /// The namespace has no object of that kind and name.
        ObjectNotFound = "ObjectNotFound",
        /// The manifests of another tool can't become a GatewaySync.
        MigrationFailed = "MigrationFailed",
        /// What `--wait` waits for did not happen before the timeout.
        WaitTimedOut = "WaitTimedOut",
        /// The gateway's address is not valid.
        GatewayAddressInvalid = "GatewayAddressInvalid",
        /// The CA file can't be read, or has no certificate.
        GatewayCertificatesUnusable = "GatewayCertificatesUnusable",
        /// No API key is configured, or its file can't be read.
        GatewayKeyMissing = "GatewayKeyMissing",
        /// The API key file does not have exactly one key, `name:secret`.
        GatewayKeyUnusable = "GatewayKeyUnusable",
        /// No program listens at the gateway's port.
        GatewayConnectionRefused = "GatewayConnectionRefused",
        /// The gateway did not respond before the timeout.
        GatewayTimedOut = "GatewayTimedOut",
        /// The connection to the gateway was closed before the response was complete.
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
        /// The gateway did not become ready before the timeout.
        GatewayStarting = "GatewayStarting",
        /// The gateway failed (5xx).
        GatewayServerFault = "GatewayServerFault",
        /// The response does not come from an Ignition gateway.
        GatewayUnexpectedAnswer = "GatewayUnexpectedAnswer",
        /// The response is larger than any response of a gateway.
        GatewayAnswerTooLarge = "GatewayAnswerTooLarge",
        /// Another client holds the gateway's scan lock.
        ScanLockHeld = "ScanLockHeld",
        /// The gateway's scan did not end before the timeout.
        ScanTimedOut = "ScanTimedOut",
        /// The gateway does not say whether a Designer is open, and the policy is to wait or to
        /// fail.
        DesignerStateUnknown = "DesignerStateUnknown",
        /// This process could not start its client for the gateway.
        Internal = "Internal",
        /// A gateway: a Designer is open, and the policy is to wait or to fail.
        DesignerSessionActive = "DesignerSessionActive",
        /// A gateway: it can't be reached, or did not respond before the timeout.
        GatewayUnreachable = "GatewayUnreachable",
        /// A gateway: the files are in place, but the scan failed or is still owed.
        ScanFailed = "ScanFailed",
        /// A gateway: the commit could not be fetched.
        FetchFailed = "FetchFailed",
        /// A gateway: the git store is full, even after Stoker emptied it.
        StoreFull = "StoreFull",
        /// A gateway: files could not be planned, written or renamed.
        ApplyFailed = "ApplyFailed",
        /// A gateway: its pod names a profile that does not exist.
        ProfileNotFound = "ProfileNotFound",
        /// A gateway: the metadata ConfigMap is absent, or the agent may not read it.
        MetadataNotFound = "MetadataNotFound",
        /// A gateway: the agent can't parse the metadata ConfigMap. The message names
        /// the key and the reason.
        MetadataInvalid = "MetadataInvalid",
        /// A gateway: it is starting, or is not commissioned yet.
        GatewayNotReady = "GatewayNotReady",
        /// A gateway: its pod has a ref of its own, and the controller has not published it yet.
        RefNotPublished = "RefNotPublished",
        /// A gateway: the agent's environment does not match its pod.
        PodMismatch = "PodMismatch",
        /// A gateway: its pod must be restarted before a change takes effect.
        RestartNeeded = "RestartNeeded",
    }
}

impl Reason {
    /// Returns whether agents and the CLI report this reason. Only conditions have the others.
    pub const fn is_of_a_gateway(self) -> bool {
        !matches!(
            self,
            Self::AllSynced
                | Self::GatewaysSyncing
                | Self::Paused
                | Self::SecretNotFound
                | Self::RefResolved
                | Self::RefResolutionFailed
                | Self::AuthenticationFailed
                | Self::RemoteUnreachable
                | Self::GithubAppExchangeFailed
                | Self::ProfilesValid
                | Self::ProfilesInvalid
                | Self::SpecInvalid
                | Self::SyncSucceeded
                | Self::SyncInProgress
                | Self::GatewaysFailed
                | Self::NoGatewaysDiscovered
                | Self::SidecarPresent
                | Self::SidecarMissing
                | Self::HostKeyVerificationEnabled
                | Self::HostKeyTrustedOnFirstUse
                | Self::ListenerActive
                | Self::NoSecret
                | Self::Insecure
                | Self::FilesModified
                | Self::ForeignFilesKept
                | Self::ConfirmationRequired
                | Self::Progressing
        )
    }
}
