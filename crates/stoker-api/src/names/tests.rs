//! Claims about names.

use std::collections::BTreeSet;

use super::*;

#[test]
fn a_pod_reports_to_the_shard_of_its_hash() {
    // The hashes begin with e6, e1 and 76 (`printf %s gateway-0 | sha256sum`).
    let shards = ["gateway-0", "gateway-1", "plant-blue-0"].map(|pod| status_shard(pod, 16));
    assert_eq!(shards, [6, 1, 6]);
}

#[test]
fn one_shard_serves_all_pods_and_no_shards_count_as_one() {
    assert_eq!(status_shard("gateway-0", 1), 0);
    assert_eq!(status_shard("gateway-0", 0), 0);
}

#[test]
fn many_pods_have_more_shards_and_the_shard_of_a_pod_only_moves_up() {
    let shards = [50, 51, 200, 201, 1000].map(status_shards);
    assert_eq!(shards, [1, 16, 16, 128, 128]);
    assert_eq!([0, 1, 15, 16, 127].map(status_shards_up_to), [1, 16, 16, 128, 128]);
    for pod in (0..300).map(|number| format!("gateway-{number}")) {
        assert!([1, 16, 128].map(|shards| status_shard(&pod, shards)).is_sorted(), "{pod}");
    }
}

#[test]
fn the_longest_cr_name_gives_valid_object_names() {
    let longest = "x".repeat(crate::limit::CR_NAME);
    for name in [
        metadata_config_map(&longest),
        status_config_map(&longest, 15),
        github_token_secret(&longest),
        agent_secret(&longest),
        agent_role(&longest),
        legacy_agent_role_binding(&longest),
    ] {
        assert!(name.len() <= 253, "{name}");
    }
}

#[test]
fn no_name_is_spelled_twice() {
    let annotations = Annotation::ALL.iter().map(|a| a.as_str()).collect::<BTreeSet<_>>();
    let labels = Label::ALL.iter().map(|l| l.as_str()).collect::<BTreeSet<_>>();
    let ports = Port::ALL.iter().map(|p| p.number()).collect::<BTreeSet<_>>();
    assert_eq!(annotations.len(), Annotation::ALL.len());
    assert_eq!(labels.len(), Label::ALL.len());
    assert_eq!(ports.len(), Port::ALL.len());
}

#[test]
fn api_version_is_group_and_version() {
    assert_eq!(API_VERSION, format!("{GROUP}/{VERSION}"));
}
