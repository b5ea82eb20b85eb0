//! Claims about conditions.

use stoker_api::condition::ConditionType;
use stoker_api::contract::report::Report;

use super::*;
use crate::gateway::Pod;
use crate::reconcile::Observed;
use crate::testing::{decided, now, observed, plant, pod, settled, stands, stored, synced};

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

/// Lets every gateway report one more sync of very many projects.
fn report_many_projects(observed: &mut Observed, number: u32) {
    let metadata = observed.published.clone().unwrap().unwrap();
    for pod in observed.pods.clone() {
        let mut report = synced(&pod, &metadata);
        report.synced_at = Some(now() + std::time::Duration::from_mins(u64::from(number)));
        report.projects_synced = (0..60).map(|it| format!("{number}-{it}-{:x>99}", "")).collect();
        // As it comes back from the status object.
        let report = report_as_read(&report);
        observed.reports.insert(pod.name, Ok(report.into()));
    }
}

fn report_as_read(report: &Report) -> Report {
    Report::from_value(&report.pod_name, &report.to_value()).unwrap()
}

// C11: the status of very many gateways with very much to tell can be written.
#[test]
fn a_status_always_fits_and_says_what_it_left_out() {
    let pods: Vec<Pod> = (0..120).map(|number| pod(&format!("ignition-{number}"))).collect();
    let (mut sync, mut observed) = (stored(plant()), observed(pods));
    settled(&mut sync, &mut observed);
    for number in 0..12 {
        report_many_projects(&mut observed, number);
        let status = settled(&mut sync, &mut observed).status;
        let size = serde_json::to_string(&status.discovered_gateways).unwrap().len();
        assert!(size <= limit::STATUS_BYTES, "{size}");
        // What was published is what would be published again.
        assert_eq!(decided(&sync, &observed).status, sync.status.clone().unwrap());
    }
    let gateways = sync.status.unwrap().discovered_gateways;
    let newest = &gateways[0];
    assert_eq!(gateways.len(), limit::STATUS_GATEWAYS);
    assert!(newest.projects_synced.last().unwrap().starts_with('…'), "{newest:?}");
    let past = &newest.history.last().unwrap().projects_synced;
    assert!(matches!(&**past, [only] if only.starts_with('…')), "{past:?}");
}

// C11: texts that others write are cut before they become part of a status.
#[test]
fn long_texts_of_others_are_cut_in_the_status() {
    let long = "x".repeat(10_000_000);
    let pod = pod("ignition-0").annotated(Annotation::ServicePath, &long);
    let (mut sync, mut observed) = (stored(plant()), observed(vec![pod]));
    sync.metadata.annotations =
        Some([(Annotation::RecheckAt.as_str().to_owned(), long.clone())].into());
    observed.emergency = Some(long.clone());
    observed.remote = Remote::Failed(crate::reconcile::Failure {
        reason: Reason::RemoteUnreachable,
        message: long.clone(),
    });
    settled(&mut sync, &mut observed);
    let verdict = decided(&sync, &observed);
    let size = serde_json::to_string(&verdict.status).unwrap().len();
    assert!(size < 20_000, "{size}");
    let resolved = condition(&verdict.status, ConditionType::RefResolved).unwrap();
    assert!(resolved.message.ends_with('…'), "{}", resolved.message);
    assert!(verdict.events.iter().all(|event| event.note.len() <= 1024));
    // Nothing is written again because it was cut.
    assert_eq!(Some(&verdict.status), sync.status.as_ref());
    observed.emergency = None;
    observed.failed_write = Some(long);
    let failed = decided(&sync, &observed).status;
    let ready = condition(&failed, ConditionType::Ready).unwrap();
    assert!(ready.message.len() <= 1024 && ready.message.ends_with('…'));
}
