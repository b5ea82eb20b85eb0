//! Claims about gateways.

use stoker_api::contract::report::Report;

use super::*;
use crate::testing::{commit, decided, observed, plant, pod, published, stored, synced};

fn metadata() -> Metadata {
    let sync = stored(plant().mapping("a", "b"));
    published(&decided(&sync, &observed(Vec::new()))).unwrap()
}

fn judged(pod: &Pod, report: Option<Report>) -> Gateway {
    let metadata = metadata();
    let published = Published { metadata: Some(&metadata), ..Published::default() };
    judge(pod, report.map(|report| Ok(report.into())).as_ref(), published)
}

#[test]
fn the_name_is_the_annotation_then_the_label_then_the_pod() {
    let name = |annotation, label| name_of(annotation, label, "pod-0").to_string();
    assert_eq!(name(Some("Plant 1"), Some("ignition")), "Plant 1");
    assert_eq!(name(Some(""), Some("ignition")), "ignition");
    assert_eq!(name(Some("../etc"), None), "pod-0");
}

#[test]
fn a_gateway_is_synced_where_it_applied_what_was_published() {
    let pod = pod("ignition-0");
    assert_eq!(judged(&pod, Some(synced(&pod, &metadata()))).status, SyncStatus::Synced);
}

// R4: agents that still report the commit before are not synced.
#[test]
fn a_gateway_at_another_commit_is_on_its_way() {
    let pod = pod("ignition-0");
    let old = Metadata { commit: Some(commit('b')), ..metadata() };
    let gateway = judged(&pod, Some(synced(&pod, &old)));
    assert_eq!(gateway.status, SyncStatus::Syncing);
    assert_eq!(gateway.message, "has commit bbbbbbb, aaaaaaa is wanted");
}

#[test]
fn a_gateway_with_another_profile_or_other_annotations_is_on_its_way() {
    let pod = pod("ignition-0");
    let mut other = metadata();
    other.profiles.values_mut().for_each(|profile| profile.sync_period = 99);
    assert_eq!(judged(&pod, Some(synced(&pod, &other))).status, SyncStatus::Syncing);
    let renamed = pod.clone().annotated(Annotation::GatewayName, "Plant 1");
    assert_eq!(judged(&renamed, Some(synced(&pod, &metadata()))).status, SyncStatus::Syncing);
}

// R3: a recreated pod has the name of its predecessor, and another UID.
#[test]
fn the_report_of_a_predecessor_counts_for_nothing() {
    let pod = pod("ignition-0");
    let predecessor = Report { pod_uid: "old".into(), ..synced(&pod, &metadata()) };
    let gateway = judged(&pod, Some(predecessor.clone()));
    assert_eq!((gateway.status, gateway.report), (SyncStatus::Pending, None));
    let bare = Pod { has_agent: false, ..pod };
    assert_eq!(judged(&bare, Some(predecessor)).status, SyncStatus::MissingSidecar);
}

#[test]
fn a_pod_without_agent_is_missing_it_only_where_it_asks() {
    let asks = Pod { has_agent: false, ..pod("ignition-0") };
    assert_eq!(judged(&asks, None).status, SyncStatus::MissingSidecar);
    let silent = asks.annotated(Annotation::Inject, "false");
    assert_eq!(judged(&silent, None).status, SyncStatus::Pending);
}

#[test]
fn a_profile_that_does_not_exist_is_an_error_that_names_those_that_do() {
    let pod = pod("ignition-0").annotated(Annotation::Profile, "sitee");
    let gateway = judged(&pod, None);
    assert_eq!(gateway.reason, Some(Reason::ProfileNotFound));
    assert_eq!(gateway.message, "there is no profile \"sitee\", only [default]");
}

#[test]
fn a_report_that_cannot_be_read_is_an_error_with_its_fault() {
    let metadata = metadata();
    let published = Published { metadata: Some(&metadata), ..Published::default() };
    let gateway = judge(&pod("ignition-0"), Some(&Err("no JSON".into())), published);
    assert_eq!((gateway.status, gateway.message.as_str()), (SyncStatus::Error, "no JSON"));
}

// F05: a dry run has a state of its own.
#[test]
fn everything_but_synced_is_believed() {
    let pod = pod("ignition-0");
    for status in [SyncStatus::Error, SyncStatus::Degraded, SyncStatus::Paused, SyncStatus::DryRun]
    {
        let report = Report { sync_status: status, ..synced(&pod, &metadata()) };
        assert_eq!(judged(&pod, Some(report)).status, status);
    }
}
