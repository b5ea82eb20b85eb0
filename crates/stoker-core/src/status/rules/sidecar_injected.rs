//! SidecarInjected: every pod that asks for an agent has one.

use stoker_api::condition::{ConditionType, Reason, SyncStatus};
use stoker_api::contract::cap;

use crate::status::{Facts, Judge, Judgement, Rule};

/// How many pods the message names.
const NAMED: usize = 5;

pub(super) const RULE: Rule =
    Rule { condition: ConditionType::SidecarInjected, judge: Judge::Always(judge) };

fn judge(facts: &Facts<'_>) -> Judgement {
    let missing =
        facts.gateways.iter().filter(|gateway| gateway.status == SyncStatus::MissingSidecar);
    let names: Vec<&str> = missing.map(|gateway| gateway.pod.name.as_str()).collect();
    if names.is_empty() {
        let message = "every pod that asks for an agent has one";
        return Judgement::yes(Reason::SidecarPresent, message);
    }
    let message = format!(
        "{} pod(s) have no agent: {}; delete them, so that they are created again with one",
        names.len(),
        cap::list(names.iter().copied(), NAMED).join(", ")
    );
    Judgement::no(Reason::SidecarMissing, message)
}
