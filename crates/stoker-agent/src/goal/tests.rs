//! Claims about what a gateway is to have.

use std::path::Path;

use stoker_api::contract::metadata::Target;
use stoker_testkit::object::announced_profile;

use super::*;
use crate::testing::{COMMIT, OTHER, environment, metadata, plain_goal, pod};

fn of(metadata: &Metadata, annotations: &[(Annotation, &str)]) -> Result<Goal, Hold> {
    goal(metadata, &pod(annotations), &environment(Path::new("/")))
}

fn commit(text: &str) -> Commit {
    Commit::parse(text).unwrap()
}

// F23
#[test]
fn a_plain_pod_gets_the_announced_commit_with_the_default_profile() {
    let goal = of(&metadata(), &[]).unwrap();
    assert_eq!((goal.commit.as_str(), goal.git_ref.as_str()), (COMMIT, "main"));
    assert_eq!((goal.profile_name.as_str(), goal.gateway.as_str()), ("default", "plant-0"));
    assert_eq!((goal.port, goal.tls), (None, None));
}

#[test]
fn annotations_of_the_pod_override_what_is_announced() {
    let mut announced = metadata();
    (announced.gateway_port, announced.gateway_tls) = (Some(8088), Some(false));
    announced.profiles.insert(ProfileName::parse("line").unwrap(), announced_profile());
    let annotations = [
        (Annotation::GatewayPort, "9088"),
        (Annotation::GatewayTls, "true"),
        (Annotation::GatewayName, "Plant 1"),
        (Annotation::Profile, "line"),
        (Annotation::ExcludePatterns, "**/*.bak"),
    ];
    let goal = of(&announced, &annotations).unwrap();
    assert_eq!((goal.port, goal.tls), (Some(9088), Some(true)));
    assert_eq!((goal.gateway.as_str(), goal.profile_name.as_str()), ("Plant 1", "line"));
    assert_eq!(goal.exclude_patterns.as_deref(), Some("**/*.bak"));
    let plain = of(&announced, &[]).unwrap();
    assert_eq!((plain.port, plain.tls), (Some(8088), Some(false)));
}

// R37: one function names a gateway, for the controller and for the agent.
#[test]
fn the_label_names_the_gateway_where_no_annotation_does() {
    let mut pod = pod(&[]);
    pod.labels.insert(Label::AppName.to_string(), "ignition".to_owned());
    let name = gateway_name(&pod, &environment(Path::new("/")));
    assert_eq!(name.as_str(), "ignition");
}

#[test]
fn a_pause_holds_by_spec_emergency_profile_or_pod_and_says_which() {
    let paused = |by| Metadata { is_paused: true, paused_by: by, ..metadata() };
    let emergency = PausedBy::Emergency { reason: "line 3 is down".to_owned() };
    let mut by_profile = metadata();
    by_profile.profiles.values_mut().for_each(|profile| profile.paused = true);
    let by_pod = [(Annotation::Paused, "true")];
    let cases = [
        (of(&paused(Some(PausedBy::Spec)), &[]), "the GatewaySync is paused"),
        (of(&paused(None), &[]), "the GatewaySync is paused"),
        (of(&paused(Some(emergency)), &[]), "emergency stop: line 3 is down"),
        (of(&by_profile, &[]), "the profile \"default\" is paused"),
        (of(&metadata(), &by_pod), "the pod has the annotation stoker.io/paused"),
    ];
    for (held, said) in cases {
        assert_eq!(held, Err(Hold::Paused { message: said.to_owned() }));
    }
    assert!(of(&metadata(), &[(Annotation::Paused, "false")]).is_ok());
}

#[test]
fn a_pod_that_names_another_gateway_sync_or_has_another_uid_is_a_mismatch() {
    let other = of(&metadata(), &[(Annotation::CrName, "other")]).unwrap_err();
    assert_eq!(other.describe().1, Reason::PodMismatch);
    assert!(of(&metadata(), &[(Annotation::CrName, "plant")]).is_ok());
    for (uid, is_ours) in [("uid-1", true), ("uid-2", false)] {
        let pod = Pod { uid: Some(uid.to_owned()), ..Pod::default() };
        let found = goal(&metadata(), &pod, &environment(Path::new("/")));
        assert_eq!(found.is_ok(), is_ours, "{uid}");
    }
}

#[test]
fn a_profile_that_was_not_published_is_named_with_those_that_were() {
    let missing = of(&metadata(), &[(Annotation::Profile, "lime")]).unwrap_err();
    let (status, reason, message) = missing.describe();
    assert_eq!((status, reason), (SyncStatus::Error, Reason::ProfileNotFound));
    assert_eq!(message, "there is no profile \"lime\" (published: default)");
    let object = of(&metadata(), &[(Annotation::SyncProfile, "shared")]).unwrap_err();
    let said = "there is no SyncProfile \"shared\" (published: none is published)";
    assert_eq!(object.describe().2, said);
    assert!(missing.is_final(), "the gateway does not wait for it");
}

#[test]
fn a_pod_with_a_ref_of_its_own_waits_until_exactly_that_ref_is_published() {
    let mut announced = metadata();
    let own = [(Annotation::RefOverride, "v2")];
    let waiting = of(&announced, &own).unwrap_err();
    assert_eq!(waiting.describe().1, Reason::RefNotPublished);
    assert!(!waiting.is_final());
    let publish = |announced: &mut Metadata, name: &str| {
        let git_ref = RefName::parse(name).unwrap();
        let target = Target { git_ref, commit: commit(OTHER) };
        announced.overrides.insert("plant-0".to_owned(), target);
    };
    publish(&mut announced, "v1");
    assert_eq!(of(&announced, &own).unwrap_err(), waiting);
    publish(&mut announced, "v2");
    assert_eq!(of(&announced, &own).unwrap().commit, commit(OTHER));
    // An entry that outlived the annotation counts for nothing.
    assert_eq!(of(&announced, &[]).unwrap().commit, commit(COMMIT));
}

#[test]
fn termination_and_an_unresolved_ref_hold() {
    let terminating = Metadata { is_terminating: true, is_paused: true, ..metadata() };
    assert_eq!(of(&terminating, &[]), Err(Hold::Terminating));
    let unresolved = Metadata { commit: None, ..metadata() };
    assert_eq!(of(&unresolved, &[]), Err(Hold::NoCommit));
    assert!(!Hold::NoCommit.is_final());
}

// F06: the profile's period counts.
#[test]
fn the_sync_period_comes_from_the_annotation_then_the_profile_and_is_bounded() {
    let mut announced = metadata();
    announced.profiles.values_mut().for_each(|profile| profile.sync_period = 12);
    let period = |annotations: &[(Annotation, &str)]| {
        sync_period(Some(&announced), &pod(annotations)).as_secs()
    };
    assert_eq!(sync_period(None, &pod(&[])).as_secs(), 30);
    assert_eq!(period(&[]), 12);
    assert_eq!(period(&[(Annotation::SyncPeriod, "7")]), 7);
    assert_eq!(period(&[(Annotation::SyncPeriod, "1")]), 5);
    assert_eq!(period(&[(Annotation::SyncPeriod, "99999")]), 3600);
    assert_eq!(period(&[(Annotation::SyncPeriod, "often")]), 12);
}

#[test]
fn what_changed_is_what_set_a_run_off() {
    let before = plain_goal();
    let announced = Some(Trigger::Webhook);
    let newer = Goal { commit: commit(OTHER), ..before.clone() };
    let profile = Profile { sync_period: 60, ..before.profile.clone() };
    let profile = Goal { profile, ..before.clone() };
    let port = Goal { port: Some(1), ..before.clone() };
    let cases = [
        (&before, None, Trigger::Startup),
        (&newer, Some(&before), Trigger::Webhook),
        (&profile, Some(&before), Trigger::ProfileChange),
        (&port, Some(&before), Trigger::SpecChange),
    ];
    for (goal, before, trigger) in cases {
        assert_eq!(goal.trigger(before, announced), trigger);
    }
    assert_eq!(newer.trigger(Some(&before), None), Trigger::Polling);
}
