//! Copies and the status.

use jiff::Timestamp;
use stoker_api::PodBootstrap;
use stoker_api::podbootstrap::PodCounts;

use super::*;

fn origin(hash: &str) -> Origin {
    Origin { source: "stoker-system/plant-ca".to_owned(), hash: hash.to_owned() }
}

// K5, I4: copies go when their source goes or the namespace opts out, and never become empty.
#[test]
fn a_copy_follows_its_source() {
    let present = origin("1");
    let seen = |hash: &str| Seen { version: "7".to_owned(), origin: Some(origin(hash)) };
    let unreadable = Seen { version: "7".to_owned(), origin: None };
    let missing = || Source::Missing("it is gone".to_owned());
    let unusable = || Source::Unusable("it is empty".to_owned());
    let table = [
        (None, Source::Present(&present), true, None, Step::Create),
        (None, Source::Present(&present), false, None, Step::Rest),
        (Some(seen("1")), Source::Present(&present), true, Some("7"), Step::Rest),
        (Some(seen("1")), Source::Present(&present), true, Some("6"), Step::Verify),
        (Some(seen("1")), Source::Present(&present), true, None, Step::Verify),
        (Some(seen("0")), Source::Present(&present), true, Some("7"), Step::Write),
        (Some(unreadable), Source::Present(&present), true, Some("7"), Step::Write),
        (Some(seen("1")), Source::Present(&present), false, Some("7"), Step::Remove),
        (Some(seen("1")), missing(), true, Some("7"), Step::Remove),
        (Some(seen("1")), Source::Unwanted, true, Some("7"), Step::Remove),
        (Some(seen("1")), unusable(), true, Some("7"), Step::Rest),
        (Some(seen("1")), unusable(), false, Some("7"), Step::Remove),
        (Some(seen("1")), Source::Unknown, true, None, Step::Rest),
        (Some(seen("1")), Source::Unknown, false, None, Step::Rest),
        (None, missing(), true, None, Step::Rest),
        (None, unusable(), true, None, Step::Rest),
    ];
    for (seen, source, is_wanted, verified, expected) in table {
        let found = step(seen.as_ref(), &source, is_wanted, verified);
        assert_eq!(found, expected, "{seen:?} {source:?} {is_wanted} {verified:?}");
    }
}

#[test]
fn an_origin_survives_its_annotation() {
    let origin = origin("0a1b");
    assert_eq!(Origin::parse(&origin.to_string()), Some(origin));
    assert_eq!(Origin::parse("nothing"), None);
}

#[test]
fn copies_are_wanted_where_pods_can_need_them() {
    let wanted = |space: &[(&str, &str)]| {
        let space = annotated(space);
        let namespace = Namespace { name: NAMESPACE, annotations: &space, certificates: None };
        Copied::ALL.map(|copied| copied.is_wanted(namespace, &policy()))
    };
    assert_eq!(wanted(&[]), [true, true]);
    assert_eq!(wanted(&[("bootstrap", "disabled")]), [false, false]);
    assert_eq!(wanted(&[("bootstrap-ca-bundle", "disabled")]), [true, false]);
    assert_eq!(wanted(&[("bootstrap-registry", "disabled")]), [true, true]);
    let none = BTreeMap::new();
    let namespace = Namespace { name: NAMESPACE, annotations: &none, certificates: None };
    let empty = compile(&json!({})).unwrap();
    assert_eq!(Copied::ALL.map(|it| it.is_wanted(namespace, &empty)), [false, false]);
}

// K1: the operator's own namespace is left alone.
#[test]
fn the_namespaces_of_the_operator_and_of_the_cluster_are_left_alone() {
    let mut scope = Scope { own: "stoker-system".to_owned(), includes_kube_system: false };
    let names = ["stoker-system", "kube-public", "kube-node-lease", "kube-system", "default"];
    assert_eq!(names.map(|it| scope.serves(it)), [false, false, false, false, true]);
    scope.includes_kube_system = true;
    assert!(scope.serves("kube-system"));
}

fn object(name: &str) -> PodBootstrap {
    let mut object = PodBootstrap::new(name, serde_json::from_value(spec()).unwrap());
    object.metadata.generation = Some(3);
    object
}

fn facts(policy: &Policy) -> Facts<'_> {
    Facts {
        compiled: Ok(policy),
        has_last_good: true,
        mark: Some(policy.mark(Some(HASH))),
        copies: Copies { complete: 4, ..Copies::default() },
        pods: Some(BTreeMap::from([(Standing::Current, 9), (Standing::OptedOut, 2)])),
        now: "2026-11-16T12:00:00.5Z".parse().unwrap(),
    }
}

fn conditions(object: &PodBootstrap, facts: &Facts<'_>) -> Vec<(String, String, String)> {
    let conditions = status(object, facts).conditions.into_iter();
    conditions.map(|it| (it.type_, it.status, it.reason)).collect()
}

#[test]
fn the_status_says_what_is_wrong_first() {
    let policy = policy();
    let usual = facts(&policy);
    let found = status(&object("default"), &usual);
    assert_eq!((found.observed_generation, found.namespaces), (Some(3), Some(4)));
    let counts = PodCounts { current: 9, missed: 0, stale: 0, opted_out: 2 };
    assert_eq!((found.pods, found.mark), (Some(counts), Some(policy.mark(Some(HASH)))));
    let reasons = |facts: &Facts<'_>| {
        let all = conditions(&object("default"), facts).into_iter();
        all.map(|(_, status, reason)| format!("{status} {reason}")).collect::<Vec<_>>()
    };
    assert_eq!(reasons(&usual), ["True PolicyActive", "True Replicated", "True PodsCurrent"]);
    let with = |copies: Copies| reasons(&Facts { copies, ..usual.clone() }).swap_remove(1);
    let conflicts = vec![("a".to_owned(), Copied::PullSecret)];
    let failures = vec![("a".to_owned(), "no".to_owned())];
    let bad = Copies { waiting: 1, ..Copies::default() };
    assert_eq!(with(bad.clone()), "False Progressing");
    let bad = Copies { failures, ..bad };
    assert_eq!(with(bad.clone()), "False ReplicationFailed");
    let bad = Copies { conflicts, ..bad };
    assert_eq!(with(bad.clone()), "False ReplicaConflict");
    assert_eq!(
        with(Copies { faults: vec!["gone".to_owned()], ..bad }),
        "False ReplicaSourceMissing"
    );
    let pods = |missed, stale| {
        let pods = BTreeMap::from([(Standing::Missed, missed), (Standing::Stale, stale)]);
        reasons(&Facts { pods: Some(pods), ..usual.clone() }).swap_remove(2)
    };
    assert_eq!([pods(1, 1), pods(0, 1)], ["False PodsMissed", "False PodsStale"]);
}

#[test]
fn a_status_that_did_not_change_is_equal() {
    let policy = policy();
    let mut object = object("default");
    let mut facts = facts(&policy);
    let first = status(&object, &facts);
    object.status = Some(first.clone());
    facts.now = "2026-11-16T13:00:00Z".parse::<Timestamp>().unwrap();
    assert_eq!(status(&object, &facts), first);
}

// K14: the status of an invalid policy says what stays in force.
#[test]
fn other_names_and_invalid_policies_are_not_ready() {
    let policy = policy();
    let usual = facts(&policy);
    let other = conditions(&object("other"), &usual);
    assert_eq!(other, [("Ready".into(), "False".into(), "NotUsed".into())]);
    let problems = [Problem { field: "spec.x".to_owned(), message: "bad".to_owned() }];
    let invalid = Facts { compiled: Err(&problems), ..usual };
    let found = status(&object("default"), &invalid);
    assert_eq!(found.conditions[0].reason, "PolicyInvalid");
    assert_eq!(found.conditions[0].message, "spec.x: bad; the last valid policy stays in force");
    // K14: without housekeeping pods are not counted.
    assert_eq!(found.pods, None);
}
