//! DriftDetected: files on a gateway differ from what was synced, or foreign files are kept.

use stoker_api::condition::{ConditionType, Reason};
use stoker_api::contract::cap;

use crate::gateway::Gateway;
use crate::status::{Facts, Judge, Judgement, Rule};

/// How many paths the message names.
const NAMED: usize = 3;

pub(super) const RULE: Rule =
    Rule { condition: ConditionType::DriftDetected, judge: Judge::WhereItApplies(judge) };

fn judge(facts: &Facts<'_>) -> Option<Judgement> {
    let mut modified = facts.gateways.iter().filter_map(modified);
    if let Some(first) = modified.next() {
        return Some(Judgement::yes(Reason::FilesModified, first + &others(modified.count())));
    }
    let mut foreign = facts.gateways.iter().filter_map(foreign);
    let first = foreign.next()?;
    Some(Judgement::yes(Reason::ForeignFilesKept, first + &others(foreign.count())))
}

fn modified(gateway: &Gateway) -> Option<String> {
    let drift = gateway.report.as_ref()?.drift.as_ref()?;
    if drift.repaired || drift.count == 0 {
        return None;
    }
    let paths = cap::list(drift.paths.iter().cloned(), NAMED).join(", ");
    Some(format!("{}: {} file(s) were modified: {paths}", gateway.pod.name, drift.count))
}

fn foreign(gateway: &Gateway) -> Option<String> {
    let foreign = gateway.report.as_ref()?.foreign_files.as_ref()?;
    if foreign.count == 0 {
        return None;
    }
    let paths = cap::list(foreign.paths.iter().cloned(), NAMED).join(", ");
    Some(format!("{}: {} foreign file(s) are kept: {paths}", gateway.pod.name, foreign.count))
}

fn others(count: usize) -> String {
    if count == 0 { String::new() } else { format!("; and {count} more gateway(s)") }
}
