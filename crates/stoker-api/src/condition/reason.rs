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
        /// The remote has no such ref.
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
        /// Host keys are not verified: `knownHosts` is missing.
        HostKeyVerificationDisabled = "HostKeyVerificationDisabled",
        /// Files on a gateway were modified, and the policy is to report them.
        FilesModified = "FilesModified",
        /// Files on a gateway were modified, and were repaired.
        Repaired = "Repaired",
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
        /// A gateway: files could not be planned, written or renamed.
        ApplyFailed = "ApplyFailed",
        /// A gateway: the pod asks for a profile that does not exist.
        ProfileNotFound = "ProfileNotFound",
        /// A gateway: its pod must be restarted before a change takes effect.
        RestartNeeded = "RestartNeeded",
    }
}

registry_in_json!(Reason);

impl Reason {
    /// Says whether gateways give this reason in their reports, rather than conditions.
    pub const fn is_of_a_gateway(self) -> bool {
        matches!(
            self,
            Self::DesignerSessionActive
                | Self::GatewayUnreachable
                | Self::GatewayAuthenticationFailed
                | Self::ScanFailed
                | Self::FetchFailed
                | Self::ApplyFailed
                | Self::ProfileNotFound
                | Self::RestartNeeded
        )
    }
}
