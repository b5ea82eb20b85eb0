//! Claims about refs: what is asked, what is announced, and when.

use std::time::{Duration, Instant};

use serde_json::json;
use stoker_api::condition::{ConditionType, Trigger};
use stoker_api::names::Annotation;
use stoker_testkit::git::Repo;
use stoker_testkit::git::http::HttpServer;

use crate::world::{World, condition, eventually, is_true, quiet_sync, version};

// R10
#[tokio::test(flavor = "multi_thread")]
async fn a_push_is_announced_at_once_and_not_at_the_next_poll() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    let world = World::start().await;
    world.sync(quiet_sync("plant", &server.mount("plant", &repo))).await;
    let metadata = world.until_announced("plant", &first).await;
    assert_eq!(metadata.trigger, Some(Trigger::SpecChange));
    let second = repo.commit(version("2")).unwrap();
    let pushed = Instant::now();
    world.recheck("plant").await;
    let metadata = world.until_announced("plant", &second).await;
    println!("push -> announced: {:?}", pushed.elapsed());
    assert!(pushed.elapsed() < Duration::from_secs(10), "{:?}", pushed.elapsed());
    assert_eq!(metadata.trigger, Some(Trigger::Webhook));
    let sync = world.until("plant", "the status follows", |status| {
        status.resolved_commit.as_deref() == Some(second.as_str())
    });
    assert_eq!(sync.await.status.unwrap().resolved_ref.as_deref(), Some("refs/heads/main"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_commit_is_found_by_polling() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    let world = World::start().await;
    world.sync(quiet_sync("plant", &server.mount("plant", &repo)).polling("5s")).await;
    world.until_announced("plant", &first).await;
    let second = repo.commit(version("2")).unwrap();
    assert_eq!(world.until_announced("plant", &second).await.trigger, Some(Trigger::Polling));
}

#[tokio::test(flavor = "multi_thread")]
async fn annotated_tags_ids_and_ranges_lead_to_their_commits() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    repo.annotated_tag("v1.2.0", &first).unwrap();
    repo.tag("plain", &first).unwrap();
    let second = repo.commit(version("2")).unwrap();
    repo.commit(version("3")).unwrap();
    let server = HttpServer::start().unwrap();
    let url = server.mount("plant", &repo);
    let store = tempfile::tempdir().unwrap();
    let world = World::with(&[&format!("--store={}", store.path().display())]).await;
    let cases = [
        ("tag", "plain", &first),
        ("annotated", "v1.2.0", &first),
        ("full", "refs/tags/v1.2.0", &first),
        ("range", "semver:>=1.0 <2", &first),
        ("sha", second.as_str(), &second),
        ("short", &second.as_str()[..8], &second),
    ];
    for (name, wanted, _) in &cases {
        world.sync(quiet_sync(name, &url).git_ref(wanted)).await;
    }
    for (name, _, commit) in &cases {
        world.until_announced(name, commit).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_force_push_and_another_repository_are_announced() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let (other, moved) = Repo::with(version("moved")).unwrap();
    let server = HttpServer::start().unwrap();
    let world = World::start().await;
    world.sync(quiet_sync("plant", &server.mount("plant", &repo))).await;
    world.until_announced("plant", &first).await;
    let rewritten = repo.rewrite("main", version("rewritten")).unwrap();
    world.recheck("plant").await;
    world.until_announced("plant", &rewritten).await;
    let url = server.mount("other", &other);
    world.patch("plant", json!({ "spec": { "git": { "repo": url } } })).await;
    let metadata = world.until_announced("plant", &moved).await;
    assert_eq!(metadata.git_url.to_string(), url);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_ref_is_reported_and_the_last_good_commit_stays() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    let world = World::start().await;
    world.sync(quiet_sync("plant", &server.mount("plant", &repo))).await;
    world.until_announced("plant", &first).await;
    world.patch("plant", json!({ "spec": { "git": { "ref": "mian" } } })).await;
    let found =
        world.until_reason("plant", ConditionType::RefResolved, "RefResolutionFailed").await;
    assert!(found.message.starts_with("RefNotFound: "), "{}", found.message);
    let sync = world.get("plant").await;
    let status = sync.status.unwrap();
    assert!(!is_true(&status, ConditionType::Ready));
    assert_eq!(status.resolved_commit.as_deref(), Some(first.as_str()));
    assert_eq!(world.until_announced("plant", &first).await.git_ref.as_str(), "main");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_requested_ref_counts_until_the_spec_changes() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let other = repo.commit_to("next", version("2")).unwrap();
    let server = HttpServer::start().unwrap();
    let world = World::start().await;
    world.sync(quiet_sync("plant", &server.mount("plant", &repo))).await;
    world.until_announced("plant", &first).await;
    world.annotate("plant", Annotation::RequestedRef, "next").await;
    world.until_announced("plant", &other).await;
    let stamped = eventually("the request is stamped", || async {
        let annotations = world.get("plant").await.metadata.annotations?;
        annotations.get(Annotation::RequestedFor.as_str()).cloned()
    });
    assert_eq!(stamped.await, "main");
    world.patch("plant", json!({ "spec": { "git": { "ref": "refs/heads/main" } } })).await;
    world.until_announced("plant", &first).await;
    eventually("the request is cleared", || async {
        let annotations = world.get("plant").await.metadata.annotations.unwrap_or_default();
        let left = annotations.keys().filter(|name| name.contains("requested")).count();
        (left == 0).then_some(())
    })
    .await;
}

// What was listed before a ref was wanted says nothing of it: with polling off nothing else would
// ask the remote again.
#[tokio::test(flavor = "multi_thread")]
async fn a_ref_that_is_wanted_later_is_resolved_as_it_is_then() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    repo.commit_to("release", version("old")).unwrap();
    let server = HttpServer::start().unwrap();
    let url = server.mount("plant", &repo);
    let world = World::start().await;
    world.sync(quiet_sync("plant", &url)).await;
    world.until_announced("plant", &first).await;
    // A branch that is new, and one that has moved since.
    let made = repo.commit_to("made", version("2")).unwrap();
    let moved = repo.commit_to("release", version("new")).unwrap();
    for (branch, commit) in [("made", &made), ("release", &moved)] {
        world.patch("plant", json!({ "spec": { "git": { "ref": branch } } })).await;
        let metadata = eventually("the branch is announced", || async {
            let metadata = world.metadata("plant").await?;
            (metadata.git_ref.as_str() == branch).then_some(metadata)
        });
        assert_eq!(metadata.await.commit.unwrap().as_str(), commit.as_str());
    }
    // And a GatewaySync that is new.
    let last = repo.commit_to("release", version("last")).unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await; // times of creation have seconds
    world.sync(quiet_sync("other", &url).git_ref("release")).await;
    world.until_announced("other", &last).await;
}

// P21: one query serves all who share a remote.
#[tokio::test(flavor = "multi_thread")]
async fn gateway_syncs_that_share_a_remote_share_its_queries() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    let url = server.mount("plant", &repo);
    let world = World::start().await;
    let names: Vec<String> = (0..10).map(|number| format!("plant-{number}")).collect();
    for name in &names {
        world.sync(quiet_sync(name, &url)).await;
    }
    for name in &names {
        world.until_announced(name, &first).await;
    }
    let listings = server.requests().len();
    assert!(listings <= 4, "{listings} requests for one listing");
}

// P23: a remote that hangs is its own problem.
#[tokio::test(flavor = "multi_thread")]
async fn remotes_that_hang_stall_no_others() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let world = World::start().await;
    for number in 0..20 {
        let url = format!("http://127.0.0.1:{port}/{number}.git");
        world.sync(quiet_sync(&format!("hung-{number}"), &url)).await;
    }
    let started = Instant::now();
    let url = server.url_at("localhost", "plant");
    server.mount("plant", &repo);
    world.sync(quiet_sync("plant", &url)).await;
    world.until_announced("plant", &first).await;
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    let hung = world.get("hung-0").await.status.unwrap_or_default();
    assert!(!is_true(&hung, ConditionType::RefResolved));
}

// P23: also where each is a host of its own and is asked for the first time.
#[tokio::test(flavor = "multi_thread")]
async fn a_remote_that_answers_is_asked_while_many_new_ones_hang() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    let world = World::start().await;
    world.sync(quiet_sync("plant", &server.mount("plant", &repo))).await;
    world.until_announced("plant", &first).await;
    let silent = tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap();
    let port = silent.local_addr().unwrap().port();
    for number in 1..=30 {
        let url = format!("http://127.0.1.{number}:{port}/plant.git");
        world.sync(quiet_sync(&format!("hung-{number}"), &url)).await;
    }
    let mut held = Vec::new();
    while held.len() < 12 {
        held.push(silent.accept().await.unwrap());
    }
    let second = repo.commit(version("2")).unwrap();
    let started = Instant::now();
    world.recheck("plant").await;
    world.until_announced("plant", &second).await;
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn file_repositories_are_refused_unless_they_are_allowed() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let world = World::start().await;
    world.sync(quiet_sync("plant", &repo.url())).await;
    let found =
        world.until_reason("plant", ConditionType::RefResolved, "RefResolutionFailed").await;
    assert!(found.message.contains("--allow-file-repos"), "{}", found.message);
    assert_eq!(world.metadata("plant").await, None);
    let allowed = World::with(&["--allow-file-repos"]).await;
    allowed.sync(quiet_sync("plant", &repo.url())).await;
    allowed.until_announced("plant", &first).await;
}

// F4: whoever may write a GatewaySync does not get the controller's place in the network.
#[tokio::test(flavor = "multi_thread")]
async fn addresses_inside_are_refused_also_behind_a_name() {
    let (repo, _) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    server.mount("plant", &repo);
    let world = World::without_loopback().await;
    let urls = [
        server.url("plant"),
        server.url_at("localhost", "plant"),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        "http://[fd00:ec2::254]/latest".to_owned(),
    ];
    for (number, url) in urls.iter().enumerate() {
        let name = format!("plant-{number}");
        world.sync(quiet_sync(&name, url)).await;
        let kind = ConditionType::RefResolved;
        let found = world.until_reason(&name, kind, "RefResolutionFailed").await;
        assert!(found.message.contains("not allowed"), "{url}: {}", found.message);
    }
    assert_eq!(server.requests().len(), 0);
}

// F4: a server that may be asked does not send the controller where it may not.
#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_leads_to_no_other_host() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let (server, inside) = (HttpServer::start().unwrap(), HttpServer::start().unwrap());
    server.redirect("away", 302, &inside.mount("plant", &repo));
    server.redirect("renamed", 301, &server.mount("plant", &repo));
    let world = World::start().await;
    world.sync(quiet_sync("renamed", &server.url("renamed"))).await;
    world.until_announced("renamed", &first).await;
    world.sync(quiet_sync("away", &server.url("away"))).await;
    let found = world.until_reason("away", ConditionType::RefResolved, "RemoteUnreachable").await;
    for part in [&server.url("away"), &format!("http://{}", inside.address()), "spec.git.repo"] {
        assert!(found.message.contains(part), "{part}: {}", found.message);
    }
    assert_eq!(inside.requests().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_remote_that_goes_and_returns_is_reported_both_times() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    let world = World::start().await;
    world.sync(quiet_sync("plant", &server.mount("plant", &repo))).await;
    world.until_announced("plant", &first).await;
    server.unmount("plant");
    world.recheck("plant").await;
    let failed = world.until_reason("plant", ConditionType::RefResolved, "RemoteUnreachable").await;
    assert_eq!(failed.status, "False");
    server.mount("plant", &repo);
    let sync = world.until("plant", "it is resolved again", |status| {
        condition(status, ConditionType::RefResolved).is_some_and(|it| it.status == "True")
    });
    assert_eq!(sync.await.status.unwrap().resolved_commit.as_deref(), Some(first.as_str()));
}
