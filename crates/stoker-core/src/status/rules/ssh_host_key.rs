//! SSHHostKeyVerification: whom git trusts over SSH.

use stoker_api::condition::{ConditionType, Reason};

use crate::reconcile::HostKeys;
use crate::status::{Facts, Judge, Judgement, Rule};

pub(super) const RULE: Rule =
    Rule { condition: ConditionType::SshHostKeyVerification, judge: Judge::WhereItApplies(judge) };

fn judge(facts: &Facts<'_>) -> Option<Judgement> {
    match facts.host_keys {
        HostKeys::NotNeeded => None,
        HostKeys::Given => Some(Judgement::yes(
            Reason::HostKeyVerificationEnabled,
            "the host key is verified against knownHosts",
        )),
        HostKeys::Pinned(Some(_)) => Some(Judgement::no(
            Reason::HostKeyTrustedOnFirstUse,
            "knownHosts is not set: the host key that was seen first is pinned, and a changed key \
             is refused until the annotation stoker.io/forget-host-key is set",
        )),
        HostKeys::Pinned(None) => Some(Judgement::no(
            Reason::HostKeyTrustedOnFirstUse,
            "knownHosts is not set: the host key that is seen first will be pinned",
        )),
    }
}
