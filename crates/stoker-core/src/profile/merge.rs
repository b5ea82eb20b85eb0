//! Merges the defaults into a profile: excludes add up, variables merge one by one, the rest is the
//! profile's, or else the defaults', or else ours.

use std::collections::BTreeMap;

use stoker_api::contract::metadata::Profile;
use stoker_api::gatewaysync::{self, DesignerSessionPolicy, DriftPolicy, Overrides};
use stoker_api::word::Interval;

/// Returns a profile in which nothing is left open. Values that are not valid are someone else's to
/// refuse: they become the default here.
pub(super) fn merge(defaults: &Overrides, profile: &gatewaysync::Profile) -> Profile {
    let own = &profile.overrides;
    let timeout =
        own.designer_session_timeout.as_ref().or(defaults.designer_session_timeout.as_ref());
    let timeout = timeout.and_then(|text| Interval::parse(text).ok());
    let percent = own.max_delete_percent.or(defaults.max_delete_percent);
    let period = own.sync_period.or(defaults.sync_period);
    let policy = own.designer_session_policy.or(defaults.designer_session_policy);
    Profile {
        mappings: profile.mappings.clone(),
        exclude_patterns: excludes(defaults, own),
        vars: vars(defaults, own),
        sync_period: period
            .and_then(|seconds| u16::try_from(seconds).ok())
            .unwrap_or(Overrides::DEFAULT_SYNC_PERIOD),
        designer_session_policy: policy.unwrap_or(DesignerSessionPolicy::Proceed),
        designer_session_timeout: timeout.unwrap_or(Overrides::DEFAULT_DESIGNER_SESSION_TIMEOUT),
        drift_policy: own.drift_policy.or(defaults.drift_policy).unwrap_or(DriftPolicy::Repair),
        max_delete_percent: percent.and_then(|percent| u8::try_from(percent).ok()),
        dry_run: own.dry_run.or(defaults.dry_run).unwrap_or(false),
        paused: own.paused.or(defaults.paused).unwrap_or(false),
    }
}

fn excludes(defaults: &Overrides, own: &Overrides) -> Vec<String> {
    let soft = Overrides::DEFAULT_EXCLUDES.map(ToOwned::to_owned);
    let base = defaults.exclude_patterns.as_deref().unwrap_or(&soft);
    let own = own.exclude_patterns.as_deref().unwrap_or_default();
    let mut merged: Vec<String> = Vec::new();
    let always = [Overrides::ALWAYS_EXCLUDED.to_owned()];
    for pattern in base.iter().chain(own).chain(&always) {
        if !merged.contains(pattern) {
            merged.push(pattern.clone());
        }
    }
    merged
}

fn vars(defaults: &Overrides, own: &Overrides) -> BTreeMap<String, String> {
    let both = [defaults, own].into_iter().filter_map(|overrides| overrides.vars.clone());
    both.flatten().collect()
}
