//! Claims about conditions.

use stoker_api::condition::ConditionType;

use super::*;
use crate::testing::{decided, now, observed, plant, pod, settled, stands, stored};

#[test]
fn every_condition_has_reasons_of_its_own_and_the_generation() {
    let mut observed = observed(vec![pod("ignition-0")]);
    observed.receiver = Receiver::NoSecret;
    observed.host_keys = HostKeys::Pinned(None);
    let status = decided(&stored(plant()), &observed).status;
    for condition in &status.conditions {
        let kind = ConditionType::find(&condition.type_).unwrap();
        let reason = Reason::find(&condition.reason).unwrap();
        assert!(kind == ConditionType::Ready || kind.reasons().contains(&reason), "{condition:?}");
        assert_eq!(condition.observed_generation, Some(1));
    }
    let kinds: Vec<&str> = status.conditions.iter().map(|it| it.type_.as_str()).collect();
    assert_eq!(
        kinds,
        [
            "Ready",
            "RefResolved",
            "ProfilesValid",
            "SidecarInjected",
            "AllGatewaysSynced",
            "SSHHostKeyVerification",
            "WebhookReady",
            "Reconciling",
        ]
    );
}

#[test]
fn the_time_of_a_condition_changes_with_its_status_only() {
    let (mut sync, mut observed) = (stored(plant()), observed(vec![pod("ignition-0")]));
    settled(&mut sync, &mut observed);
    let later = now() + std::time::Duration::from_mins(1);
    observed.pods.clear();
    let status = crate::reconcile::decide(&sync, &observed, later).status;
    let ready = condition(&status, ConditionType::Ready).unwrap();
    assert_eq!((ready.last_transition_time.0, &*ready.reason), (now(), "NoGatewaysDiscovered"));
    assert_eq!(condition(&status, ConditionType::Reconciling), None);
}

#[test]
fn a_request_to_ask_the_remote_is_handled_when_it_was_asked_since() {
    let asked = |at: &str| stored(plant().annotation(Annotation::RecheckAt, at));
    let mut observed = observed(Vec::new());
    let mut sync = asked("2026-11-16T12:00:00Z");
    observed.is_current = false;
    assert_eq!(settled(&mut sync, &mut observed).status.last_handled_recheck_at, None);
    observed.is_current = true;
    let first = Some("2026-11-16T12:00:00Z".to_owned());
    assert_eq!(settled(&mut sync, &mut observed).status.last_handled_recheck_at, first);
    let next = asked("2026-11-16T12:00:05Z");
    sync.metadata.annotations = next.metadata.annotations;
    observed.is_current = false;
    assert_eq!(decided(&sync, &observed).status.last_handled_recheck_at, first);
    // A remote that can't be reached is an answer.
    (observed.is_current, observed.remote) = (true, crate::testing::unreachable());
    let second = Some("2026-11-16T12:00:05Z".to_owned());
    assert_eq!(decided(&sync, &observed).status.last_handled_recheck_at, second);
}

#[test]
fn invalid_profiles_stall_and_name_the_field() {
    let status = decided(&stored(plant().mapping("a", "../etc")), &observed(Vec::new())).status;
    assert_eq!(stands(&status, ConditionType::Ready), Some(("False", "ProfilesInvalid")));
    assert_eq!(stands(&status, ConditionType::Stalled), Some(("True", "ProfilesInvalid")));
    let found = condition(&status, ConditionType::ProfilesValid).unwrap();
    assert!(found.message.contains("mappings[1].destination"), "{}", found.message);
}

#[test]
fn ready_does_not_depend_on_host_keys_or_the_receiver() {
    let mut observed = observed(Vec::new());
    let before = decided(&stored(plant()), &observed).status;
    observed.receiver = Receiver::Insecure;
    observed.host_keys = HostKeys::Pinned(Some("host key".into()));
    let after = decided(&stored(plant()), &observed).status;
    assert_eq!(condition(&before, ConditionType::Ready), condition(&after, ConditionType::Ready));
}
