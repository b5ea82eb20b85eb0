//! Claims about formats, by real bodies that were cut to what matters.

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

fn fixture(name: &str) -> &'static str {
    match name {
        "github-push" => include_str!("fixtures/github-push.json"),
        "github-tag" => include_str!("fixtures/github-tag.json"),
        "github-release" => include_str!("fixtures/github-release.json"),
        "gitlab-push" => include_str!("fixtures/gitlab-push.json"),
        "gitlab-release" => include_str!("fixtures/gitlab-release.json"),
        "gitea-push" => include_str!("fixtures/gitea-push.json"),
        "bitbucket-cloud" => include_str!("fixtures/bitbucket-cloud.json"),
        "bitbucket-server" => include_str!("fixtures/bitbucket-server.json"),
        "azure-devops" => include_str!("fixtures/azure-devops.json"),
        "flux" => include_str!("fixtures/flux.json"),
        _ => panic!("there is no fixture {name:?}"),
    }
}

fn push_to(branch: &str) -> Event {
    Event::Push(vec![branch.to_owned()])
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
        "bitbucket" if fixture.ends_with("server") => (Requester::Bitbucket, "PLANT/site"),
        "bitbucket" => (Requester::Bitbucket, "plant/site"),
        "azure" => (Requester::Azuredevops, "plant/lines/_git/site"),
        _ => (Requester::Flux, ""),
    };
    Case { fixture, header, source, event, repository }
}

#[test]
fn real_bodies_of_every_format_are_recognised() {
    let tag = || Event::Tag(vec!["v2.1.0".to_owned()]);
    let release = || Event::Request("v2.1.0".to_owned());
    for expected in [
        case("github-push", ("x-github-event", "push"), push_to("main")),
        case("github-tag", ("x-github-event", "push"), tag()),
        case("github-release", ("x-github-event", "release"), release()),
        case("gitlab-push", ("x-gitlab-event", "Push Hook"), push_to("main")),
        case("gitlab-release", ("x-gitlab-event", "Release Hook"), release()),
        case("gitea-push", ("x-gitea-event", "push"), push_to("main")),
        case("bitbucket-cloud", ("x-event-key", "repo:push"), push_to("main")),
        case("bitbucket-server", ("x-event-key", "repo:refs_changed"), push_to("main")),
        case("azure-devops", ("content-type", "application/json"), push_to("main")),
        case("flux", ("gotk-component", "source-controller"), push_to("main")),
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

fn outcome(event: Event, sync: &GatewaySync) -> Outcome {
    decide(&hint(event), Situation { sync, is_repeated: false })
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
    let tag = || Event::Tag(vec!["v2.1.0".to_owned()]);
    let range = "semver:>=2.0 <3";
    assert_eq!(outcome(tag(), &plant(range)), Outcome::Recheck(range.to_owned()));
    assert_eq!(outcome(tag(), &plant("refs/tags/v2.0.0")), Outcome::Request("v2.1.0".to_owned()));
    let mut resolved = plant("v2.0.0");
    resolved.status.get_or_insert_default().resolved_ref = Some("refs/tags/v2.0.0".to_owned());
    assert_eq!(outcome(tag(), &resolved), Outcome::Request("v2.1.0".to_owned()));
    assert_eq!(outcome(tag(), &plant("v2.1.0")), Outcome::Recheck("v2.1.0".to_owned()));
    assert!(matches!(outcome(tag(), &plant("main")), Outcome::Ignore(_)));
}

// F15
#[test]
fn a_request_for_what_is_followed_is_a_recheck() {
    let ask = |text: &str| Event::Request(text.to_owned());
    assert_eq!(outcome(ask("v2"), &plant("main")), Outcome::Request("v2".to_owned()));
    assert_eq!(outcome(ask("refs/tags/v2"), &plant("main")), Outcome::Request("v2".to_owned()));
    assert_eq!(outcome(ask("main"), &plant("main")), Outcome::Recheck("main".to_owned()));
    assert_eq!(outcome(ask("v2"), &requested("main", "v2")), Outcome::Recheck("v2".to_owned()));
    assert_eq!(outcome(ask("v3"), &requested("main", "v2")), Outcome::Request("v3".to_owned()));
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
    let decide = |hint: &Hint, is_repeated| decide(hint, Situation { sync: &sync, is_repeated });
    assert!(matches!(decide(&ask("2026-05-01T09:59:59Z"), false), Outcome::Ignore(_)));
    assert_eq!(decide(&ask("2026-05-01T10:00:01Z"), false), Outcome::Request("v1".to_owned()));
    assert_eq!(decide(&ask("2026-05-01T10:00:01Z"), true), Outcome::Recheck("v2".to_owned()));
    // A script that asks again means it.
    let script = Hint { source: Requester::Generic, ..hint(Event::Request("v1".to_owned())) };
    assert_eq!(decide(&script, true), Outcome::Request("v1".to_owned()));
}

#[test]
fn releases_carry_the_time_that_their_sender_signed() {
    for (header, body) in [
        (("x-github-event", "release"), "github-release"),
        (("x-gitlab-event", "Release Hook"), "gitlab-release"),
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
    let sync = plant("main");
    let outcome = decide(&other, Situation { sync: &sync, is_repeated: false });
    assert_eq!(
        outcome,
        Outcome::Ignore("\"plant/other\" is not the repository of this GatewaySync".to_owned())
    );
}
