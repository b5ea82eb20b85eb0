//! Volumes of the agent's container, and where they are mounted.

use crate::registry::registry;

registry! {
    /// A volume that the webhook adds to a pod, by its name.
    ///
    /// A name that the pod already uses is replaced by [`Volume::fallback`].
    pub enum Volume {
        /// The agent's object store: an `emptyDir` without a size limit, because passing one
        /// would evict the gateway.
        SyncRepo = "sync-repo",
        /// The SSH key or the token; absent for public repositories.
        GitCredentials = "git-credentials",
        /// The API key of the gateway.
        ApiKey = "api-key",
        /// The token that the controller gets for a GitHub App.
        GitToken = "git-token",
        /// The host keys to trust.
        KnownHosts = "known-hosts",
        /// The certificates to trust.
        GitCa = "git-ca",
        /// The pod's labels and annotations (downward API).
        PodInfo = "pod-info",
        /// The Secret `stoker-agent-{cr}`, always mounted and usually absent: a feature that needs it
        /// later restarts no gateway.
        Agent = "agent",
        /// A token for the API server, where the pod has none.
        ApiToken = "api-token",
        /// Room for temporary files.
        Tmp = "tmp",
    }
}

impl Volume {
    /// Returns where the volume is mounted.
    pub const fn path(self) -> &'static str {
        match self {
            Self::SyncRepo => "/repo",
            Self::GitCredentials => "/etc/stoker/git-credentials",
            Self::ApiKey => "/etc/stoker/api-key",
            Self::GitToken => "/etc/stoker/git-token",
            Self::KnownHosts => "/etc/stoker/known-hosts",
            Self::GitCa => "/etc/stoker/git-ca",
            Self::PodInfo => "/etc/stoker/pod",
            Self::Agent => "/etc/stoker/agent",
            Self::ApiToken => "/var/run/secrets/kubernetes.io/serviceaccount",
            Self::Tmp => "/tmp",
        }
    }

    /// Returns the name for pods in which the usual one is taken.
    pub fn fallback(self) -> String {
        format!("stoker-{self}")
    }

    /// Returns where `key` of the Secret behind this volume appears as a file.
    pub fn file(self, key: &str) -> String {
        format!("{}/{key}", self.path())
    }
}
