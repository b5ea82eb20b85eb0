//! Claims about evictions: when, whom, and how often.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde_json::{Value, json};
use stoker_testkit::object::{gateway_pod, gateway_sync};

use super::*;
use crate::admission::{Policy, Settings, World};

const MINUTE: Duration = Duration::from_mins(1);

fn at(text: &str) -> Timestamp {
    format!("2026-11-16T{text}Z").parse().unwrap()
}

fn noon() -> Timestamp {
    at("12:00:00")
}

fn pod(name: &str, created: &str, revision: &str) -> Pod {
    serde_json::from_value(json!({
        "metadata": {
            "name": name,
            "namespace": "plant",
            "uid": format!("uid-of-{name}-{created}"),
            "creationTimestamp": at(created).to_string(),
            "labels": { "controller-revision-hash": revision, "pod-template-hash": revision },
        },
        "status": { "conditions": [{ "type": "Ready", "status": "True" }] },
    }))
    .unwrap()
}

fn set(change: Value) -> Workload {
    let mut object = json!({
        "metadata": { "name": "ignition", "uid": "set", "generation": 2 },
        "spec": { "replicas": 2, "serviceName": "x", "selector": {}, "template": {} },
        "status": {
            "observedGeneration": 2,
            "replicas": 2,
            "readyReplicas": 2,
            "currentRevision": "a",
            "updateRevision": "a",
        },
    });
    merge(&mut object, change);
    Workload::from(serde_json::from_value::<StatefulSet>(object).unwrap())
}

fn merge(object: &mut Value, change: Value) {
    match (object, change) {
        (Value::Object(object), Value::Object(change)) => {
            for (key, value) in change {
                merge(object.entry(key).or_insert(Value::Null), value);
            }
        }
        (object, change) => *object = change,
    }
}

fn judge(pod: &Pod, workload: Option<&Workload>, record: &Record) -> Verdict {
    let cause = Cause::MISSING_AGENT;
    let facts = Facts {
        pod,
        cause: &cause,
        workload,
        outlook: &Outlook::Useful,
        is_predecessor_ending: false,
    };
    decide(&facts, record, MINUTE, noon())
}

// D1
#[test]
fn a_pod_is_evicted_when_its_workload_is_at_rest() {
    let (pod, set) = (pod("ignition-0", "11:00:00", "a"), set(json!({})));
    assert_eq!(judge(&pod, Some(&set), &Record::default()), Verdict::Evict);
}

// D1
#[test]
fn nothing_is_evicted_that_would_not_come_back_or_comes_back_as_something_else() {
    let old = pod("ignition-0", "11:00:00", "a");
    let young = pod("ignition-0", "11:59:55", "a");
    let other = pod("ignition-0", "11:00:00", "b");
    let wait = |wait| Verdict::Wait(wait);
    let rows: [(&str, &Pod, Option<Value>, Verdict); 9] = [
        ("no owner", &old, None, Verdict::Leave(Leave::Unmanaged)),
        ("seconds old", &young, Some(json!({})), wait(Wait::Young)),
        (
            "a new template that no controller has seen",
            &old,
            Some(json!({ "metadata": { "generation": 3 } })),
            wait(Wait::Rollout),
        ),
        (
            "a rollout",
            &old,
            Some(json!({ "status": { "updateRevision": "b" } })),
            wait(Wait::Rollout),
        ),
        ("a pod of another template", &other, Some(json!({})), wait(Wait::Rollout)),
        ("scaling", &old, Some(json!({ "spec": { "replicas": 3 } })), wait(Wait::Rollout)),
        (
            "the end",
            &old,
            Some(json!({ "metadata": { "deletionTimestamp": "2026-11-16T11:59:59Z" } })),
            wait(Wait::Rollout),
        ),
        (
            "another pod is down",
            &old,
            Some(json!({ "status": { "readyReplicas": 1 } })),
            wait(Wait::Unavailable),
        ),
        ("rest", &old, Some(json!({})), Verdict::Evict),
    ];
    for (what, pod, change, expected) in rows {
        let workload = change.map(set);
        assert_eq!(judge(pod, workload.as_ref(), &Record::default()), expected, "{what}");
    }
    // The pod itself is the one that is not ready: a restart may help it.
    let mut unready = old.clone();
    unready.status = None;
    let one_down = set(json!({ "status": { "readyReplicas": 1 } }));
    assert_eq!(judge(&unready, Some(&one_down), &Record::default()), Verdict::Evict);
}

// Without the right registry no pod of a workload can be ready: each is evicted all the same.
#[test]
fn pods_that_are_not_ready_do_not_wait_for_each_other() {
    let mut unready = pod("ignition-0", "11:00:00", "a");
    unready.status = None;
    let all_down = set(json!({ "status": { "readyReplicas": 0 } }));
    assert_eq!(judge(&unready, Some(&all_down), &Record::default()), Verdict::Evict);
    let ready = pod("ignition-1", "11:00:00", "a");
    let verdict = judge(&ready, Some(&all_down), &Record::default());
    assert_eq!(verdict, Verdict::Wait(Wait::Unavailable));
}

#[test]
fn the_more_restarts_did_not_help_the_longer_evictions_pause() {
    let minutes = [0, 1, 2, 3, 5, 6, 64].map(|tried| hold(tried).as_secs() / 60);
    assert_eq!(minutes, [1, 1, 2, 4, 16, 30, 30]);
}

/// Whether new pods get what the old ones lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Webhook {
    Works,
    DoesNothing,
}

/// Restarts 200 pods of 20 workloads second by second, and returns when pods were evicted.
fn keep_house(interval: Duration, webhook: Webhook) -> Vec<Timestamp> {
    const STARTUP: Duration = Duration::from_secs(20);
    struct Member {
        workload: usize,
        created: Timestamp,
        is_cured: bool,
    }
    let cause = Cause::bootstrap_stale("new");
    let born = at("06:00:00");
    let all =
        (0..200).map(|number| Member { workload: number % 20, created: born, is_cured: false });
    let mut members: Vec<Member> = all.collect();
    let mut record = Record::default();
    let mut evicted = Vec::new();
    let mut workload = set(json!({ "spec": { "replicas": 10 }, "status": { "replicas": 10 } }));
    let mut pod = pod("a", "06:00:00", "a");
    for second in 0..3 * 3600 {
        let now = at("08:00:00") + Duration::from_secs(second);
        let mut ready = [0; 20];
        for it in &members {
            let is_up = now.duration_since(it.created) >= STARTUP.try_into().unwrap_or_default();
            ready[it.workload] += i32::from(is_up);
        }
        assert!(ready.iter().all(|it| *it >= 9), "two pods of a workload were away at {now}");
        let found = members.iter().position(|member| {
            if member.is_cured {
                return false;
            }
            workload.owner.uid = member.workload.to_string();
            workload.ready = ready[member.workload];
            pod.metadata.creation_timestamp.as_mut().unwrap().0 = member.created;
            let facts = Facts {
                pod: &pod,
                cause: &cause,
                workload: Some(&workload),
                outlook: &Outlook::Useful,
                is_predecessor_ending: false,
            };
            let is_evicted = decide(&facts, &record, interval, now) == Verdict::Evict;
            if is_evicted {
                record.add(&workload, &pod, &cause, born, now);
            }
            is_evicted
        });
        if let Some(index) = found {
            evicted.push(now);
            members[index].created = now;
            members[index].is_cured = webhook == Webhook::Works;
        }
    }
    assert!(members.iter().all(|it| it.created > born), "every pod was restarted");
    evicted
}

// K11, I5: five pods a minute, each once, and never two of a workload, on a clock of the test.
#[test]
fn two_hundred_stale_pods_are_restarted_at_the_default_rate() {
    use stoker_api::podbootstrap::Housekeeping;
    let rate = Housekeeping::DEFAULT_MAX_PER_MINUTE.unsigned_abs();
    assert_eq!(rate, 5);
    for webhook in [Webhook::Works, Webhook::DoesNothing] {
        let evicted = keep_house(MINUTE / rate, webhook);
        assert_eq!(evicted.len(), 200, "each pod once, {webhook:?}");
        let most = evicted.iter().map(|from| {
            let until = *from + MINUTE;
            evicted.iter().filter(|it| *from <= **it && **it < until).count()
        });
        assert_eq!(most.max(), Some(5), "{webhook:?}");
    }
}

#[test]
fn the_outlook_and_the_predecessor_count() {
    let (pod, set) = (pod("ignition-0", "11:00:00", "a"), set(json!({})));
    let cause = Cause::MISSING_AGENT;
    let judge = |outlook: &Outlook, is_predecessor_ending| {
        let workload = Some(&set);
        let facts = Facts { pod: &pod, cause: &cause, workload, outlook, is_predecessor_ending };
        decide(&facts, &Record::default(), MINUTE, noon())
    };
    assert_eq!(judge(&Outlook::Wait(Wait::Webhook), false), Verdict::Wait(Wait::Webhook));
    assert_eq!(judge(&Outlook::Useful, true), Verdict::Wait(Wait::Predecessor));
    let useless = Outlook::Useless("no label".to_owned());
    let verdict = judge(&useless, false);
    assert_eq!(verdict.to_string(), "a restart would not help: no label");
}

#[test]
fn a_workload_is_evicted_once_and_every_pod_of_it() {
    let set = set(json!({}));
    let (first, second) = (pod("ignition-0", "11:00:00", "a"), pod("ignition-1", "11:10:00", "a"));
    let cause = Cause::MISSING_AGENT;
    let mut record = Record::default();
    let youngest = at("11:10:00");
    record.add(&set, &first, &cause, youngest, at("11:30:00"));
    let record = Record::parse(&record.to_data());
    assert_eq!(judge(&second, Some(&set), &record), Verdict::Evict, "it was there before");
    let again = pod("ignition-0", "11:30:02", "a");
    assert_eq!(judge(&again, Some(&set), &record), Verdict::Leave(Leave::Tried));
    // Another template, another workload or another cause is another matter.
    let mut later = record.clone();
    later.add(&set, &second, &cause, at("11:30:02"), at("11:31:00"));
    assert_eq!(judge(&again, Some(&set), &later), Verdict::Leave(Leave::Tried));
    let other = Cause::restart_needed("another image", "0123");
    assert!(record.find(&set, &again, &other).is_none());
    let template = pod("ignition-0", "11:30:02", "b");
    assert!(record.find(&set, &template, &cause).is_none());
}

#[test]
fn evictions_have_a_rate_that_a_clock_of_the_future_does_not_stop() {
    let set = set(json!({}));
    let pod = pod("ignition-0", "11:00:00", "a");
    let with = |evicted: &str| {
        let mut record = Record::default();
        let other =
            Workload { owner: Owner { uid: "x".to_owned(), ..set.owner.clone() }, ..set.clone() };
        record.add(&other, &pod, &Cause::MISSING_AGENT, at("11:00:00"), at(evicted));
        judge(&pod, Some(&set), &record)
    };
    assert_eq!(with("11:59:30"), Verdict::Wait(Wait::Rate));
    assert_eq!(with("11:58:59"), Verdict::Evict);
    assert_eq!(with("13:00:00"), Verdict::Evict);
}

#[test]
fn the_record_keeps_the_newest_entries_and_takes_no_harm_from_others() {
    let pod = pod("ignition-0", "11:00:00", "a");
    let mut record = Record::default();
    for number in 0..1010 {
        let mut set = set(json!({}));
        set.owner.uid = number.to_string();
        let evicted = at("08:00:00") + Duration::from_secs(number);
        record.add(&set, &pod, &Cause::MISSING_AGENT, at("11:00:00"), evicted);
    }
    let data = record.to_data();
    assert_eq!(data.len(), 1000);
    assert!(data.values().map(String::len).sum::<usize>() < 400_000);
    assert!(!data.keys().any(|key| key.starts_with("9.")), "the oldest are gone");
    let broken = BTreeMap::from([("x".to_owned(), "not JSON".to_owned())]);
    assert_eq!(Record::parse(&broken), Record::default());
}

#[test]
fn every_kind_of_workload_says_whether_it_rolls_out() {
    let metadata = json!({ "name": "a", "uid": "u", "generation": 1 });
    let deployment = |updated: i32, replicas: i32| {
        let object: Deployment = serde_json::from_value(json!({
            "metadata": metadata,
            "spec": { "replicas": 2, "selector": {}, "template": {} },
            "status": { "observedGeneration": 1, "replicas": replicas, "updatedReplicas": updated },
        }))
        .unwrap();
        Workload::from(object).is_rolling_out
    };
    assert!(!deployment(2, 2));
    assert!(deployment(1, 2), "a new pod is to come");
    assert!(deployment(2, 3), "an old pod is to go");
    let daemon: DaemonSet = serde_json::from_value(json!({
        "metadata": metadata,
        "spec": { "selector": {}, "template": {} },
        "status": {
            "observedGeneration": 1, "desiredNumberScheduled": 2, "updatedNumberScheduled": 1,
            "currentNumberScheduled": 2, "numberMisscheduled": 0, "numberReady": 2,
        },
    }))
    .unwrap();
    assert!(Workload::from(daemon).is_rolling_out);
    let replicas: ReplicaSet = serde_json::from_value(json!({
        "metadata": metadata,
        "spec": { "replicas": 1, "selector": {} },
        "status": { "observedGeneration": 1, "replicas": 1 },
    }))
    .unwrap();
    assert!(!Workload::from(replicas).is_rolling_out);
}

#[test]
fn only_controllers_of_apps_are_owners() {
    let owner = |group: &str, kind: &str, controller: bool| {
        let metadata = json!({ "ownerReferences": [{
            "apiVersion": group, "kind": kind, "name": "a", "uid": "u", "controller": controller,
        }] });
        owner_of(&serde_json::from_value(metadata).unwrap()).map(|owner| owner.to_string())
    };
    assert_eq!(owner("apps/v1", "StatefulSet", true).as_deref(), Some("StatefulSet/a"));
    assert_eq!(owner("apps/v1", "StatefulSet", false), None);
    assert_eq!(owner("batch/v1", "Job", true), None);
    assert_eq!(owner("argoproj.io/v1", "StatefulSet", true), None);
}

#[test]
fn a_restart_is_useless_where_the_successor_gets_no_agent() {
    let sync = gateway_sync("plant").mapping("a", "b").build();
    let world = World { syncs: vec![&sync], has_sync_profile: true, is_complete: true };
    let settings = Settings {
        default_image: "ghcr.io/stoker-io/stoker-agent:1".parse().unwrap(),
        allowed_repositories: Vec::new(),
        pull_secrets: Vec::new(),
    };
    let labelled: LabelSelector = serde_json::from_value(json!({
        "matchLabels": { "stoker.io/injection": "enabled" },
        "matchExpressions": [{ "key": "name", "operator": "NotIn", "values": ["kube-system"] }],
    }))
    .unwrap();
    let look = |pod: stoker_testkit::object::PodBuilder, labels: &[&str], policy| {
        let pod = pod.build();
        let template = PodTemplateSpec { metadata: Some(pod.metadata), spec: pod.spec };
        let labels = labels.iter().map(|key| ((*key).to_owned(), "enabled".to_owned())).collect();
        let scope = Scope { selector: Some(&labelled), labels: &labels, policy };
        outlook(&template, &world, &settings, scope)
    };
    let enabled: &[&str] = &["stoker.io/injection"];
    let gateway = || gateway_pod("g").fs_group(1);
    assert_eq!(look(gateway(), enabled, Policy::Lenient), Outlook::Useful);
    assert!(matches!(look(gateway(), &[], Policy::Lenient), Outlook::Useless(_)));
    // A pod that would be denied must not be taken away.
    let wrong = || gateway().profile("nowhere");
    assert_eq!(look(wrong(), enabled, Policy::Lenient), Outlook::Useful);
    assert!(matches!(look(wrong(), enabled, Policy::Strict), Outlook::Useless(_)));
    let silent = gateway().without_annotation(stoker_api::names::Annotation::Inject);
    assert!(matches!(look(silent, enabled, Policy::Lenient), Outlook::Useless(_)));
}
