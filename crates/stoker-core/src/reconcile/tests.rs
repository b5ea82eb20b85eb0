//! Claims about the decision as a whole.

use stoker_api::condition::{ConditionType, EventReason, SyncStatus};
use stoker_api::contract::report::{DeletionBlocked, Drift, Report};
use stoker_api::names::{Annotation, FINALIZER};

use super::*;
use crate::testing::{
    commit, decided, now, observed, plant, pod, published, resolved, settled, stands, stored,
    synced, unreachable,
};

fn reasons(verdict: &Verdict) -> Vec<EventReason> {
    verdict.events.iter().map(|event| event.reason).collect()
}

fn with_synced(sync: &mut GatewaySync, observed: &mut Observed) -> Verdict {
    settled(sync, observed);
    let metadata = observed.published.clone().unwrap().unwrap();
    for pod in &observed.pods {
        observed.reports.insert(pod.name.clone(), Ok(synced(pod, &metadata).into()));
    }
    settled(sync, observed)
}

#[test]
fn a_new_plant_gets_its_finalizer_its_status_object_and_its_metadata_in_this_order() {
    let mut sync = stored(plant());
    sync.metadata.finalizers = None;
    let mut observed = observed(vec![pod("ignition-0")]);
    observed.shards.clear();
    observed.rights = Rights::Managed { role: None, bound: None };
    let verdict = decided(&sync, &observed);
    let accounts = BTreeSet::from(["default".to_owned()]);
    assert_eq!(
        verdict.writes[..4],
        [
            Write::Finalizer,
            Write::Role { shards: 1 },
            Write::Binding { accounts },
            Write::StatusShard(0)
        ]
    );
    assert!(matches!(verdict.writes[4..], [Write::Metadata(_)]));
    sync.metadata.finalizers = Some(vec!["other".into(), FINALIZER.into()]);
    assert_ne!(decided(&sync, &observed).writes[0], Write::Finalizer);
}

// R75, R76: without gateways nobody gets rights, and they go with the last gateway; the remote does
// not matter.
#[test]
fn rights_follow_the_service_accounts_of_pods() {
    let sync = stored(plant());
    let mut observed = observed(Vec::new());
    observed.rights = Rights::Managed { role: None, bound: None };
    let rights = |observed: &Observed| {
        let writes = decided(&sync, observed).writes;
        let is_right = |it: &Write| matches!(it, Write::Role { .. } | Write::Binding { .. });
        writes.into_iter().filter(is_right).collect::<Vec<_>>()
    };
    assert_eq!(rights(&observed), []);
    // A pod that waits for a node needs them the moment it starts.
    observed.pods = vec![Pod { is_scheduled: false, ..pod("ignition-0") }];
    assert_eq!(rights(&observed).len(), 2);
    observed.remote = unreachable();
    assert_eq!(rights(&observed).len(), 2);
    let bound = Some(BTreeSet::from(["default".to_owned()]));
    observed.rights = Rights::Managed { role: Some(1), bound };
    assert_eq!(rights(&observed), []);
    observed.pods.clear();
    assert_eq!(rights(&observed), [Write::Binding { accounts: BTreeSet::new() }]);
}

#[test]
fn a_plant_is_ready_when_every_gateway_has_the_commit() {
    let (mut sync, mut observed) =
        (stored(plant()), observed(vec![pod("ignition-0"), pod("ignition-1")]));
    let first = settled(&mut sync, &mut observed);
    assert_eq!(stands(&first.status, ConditionType::Ready), Some(("False", "GatewaysSyncing")));
    assert_eq!(
        stands(&first.status, ConditionType::AllGatewaysSynced),
        Some(("False", "SyncInProgress"))
    );
    let last = with_synced(&mut sync, &mut observed);
    assert_eq!(stands(&last.status, ConditionType::Ready), Some(("True", "AllSynced")));
    assert_eq!(last.status.last_sync_commit, Some(commit('a').to_string()));
    assert!(reasons(&last).contains(&EventReason::SyncCompleted));
    let quiet = decided(&sync, &observed);
    assert_eq!(reasons(&quiet), [], "a quiet plant tells nothing");
    assert_eq!(sync.status, Some(quiet.status), "and writes nothing");
}

// R4, R5: Ready goes False in the very pass in which the commit moves or the remote fails.
#[test]
fn ready_is_lost_in_the_pass_in_which_something_changes() {
    let (mut sync, mut observed) = (stored(plant()), observed(vec![pod("ignition-0")]));
    with_synced(&mut sync, &mut observed);
    observed.remote = resolved(commit('b'));
    let moved = decided(&sync, &observed);
    assert_eq!(stands(&moved.status, ConditionType::Ready), Some(("False", "GatewaysSyncing")));
    assert_eq!(reasons(&moved), [EventReason::RefUpdated]);
    assert_eq!(moved.status.last_sync_commit, Some(commit('a').to_string()));
    observed.remote = unreachable();
    let failed = decided(&sync, &observed);
    assert_eq!(stands(&failed.status, ConditionType::Ready), Some(("False", "RemoteUnreachable")));
    assert_eq!(reasons(&failed), [EventReason::RefResolutionFailed]);
    assert_eq!(failed.status.resolved_commit, Some(commit('a').to_string()));
}

#[test]
fn a_controller_that_starts_again_changes_nothing_before_the_remote_has_answered() {
    let (mut sync, mut observed) = (stored(plant()), observed(vec![pod("ignition-0")]));
    let before = with_synced(&mut sync, &mut observed);
    observed.remote = Remote::Asked;
    let after = decided(&sync, &observed);
    assert_eq!((after.writes.len(), after.events.len()), (0, 0));
    assert_eq!(after.status.conditions, before.status.conditions);
}

#[test]
fn a_pause_is_published_and_told_once_whatever_else_is_wrong() {
    let (mut sync, mut observed) = (stored(plant()), observed(vec![pod("ignition-0")]));
    with_synced(&mut sync, &mut observed);
    sync.spec.paused = Some(true);
    observed.remote = unreachable();
    let verdict = settled(&mut sync, &mut observed);
    assert_eq!(stands(&verdict.status, ConditionType::Ready), Some(("False", "Paused")));
    assert!(observed.published.as_ref().unwrap().as_ref().unwrap().is_paused);
    assert!(reasons(&verdict).contains(&EventReason::Paused));
    assert_eq!(reasons(&decided(&sync, &observed)), []);
    sync.spec.paused = None;
    observed.remote = resolved(commit('a'));
    assert_eq!(reasons(&settled(&mut sync, &mut observed)), [EventReason::Resumed]);
}

#[test]
fn what_the_webhook_decided_about_a_pod_is_told_when_the_pod_is_first_seen() {
    let mut refused = pod("ignition-0");
    for (annotation, value) in [
        (Annotation::CrNameDerived, "true"),
        (Annotation::AgentImageRefused, "true"),
        (Annotation::AgentImage, "evil.example.com/agent:1"),
    ] {
        refused.annotations.insert(annotation, value.to_owned());
    }
    let (mut sync, mut observed) = (stored(plant()), observed(vec![refused]));
    let first = decided(&sync, &observed);
    let told = |reason: EventReason| first.events.iter().find(|event| event.reason == reason);
    for reason in [EventReason::Injected, EventReason::CrNameDerived] {
        assert!(told(reason).is_some(), "{reason}");
    }
    let note = &told(EventReason::AgentImageRefused).unwrap().note;
    assert!(note.contains("\"evil.example.com/agent:1\" is not of an allowed"), "{note}");
    settled(&mut sync, &mut observed);
    assert!(!reasons(&decided(&sync, &observed)).contains(&EventReason::AgentImageRefused));
}

#[test]
fn the_emergency_stop_pauses_with_its_reason() {
    let (mut sync, mut observed) = (stored(plant()), observed(Vec::new()));
    observed.emergency = Some("fire drill".into());
    let verdict = settled(&mut sync, &mut observed);
    let ready = status::condition(&verdict.status, ConditionType::Ready).unwrap();
    assert!(ready.message.ends_with("fire drill"), "{}", ready.message);
    let metadata = observed.published.unwrap().unwrap();
    assert_eq!(metadata.paused_by, Some(PausedBy::Emergency { reason: "fire drill".into() }));
}

// R90
#[test]
fn pods_that_wait_for_a_node_are_not_counted_and_keep_ready_false() {
    let waiting = Pod { is_scheduled: false, ..pod("ignition-1") };
    let (mut sync, mut observed) = (stored(plant()), observed(vec![pod("ignition-0"), waiting]));
    let verdict = with_synced(&mut sync, &mut observed);
    assert_eq!(verdict.status.gateways.unwrap().discovered, 1);
    let ready = status::condition(&verdict.status, ConditionType::Ready).unwrap();
    assert_eq!((&*ready.status, &*ready.message), ("False", "1 pod(s) wait for a node"));
}

#[test]
fn without_gateways_the_last_sync_follows_the_ref_and_ready_is_false() {
    let (mut sync, mut observed) = (stored(plant()), observed(Vec::new()));
    let verdict = settled(&mut sync, &mut observed);
    assert_eq!(
        stands(&verdict.status, ConditionType::Ready),
        Some(("False", "NoGatewaysDiscovered"))
    );
    assert_eq!(verdict.status.last_sync_ref.as_deref(), Some("main"));
    assert_eq!(verdict.status.last_sync_commit_short.as_deref(), Some("aaaaaaa"));
    assert!(!reasons(&verdict).contains(&EventReason::SyncCompleted));
}

#[test]
fn a_gateway_that_is_synced_when_it_is_first_seen_completes_a_sync() {
    let (mut sync, mut observed) = (stored(plant()), observed(Vec::new()));
    settled(&mut sync, &mut observed);
    let new = pod("ignition-0");
    let metadata = observed.published.clone().unwrap().unwrap();
    observed.reports.insert(new.name.clone(), Ok(synced(&new, &metadata).into()));
    observed.pods.push(new);
    let verdict = settled(&mut sync, &mut observed);
    assert!(reasons(&verdict).contains(&EventReason::SyncCompleted));
    assert_eq!(reasons(&decided(&sync, &observed)), []);
    // The only gateway restarts: the same commit is told once.
    observed.completed = verdict.status.last_sync_commit;
    let pods = std::mem::take(&mut observed.pods);
    settled(&mut sync, &mut observed);
    observed.pods = pods;
    let back = settled(&mut sync, &mut observed);
    assert_eq!(stands(&back.status, ConditionType::Ready), Some(("True", "AllSynced")));
    assert!(!reasons(&back).contains(&EventReason::SyncCompleted), "{:?}", reasons(&back));
}

// Repaired drift is an event and no condition.
#[test]
fn repaired_drift_is_told_once() {
    let (mut sync, mut observed) = (stored(plant()), observed(vec![pod("ignition-0")]));
    with_synced(&mut sync, &mut observed);
    let metadata = observed.published.clone().unwrap().unwrap();
    let paths = vec!["projects/line/a.json".to_owned()];
    let drift = Drift { count: 1, paths, repaired: true };
    let report = Report {
        drift: Some(drift),
        synced_at: Some(now() + jiff::SignedDuration::from_mins(1)),
        ..synced(&observed.pods[0], &metadata)
    };
    observed.reports.insert("ignition-0".into(), Ok(report.into()));
    let verdict = settled(&mut sync, &mut observed);
    let told: Vec<_> =
        verdict.events.iter().map(|event| (event.reason, event.note.as_str())).collect();
    let note = "ignition-0: 1 file(s) differed and were written again: projects/line/a.json";
    assert_eq!(told, [(EventReason::DriftDetected, note)]);
    assert_eq!(status::condition(&verdict.status, ConditionType::DriftDetected), None);
    assert_eq!(reasons(&decided(&sync, &observed)), []);
}

// R85: with a gateway the names mean a sync.
#[test]
fn with_a_gateway_nothing_is_the_last_sync_before_the_first() {
    let (mut sync, mut observed) = (stored(plant()), observed(vec![pod("ignition-0")]));
    assert_eq!(settled(&mut sync, &mut observed).status.last_sync_commit, None);
    let pods = std::mem::take(&mut observed.pods);
    assert!(settled(&mut sync, &mut observed).status.last_sync_commit.is_some());
    observed.pods = pods;
    assert_eq!(settled(&mut sync, &mut observed).status.last_sync_commit, None);
}

#[test]
fn overridden_gateways_count_as_synced_at_their_own_commit() {
    let own = pod("ignition-0").annotated(Annotation::RefOverride, "v1");
    let (mut sync, mut observed) = (stored(plant()), observed(vec![own, pod("ignition-1")]));
    observed.overrides.insert("ignition-0".into(), resolved(commit('b')));
    let verdict = with_synced(&mut sync, &mut observed);
    let all = status::condition(&verdict.status, ConditionType::AllGatewaysSynced).unwrap();
    assert_eq!((&*all.status, &*all.message), ("True", "2/2 synced, 1 overridden"));
}

#[test]
fn a_confirmed_deletion_is_handed_on_and_cleared_when_nothing_waits_for_it() {
    let confirmed = plant().annotation(Annotation::AllowMassDelete, commit('a').as_str());
    let (mut sync, mut observed) = (stored(confirmed), observed(vec![pod("ignition-0")]));
    settled(&mut sync, &mut observed);
    let metadata = observed.published.clone().unwrap().unwrap();
    assert_eq!(metadata.allow_mass_delete, Some(commit('a')));
    let waits = Report {
        deletion_blocked: Some(DeletionBlocked { commit: commit('a'), deletes: 60, of: 100 }),
        sync_status: SyncStatus::Degraded,
        ..synced(&observed.pods[0], &metadata)
    };
    observed.reports.insert("ignition-0".into(), Ok(waits.into()));
    let blocked = decided(&sync, &observed);
    assert_eq!(blocked.writes, []);
    let condition = status::condition(&blocked.status, ConditionType::DeletionBlocked).unwrap();
    assert!(condition.message.contains("60 of 100"), "{}", condition.message);
    observed.reports.insert("ignition-0".into(), Ok(synced(&observed.pods[0], &metadata).into()));
    let cleared = BTreeMap::from([(Annotation::AllowMassDelete, None)]);
    assert_eq!(decided(&sync, &observed).writes, [Write::Annotations(cleared)]);
}

// R84, R89
#[test]
fn a_failed_gateway_is_told_once_and_shown_first() {
    let (mut sync, mut observed) =
        (stored(plant()), observed(vec![pod("ignition-0"), pod("ignition-1")]));
    with_synced(&mut sync, &mut observed);
    let metadata = observed.published.clone().unwrap().unwrap();
    let failed = Report {
        sync_status: SyncStatus::Error,
        message: "disk full".into(),
        ..synced(&observed.pods[1], &metadata)
    };
    observed.reports.insert("ignition-1".into(), Ok(failed.into()));
    let verdict = settled(&mut sync, &mut observed);
    assert_eq!(reasons(&verdict), [EventReason::SyncFailed]);
    assert_eq!(verdict.status.discovered_gateways[0].pod_name, "ignition-1");
    assert_eq!(stands(&verdict.status, ConditionType::Ready), Some(("False", "GatewaysFailed")));
    // `kubectl get` has this message in its column STATUS.
    let ready = status::condition(&verdict.status, ConditionType::Ready).unwrap();
    assert!(ready.message.contains("disk full"), "{}", ready.message);
    assert_eq!(reasons(&decided(&sync, &observed)), []);
}

// F32: once when it begins to be missing, however often that is seen.
#[test]
fn a_missing_agent_is_told_once_each_time_that_it_goes() {
    let with = pod("ignition-0");
    let without = Pod { has_agent: false, ..with.clone() };
    let (mut sync, mut observed) = (stored(plant()), observed(vec![with.clone()]));
    with_synced(&mut sync, &mut observed);
    let mut told = |pod: &Pod| {
        observed.pods = vec![pod.clone()];
        let verdict = settled(&mut sync, &mut observed);
        reasons(&verdict).into_iter().filter(|it| *it == EventReason::SidecarMissing).count()
    };
    assert_eq!([&without, &without, &without].map(&mut told), [1, 0, 0]);
    assert_eq!([&with, &with, &without, &without].map(&mut told), [0, 0, 1, 0]);
}

#[test]
fn a_hundred_gateways_are_listed_and_all_are_counted() {
    let many: Vec<_> = (0..150).map(|number| pod(&format!("ignition-{number:03}"))).collect();
    let status = decided(&stored(plant()), &observed(many)).status;
    assert_eq!((status.discovered_gateways.len(), status.gateways.unwrap().discovered), (100, 150));
}

#[test]
fn history_grows_with_syncs_and_not_with_passes() {
    let (mut sync, mut observed) = (stored(plant()), observed(vec![pod("ignition-0")]));
    for minute in 0..12 {
        settled(&mut sync, &mut observed);
        let metadata = observed.published.clone().unwrap().unwrap();
        let report = Report {
            synced_at: Some(now() + std::time::Duration::from_secs(60 * minute)),
            ..synced(&observed.pods[0], &metadata)
        };
        observed.reports.insert("ignition-0".into(), Ok(report.into()));
        settled(&mut sync, &mut observed);
    }
    let listed = &sync.status.unwrap().discovered_gateways[0];
    assert_eq!(listed.history.len(), 10);
    assert_eq!(listed.history[0].timestamp, listed.last_sync_time);
}

// R39: metadata that could not be written leaves Ready False.
#[test]
fn a_failed_write_is_said_in_ready() {
    let (mut sync, mut observed) = (stored(plant()), observed(vec![pod("ignition-0")]));
    let ready = |verdict: &Verdict| {
        status::condition(&verdict.status, ConditionType::Ready).unwrap().clone()
    };
    let since = ready(&with_synced(&mut sync, &mut observed)).last_transition_time;
    observed.failed_write = Some("failed to write ConfigMap line/x: forbidden".to_owned());
    let later = now() + jiff::SignedDuration::from_mins(1);
    let verdict = decide(&sync, &observed, later);
    let failed = ready(&verdict);
    assert_eq!((&*failed.status, &*failed.reason), ("False", "Progressing"));
    assert!(failed.message.contains("forbidden"));
    assert!(failed.last_transition_time > since);
    assert!(status::condition(&verdict.status, ConditionType::Reconciling).is_some());
    assert_eq!(published(&verdict), None);
    // A pause counts more, and is told once.
    sync.spec.paused = Some(true);
    let paused = settled(&mut sync, &mut observed);
    assert_eq!(ready(&paused).reason, "Paused");
    assert!(ready(&paused).message.contains("forbidden"), "{}", ready(&paused).message);
    assert_eq!(reasons(&decided(&sync, &observed)), []);
}

// A pass that fails before it decides knows nothing newer than the published status.
#[test]
fn a_failed_pass_is_said_in_ready() {
    let (mut sync, mut observed) = (stored(plant()), observed(vec![pod("ignition-0")]));
    with_synced(&mut sync, &mut observed);
    let failed = status::with_failed_pass(&sync, "the pass took too long", now());
    let ready = status::condition(&failed, ConditionType::Ready).unwrap();
    assert_eq!((&*ready.status, &*ready.message), ("False", "the pass took too long"));
    sync.status = Some(failed.clone());
    assert_eq!(status::with_failed_pass(&sync, "the pass took too long", now()), failed);
    assert_eq!(settled(&mut sync, &mut observed).status.conditions[0].status, "True");
    sync.spec.paused = Some(true);
    let paused = settled(&mut sync, &mut observed).status;
    assert_eq!(status::with_failed_pass(&sync, "the pass took too long", now()), paused);
}

#[test]
fn an_agent_of_the_go_operator_is_judged_by_its_commit_and_has_to_be_restarted() {
    let careful = plant().spec(|spec| {
        let profile = spec.sync.as_mut().unwrap().profiles.get_mut("default").unwrap();
        profile.overrides.max_delete_percent = Some(10);
    });
    let (mut sync, mut observed) = (stored(careful), observed(vec![pod("ignition-0")]));
    observed.injection = Some(Arc::new(admission::Settings {
        default_image: "registry.example.com/agent:1".parse().unwrap(),
        allowed_repositories: Vec::new(),
        pull_secrets: Vec::new(),
    }));
    let said = |commit: char| {
        let value = format!(
            r#"{{"syncStatus":"Synced","syncedCommit":"{}"}}"#,
            crate::testing::commit(commit)
        );
        gateway::read_legacy(&BTreeMap::from([("ignition-0".to_owned(), value)]))
    };
    observed.legacy = said('b');
    let behind = settled(&mut sync, &mut observed).status;
    assert_eq!(behind.discovered_gateways[0].sync_status, Some(SyncStatus::Syncing));
    observed.legacy = said('a');
    let verdict = settled(&mut sync, &mut observed);
    assert_eq!(stands(&verdict.status, ConditionType::Ready), Some(("True", "AllSynced")));
    let listed = &verdict.status.discovered_gateways[0];
    assert!(listed.restart_needed.as_ref().unwrap().contains("Go operator"));
    let valid = status::condition(&verdict.status, ConditionType::ProfilesValid).unwrap();
    assert!(valid.message.contains("maxDeletePercent"), "{}", valid.message);
    // Its own report counts as soon as it has one.
    let metadata = observed.published.clone().unwrap().unwrap();
    let report = Report { sync_status: SyncStatus::Error, ..synced(&observed.pods[0], &metadata) };
    observed.reports.insert("ignition-0".into(), Ok(report.into()));
    let own = decided(&sync, &observed).status;
    assert_eq!(own.discovered_gateways[0].sync_status, Some(SyncStatus::Error));
    assert_eq!(own.discovered_gateways[0].restart_needed, None);
}

#[test]
fn each_finished_sync_has_one_line_in_the_audit_trail() {
    let (mut sync, mut observed) = (stored(plant()), observed(vec![pod("ignition-0")]));
    let verdict = with_synced(&mut sync, &mut observed);
    assert_eq!(verdict.finished.len(), 1);
    let line = &verdict.finished[0];
    assert!(line.contains(r#""cr":"plant","namespace":"line","gateway":"ignition-0""#), "{line}");
    assert!(line.contains(r#""result":"success""#), "{line}");
    assert_eq!(decided(&sync, &observed).finished.len(), 0);
    let metadata = observed.published.clone().unwrap().unwrap();
    let failed = Report {
        sync_status: SyncStatus::Error,
        reason: Some(stoker_api::condition::Reason::DiskFull),
        message: "disk full".into(),
        ..synced(&observed.pods[0], &metadata)
    };
    observed.reports.insert("ignition-0".into(), Ok(failed.into()));
    let verdict = settled(&mut sync, &mut observed);
    assert!(verdict.finished[0].contains(r#""result":"DiskFull""#), "{:?}", verdict.finished);
    assert_eq!(decided(&sync, &observed).finished.len(), 0);
}

#[test]
fn the_audit_trail_has_gateways_that_the_status_does_not_list() {
    let pods: Vec<_> = (0..150).map(|number| pod(&format!("ignition-{number}"))).collect();
    let (mut sync, mut observed) = (stored(plant()), observed(pods));
    let first = with_synced(&mut sync, &mut observed);
    assert_eq!((first.finished.len(), first.unlisted.len()), (150, 50));
    let (unlisted, _) = first.unlisted.first_key_value().unwrap();
    let report = observed.reports[unlisted].clone().unwrap();
    let later = report.synced_at.map(|at| at + jiff::SignedDuration::from_secs(60));
    let again = Report { synced_at: later, ..(*report).clone() };
    observed.reports.insert(unlisted.clone(), Ok(again.into()));
    // A controller that has just started does not know what it had told.
    let started = Observed { unlisted: None, ..observed.clone() };
    assert_eq!(decided(&sync, &started).finished, Vec::<String>::new());
    let verdict = settled(&mut sync, &mut observed);
    assert_eq!(verdict.finished.len(), 1);
    assert!(verdict.finished[0].contains(&format!(r#""podName":"{unlisted}""#)));
    assert_eq!(decided(&sync, &observed).finished, Vec::<String>::new());
}

#[test]
fn failures_are_told_once_also_of_twins_and_of_gateways_that_the_status_does_not_list() {
    let name = |pod: Pod| pod.annotated(Annotation::GatewayName, "twin");
    let pods = (0..150).map(|number| name(pod(&format!("ignition-{number}")))).collect();
    let (mut sync, mut observed) = (stored(plant()), observed(pods));
    with_synced(&mut sync, &mut observed);
    let metadata = observed.published.clone().unwrap().unwrap();
    for pod in &observed.pods {
        let report = Report {
            sync_status: SyncStatus::Error,
            message: "disk full".into(),
            ..synced(pod, &metadata)
        };
        observed.reports.insert(pod.name.clone(), Ok(report.into()));
    }
    let failed = |verdict: &Verdict| {
        let events = verdict.events.iter();
        events.filter(|event| event.reason == EventReason::SyncFailed).count()
    };
    let told = settled(&mut sync, &mut observed);
    assert_eq!(
        (failed(&told), told.events.last().unwrap().note.as_str()),
        (11, "and 140 more gateways")
    );
    let again = decided(&sync, &observed);
    assert_eq!((failed(&again), again.finished.len()), (0, 0));
}

#[test]
fn the_right_to_write_secrets_is_taken_only_for_a_github_app() {
    let mut observed = observed(Vec::new());
    observed.token_writer = TokenWriter::Managed { is_bound: false };
    let binds = |sync: &GatewaySync, observed: &Observed| {
        decided(sync, observed).writes.contains(&Write::TokenBinding)
    };
    let app = stored(plant().github_app((1, 2), "app"));
    assert!(!binds(&stored(plant()), &observed));
    assert!(binds(&app, &observed));
    observed.token_writer = TokenWriter::Managed { is_bound: true };
    assert!(!binds(&app, &observed));
    let unbinds =
        |sync: &GatewaySync| decided(sync, &observed).writes.contains(&Write::TokenUnbinding);
    assert!(unbinds(&stored(plant())) && !unbinds(&app));
}
