//! The ordinary way: a commit arrives, the next one follows, the report says so.

use fake_gateway as fake;
use stoker_api::condition::{Reason, SyncStatus, Trigger};
use stoker_api::contract::env::Env;
use stoker_api::names::Annotation;
use stoker_core::applied;
use stoker_testkit::git::{Edit, Tree};
use stoker_testkit::wait::eventually;

use crate::world::{World, write_pod};

#[test]
fn a_gateway_starts_with_the_first_commit_and_gets_the_next() {
    let (world, first) = World::new();
    world.make_status();
    let metadata = world.metadata(&first);
    world.publish(&metadata);
    let agent = world.start();
    agent.wait_started();
    assert_eq!(world.data("projects/hmi/views/main.json").unwrap(), "{\"a\":1}");
    let report = world.wait_report("synced", |report| report.sync_status == SyncStatus::Synced);
    assert_eq!(report.commit.as_ref().unwrap().as_str(), first.as_str());
    assert_eq!((report.files_added, report.trigger), (2, Some(Trigger::Startup)));
    assert_eq!((report.pod_uid.as_str(), report.profile.as_deref()), ("uid-1", Some("default")));
    assert_eq!(report.projects_synced, ["hmi"]);
    let expected = applied::hash(&applied::Applied {
        url: &metadata.git_url,
        commit: metadata.commit.as_ref().unwrap(),
        profile: metadata.profiles.values().next().unwrap(),
        exclude_patterns: None,
        gateway_name: None,
    });
    assert_eq!(report.applied, Some(expected));

    let edit = Edit::put(Tree::new().file("projects/hmi/views/main.json", "{\"a\":2}"));
    let second = world.repo.commit(edit).unwrap();
    let mut metadata = world.metadata(&second);
    metadata.trigger = Some(Trigger::Webhook);
    world.publish(&metadata);
    let report = world.wait_report("the second commit", |report| {
        report.commit.as_ref().is_some_and(|commit| commit.as_str() == second.as_str())
    });
    assert_eq!(world.data("projects/hmi/views/main.json").unwrap(), "{\"a\":2}");
    assert_eq!((report.sync_status, report.files_modified), (SyncStatus::Synced, 1));
    assert_eq!(report.trigger, Some(Trigger::Webhook));
    assert_eq!(agent.probe("/healthz").0, 200);
    let log = agent.log();
    let audit: Vec<_> = log.lines().filter(|line| line.contains("stoker::audit")).collect();
    let [_, second_sync] = audit[..] else { panic!("one line per sync: {audit:?}") };
    for part in [second.as_str(), "\"filesChanged\":1", "\"result\":\"success\"", "webhook"] {
        assert!(second_sync.contains(part), "{part}: {second_sync}");
    }
}

// F08: the profile changes, the commit stays.
#[test]
fn a_profile_that_changes_without_a_commit_is_synced() {
    let (world, commit) = World::new();
    world.make_status();
    world.publish(&world.metadata(&commit));
    let _agent = world.start();
    world.wait_report("synced", |report| report.sync_status == SyncStatus::Synced);
    let mut metadata = world.metadata(&commit);
    for profile in metadata.profiles.values_mut() {
        profile.mappings[0].destination = "projects/site".into();
        profile.max_delete_percent = Some(100);
    }
    world.publish(&metadata);
    eventually("the new destination", || world.data("projects/site/hmi/project.json").is_some());
    world.wait_report("synced again", |report| {
        report.sync_status == SyncStatus::Synced && report.trigger == Some(Trigger::ProfileChange)
    });
}

// R88: a running agent picks a changed port up.
#[test]
fn a_gateway_that_has_not_started_owes_a_scan_and_scans_when_it_runs() {
    let (mut world, commit) = World::new();
    world.make_status();
    let key = world.path("key");
    std::fs::write(&key, "ci:canary-secret").unwrap();
    world.set(Env::ApiKeyFile, key.display().to_string());
    let closed = stoker_testkit::port::DeadPort::take().unwrap();
    let mut metadata = world.metadata(&commit);
    metadata.gateway_port = Some(closed.number().unwrap());
    world.publish(&metadata);
    let agent = world.start();
    agent.wait_started();
    let report = world
        .wait_report("a scan is owed", |report| report.reason == Some(Reason::GatewayUnreachable));
    assert_eq!(report.sync_status, SyncStatus::Syncing);
    assert_eq!(report.commit.as_ref().unwrap().as_str(), commit.as_str());

    let options = fake::Options::over(world.path("data")).token("ci:canary-secret");
    let gateway = fake::Gateway::start(options).unwrap();
    metadata.gateway_port = Some(gateway.plain_port());
    world.publish(&metadata);
    let report = world.wait_report("synced", |report| report.sync_status == SyncStatus::Synced);
    assert_eq!(report.reason, None);
    let calls = gateway.calls();
    let is_scan = |call: &&str| call.starts_with("POST") && call.contains("/scan/projects");
    assert!(calls.iter().any(|call| is_scan(&call.as_str())), "{calls:?}");
    assert!(!agent.log().contains("canary"), "the key is in the log");
}

#[test]
fn annotations_are_read_live_and_a_mismatch_writes_nothing() {
    let (world, commit) = World::new();
    world.make_status();
    world.publish(&world.metadata(&commit));
    let other = [(Annotation::CrName, "other")];
    write_pod(&world.path("pod"), "..1", &other);
    let agent = world.start();
    agent.wait_started();
    let report = world.wait_report("mismatch", |report| report.reason == Some(Reason::PodMismatch));
    assert_eq!(report.sync_status, SyncStatus::Error);
    assert_eq!(world.data("projects/hmi/project.json"), None);
    let ours = [(Annotation::CrName, "plant"), (Annotation::GatewayName, "Plant 1")];
    write_pod(&world.path("pod"), "..2", &ours);
    let report = world.wait_report("synced", |report| report.sync_status == SyncStatus::Synced);
    assert_eq!(report.gateway.as_str(), "Plant 1");
}

#[test]
fn paused_agents_write_nothing_and_terminating_ones_acknowledge() {
    let (world, commit) = World::new();
    world.make_status();
    let mut metadata = world.metadata(&commit);
    metadata.is_paused = true;
    world.publish(&metadata);
    let agent = world.start();
    agent.wait_started();
    world.wait_report("paused", |report| report.sync_status == SyncStatus::Paused);
    assert_eq!(world.data("projects/hmi/project.json"), None);
    (metadata.is_paused, metadata.is_terminating) = (false, true);
    world.publish(&metadata);
    world.wait_report("acknowledged", |report| report.acknowledged);
    assert_eq!(world.data("projects/hmi/project.json"), None);
}
