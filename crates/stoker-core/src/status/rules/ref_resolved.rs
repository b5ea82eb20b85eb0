//! RefResolved: the wanted ref was found on the remote.

use stoker_api::condition::{ConditionType, Reason};

use crate::reconcile::Remote;
use crate::status::{Facts, Judge, Judgement, Rule, condition};

pub(super) const RULE: Rule =
    Rule { condition: ConditionType::RefResolved, judge: Judge::Always(judge) };

fn judge(facts: &Facts<'_>) -> Judgement {
    match facts.remote {
        Remote::Resolved(resolution) => {
            let warnings = resolution.warnings.iter().map(|warning| format!("; {warning}"));
            let warnings: String = warnings.collect();
            let commit = resolution.commit.short();
            let message = format!("{} is at {commit}{warnings}", resolution.name);
            Judgement::yes(Reason::RefResolved, message)
        }
        Remote::Failed(failure) => Judgement::no(failure.reason, failure.message.clone()),
        Remote::Asked => asked(facts),
    }
}

/// A controller that has just started knows nothing: what was said about this generation holds.
fn asked(facts: &Facts<'_>) -> Judgement {
    let published = facts.sync.status.as_ref();
    let before = published.and_then(|status| condition(status, ConditionType::RefResolved));
    let before = before.filter(|it| it.observed_generation == facts.sync.metadata.generation);
    // A request for another ref changes no generation.
    let announced = facts.metadata.map(|metadata| &metadata.git_ref);
    let is_same = announced.is_some() && announced == facts.request.wanted.as_ref().ok();
    let kept = before.filter(|_| is_same).and_then(|before| {
        let reason = Reason::find(&before.reason)?;
        Some(match before.status.as_str() {
            "True" => Judgement::yes(reason, before.message.clone()),
            "False" => Judgement::no(reason, before.message.clone()),
            _ => return None,
        })
    });
    kept.unwrap_or_else(|| Judgement::unknown(Reason::Progressing, "the remote is being asked"))
}
