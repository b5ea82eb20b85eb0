//! The environment of the agent's container: written by the webhook, read by the agent.

use crate::registry::registry;

registry! {
    /// A variable in the environment of the agent's container.
    pub enum Env {
        /// The name of the pod (downward API).
        PodName = "POD_NAME",
        /// The namespace of the pod (downward API).
        PodNamespace = "POD_NAMESPACE",
        /// The UID of the pod (downward API).
        PodUid = "POD_UID",
        /// The name of the GatewaySync.
        CrName = "CR_NAME",
        /// The namespace of the GatewaySync, which is that of the pod.
        CrNamespace = "CR_NAMESPACE",
        /// The name of the gateway; empty where the name of the pod counts.
        GatewayName = "GATEWAY_NAME",
        /// The embedded profile.
        Profile = "PROFILE",
        /// The SyncProfile object.
        SyncProfile = "SYNC_PROFILE",
        /// The directory of the repository that holds this gateway.
        ServicePath = "SERVICE_PATH",
        /// Where the agent keeps its object store: `/repo`.
        RepoPath = "REPO_PATH",
        /// Where the gateway's data is: the path at which the gateway itself has it.
        DataPath = "DATA_PATH",
        /// The port of the gateway.
        GatewayPort = "GATEWAY_PORT",
        /// Whether the gateway is reached by TLS: `true` or `false`.
        GatewayTls = "GATEWAY_TLS",
        /// The file with the gateway's API key.
        ApiKeyFile = "API_KEY_FILE",
        /// The file with the SSH private key.
        GitSshKeyFile = "GIT_SSH_KEY_FILE",
        /// The file with the host keys to trust.
        GitKnownHostsFile = "GIT_KNOWN_HOSTS_FILE",
        /// The file with the git token.
        GitTokenFile = "GIT_TOKEN_FILE",
        /// The file with the certificates to trust.
        GitCaFile = "GIT_CA_FILE",
        /// `syncPeriod` from the pod's annotation, in seconds.
        SyncPeriod = "SYNC_PERIOD",
        /// How long the start of the gateway waits for git on an empty volume; `0` is for ever.
        StartupDeadline = "STARTUP_DEADLINE",
        /// The port of the agent's probes.
        HealthPort = "HEALTH_PORT",
        /// The port of the agent's metrics.
        MetricsPort = "METRICS_PORT",
    }
}
