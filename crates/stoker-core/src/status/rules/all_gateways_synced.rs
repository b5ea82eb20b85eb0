//! AllGatewaysSynced: every gateway reports that it has what was published.
//!
//! The message is a column of `kubectl get`, so its form is fixed.

use stoker_api::condition::{ConditionType, Reason};

use crate::gateway::Gateway;
use crate::status::{Facts, Judge, Judgement, Rule};

pub(super) const RULE: Rule =
    Rule { condition: ConditionType::AllGatewaysSynced, judge: Judge::Always(judge) };

fn judge(facts: &Facts<'_>) -> Judgement {
    let all = facts.gateways;
    let synced = all.iter().filter(|gateway| gateway.is_synced()).count();
    let overridden = match all.iter().filter(|gateway| gateway.is_overridden).count() {
        0 => String::new(),
        count => format!(", {count} overridden"),
    };
    let message = format!("{synced}/{} synced{overridden}", all.len());
    let is_open = |gateway: &Gateway| !gateway.is_synced() && !gateway.is_failed();
    if all.is_empty() {
        Judgement::no(Reason::NoGatewaysDiscovered, message)
    } else if synced == all.len() {
        Judgement::yes(Reason::SyncSucceeded, message)
    } else if all.iter().any(is_open) {
        Judgement::no(Reason::SyncInProgress, message)
    } else {
        Judgement::no(Reason::GatewaysFailed, message)
    }
}
