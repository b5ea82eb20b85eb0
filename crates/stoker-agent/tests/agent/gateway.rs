//! The gateway beside the agent: not commissioned yet, edited by people, slow to scan.

use std::time::{Duration, Instant};

use fake_gateway as fake;
use stoker_api::condition::{Reason, SyncStatus};
use stoker_api::contract::env::Env;
use stoker_api::contract::metadata::Metadata;
use stoker_api::gatewaysync::DesignerSessionPolicy;
use stoker_testkit::git::{Edit, Oid, Tree};
use stoker_testkit::wait::eventually;

use crate::world::World;

const KEY: &str = "ci:canary-secret";
const VIEW: &str = "projects/hmi/views/main.json";

/// A gateway over the world's data directory, and what announces it.
fn gateway(
    world: &mut World,
    commit: &Oid,
    change: impl FnOnce(fake::Options) -> fake::Options,
) -> (fake::Gateway, Metadata) {
    world.make_status();
    let key = world.path("key");
    std::fs::write(&key, KEY).unwrap();
    world.set(Env::ApiKeyFile, key.display().to_string());
    let options = change(fake::Options::over(world.path("data")).token(KEY));
    let gateway = fake::Gateway::start(options).unwrap();
    let mut metadata = world.metadata(commit);
    metadata.gateway_port = Some(gateway.plain_port());
    (gateway, metadata)
}

fn next(world: &World, metadata: &Metadata, content: &str) -> Metadata {
    let commit = world.repo.commit(Edit::put(Tree::new().file(VIEW, content))).unwrap();
    Metadata { commit: world.metadata(&commit).commit, ..metadata.clone() }
}

// R22, R24, S6, G5: a gateway that is commissioned writes over files; they are repaired, once, to the
// commit that came meanwhile.
#[test]
fn a_gateway_that_is_commissioned_later_is_scanned_and_repaired() {
    let (mut world, commit) = World::new();
    let (gateway, metadata) = gateway(&mut world, &commit, |options| {
        options.state(fake::State::Uncommissioned).seed(VIEW, "of the seed")
    });
    world.publish(&metadata);
    let agent = world.start();
    agent.wait_started();
    let report =
        world.wait_report("it waits", |report| report.reason == Some(Reason::GatewayNotReady));
    assert_eq!(report.sync_status, SyncStatus::Syncing);
    let newer = next(&world, &metadata, "{\"a\":2}");
    world.publish(&newer);
    world.wait_report("the newer commit", |report| report.commit == newer.commit);
    gateway.set(fake::State::Running);
    assert_eq!(world.data(VIEW).unwrap(), "of the seed");
    eventually("the file is repaired", || world.data(VIEW).unwrap() == "{\"a\":2}");
    let report = world.wait_report("synced", |report| report.sync_status == SyncStatus::Synced);
    assert_eq!((report.reason, report.commit), (None, newer.commit));
}

// R44, R45: while a Designer is open the policy `fail` writes nothing, and it goes on by itself.
#[test]
fn an_open_designer_blocks_by_policy_and_a_closed_one_does_not() {
    let (mut world, commit) = World::new();
    let (gateway, mut metadata) = gateway(&mut world, &commit, |options| options);
    for profile in metadata.profiles.values_mut() {
        profile.designer_session_policy = DesignerSessionPolicy::Fail;
    }
    world.publish(&metadata);
    let _agent = world.start();
    world.wait_report("synced", |report| report.sync_status == SyncStatus::Synced);
    let session = gateway.open_designer("alice", "hmi");
    world.publish(&next(&world, &metadata, "{\"a\":2}"));
    let report = world.wait_report("blocked", |report| report.sync_status == SyncStatus::Error);
    assert_eq!(report.reason, Some(Reason::DesignerSessionActive));
    assert!(report.message.contains("alice"), "{}", report.message);
    assert_eq!(world.data(VIEW).unwrap(), "{\"a\":1}");
    gateway.close_designer(&session);
    world.wait_report("synced", |report| report.sync_status == SyncStatus::Synced);
    assert_eq!(world.data(VIEW).unwrap(), "{\"a\":2}");
}

// R44: the policy `wait` waits for sessions to close, and goes on when they have.
#[test]
fn a_sync_that_waits_for_a_designer_goes_on_when_the_session_closes() {
    let (mut world, commit) = World::new();
    let (gateway, mut metadata) = gateway(&mut world, &commit, |options| options);
    for profile in metadata.profiles.values_mut() {
        profile.designer_session_policy = DesignerSessionPolicy::Wait;
    }
    world.publish(&metadata);
    let _agent = world.start();
    world.wait_report("synced", |report| report.sync_status == SyncStatus::Synced);
    let session = gateway.open_designer("alice", "hmi");
    let before = gateway.calls().len();
    let newer = next(&world, &metadata, "{\"a\":2}");
    world.publish(&newer);
    let is_question = |call: &String| call.contains("/data/api/v1/designers");
    let asked = || gateway.calls()[before..].iter().filter(|call| is_question(call)).count();
    eventually("it asks again and again", || asked() >= 2);
    assert_eq!(world.data(VIEW).unwrap(), "{\"a\":1}");
    gateway.close_designer(&session);
    world.wait_report("synced", |report| {
        report.sync_status == SyncStatus::Synced && report.commit == newer.commit
    });
    assert_eq!(world.data(VIEW).unwrap(), "{\"a\":2}");
}

// R38: a sync that still waits for a Designer when a pause comes writes nothing.
#[test]
fn a_pause_ends_the_wait_for_a_designer() {
    let (mut world, commit) = World::new();
    let (gateway, mut metadata) = gateway(&mut world, &commit, |options| options);
    for profile in metadata.profiles.values_mut() {
        profile.designer_session_policy = DesignerSessionPolicy::Wait;
    }
    world.publish(&metadata);
    let agent = world.start();
    world.wait_report("synced", |report| report.sync_status == SyncStatus::Synced);
    let session = gateway.open_designer("alice", "hmi");
    let before = gateway.calls().len();
    let newer = next(&world, &metadata, "{\"a\":2}");
    world.publish(&newer);
    let is_question = |call: &String| call.contains("/data/api/v1/designers");
    eventually("it waits", || gateway.calls()[before..].iter().any(is_question));
    world.publish(&Metadata { is_paused: true, ..newer.clone() });
    eventually("it ends", || agent.log().contains("the sync was cancelled"));
    gateway.close_designer(&session);
    world.wait_report("paused", |report| report.sync_status == SyncStatus::Paused);
    assert_eq!(world.data(VIEW).unwrap(), "{\"a\":1}");
    world.publish(&newer);
    world.wait_report("synced", |report| {
        report.sync_status == SyncStatus::Synced && report.commit == newer.commit
    });
}

#[test]
fn a_newer_commit_ends_the_wait_for_a_slow_scan() {
    let (mut world, commit) = World::new();
    let slow = Duration::from_secs(40);
    let (gateway, metadata) = gateway(&mut world, &commit, |mut options| {
        options.status_lag = slow;
        options
    });
    world.publish(&metadata);
    let _agent = world.start();
    let is_scan = |call: &String| call.starts_with("POST /data/api/v1/scan/");
    eventually("a scan is asked for", || gateway.calls().iter().any(is_scan));
    let started = Instant::now();
    world.publish(&next(&world, &metadata, "{\"a\":2}"));
    eventually("the newer commit", || world.data(VIEW).unwrap() == "{\"a\":2}");
    assert!(started.elapsed() < slow / 2, "{:?}", started.elapsed());
}

// S8: the report names the project that changed.
// R42: what no mapping takes sets no scan off.
#[test]
fn a_change_of_one_project_names_it_and_one_outside_of_mappings_scans_nothing() {
    let (mut world, _) = World::new();
    let other = Tree::new().file("projects/other/project.json", "{}");
    let commit = world.repo.commit(Edit::put(other)).unwrap();
    let (gateway, metadata) = gateway(&mut world, &commit, |options| options);
    world.publish(&metadata);
    let _agent = world.start();
    let synced = |wanted: &Metadata| {
        world.wait_report("synced", |report| {
            report.sync_status == SyncStatus::Synced && report.commit == wanted.commit
        })
    };
    assert_eq!(synced(&metadata).projects_synced, ["hmi", "other"]);
    let newer = next(&world, &metadata, "{\"a\":2}");
    world.publish(&newer);
    assert_eq!(synced(&newer).projects_synced, ["hmi"]);
    let is_scan = |call: &&String| call.starts_with("POST /data/api/v1/scan/");
    let scans = || gateway.calls().iter().filter(is_scan).count();
    let before = scans();
    assert!(before > 0, "changes were scanned");
    let edit = Edit::put(Tree::new().file("README.md", "still not mapped"));
    let commit = world.repo.commit(edit).unwrap();
    let unmapped = Metadata { commit: world.metadata(&commit).commit, ..newer.clone() };
    world.publish(&unmapped);
    synced(&unmapped);
    assert_eq!(scans(), before);
}

// F35: the end of an agent cuts a scan short; its last report has the commit of the files.
#[test]
fn an_agent_that_ends_while_it_waits_for_a_scan_reports_what_it_did() {
    let (mut world, commit) = World::new();
    let (gateway, metadata) = gateway(&mut world, &commit, |mut options| {
        options.status_lag = Duration::from_secs(40);
        options
    });
    world.publish(&metadata);
    let mut agent = world.start();
    let is_scan = |call: &String| call.starts_with("POST /data/api/v1/scan/");
    eventually("a scan is asked for", || gateway.calls().iter().any(is_scan));
    agent.terminate();
    agent.wait_end();
    let report = world.report().unwrap();
    assert_eq!(report.commit, metadata.commit);
    assert_ne!(report.sync_status, SyncStatus::Synced, "{report:?}");
    assert!(report.reason.is_some(), "{report:?}");
}

// G1, R43: a refused key has a reason of its own, and the files of the last commit stay.
#[test]
fn a_refused_api_key_is_reported_and_a_rotated_one_is_used() {
    let (mut world, commit) = World::new();
    let (gateway, metadata) = gateway(&mut world, &commit, |options| options);
    world.publish(&metadata);
    let agent = world.start();
    world.wait_report("synced", |report| report.sync_status == SyncStatus::Synced);
    gateway.set_tokens([fake::Token::parse("ci:canary-rotated").unwrap()]);
    world.publish(&next(&world, &metadata, "{\"a\":2}"));
    let report = world.wait_report("refused", |report| report.sync_status == SyncStatus::Error);
    assert_eq!(report.reason, Some(Reason::GatewayUnauthorized));
    std::fs::write(world.path("key"), "ci:canary-rotated").unwrap();
    world.wait_report("synced", |report| report.sync_status == SyncStatus::Synced);
    assert_eq!(world.data(VIEW).unwrap(), "{\"a\":2}");
    assert!(!agent.log().contains("canary"), "a key is in the log");
}

// G3: a gateway does not start without its files because its API key is missing.
#[test]
fn a_gateway_starts_with_its_files_though_its_api_key_is_missing() {
    let (mut world, commit) = World::new();
    let (gateway, metadata) =
        gateway(&mut world, &commit, |options| options.state(fake::State::Down));
    std::fs::remove_file(world.path("key")).unwrap();
    world.publish(&metadata);
    let agent = world.start();
    agent.wait_started();
    assert_eq!(world.data(VIEW).unwrap(), "{\"a\":1}");
    let report = world.wait_report("no key", |report| report.sync_status == SyncStatus::Error);
    assert_eq!(report.reason, Some(Reason::GatewayKeyMissing));
    assert_eq!(report.commit, metadata.commit);
    std::fs::write(world.path("key"), KEY).unwrap();
    gateway.set(fake::State::Running);
    world.wait_report("synced", |report| report.sync_status == SyncStatus::Synced);
}

// A13: a mass deletion waits for its commit to be confirmed.
#[test]
fn a_mass_deletion_is_reported_until_it_is_confirmed() {
    let (world, _) = World::new();
    let many = (0..60).fold(Tree::new(), |tree, number| {
        tree.file(format!("projects/hmi/r{number}/data.json"), "{}")
    });
    let full = world.repo.commit(Edit::put(many)).unwrap();
    world.make_status();
    world.publish(&world.metadata(&full));
    let _agent = world.start();
    world.wait_report("synced", |report| report.sync_status == SyncStatus::Synced);
    let rest = Tree::new().file("projects/other/project.json", "{\"other\":1}");
    let reduced = world.repo.commit(Edit::put(rest).and_remove("projects/hmi")).unwrap();
    let mut metadata = world.metadata(&reduced);
    world.publish(&metadata);
    let report = world.wait_report("blocked", |report| report.deletion_blocked.is_some());
    let blocked = report.deletion_blocked.unwrap();
    assert_eq!((blocked.commit.as_str(), blocked.deletes), (reduced.as_str(), 62));
    assert!(world.data("projects/hmi/r7/data.json").is_some());
    metadata.allow_mass_delete.clone_from(&metadata.commit);
    world.publish(&metadata);
    let report = world.wait_report("synced", |report| report.sync_status == SyncStatus::Synced);
    assert_eq!(report.deletion_blocked, None);
    assert_eq!(world.data("projects/hmi/r7/data.json"), None);
}
