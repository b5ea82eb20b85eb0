//! DeletionBlocked: a mass deletion waits for confirmation.

use stoker_api::condition::{ConditionType, Reason};

use crate::status::{Facts, Judge, Judgement, Rule};

pub(super) const RULE: Rule =
    Rule { condition: ConditionType::DeletionBlocked, judge: Judge::WhereItApplies(judge) };

fn judge(facts: &Facts<'_>) -> Option<Judgement> {
    let mut blocked = facts.gateways.iter().filter_map(|gateway| {
        let blocked = gateway.report.as_ref()?.deletion_blocked.as_ref()?;
        Some((&gateway.pod.name, blocked))
    });
    let (pod, first) = blocked.next()?;
    let more = match blocked.count() {
        0 => String::new(),
        count => format!("; {count} more gateway(s) wait, too"),
    };
    let message = format!(
        "{pod}: commit {} would delete {} of {} files; to confirm, set the annotation \
         stoker.io/allow-mass-delete={}{more}",
        first.commit.short(),
        first.deletes,
        first.of,
        first.commit,
    );
    Some(Judgement::yes(Reason::ConfirmationRequired, message))
}
