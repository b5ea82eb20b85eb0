//! WebhookReady: whether the receiver takes push events for this GatewaySync.

use stoker_api::condition::{ConditionType, Reason};

use crate::reconcile::Receiver;
use crate::status::{Facts, Judge, Judgement, Rule};

pub(super) const RULE: Rule =
    Rule { condition: ConditionType::WebhookReady, judge: Judge::WhereItApplies(judge) };

fn judge(facts: &Facts<'_>) -> Option<Judgement> {
    match facts.receiver {
        Receiver::Off => None,
        Receiver::Active => {
            Some(Judgement::yes(Reason::ListenerActive, "push events are taken with a secret"))
        }
        Receiver::Insecure => Some(Judgement::no(
            Reason::Insecure,
            "push events are taken without authentication: set spec.webhook.secretRef",
        )),
        Receiver::NoSecret => Some(Judgement::no(
            Reason::NoSecret,
            "push events are refused, because there is no secret: set spec.webhook.secretRef",
        )),
        Receiver::SecretNotFound => Some(Judgement::no(
            Reason::SecretNotFound,
            "the Secret of spec.webhook.secretRef, or its key, does not exist",
        )),
        Receiver::SecretUnread => Some(Judgement::unknown(
            Reason::Progressing,
            "failed to read the Secret of spec.webhook.secretRef; the controller tries again",
        )),
    }
}
