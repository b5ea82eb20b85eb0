//! What the controller announces to agents, in its plainest form.

use std::collections::BTreeMap;

use stoker_api::contract::metadata::{AuthType, Metadata, Profile};
use stoker_api::gatewaysync::{DesignerSessionPolicy, DriftPolicy, Mapping};
use stoker_api::word::{Commit, Interval, ProfileName, RefName, RepoUrl};

/// Announces `main` of a repository at a commit, with the profile `default` of
/// [`announced_profile`].
///
/// # Panics
/// When the URL or the commit is not one.
pub fn announcement(url: &str, commit: &str) -> Metadata {
    let default = ProfileName::parse(ProfileName::DEFAULT).expect("the default name is valid");
    Metadata {
        git_url: RepoUrl::parse(url).expect("a URL of a repository"),
        git_ref: RefName::parse("main").expect("a branch"),
        commit: Some(Commit::parse(commit).expect("a commit")),
        auth_type: AuthType::None,
        git_username: None,
        git_proxy: None,
        git_timeout: Interval::from_secs(30),
        allow_insecure_http: false,
        is_paused: false,
        paused_by: None,
        is_terminating: false,
        gateway_port: None,
        gateway_tls: None,
        requested_at: None,
        requested_by: None,
        trigger: None,
        allow_mass_delete: None,
        startup_deadline: None,
        known_hosts: None,
        status_shards: 1,
        overrides: BTreeMap::new(),
        profiles: BTreeMap::from([(default, announced_profile())]),
        sync_profiles: BTreeMap::new(),
    }
}

/// Maps `projects` to `projects`; everything else has the default of the API.
pub fn announced_profile() -> Profile {
    let mapping =
        Mapping { source: "projects".into(), destination: "projects".into(), ..Mapping::default() };
    Profile {
        mappings: vec![mapping],
        exclude_patterns: Vec::new(),
        vars: BTreeMap::new(),
        sync_period: 30,
        designer_session_policy: DesignerSessionPolicy::Proceed,
        designer_session_timeout: Interval::from_secs(300),
        drift_policy: DriftPolicy::Repair,
        max_delete_percent: None,
        dry_run: false,
        paused: false,
    }
}
