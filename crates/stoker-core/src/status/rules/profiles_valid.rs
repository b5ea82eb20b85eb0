//! ProfilesValid: every embedded profile is valid and was published.

use stoker_api::condition::{ConditionType, Reason};

use crate::status::{Facts, Judge, Judgement, Rule};

pub(super) const RULE: Rule =
    Rule { condition: ConditionType::ProfilesValid, judge: Judge::Always(judge) };

fn judge(facts: &Facts<'_>) -> Judgement {
    match facts.profiles {
        Ok(profiles) => {
            let count = profiles.as_map().len();
            Judgement::yes(Reason::ProfilesValid, format!("{count} profile(s) are valid"))
        }
        Err(invalid) => Judgement::no(Reason::ProfilesInvalid, invalid.to_string()),
    }
}
