//! ProfilesValid: every embedded profile is valid and was published.

use stoker_api::condition::{ConditionType, Reason};
use stoker_api::contract::metadata::Profile;
use stoker_api::gatewaysync::DriftPolicy;

use crate::status::{Facts, Judge, Judgement, Rule};

pub(super) const RULE: Rule =
    Rule { condition: ConditionType::ProfilesValid, judge: Judge::Always(judge) };

fn judge(facts: &Facts<'_>) -> Judgement {
    match facts.profiles {
        Ok(profiles) => {
            let count = profiles.as_map().len();
            let warning = legacy_warning(facts).unwrap_or_default();
            Judgement::yes(Reason::ProfilesValid, format!("{count} profile(s) are valid{warning}"))
        }
        Err(invalid) => Judgement::no(Reason::ProfilesInvalid, invalid.to_string()),
    }
}

/// Agents of the Go operator do not know every field of a profile.
fn legacy_warning(facts: &Facts<'_>) -> Option<String> {
    let left = facts.gateways.iter().filter(|gateway| gateway.legacy.is_some()).count();
    let profiles = facts.profiles.as_ref().ok().filter(|_| left > 0)?.as_map();
    let mut found = profiles.iter().filter_map(|(name, profile)| Some((name, ignored(profile)?)));
    let (name, field) = found.next()?;
    Some(format!(
        "; warning: {left} gateway(s) run the agent of the Go operator, which ignores {field} of \
         profile {name:?}, until their pods are restarted"
    ))
}

fn ignored(profile: &Profile) -> Option<&'static str> {
    if profile.mappings.iter().any(|mapping| mapping.prune == Some(false)) {
        Some("prune: false")
    } else if profile.drift_policy == DriftPolicy::Report {
        Some("driftPolicy: report")
    } else {
        profile.max_delete_percent.map(|_| "maxDeletePercent")
    }
}
