//! What the controller tells agents: the ConfigMap `stoker-metadata-{cr}`.

mod data;
mod pause;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::condition::{Requester, Trigger};
use crate::gatewaysync::{DesignerSessionPolicy, DriftPolicy, Mapping};
use crate::registry::{registry, registry_in_json};
use crate::word::{Commit, HttpUrl, Interval, ProfileName, RefName, RepoUrl};

pub use data::Error;
pub use pause::PausedBy;

/// Everything that an agent must know to bring its gateway to the wanted state.
///
/// It is published only after it was validated; the agent applies exactly [`Metadata::commit`].
#[derive(Debug, Clone, PartialEq)]
pub struct Metadata {
    /// The repository.
    pub git_url: RepoUrl,
    /// The ref that is wanted, as the user wrote it.
    pub git_ref: RefName,
    /// The commit to apply; none until the ref was resolved once.
    pub commit: Option<Commit>,
    /// How agents authenticate to the git server.
    pub auth_type: AuthType,
    /// The user name that goes with a token.
    pub git_username: Option<String>,
    /// The HTTP proxy to the git server.
    pub git_proxy: Option<HttpUrl>,
    /// How long one git operation may take.
    pub git_timeout: Interval,
    /// Whether credentials may be sent over `http://`.
    pub allow_insecure_http: bool,
    /// Whether agents go idle.
    pub is_paused: bool,
    /// What paused them.
    pub paused_by: Option<PausedBy>,
    /// Whether the GatewaySync is being deleted: agents stop and acknowledge.
    pub is_terminating: bool,
    /// The port of the gateways, where one is set.
    pub gateway_port: Option<u16>,
    /// Whether the gateways are reached by TLS, where it is set.
    pub gateway_tls: Option<bool>,
    /// When a sync was last asked for.
    pub requested_at: Option<Timestamp>,
    /// Who asked.
    pub requested_by: Option<Requester>,
    /// What made the controller announce this commit or these profiles.
    pub trigger: Option<Trigger>,
    /// The commit whose mass deletion was confirmed.
    pub allow_mass_delete: Option<Commit>,
    /// How long the start of a gateway waits for git on an empty volume; zero is for ever.
    pub startup_deadline: Option<Interval>,
    /// The host keys of the git server to verify against, as lines of `known_hosts`.
    pub known_hosts: Option<String>,
    /// How many status ConfigMaps there are.
    pub status_shards: u8,
    /// Pods that have a ref of their own, by name.
    pub overrides: BTreeMap<String, Target>,
    /// The profiles, with the defaults merged in.
    pub profiles: BTreeMap<ProfileName, Profile>,
    /// The SyncProfiles that pods name, by name, with the defaults merged in.
    pub sync_profiles: BTreeMap<String, Profile>,
}

/// A ref and the commit that it was resolved to.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The ref.
    #[serde(rename = "ref")]
    pub git_ref: RefName,
    /// The commit.
    pub commit: Commit,
}

/// A profile as agents get it: validated, with the defaults merged in, so that nothing is optional
/// that need not be.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Profile {
    /// The mappings, in order.
    pub mappings: Vec<Mapping>,
    /// What is neither written nor deleted.
    #[serde(default)]
    pub exclude_patterns: Vec<String>,
    /// The variables of templates.
    #[serde(default)]
    pub vars: BTreeMap<String, String>,
    /// The longest pause between two attempts at what is owed, in seconds.
    pub sync_period: u16,
    /// What to do while a Designer is open.
    pub designer_session_policy: DesignerSessionPolicy,
    /// How long to wait for Designers to be closed.
    pub designer_session_timeout: Interval,
    /// What to do with files that were changed on the gateway.
    pub drift_policy: DriftPolicy,
    /// How many percent of a mapping's files one sync may delete; none is the engine's own rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_delete_percent: Option<u8>,
    /// Whether changes are only counted.
    #[serde(default)]
    pub dry_run: bool,
    /// Whether this profile is paused.
    #[serde(default)]
    pub paused: bool,
}

registry! {
    /// How agents authenticate to the git server.
    pub enum AuthType {
        /// Not at all.
        None = "none",
        /// By a token.
        Token = "token",
        /// By an SSH key.
        SshKey = "sshKey",
        /// By a token that the controller gets for a GitHub App.
        GithubApp = "githubApp",
    }
}

registry_in_json!(AuthType);

impl Metadata {
    /// Returns what this pod is to apply: its own ref where it has one, else that of everyone.
    pub fn target_of(&self, pod_name: &str) -> Option<Target> {
        if let Some(own) = self.overrides.get(pod_name) {
            return Some(own.clone());
        }
        let commit = self.commit.clone()?;
        Some(Target { git_ref: self.git_ref.clone(), commit })
    }
}
