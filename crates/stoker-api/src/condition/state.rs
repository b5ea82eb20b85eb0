//! States of a gateway and of the ref.

use crate::registry::registry_in_json;

registry_in_json! {
    /// Where a gateway stands.
    pub enum SyncStatus {
        /// Nothing was synced yet.
        Pending = "Pending",
        /// A sync is running.
        Syncing = "Syncing",
        /// The gateway has the announced commit, and its scans succeeded.
        Synced = "Synced",
        /// The gateway is in service on a last good state; the message says why.
        Degraded = "Degraded",
        /// The last sync failed; the message says why.
        Error = "Error",
        /// The pod has no agent.
        MissingSidecar = "MissingSidecar",
        /// Syncing is paused.
        Paused = "Paused",
        /// Changes were counted and not applied.
        DryRun = "DryRun",
    }
}

registry_in_json! {
    /// Where the resolution of the ref stands.
    pub enum RefResolutionStatus {
        /// Not tried yet.
        NotResolved = "NotResolved",
        /// The remote is being asked.
        Resolving = "Resolving",
        /// The commit is known.
        Resolved = "Resolved",
        /// The last attempt failed.
        Error = "Error",
    }
}

registry_in_json! {
    /// What set off a sync.
    pub enum Trigger {
        /// A push event.
        Webhook = "webhook",
        /// The controller asked the remote and found a new commit.
        Polling = "polling",
        /// A person asked.
        Manual = "manual",
        /// The spec of the GatewaySync changed.
        SpecChange = "specChange",
        /// The profile changed.
        ProfileChange = "profileChange",
        /// A Secret changed.
        SecretRotation = "secretRotation",
        /// Files on the gateway had changed.
        Drift = "drift",
        /// The agent started.
        Startup = "startup",
    }
}

registry_in_json! {
    /// Who asked for a ref, or for the remote to be asked again.
    pub enum Requester {
        /// A push event of GitHub.
        Github = "github",
        /// A push event of GitLab.
        Gitlab = "gitlab",
        /// A push event of Gitea or Forgejo.
        Gitea = "gitea",
        /// A push event of Bitbucket.
        Bitbucket = "bitbucket",
        /// A push event of Azure DevOps.
        Azuredevops = "azuredevops",
        /// Argo CD.
        Argocd = "argocd",
        /// Kargo.
        Kargo = "kargo",
        /// Flux.
        Flux = "flux",
        /// A generic push event.
        Generic = "generic",
        /// The command line.
        Cli = "cli",
    }
}

impl Requester {
    /// Returns what a sync that was asked for this way counts as.
    pub const fn trigger(self) -> Trigger {
        match self {
            Self::Cli => Trigger::Manual,
            _ => Trigger::Webhook,
        }
    }
}
