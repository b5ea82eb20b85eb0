//! What the controller tells agents: the ConfigMap `stoker-metadata-{cr}`.

mod data;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::condition::{Requester, Trigger};
use crate::contract::cap;
use crate::gatewaysync::{DesignerSessionPolicy, DriftPolicy, Mapping};
use crate::limit;
use crate::registry::registry_in_json;
use crate::word::{Commit, HttpUrl, Interval, ProfileName, RefName, RepoUrl};

pub use data::Error;

const SPEC: &str = "spec";
const EMERGENCY: &str = "emergency";

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

/// What paused the agents of a GatewaySync: `spec`, or `emergency: <reason>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PausedBy {
    /// `spec.paused`.
    Spec,
    /// The ConfigMap `stoker-pause`.
    Emergency {
        /// The reason that it gives; empty where it gives none.
        reason: String,
    },
}

registry_in_json! {
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

impl Display for PausedBy {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spec => formatter.write_str(SPEC),
            Self::Emergency { reason } if reason.is_empty() => formatter.write_str(EMERGENCY),
            Self::Emergency { reason } => {
                write!(formatter, "{EMERGENCY}: {}", cap::text(reason, limit::REPORT_MESSAGE_BYTES))
            }
        }
    }
}

/// Every text is read: an agent must never miss a pause because of the words around it.
impl FromStr for PausedBy {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let rest = text.strip_prefix(EMERGENCY);
        Ok(match rest {
            Some(rest) => Self::Emergency { reason: rest.trim_start_matches(": ").to_owned() },
            None => Self::Spec,
        })
    }
}
