//! Names that cross a border: each is spelled here and nowhere else.

mod annotation;
mod object;
mod port;
mod secret_key;

pub use annotation::{Annotation, Label};
pub use object::{
    METADATA_PREFIX, STATUS_PREFIX, agent_role, agent_secret, github_token_secret,
    legacy_agent_role_binding, legacy_status_config_map, metadata_config_map, status_config_map,
    status_shard, status_shards, status_shards_up_to, token_role_binding,
};
pub use port::Port;
pub use secret_key::SecretKey;

/// The API group of Stoker's custom resources.
pub const GROUP: &str = "stoker.io";

/// The version of Stoker's custom resources.
pub const VERSION: &str = "v1alpha1";

/// Group and version as manifests spell them.
pub const API_VERSION: &str = "stoker.io/v1alpha1";

/// Holds a GatewaySync until its agents were told that it ends, at most 30 seconds.
pub const FINALIZER: &str = "stoker.io/finalizer";

/// The value of [`Label::ManagedBy`] on objects that Stoker owns.
pub const MANAGED_BY: &str = "stoker";

/// The ConfigMap in the operator's namespace that stops every GatewaySync.
pub const PAUSE_CONFIG_MAP: &str = "stoker-pause";

/// The ConfigMap in the operator's namespace that remembers which pods were evicted to repair them.
pub const REPAIRS_CONFIG_MAP: &str = "stoker-repairs";

/// The ConfigMap in the operator's namespace that remembers which pods the housekeeping of pod
/// bootstrap evicted.
pub const BOOTSTRAP_REPAIRS_CONFIG_MAP: &str = "stoker-bootstrap-repairs";

/// The ConfigMap in the operator's namespace with the last valid policy of pod bootstrap.
pub const BOOTSTRAP_POLICY_CONFIG_MAP: &str = "stoker-bootstrap-policy";

/// The name of the agent's container.
pub const AGENT_CONTAINER: &str = "stoker-agent";

/// The operator's environment variable with the image of agents for which nothing else says one.
pub const DEFAULT_AGENT_IMAGE: &str = "DEFAULT_AGENT_IMAGE";

/// The value of annotations and labels that switch something on.
pub const TRUE: &str = "true";

#[cfg(test)]
mod tests;
