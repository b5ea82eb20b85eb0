//! Values that the tests of this crate share.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use stoker_api::contract::metadata::{AuthType, Metadata, Profile};
use stoker_api::gatewaysync::{DesignerSessionPolicy, DriftPolicy, Mapping};
use stoker_api::names::Annotation;
use stoker_api::word::{Commit, Interval, ProfileName, RefName, RepoUrl};

use crate::args::Environment;
use crate::goal::{Goal, goal};
use crate::pod::Pod;

pub(crate) const COMMIT: &str = "4f1c2d3e4b5a69788796a5b4c3d2e1f001122334";
pub(crate) const OTHER: &str = "00000000000000000000000000000000deadbeef";

/// The environment of pod `plant-0` of the GatewaySync `plant`, with its volumes below `root`.
pub(crate) fn environment(root: &Path) -> Environment {
    Environment {
        pod_name: "plant-0".to_owned(),
        pod_namespace: "site".to_owned(),
        pod_uid: "uid-1".to_owned(),
        cr_name: "plant".to_owned(),
        gateway_name: None,
        profile: None,
        sync_profile: None,
        sync_period: None,
        repo_path: root.join("repo"),
        data_path: root.join("data"),
        api_key_file: None,
        ssh_key_file: None,
        known_hosts_file: None,
        token_file: None,
        ca_file: None,
        startup_deadline: Duration::from_mins(10),
        metrics_port: 0,
    }
}

pub(crate) fn profile() -> Profile {
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

/// What the controller announces: `main` at [`COMMIT`], with the profile `default`.
pub(crate) fn metadata() -> Metadata {
    Metadata {
        git_url: RepoUrl::parse("https://git.example.com/plant.git").unwrap(),
        git_ref: RefName::parse("main").unwrap(),
        commit: Some(Commit::parse(COMMIT).unwrap()),
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
        profiles: BTreeMap::from([(ProfileName::parse("default").unwrap(), profile())]),
        sync_profiles: BTreeMap::new(),
    }
}

/// A pod with these annotations.
pub(crate) fn pod(annotations: &[(Annotation, &str)]) -> Pod {
    let annotations = annotations.iter();
    let annotations = annotations.map(|(name, value)| (name.to_string(), (*value).to_owned()));
    Pod { annotations: annotations.collect(), ..Pod::default() }
}

/// The goal of a plain pod.
pub(crate) fn plain_goal() -> Goal {
    goal(&metadata(), &Pod::default(), &environment(Path::new("/"))).unwrap()
}
