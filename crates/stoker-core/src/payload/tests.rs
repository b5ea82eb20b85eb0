//! Claims about formats, by real bodies that were cut to what matters.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;
use stoker_api::GatewaySync;
use stoker_api::names::Annotation;
use stoker_testkit::object::gateway_sync;

use super::*;

fn headers(event: &[(&'static str, &str)]) -> Vec<Header> {
    event.iter().map(|(name, value)| Header { name, value: (*value).to_owned() }).collect()
}

fn read(event: &[(&'static str, &str)], body: &str) -> Option<Hint> {
    let mut scanner = Scanner::default();
    scanner.feed(body.as_bytes()).unwrap();
    let fields = scanner.finish().unwrap();
    recognise(&Delivery { headers: &headers(event), fields: &fields })
}

macro_rules! fixtures {
    ($($name:literal),* $(,)?) => {
        /// The bodies in `fixtures`, by their name.
        const FIXTURES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("fixtures/", $name, ".json")))),*];
    };
}

fixtures!(
    "argocd",
    "azure-devops",
    "azure-devops-tag",
    "bitbucket-cloud",
    "bitbucket-cloud-tag",
    "bitbucket-server",
    "bitbucket-server-tag",
    "flux",
    "flux-semver",
    "gitea-create",
    "gitea-push",
    "gitea-release",
    "github-create",
    "github-ping",
    "github-push",
    "github-release",
    "github-tag",
    "gitlab-push",
    "gitlab-release",
    "gitlab-tag",
    "kargo",
);

fn fixture(name: &str) -> &'static str {
    let found = FIXTURES.iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("there is no fixture {name:?}")).1
}

fn push_to(branch: &str) -> Event {
    Event::branch(branch)
}

/// What a fixture is expected to say.
struct Case {
    fixture: &'static str,
    header: (&'static str, &'static str),
    source: Requester,
    event: Event,
    repository: &'static str,
}

fn case(fixture: &'static str, header: (&'static str, &'static str), event: Event) -> Case {
    let (source, repository) = match fixture.split('-').next().unwrap_or_default() {
        "github" => (Requester::Github, "plant/site"),
        "gitlab" => (Requester::Gitlab, "plant/lines/site"),
        "gitea" => (Requester::Gitea, "plant/site"),
        "bitbucket" if fixture.contains("server") => (Requester::Bitbucket, "PLANT/site"),
        "bitbucket" => (Requester::Bitbucket, "plant/site"),
        "azure" => (Requester::Azuredevops, "plant/lines/_git/site"),
        "argocd" => (Requester::Argocd, ""),
        "kargo" => (Requester::Kargo, ""),
        _ => (Requester::Flux, ""),
    };
    Case { fixture, header, source, event, repository }
}

#[test]
fn real_bodies_of_every_format_are_recognised() {
    let tag = || Event::tag("v2.1.0");
    let release = || Event::Request("v2.1.0".to_owned());
    let none = ("content-type", "application/json");
    for expected in [
        case("github-push", ("x-github-event", "push"), push_to("main")),
        case("github-tag", ("x-github-event", "push"), tag()),
        case("github-create", ("x-github-event", "create"), tag()),
        case("github-release", ("x-github-event", "release"), release()),
        case("github-ping", ("x-github-event", "ping"), Event::Nothing("a ping")),
        case("gitlab-push", ("x-gitlab-event", "Push Hook"), push_to("main")),
        case("gitlab-tag", ("x-gitlab-event", "Tag Push Hook"), tag()),
        case("gitlab-release", ("x-gitlab-event", "Release Hook"), release()),
        case("gitea-push", ("x-gitea-event", "push"), push_to("main")),
        case("gitea-create", ("x-forgejo-event", "create"), tag()),
        case("gitea-release", ("x-gitea-event", "release"), release()),
        case("bitbucket-cloud", ("x-event-key", "repo:push"), push_to("main")),
        case("bitbucket-cloud-tag", ("x-event-key", "repo:push"), tag()),
        case("bitbucket-server", ("x-event-key", "repo:refs_changed"), push_to("main")),
        case("bitbucket-server-tag", ("x-event-key", "repo:refs_changed"), tag()),
        case("azure-devops", none, push_to("main")),
        case("azure-devops-tag", none, tag()),
        case("argocd", none, release()),
        case("kargo", none, release()),
        case("flux", ("gotk-component", "source-controller"), push_to("main")),
        case("flux-semver", none, push_to("v2.1.0")),
    ] {
        let hint = read(&[expected.header], fixture(expected.fixture)).unwrap();
        assert_eq!((hint.source, hint.event), (expected.source, expected.event));
        assert_eq!(hint.repository.unwrap_or_default(), expected.repository);
    }
}

#[test]
fn small_bodies_of_scripts_and_promotions_request_a_ref() {
    for (body, source) in [
        (r#"{"ref":"2.0.0"}"#, Requester::Generic),
        (r#"{"app":{"metadata":{"annotations":{"git.ref":"2.0.0"}}}}"#, Requester::Argocd),
        (r#"{"freight":{"commits":[{"tag":"2.0.0","id":"abc"}]}}"#, Requester::Kargo),
        (r#"{"freight":{"commits":[{"tag":"","id":"2.0.0"}]}}"#, Requester::Kargo),
    ] {
        let hint = read(&[], body).unwrap();
        assert_eq!(
            (hint.source, hint.event),
            (source, Event::Request("2.0.0".to_owned())),
            "{body}"
        );
    }
    assert_eq!(read(&[], r#"{"hello":"world"}"#), None);
    assert_eq!(read(&[], "[]"), None);
}

#[test]
fn gitea_sends_githubs_headers_and_is_gitea() {
    let both = [("x-github-event", "push"), ("x-gitea-event", "push")];
    assert_eq!(read(&both, fixture("gitea-push")).unwrap().source, Requester::Gitea);
}

// E7, R57
#[test]
fn events_that_ask_for_nothing_say_why() {
    let zero = "0".repeat(40);
    let deleted = format!(r#"{{"ref":"refs/heads/main","after":"{zero}","object_kind":"push"}}"#);
    let release = |action: &str, draft: bool, prerelease: bool| {
        format!(
            r#"{{"action":"{action}","release":{{"tag_name":"v1","draft":{draft},"prerelease":{prerelease}}}}}"#
        )
    };
    for (event, body) in [
        (("x-github-event", "ping"), r#"{"zen":"Keep it logically awesome."}"#),
        (("x-github-event", "issues"), r#"{"action":"opened"}"#),
        (("x-github-event", "push"), r#"{"ref":"refs/heads/main","deleted":true}"#),
        (("x-github-event", "push"), r#"{"ref":"refs/notes/commits","deleted":false}"#),
        (("x-github-event", "push"), r#"{"ref":7}"#),
        (("x-github-event", "release"), &release("deleted", false, false)),
        (("x-github-event", "release"), &release("published", true, false)),
        (("x-github-event", "release"), &release("published", false, true)),
        (("x-gitlab-event", "Push Hook"), &deleted),
        (("x-gitlab-event", "Note Hook"), r#"{"object_kind":"note"}"#),
        (("x-event-key", "repo:push"), r#"{"push":{"changes":[{"new":null}]}}"#),
        (("x-event-key", "diagnostics:ping"), r#"{"test":true}"#),
        (("gotk-component", "x"), r#"{"message":"x"}"#),
    ] {
        let hint = read(&[event], body).unwrap();
        assert!(matches!(hint.event, Event::Nothing(_)), "{body}: {hint:?}");
    }
}

fn plant(git_ref: &str) -> GatewaySync {
    gateway_sync("plant").repo("https://github.com/plant/site.git").git_ref(git_ref).build()
}

fn requested(git_ref: &str, wanted: &str) -> GatewaySync {
    gateway_sync("plant")
        .repo("https://github.com/plant/site.git")
        .git_ref(git_ref)
        .annotation(Annotation::RequestedRef, wanted)
        .annotation(Annotation::RequestedFor, git_ref)
        .annotation(Annotation::RequestedAt, "2026-05-01T10:00:00Z")
        .build()
}

fn hint(event: Event) -> Hint {
    Hint { source: Requester::Github, repository: None, event, at: None }
}

/// Later than every time in the fixtures.
const NOW: &str = "2026-06-01T00:00:00Z";

fn judged(hint: &Hint, sync: &GatewaySync, is_repeated: bool) -> Outcome {
    let now = NOW.parse().unwrap();
    decide(hint, Situation { sync, accepted: &BTreeMap::new(), is_repeated, now })
}

fn outcome(event: Event, sync: &GatewaySync) -> Outcome {
    judged(&hint(event), sync, false)
}

fn request_of(git_ref: &str) -> Outcome {
    Outcome::Request { git_ref: git_ref.to_owned(), at: NOW.parse().unwrap() }
}

// R6, R11
#[test]
fn a_push_to_the_followed_branch_is_a_recheck_and_to_another_nothing() {
    let main = || Outcome::Recheck("main".to_owned());
    assert_eq!(outcome(push_to("main"), &plant("main")), main());
    assert_eq!(outcome(push_to("main"), &plant("refs/heads/main")), main());
    assert!(matches!(outcome(push_to("dev"), &plant("main")), Outcome::Ignore(_)));
    assert!(matches!(outcome(push_to("main"), &requested("main", "v2")), Outcome::Ignore(_)));
    assert_eq!(
        outcome(push_to("dev"), &requested("main", "dev")),
        Outcome::Recheck("dev".to_owned())
    );
}

#[test]
fn a_pushed_tag_counts_for_ranges_and_for_tags() {
    let tag = || Event::tag("v2.1.0");
    let range = "semver:>=2.0 <3";
    assert_eq!(outcome(tag(), &plant(range)), Outcome::Recheck(range.to_owned()));
    assert_eq!(outcome(tag(), &plant("refs/tags/v2.0.0")), request_of("v2.1.0"));
    let mut resolved = plant("v2.0.0");
    resolved.status.get_or_insert_default().resolved_ref = Some("refs/tags/v2.0.0".to_owned());
    assert_eq!(outcome(tag(), &resolved), request_of("v2.1.0"));
    assert_eq!(outcome(tag(), &plant("v2.1.0")), Outcome::Recheck("v2.1.0".to_owned()));
    assert!(matches!(outcome(tag(), &plant("main")), Outcome::Ignore(_)));
    // A tag that was requested does not turn a GatewaySync that follows a branch into one of tags.
    let mut branch = requested("main", "v2.0.0");
    branch.status.get_or_insert_default().resolved_ref = Some("refs/tags/v2.0.0".to_owned());
    assert!(matches!(outcome(tag(), &branch), Outcome::Ignore(_)));
    let mut tagged = requested("v1.0.0", "v2.0.0");
    tagged.status.get_or_insert_default().resolved_ref = Some("refs/tags/v2.0.0".to_owned());
    assert_eq!(outcome(tag(), &tagged), request_of("v2.1.0"));
}

#[test]
fn a_revision_of_flux_is_a_recheck_where_a_range_is_followed() {
    let event = Hint { source: Requester::Flux, ..hint(push_to("v2.1.0")) };
    let range = "semver:>=2.0 <3";
    assert_eq!(judged(&event, &plant(range), false), Outcome::Recheck(range.to_owned()));
    assert!(matches!(judged(&event, &plant("v1"), false), Outcome::Ignore(_)));
}

// F15
#[test]
fn a_request_for_what_is_followed_is_a_recheck() {
    let ask = |text: &str| Event::Request(text.to_owned());
    assert_eq!(outcome(ask("v2"), &plant("main")), request_of("v2"));
    assert_eq!(outcome(ask("refs/tags/v2"), &plant("main")), request_of("v2"));
    assert_eq!(outcome(ask("main"), &plant("main")), Outcome::Recheck("main".to_owned()));
    assert_eq!(outcome(ask("v2"), &requested("main", "v2")), Outcome::Recheck("v2".to_owned()));
    assert_eq!(outcome(ask("v3"), &requested("main", "v2")), request_of("v3"));
    for hostile in ["--upload-pack=x", "a..b", "a b", "", "x\n"] {
        assert!(matches!(outcome(ask(hostile), &plant("main")), Outcome::Ignore(_)), "{hostile:?}");
    }
}

// E3
#[test]
fn a_repeated_delivery_rechecks_and_an_older_request_undoes_nothing() {
    let ask =
        |at: &str| Hint { at: Some(at.parse().unwrap()), ..hint(Event::Request("v1".to_owned())) };
    let sync = requested("main", "v2");
    let at = |git_ref: &str, at: &str| Outcome::Request {
        git_ref: git_ref.to_owned(),
        at: at.parse().unwrap(),
    };
    assert!(matches!(judged(&ask("2026-05-01T09:59:59Z"), &sync, false), Outcome::Ignore(_)));
    let later = ask("2026-05-01T10:00:01Z");
    // Requests are ordered by the time that their senders signed, not by their arrival.
    assert_eq!(judged(&later, &sync, false), at("v1", "2026-05-01T10:00:01Z"));
    assert_eq!(judged(&later, &sync, true), Outcome::Recheck("v2".to_owned()));
    // A clock that is ahead does not block the requests of others, and a later release waits.
    assert_eq!(judged(&ask("2026-06-01T00:30:00Z"), &sync, false), at("v1", NOW));
    assert!(matches!(judged(&ask("2026-06-02T00:00:00Z"), &sync, false), Outcome::Ignore(_)));
    // A script that asks again means it.
    let script = Hint { source: Requester::Generic, ..hint(Event::Request("v1".to_owned())) };
    assert_eq!(judged(&script, &sync, true), request_of("v1"));
}

// E3
#[test]
fn a_repeated_push_of_a_tag_does_not_request_it_again() {
    let old = hint(Event::tag("v1.1.0"));
    let sync = requested("v1.0.0", "v1.2.0");
    assert_eq!(judged(&old, &sync, false), request_of("v1.1.0"));
    assert_eq!(judged(&old, &sync, true), Outcome::Recheck("v1.2.0".to_owned()));
}

#[test]
fn a_tag_that_is_pushed_together_with_a_branch_counts_as_well() {
    let cloud = r#"{"push":{"changes":[{"new":{"type":"branch","name":"main"}},{"new":{"type":"tag","name":"v2.1.0"}}]}}"#;
    let server = r#"{"changes":[{"ref":{"id":"refs/heads/main"},"type":"UPDATE"},{"ref":{"id":"refs/tags/v2.1.0"},"type":"ADD"}]}"#;
    let azure = r#"{"eventType":"git.push","publisherId":"tfs","resource":{"refUpdates":[{"name":"refs/heads/main","newObjectId":"1"},{"name":"refs/tags/v2.1.0","newObjectId":"2"}]}}"#;
    for (header, body) in [
        (("x-event-key", "repo:push"), cloud),
        (("x-event-key", "repo:refs_changed"), server),
        (("content-type", "application/json"), azure),
    ] {
        let hint = read(&[header], body).unwrap();
        let outcome = |git_ref: &str| judged(&hint, &plant(git_ref), false);
        let range = "semver:>=2.0 <3";
        assert_eq!(outcome("main"), Outcome::Recheck("main".to_owned()), "{body}");
        assert_eq!(outcome(range), Outcome::Recheck(range.to_owned()), "{body}");
        assert_eq!(outcome("v2.0.0"), request_of("v2.1.0"), "{body}");
        assert!(matches!(outcome("dev"), Outcome::Ignore(_)), "{body}");
    }
}

// E8
#[test]
fn what_was_accepted_a_moment_ago_counts_before_it_is_seen() {
    let accepted = |git_ref: &str| {
        BTreeMap::from([
            (Annotation::RequestedRef.as_str(), git_ref.to_owned()),
            (Annotation::RequestedFor.as_str(), "main".to_owned()),
        ])
    };
    let now = NOW.parse().unwrap();
    let ask = |git_ref: &str, before: &str| {
        let (sync, accepted) = (plant("main"), accepted(before));
        let situation = Situation { sync: &sync, accepted: &accepted, is_repeated: false, now };
        decide(&hint(Event::Request(git_ref.to_owned())), situation)
    };
    assert_eq!(ask("main", "v2"), request_of("main"));
    assert_eq!(ask("v2", "v2"), Outcome::Recheck("v2".to_owned()));
}

#[test]
fn releases_carry_the_time_that_their_sender_signed() {
    for (header, body) in [
        (("x-github-event", "release"), "github-release"),
        (("x-gitlab-event", "Release Hook"), "gitlab-release"),
        (("x-gitea-event", "release"), "gitea-release"),
        (("content-type", "application/json"), "argocd"),
        (("content-type", "application/json"), "kargo"),
    ] {
        let at = read(&[header], fixture(body)).unwrap().at;
        assert_eq!(at, Some("2026-05-15T15:20:53Z".parse().unwrap()), "{body}");
    }
}

// E7
#[test]
fn another_repository_is_ignored_by_name() {
    let mut other = hint(push_to("main"));
    other.repository = Some("plant/other".to_owned());
    assert_eq!(
        judged(&other, &plant("main"), false),
        Outcome::Ignore("\"plant/other\" is not the repository of this GatewaySync".to_owned())
    );
}

/// Puts another value where `path` leads, which chooses one branch of every object and list.
fn replace(value: &mut Value, path: &[usize], with: Value) {
    let Some((first, rest)) = path.split_first() else {
        *value = with;
        return;
    };
    match value {
        Value::Object(map) if !map.is_empty() => {
            let index = first % map.len();
            if let Some(inner) = map.values_mut().nth(index) {
                replace(inner, rest, with);
            }
        }
        Value::Array(list) if !list.is_empty() => {
            let index = first % list.len();
            replace(&mut list[index], rest, with);
        }
        _ => *value = with,
    }
}

fn other_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(serde_json::json!([])),
        Just(serde_json::json!({ "ref": {} })),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "refs/(heads|tags)/.{0,40}".prop_map(Value::from),
        "\\PC{0,40}".prop_map(Value::from),
    ]
}

proptest! {
    // E5: a value of the wrong type in any field asks for nothing that a GatewaySync can't take.
    #[test]
    fn wrong_values_in_any_field_never_make_a_ref_that_is_none(
        which in 0..FIXTURES.len(),
        path in prop::collection::vec(0_usize..8, 1..6),
        with in other_value(),
        header in 0..=EVENT_HEADERS.len(),
        event in "push|create|release|ping|repo:push|repo:refs_changed|Push Hook",
    ) {
        let mut body: Value = serde_json::from_str(FIXTURES[which].1).unwrap();
        replace(&mut body, &path, with);
        let header = EVENT_HEADERS.get(header).map(|name| (*name, event.as_str()));
        let Some(hint) = read(header.as_slice(), &body.to_string()) else { return Ok(()) };
        match judged(&hint, &plant("semver:>=2.0 <3"), false) {
            Outcome::Request { git_ref, .. } | Outcome::Recheck(git_ref) => {
                prop_assert!(stoker_api::word::RefName::parse(&git_ref).is_ok(), "{git_ref:?}");
            }
            Outcome::Ignore(reason) => prop_assert!(!reason.is_empty()),
        }
    }
}
