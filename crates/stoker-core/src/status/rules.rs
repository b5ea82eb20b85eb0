//! The conditions, one rule each.

mod all_gateways_synced;
mod deletion_blocked;
mod drift_detected;
mod profiles_valid;
mod ref_resolved;
mod sidecar_injected;
mod ssh_host_key;
mod webhook_ready;

use super::Rule;

/// Every rule, in the order in which Ready asks them.
pub(super) const RULES: &[Rule] = &[
    ref_resolved::RULE,
    profiles_valid::RULE,
    sidecar_injected::RULE,
    all_gateways_synced::RULE,
    ssh_host_key::RULE,
    webhook_ready::RULE,
    drift_detected::RULE,
    deletion_blocked::RULE,
];
