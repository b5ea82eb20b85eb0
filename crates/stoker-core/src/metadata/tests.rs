//! Claims about what agents are given.

use stoker_api::contract::metadata::PausedBy;
use stoker_api::names::Annotation;

use super::*;
use crate::reconcile::{HostKeys, Observed, Remote, Verdict, Write};
use crate::testing::{
    commit, decided, observed, plant, pod, published, resolved, settled, stored, unreachable,
};

fn other_url(observed: &mut Observed) {
    observed.repository = Some(RepoUrl::parse("https://git.example.com/other.git").unwrap());
}

#[test]
fn metadata_says_what_the_spec_says() {
    let builder = plant().token("git").gateway_port(8090).spec(|spec| {
        spec.git.timeout = Some("45s".into());
        spec.git.proxy = Some("http://proxy:3128".into());
    });
    let metadata = published(&decided(&stored(builder), &observed(Vec::new()))).unwrap();
    assert_eq!(metadata.commit, Some(commit('a')));
    assert_eq!(metadata.auth_type, AuthType::Token);
    assert_eq!(metadata.git_username.as_deref(), Some("x-access-token"));
    assert_eq!(metadata.git_timeout, Interval::from_secs(45));
    assert_eq!(metadata.git_proxy.unwrap().as_str(), "http://proxy:3128");
    assert_eq!((metadata.gateway_port, metadata.gateway_tls), (Some(8090), Some(false)));
    assert_eq!(metadata.startup_deadline, Some(Interval::from_secs(600)));
    assert_eq!(metadata.trigger, Some(Trigger::SpecChange));
    assert_eq!(metadata.profiles.keys().map(AsRef::<str>::as_ref).collect::<Vec<_>>(), ["default"]);
}

#[test]
fn nothing_is_written_twice() {
    let (mut sync, mut observed) = (stored(plant()), observed(Vec::new()));
    settled(&mut sync, &mut observed);
    assert_eq!(decided(&sync, &observed).writes, Vec::new());
}

// B5, S9: the last good commit stays published.
#[test]
fn a_remote_that_fails_changes_nothing_that_is_published() {
    let (mut sync, mut observed) = (stored(plant()), observed(Vec::new()));
    settled(&mut sync, &mut observed);
    for remote in [unreachable(), Remote::Asked] {
        observed.remote = remote;
        assert_eq!(published(&decided(&sync, &observed)), None);
    }
}

#[test]
fn a_new_repository_is_announced_only_with_its_own_commit() {
    let (mut sync, mut observed) = (stored(plant()), observed(Vec::new()));
    settled(&mut sync, &mut observed);
    other_url(&mut observed);
    observed.remote = Remote::Asked;
    // Nor does a pod get a commit of the new repository with the URL of the old one.
    observed.overrides.insert("ignition-0".into(), resolved(commit('d')));
    observed.pods = vec![pod("ignition-0").annotated(Annotation::RefOverride, "v1")];
    assert_eq!(published(&decided(&sync, &observed)), None);
    observed.remote = resolved(commit('c'));
    let next = published(&decided(&sync, &observed)).unwrap();
    assert_eq!(next.git_url.as_str(), "https://git.example.com/other.git");
    assert_eq!((next.commit, next.trigger), (Some(commit('c')), Some(Trigger::SpecChange)));
}

#[test]
fn a_repository_that_is_not_allowed_is_never_published() {
    let mut observed = observed(Vec::new());
    (observed.repository, observed.remote) = (None, unreachable());
    assert_eq!(published(&decided(&stored(plant()), &observed)), None);
}

// R40: an invalid profile is not published; what stops agents is.
#[test]
fn invalid_profiles_leave_what_is_published_except_for_a_pause() {
    let (mut sync, mut observed) = (stored(plant()), observed(Vec::new()));
    settled(&mut sync, &mut observed);
    sync = stored(plant().mapping("a", "../etc").paused());
    observed.remote = resolved(commit('b'));
    let before = observed.published.clone().unwrap().unwrap();
    let next = published(&decided(&sync, &observed)).unwrap();
    assert_eq!(next, Metadata { is_paused: true, paused_by: Some(PausedBy::Spec), ..before });
}

// A write that fails, or an operator that ends between two, must not lose what a person asked for.
#[test]
fn a_host_key_is_to_be_forgotten_until_none_or_another_one_is_published() {
    let is_done = |verdict: &Verdict| {
        verdict.writes.iter().any(|write| match write {
            Write::Annotations(changes) => changes.get(&Annotation::ForgetHostKey) == Some(&None),
            _ => false,
        })
    };
    let pinned = |key: Option<&str>| HostKeys::Pinned(key.map(ToOwned::to_owned));
    let (mut sync, mut observed) = (stored(plant()), observed(Vec::new()));
    observed.host_keys = pinned(Some("old"));
    settled(&mut sync, &mut observed);
    sync = stored(plant().annotation(Annotation::ForgetHostKey, "true"));
    (observed.host_keys, observed.remote) = (pinned(None), Remote::Asked);
    let first = decided(&sync, &observed);
    assert_eq!(published(&first).unwrap().known_hosts, None);
    assert!(!is_done(&first));
    let mut dropped = observed.clone();
    settled(&mut sync.clone(), &mut dropped);
    assert!(is_done(&decided(&sync, &dropped)));
    // The first write failed, and the remote has answered since.
    (observed.host_keys, observed.remote) = (pinned(Some("new")), resolved(commit('a')));
    let second = settled(&mut sync, &mut observed);
    assert_eq!(published(&second).unwrap().known_hosts.as_deref(), Some("new"));
    assert!(!is_done(&second));
    assert!(is_done(&decided(&sync, &observed)));
}

#[test]
fn a_host_key_is_forgotten_where_the_profiles_are_invalid_too() {
    let (mut sync, mut observed) = (stored(plant()), observed(Vec::new()));
    observed.host_keys = HostKeys::Pinned(Some("old".into()));
    settled(&mut sync, &mut observed);
    sync = stored(plant().mapping("a", "../etc").annotation(Annotation::ForgetHostKey, "true"));
    observed.host_keys = HostKeys::Pinned(None);
    let before = observed.published.clone().unwrap().unwrap();
    let next = published(&decided(&sync, &observed)).unwrap();
    assert_eq!(next, Metadata { known_hosts: None, ..before });
}

#[test]
fn the_trigger_says_what_brought_a_commit() {
    let (mut sync, mut observed) = (stored(plant()), observed(Vec::new()));
    settled(&mut sync, &mut observed);
    let trigger = |sync: &GatewaySync, observed: &Observed| {
        published(&decided(sync, observed)).and_then(|metadata| metadata.trigger)
    };
    observed.remote = resolved(commit('b'));
    assert_eq!(trigger(&sync, &observed), Some(Trigger::Polling));
    observed.asked_by = Some(Requester::Github);
    assert_eq!(trigger(&sync, &observed), Some(Trigger::Webhook));
    observed.asked_by = Some(Requester::Cli);
    assert_eq!(trigger(&sync, &observed), Some(Trigger::Manual));
    let profile = stored(plant().mapping("more", "more"));
    observed.remote = resolved(commit('a'));
    assert_eq!(trigger(&profile, &observed), Some(Trigger::ProfileChange));
    let asked = plant().annotation(Annotation::RequestedRef, "v2");
    let asked = stored(asked.annotation(Annotation::RequestedBy, "kargo"));
    assert_eq!(trigger(&asked, &observed), Some(Trigger::Webhook));
    assert_eq!(trigger(&stored(plant().git_ref("develop")), &observed), Some(Trigger::SpecChange));
}

#[test]
fn status_objects_become_more_and_never_fewer() {
    let many: Vec<_> = (0..51).map(|number| pod(&format!("ignition-{number}"))).collect();
    let (mut sync, mut observed) = (stored(plant()), observed(many));
    settled(&mut sync, &mut observed);
    assert_eq!(observed.published.clone().unwrap().unwrap().status_shards, 16);
    observed.pods.truncate(1);
    assert_eq!(published(&decided(&sync, &observed)), None);
    observed.shards = (0..16).collect();
    observed.published = None;
    assert_eq!(published(&decided(&sync, &observed)).unwrap().status_shards, 16);
}

#[test]
fn pods_with_a_ref_of_their_own_keep_it_while_it_cannot_be_resolved() {
    let own = pod("ignition-0").annotated(Annotation::RefOverride, "v1");
    let (mut sync, mut observed) = (stored(plant()), observed(vec![own]));
    observed.overrides.insert("ignition-0".into(), resolved(commit('b')));
    settled(&mut sync, &mut observed);
    let target = observed.published.clone().unwrap().unwrap().overrides["ignition-0"].clone();
    assert_eq!((target.git_ref.as_str(), target.commit), ("v1", commit('b')));
    observed.overrides.insert("ignition-0".into(), unreachable());
    assert_eq!(published(&decided(&sync, &observed)), None);
}
