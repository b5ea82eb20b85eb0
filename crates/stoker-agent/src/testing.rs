//! Values that the tests of this crate share.

use std::path::Path;
use std::time::Duration;

use stoker_api::contract::metadata::Metadata;
use stoker_api::names::Annotation;
use stoker_testkit::object::announcement;

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

/// What the controller announces: `main` at [`COMMIT`], with the profile `default`.
pub(crate) fn metadata() -> Metadata {
    announcement("https://git.example.com/plant.git", COMMIT)
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
