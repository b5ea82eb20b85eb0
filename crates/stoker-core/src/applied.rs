//! The hash of what a gateway is to have: one function for controller and agent.
//!
//! The controller computes it from what it published, the agent from what it applied. The gateway
//! is synced where the two are equal, so that a changed profile counts as much as a new commit.
//! Labels are not part of it: they change without a sync.

use std::fmt::Write as _;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use stoker_api::contract::metadata::Profile;
use stoker_api::word::{Commit, RepoUrl};

/// How many bytes of the digest are kept.
const BYTES: usize = 16;

/// What a gateway is to have, or has.
#[derive(Debug, Clone, Copy)]
pub struct Applied<'a> {
    /// The repository.
    pub url: &'a RepoUrl,
    /// The commit.
    pub commit: &'a Commit,
    /// The profile as it was published.
    pub profile: &'a Profile,
    /// The pod's annotation `stoker.io/exclude-patterns`, as it is written.
    pub exclude_patterns: Option<&'a str>,
    /// The pod's annotation `stoker.io/gateway-name`, as it is written.
    pub gateway_name: Option<&'a str>,
}

/// Returns the hash: 32 hexadecimal digits.
///
/// A field that a newer version adds to profiles leaves the hash as it is until it is used.
pub fn hash(applied: &Applied<'_>) -> String {
    let Applied { url, commit, profile, exclude_patterns, gateway_name } = *applied;
    let profile = serde_json::to_value(profile).expect("a profile has string keys only");
    let text = |text: Option<&str>| text.map_or(Value::Null, |text| Value::String(text.to_owned()));
    let parts = [
        Value::String(url.to_string()),
        Value::String(commit.to_string()),
        profile,
        text(exclude_patterns),
        text(gateway_name),
    ];
    let mut canonical = String::new();
    for part in &parts {
        write_canonical(part, &mut canonical);
    }
    let digest = Sha256::digest(canonical);
    digest.iter().take(BYTES).fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a string takes any text");
        hex
    })
}

/// Writes a value with sorted keys and a length before each text, so that no two values are alike.
fn write_canonical(value: &Value, into: &mut String) {
    let written = match value {
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort();
            into.push('{');
            for name in names {
                write_canonical(&Value::String(name.clone()), into);
                write_canonical(&fields[name], into);
            }
            into.push('}');
            Ok(())
        }
        Value::Array(items) => {
            into.push('[');
            for item in items {
                write_canonical(item, into);
            }
            into.push(']');
            Ok(())
        }
        Value::String(text) => write!(into, "{}:{text};", text.len()),
        Value::Null | Value::Bool(_) | Value::Number(_) => write!(into, "{value};"),
    };
    written.expect("a string takes any text");
}

#[cfg(test)]
mod tests {
    use stoker_api::gatewaysync::{DesignerSessionPolicy, DriftPolicy, Mapping};
    use stoker_api::word::Interval;

    use super::*;

    fn profile() -> Profile {
        let mapping = Mapping { source: "a".into(), destination: "b".into(), ..Mapping::default() };
        Profile {
            mappings: vec![mapping],
            exclude_patterns: Vec::new(),
            vars: [("site".to_owned(), "1".to_owned())].into(),
            sync_period: 30,
            designer_session_policy: DesignerSessionPolicy::Proceed,
            designer_session_timeout: Interval::from_secs(300),
            drift_policy: DriftPolicy::Repair,
            max_delete_percent: None,
            dry_run: false,
            paused: false,
        }
    }

    #[test]
    fn every_part_counts_and_equal_parts_are_equal() {
        let url = RepoUrl::parse("https://git.example.com/plant.git").unwrap();
        let other_url = RepoUrl::parse("https://git.example.com/other.git").unwrap();
        let commit = Commit::parse(&"a".repeat(40)).unwrap();
        let other_commit = Commit::parse(&"b".repeat(40)).unwrap();
        let (one, mut other) = (profile(), profile());
        other.vars.insert("site".into(), "2".into());
        let base = Applied {
            url: &url,
            commit: &commit,
            profile: &one,
            exclude_patterns: None,
            gateway_name: None,
        };
        let variants = [
            base,
            Applied { url: &other_url, ..base },
            Applied { commit: &other_commit, ..base },
            Applied { profile: &other, ..base },
            Applied { exclude_patterns: Some("a"), ..base },
            Applied { gateway_name: Some("a"), ..base },
            Applied { gateway_name: Some(""), ..base },
        ];
        let hashes: std::collections::BTreeSet<String> = variants.iter().map(hash).collect();
        assert_eq!(hashes.len(), variants.len());
        assert_eq!(hash(&base), hash(&Applied { profile: &profile(), ..base }));
    }

    // Controllers and agents of different versions compare it, so it may never change by accident.
    #[test]
    fn the_hash_of_a_known_state_stays_as_it_is() {
        let applied = Applied {
            url: &RepoUrl::parse("https://git.example.com/plant.git").unwrap(),
            commit: &Commit::parse(&"a".repeat(40)).unwrap(),
            profile: &profile(),
            exclude_patterns: Some("**/*.bak"),
            gateway_name: Some("Plant 1"),
        };
        assert_eq!(hash(&applied), "41f5c7f4548200782236e9e6c046169e");
    }
}
