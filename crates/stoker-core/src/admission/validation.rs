//! What the schema's rules can't say about a GatewaySync or a SyncProfile.
//!
//! The controller checks the same again: a webhook that was away when an object was stored lets
//! nothing through that matters.

use stoker_api::gatewaysync::{Auth, AuthMethod, GatewaySyncSpec, Overrides, Profile};
use stoker_api::limit;
use stoker_api::word::{RepoUrl, Transport};
use stoker_api::{GatewaySync, SyncProfile};

use super::warning::Findings;
use crate::profile::{Invalid, Profiles};

/// What is wrong with an object, and what its author is to know.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Validity {
    /// Why the object is denied; none where it is valid.
    pub denial: Option<String>,
    /// What its author is to know.
    pub warnings: Vec<String>,
}

/// Validates a GatewaySync.
pub fn validate_sync(sync: &GatewaySync) -> Validity {
    let mut findings = Findings::default();
    let profiles = sync.spec.sync.clone().unwrap_or_default();
    match Profiles::of(&profiles) {
        Ok(valid) => {
            let size: usize = valid
                .as_map()
                .values()
                .map(|profile| serde_json::to_string(profile).map_or(0, |text| text.len()))
                .sum();
            if size > limit::METADATA_BYTES {
                findings.fault(format!(
                    "spec.sync.profiles come to {size} bytes, at most {} are published: use \
                     fewer mappings or another GatewaySync",
                    limit::METADATA_BYTES
                ));
            }
        }
        Err(invalid) => refuse(&invalid, &mut findings),
    }
    for (name, profile) in &profiles.profiles {
        let field = format!("spec.sync.profiles.{name}");
        warn_of_overlaps(&field, profile, &mut findings);
    }
    warn_of_credentials(&sync.spec, &mut findings);
    findings.into_validity()
}

/// Validates a SyncProfile.
pub fn validate_profile(object: &SyncProfile) -> Validity {
    let mut findings = Findings::default();
    if let Err(invalid) = Profiles::of_object(object, &Overrides::default()) {
        refuse(&invalid, &mut findings);
    }
    warn_of_overlaps("spec", &object.spec.profile, &mut findings);
    findings.into_validity()
}

fn refuse(invalid: &Invalid, findings: &mut Findings) {
    for fault in &invalid.faults {
        findings.fault(format!("{}: {}", fault.field, fault.message));
    }
}

fn warn_of_overlaps(field: &str, profile: &Profile, findings: &mut Findings) {
    for (later, mapping) in profile.mappings.iter().enumerate() {
        let same = |other: &stoker_api::gatewaysync::Mapping| {
            other.destination.trim_end_matches('/') == mapping.destination.trim_end_matches('/')
        };
        if let Some(earlier) = profile.mappings[..later].iter().position(same) {
            findings.note(format!(
                "{field}.mappings[{later}] and mappings[{earlier}] both write {:?}: where they have \
                 the same file, the later one counts",
                mapping.destination
            ));
        }
    }
}

/// A credential that its URL can't use is not sent; that is worth a word, and no refusal.
fn warn_of_credentials(spec: &GatewaySyncSpec, findings: &mut Findings) {
    let Ok(url) = spec.git.repo.parse::<RepoUrl>() else { return };
    let Some(method) = spec.git.auth.as_ref().and_then(Auth::method) else { return };
    let (is_used, advice) = match method {
        AuthMethod::SshKey { .. } => (
            url.transport() == Transport::Ssh,
            "git.auth.sshKey is not used: git.repo is not an SSH URL",
        ),
        AuthMethod::Token { .. } | AuthMethod::GithubApp { .. } => (
            matches!(url.transport(), Transport::Https | Transport::Http),
            "the token of git.auth is not used: git.repo is not an HTTPS URL",
        ),
    };
    if !is_used {
        findings.note(advice.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use stoker_testkit::object::{gateway_sync, profile, sync_profile};

    use super::*;

    #[test]
    fn what_the_schema_can_not_say_is_denied_with_its_field() {
        let broken = gateway_sync("plant").mapping("{{.Nope", "projects").build();
        let denial = validate_sync(&broken).denial.unwrap();
        assert!(denial.contains("spec.sync.profiles.default.mappings[0].source"), "{denial}");
        let object = sync_profile("area", profile().mapping("{{.Nope", "projects")).build();
        assert!(validate_profile(&object).denial.is_some());
        let fine = gateway_sync("plant").mapping("a", "projects").build();
        assert_eq!(validate_sync(&fine), Validity::default());
    }

    // C11: profiles that could not be published are denied.
    #[test]
    fn profiles_that_do_not_fit_into_a_config_map_are_denied() {
        let with_vars = |count: usize| {
            let value = "x".repeat(limit::VAR_VALUE);
            let profile = (0..count).fold(profile().mapping("a", "projects"), |profile, number| {
                profile.var(&format!("v{number}"), &value)
            });
            gateway_sync("plant").profile("default", profile.build())
        };
        assert_eq!(validate_sync(&with_vars(limit::VARS).build()).denial, None);
        let mut many = with_vars(limit::VARS).build();
        let profiles = &mut many.spec.sync.as_mut().unwrap().profiles;
        let one = profiles["default"].clone();
        for number in 1..limit::PROFILES {
            profiles.insert(format!("p{number}"), one.clone());
        }
        let denial = validate_sync(&many).denial.unwrap();
        assert!(denial.contains("at most 786432 are published"), "{denial}");
    }

    #[test]
    fn overlaps_and_credentials_that_do_not_fit_are_warnings() {
        let twice = profile().mapping("a", "projects").mapping("b", "projects/");
        let sync = gateway_sync("plant").profile("default", twice).build();
        let validity = validate_sync(&sync);
        assert_eq!(validity.denial, None);
        assert!(validity.warnings[0].contains("mappings[1] and mappings[0]"), "{validity:?}");
        let token = gateway_sync("plant").repo("git@host:a/b").mapping("a", "b").token("t").build();
        assert!(validate_sync(&token).warnings[0].contains("not an HTTPS URL"));
    }
}
