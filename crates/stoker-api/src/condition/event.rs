//! Events: told once, on a change of state.

use crate::registry::registry;

registry! {
    /// The reason of an event.
    pub enum EventReason {
        /// The ref points to another commit.
        RefUpdated = "RefUpdated",
        /// The ref could not be resolved.
        RefResolutionFailed = "RefResolutionFailed",
        /// Gateways came or went.
        GatewaysDiscovered = "GatewaysDiscovered",
        /// A gateway is synced at a new commit.
        SyncCompleted = "SyncCompleted",
        /// A gateway failed to sync.
        SyncFailed = "SyncFailed",
        /// A pod that asks for an agent has none.
        SidecarMissing = "SidecarMissing",
        /// The agent was injected into a pod.
        Injected = "Injected",
        /// A pod was denied, or admitted without an agent, because its configuration is wrong.
        InjectionDenied = "InjectionDenied",
        /// A pod asked for an agent image that is not allowed, and got the usual one.
        AgentImageRefused = "AgentImageRefused",
        /// A pod named no GatewaySync, and the only one of the namespace was taken.
        CrNameDerived = "CRNameDerived",
        /// A push event was accepted.
        WebhookReceived = "WebhookReceived",
        /// Syncing was paused.
        Paused = "Paused",
        /// Syncing was resumed.
        Resumed = "Resumed",
        /// Open Designers hold a sync up.
        DesignerSessionsBlocked = "DesignerSessionsBlocked",
        /// A profile is invalid.
        ProfilesInvalid = "ProfilesInvalid",
        /// Files on a gateway differ from what was synced.
        DriftDetected = "DriftDetected",
        /// A pod that asks for an agent has no gateway in it.
        NotAGateway = "NotAGateway",
        /// A pod was evicted, so that its successor gets an agent, or another one.
        PodEvicted = "PodEvicted",
        /// A pod was admitted unchanged because bootstrap failed.
        BootstrapFailed = "BootstrapFailed",
        /// A namespace has an object of the name of a copy that is not a copy.
        ReplicaConflict = "ReplicaConflict",
        /// A PodBootstrap is invalid, and the last valid one stays in force.
        PolicyInvalid = "PolicyInvalid",
    }
}
