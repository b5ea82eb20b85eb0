//! What a GatewaySync and its gateways can be in: condition types, reasons, events, states.

mod event;
mod reason;
mod state;

pub use event::EventReason;
pub use reason::Reason;
pub use state::{RefResolutionStatus, Requester, SyncStatus, Trigger};

use crate::registry::registry_in_json;

registry_in_json! {
    /// A condition of a GatewaySync or of a SyncProfile.
    pub enum ConditionType {
        /// Every condition below that applies is True for the current generation and the resolved
        /// commit, on every gateway. Where it is False, the reason is that of the first that fails.
        Ready = "Ready",
        /// The wanted ref was found on the remote, and its commit is known.
        RefResolved = "RefResolved",
        /// Every profile is valid and was published to the agents.
        ProfilesValid = "ProfilesValid",
        /// Every gateway reports that it is synced at the resolved commit.
        AllGatewaysSynced = "AllGatewaysSynced",
        /// Every pod that asks for an agent has one.
        SidecarInjected = "SidecarInjected",
        /// The host key of the git server is verified against `knownHosts`. Only present where git
        /// uses SSH.
        SshHostKeyVerification = "SSHHostKeyVerification",
        /// The receiver takes push events for this GatewaySync. Only present where the receiver
        /// runs.
        WebhookReady = "WebhookReady",
        /// Files on a gateway differ from what was synced, or foreign files are kept there. Only present while that is so.
        DriftDetected = "DriftDetected",
        /// A mass deletion waits for confirmation. Only present while that is so.
        DeletionBlocked = "DeletionBlocked",
        /// The controller is at work on the current generation. Only present while that is so.
        Reconciling = "Reconciling",
        /// The controller can't go on until someone changes something. Only present while that is
        /// so.
        Stalled = "Stalled",
        /// On a SyncProfile: the profile is valid.
        Valid = "Valid",
        /// On a PodBootstrap: every namespace has its copies of the pull secret and the certificates.
        SecretsReplicated = "SecretsReplicated",
        /// On a PodBootstrap: every pod that the policy is for carries its mark.
        PodsCurrent = "PodsCurrent",
    }
}

impl ConditionType {
    /// Returns the reasons that this condition can give by itself.
    pub const fn reasons(self) -> &'static [Reason] {
        use Reason as R;
        match self {
            Self::Ready => &[
                R::AllSynced,
                R::GatewaysSyncing,
                R::SecretNotFound,
                R::Paused,
                R::Progressing,
                R::PolicyActive,
                R::PolicyInvalid,
                R::NotUsed,
            ],
            Self::RefResolved => &[
                R::RefResolved,
                R::RefResolutionFailed,
                R::AuthenticationFailed,
                R::RemoteUnreachable,
                R::GithubAppExchangeFailed,
                R::SecretNotFound,
                R::Progressing,
            ],
            Self::ProfilesValid | Self::Valid => &[R::ProfilesValid, R::ProfilesInvalid],
            Self::AllGatewaysSynced => {
                &[R::SyncSucceeded, R::SyncInProgress, R::GatewaysFailed, R::NoGatewaysDiscovered]
            }
            Self::SidecarInjected => &[R::SidecarPresent, R::SidecarMissing],
            Self::SshHostKeyVerification => {
                &[R::HostKeyVerificationEnabled, R::HostKeyTrustedOnFirstUse]
            }
            Self::WebhookReady => {
                &[R::ListenerActive, R::NoSecret, R::SecretNotFound, R::Insecure, R::Progressing]
            }
            Self::SecretsReplicated => &[
                R::Replicated,
                R::ReplicaSourceMissing,
                R::ReplicaConflict,
                R::ReplicationFailed,
                R::Progressing,
            ],
            Self::PodsCurrent => &[R::PodsCurrent, R::PodsMissed, R::PodsStale],
            Self::DriftDetected => &[R::FilesModified, R::ForeignFilesKept],
            Self::DeletionBlocked => &[R::ConfirmationRequired],
            Self::Reconciling => &[R::Progressing],
            Self::Stalled => &[R::ProfilesInvalid, R::SpecInvalid],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_of_a_condition_belongs_to_one() {
        let given: Vec<Reason> =
            ConditionType::ALL.iter().flat_map(|condition| condition.reasons()).copied().collect();
        let orphans: Vec<&Reason> = Reason::ALL
            .iter()
            .filter(|reason| !given.contains(reason) && !reason.is_of_a_gateway())
            .collect();
        assert_eq!(orphans, Vec::<&Reason>::new());
    }

    #[test]
    fn names_go_through_json_unchanged() {
        let json = serde_json::to_string(&ConditionType::SshHostKeyVerification).unwrap();
        assert_eq!(json, "\"SSHHostKeyVerification\"");
        let back: ConditionType = serde_json::from_str(&json).unwrap();
        assert_eq!(back, ConditionType::SshHostKeyVerification);
    }

    #[test]
    fn an_unknown_state_is_refused_with_those_that_exist() {
        let error = serde_json::from_str::<RefResolutionStatus>("\"Lost\"").unwrap_err();
        let refusal = "\"Lost\" is none of NotResolved, Resolving, Resolved, Error";
        assert!(error.to_string().starts_with(refusal), "{error}");
    }
}
