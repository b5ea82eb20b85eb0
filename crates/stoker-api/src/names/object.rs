//! Names of objects that Stoker writes, and which status object a pod reports to.

use sha2::{Digest, Sha256};

use crate::limit;

/// How the names of status ConfigMaps begin.
pub const STATUS_PREFIX: &str = "stoker-status-";

/// How the names of metadata ConfigMaps begin.
pub const METADATA_PREFIX: &str = "stoker-metadata-";

/// Returns the name of the ConfigMap by which the controller tells agents what to apply.
pub fn metadata_config_map(cr_name: &str) -> String {
    format!("{METADATA_PREFIX}{cr_name}")
}

/// Returns the name of the status ConfigMap with this shard number.
pub fn status_config_map(cr_name: &str, shard: u8) -> String {
    format!("{STATUS_PREFIX}{cr_name}-{shard}")
}

/// Returns the name of the Secret that carries GitHub App tokens to agents.
pub fn github_token_secret(cr_name: &str) -> String {
    format!("stoker-github-token-{cr_name}")
}

/// Returns the name of the Secret that is always mounted into agents, for features to come.
pub fn agent_secret(cr_name: &str) -> String {
    format!("stoker-agent-{cr_name}")
}

/// Returns the name of the Role and the RoleBinding that let agents read their metadata and write
/// their reports.
pub fn agent_role(cr_name: &str) -> String {
    format!("stoker-sync-{cr_name}")
}

/// Returns the name of the RoleBinding that lets the controller write the tokens of GitHub Apps.
pub fn token_role_binding(cr_name: &str) -> String {
    format!("stoker-token-{cr_name}")
}

/// Returns the name of the ConfigMap that agents of the Go operator report to.
pub fn legacy_status_config_map(cr_name: &str) -> String {
    format!("{STATUS_PREFIX}{cr_name}")
}

/// Returns the name of the RoleBinding that the Go operator made for all agents of a GatewaySync.
pub fn legacy_agent_role_binding(cr_name: &str) -> String {
    format!("stoker-agent-{cr_name}")
}

/// Returns how many status ConfigMaps a GatewaySync with this many pods has.
///
/// Every agent is a field manager, and the API server merges all managers of an object for each
/// report, so that few pods share one object. Each number divides the next one: the shard of a pod
/// only moves up, and the highest shard with a report of a pod has the newest.
pub fn status_shards(pods: usize) -> u8 {
    if pods <= limit::UNSHARDED_PODS {
        1
    } else if pods <= limit::SHARDED_PODS {
        SHARDS
    } else {
        MOST_SHARDS
    }
}

/// Returns how many status ConfigMaps a GatewaySync has of which this is the highest that exists.
pub fn status_shards_up_to(shard: u8) -> u8 {
    [1, SHARDS].into_iter().find(|shards| shard < *shards).unwrap_or(MOST_SHARDS)
}

/// Returns the shard that a pod reports to: the first byte of SHA-256(pod name), modulo `shards`.
///
/// Controller and agent each compute it; a metadata without shards counts as one with one.
pub fn status_shard(pod_name: &str, shards: u8) -> u8 {
    Sha256::digest(pod_name)[0] % shards.max(1)
}

const SHARDS: u8 = byte(limit::SHARDS);
const MOST_SHARDS: u8 = byte(limit::MOST_SHARDS);

#[expect(clippy::cast_possible_truncation, reason = "asserted in the line above the cast")]
const fn byte(shards: usize) -> u8 {
    assert!(shards <= 255, "one byte of the hash chooses the shard");
    shards as u8
}
