//! AllGatewaysSynced: every gateway reports that it has what was published.
//!
//! The message is a column of `kubectl get`, so its form is fixed.

use stoker_api::condition::{ConditionType, Reason};

use crate::gateway::Gateway;
use crate::status::{Facts, Judgement, Rule};

pub(super) const RULE: Rule = Rule { condition: ConditionType::AllGatewaysSynced, judge };

fn judge(facts: &Facts<'_>) -> Option<Judgement> {
    let all = facts.gateways;
    let synced = all.iter().filter(|gateway| gateway.is_synced()).count();
    let mut message = format!("{synced}/{} synced", all.len());
    let overridden = all.iter().filter(|gateway| gateway.is_overridden).count();
    if overridden > 0 {
        message.push_str(&format!(", {overridden} overridden"));
    }
    let is_open = |gateway: &Gateway| !gateway.is_synced() && !gateway.is_failed();
    Some(if all.is_empty() {
        Judgement::no(Reason::NoGatewaysDiscovered, message)
    } else if synced == all.len() {
        Judgement::yes(Reason::SyncSucceeded, message)
    } else if all.iter().any(is_open) {
        Judgement::no(Reason::SyncInProgress, message)
    } else {
        Judgement::no(Reason::GatewaysFailed, message)
    })
}
