//! Parts that are away: git, the metadata, the status object.

use stoker_api::condition::{Reason, SyncStatus};
use stoker_api::contract::env::Env;
use stoker_testkit::git::{Edit, Tree};
use stoker_testkit::wait::eventually;

use crate::world::World;

// R13: git is down, the volume has a last good state.
#[test]
fn with_git_down_a_gateway_starts_on_its_last_good_state_and_recovers_by_itself() {
    let (world, first) = World::new();
    world.make_status();
    world.publish(&world.metadata(&first));
    let agent = world.start();
    world.wait_report("synced", |report| report.sync_status == SyncStatus::Synced);
    drop(agent);

    let edit = Edit::put(Tree::new().file("projects/hmi/views/main.json", "{\"a\":2}"));
    let second = world.repo.commit(edit).unwrap();
    world.server.unmount("plant");
    world.publish(&world.metadata(&second));
    let agent = world.start();
    agent.wait_started();
    let report = world.wait_report("degraded", |report| report.sync_status == SyncStatus::Degraded);
    assert_eq!(report.reason, Some(Reason::RemoteUnreachable));
    assert_eq!(report.commit.unwrap().as_str(), first.as_str());
    assert_eq!(world.data("projects/hmi/views/main.json").unwrap(), "{\"a\":1}");

    world.server.mount("plant", &world.repo);
    world.wait_report("synced", |report| {
        report.sync_status == SyncStatus::Synced
            && report.commit.as_ref().is_some_and(|commit| commit.as_str() == second.as_str())
    });
}

// S3: git is down, the volume is empty.
#[test]
fn with_git_down_and_an_empty_volume_a_gateway_waits_and_says_so() {
    let (world, commit) = World::new();
    world.make_status();
    world.server.unmount("plant");
    world.publish(&world.metadata(&commit));
    let agent = world.start();
    let report = world.wait_report("an error", |report| report.sync_status == SyncStatus::Error);
    assert_eq!(report.reason, Some(Reason::RemoteUnreachable));
    let (status, body) = agent.probe("/startupz");
    assert!(status == 503 && body.starts_with("waiting for git:"), "{status} {body}");
    assert_eq!(agent.probe("/healthz").0, 200);
    world.server.mount("plant", &world.repo);
    agent.wait_started();
    assert!(world.data("projects/hmi/project.json").is_some());
}

#[test]
fn with_git_down_longer_than_the_deadline_a_gateway_starts_and_is_degraded() {
    let (mut world, commit) = World::new();
    world.make_status();
    world.server.unmount("plant");
    world.set(Env::StartupDeadline, "2s");
    world.publish(&world.metadata(&commit));
    let agent = world.start();
    agent.wait_started();
    world.wait_report("degraded", |report| report.sync_status == SyncStatus::Degraded);
}

#[test]
fn metadata_that_comes_late_is_applied_at_once() {
    let (world, commit) = World::new();
    let agent = world.start();
    eventually("it says what it waits for", || {
        agent.probe("/startupz").1.starts_with("waiting for its metadata:")
    });
    world.publish(&world.metadata(&commit));
    agent.wait_started();
    assert!(world.data("projects/hmi/project.json").is_some());
    // The status object comes last; until then the agent may not write.
    assert_eq!(world.report(), None);
    world.make_status();
    world.wait_report("synced", |report| report.sync_status == SyncStatus::Synced);
}

#[test]
fn a_report_is_written_again_when_its_object_was_made_again() {
    let (world, commit) = World::new();
    world.make_status();
    let metadata = world.metadata(&commit);
    world.publish(&metadata);
    let _agent = world.start();
    let before = world.wait_report("synced", |report| report.sync_status == SyncStatus::Synced);
    world.remake_status(&metadata);
    let after = world.wait_report("written again", |_| true);
    assert_eq!(after, before);
}

// C14: a controller of another version announces something that this agent can't read.
#[test]
fn an_announcement_that_can_t_be_read_is_reported_and_files_stay() {
    let (world, commit) = World::new();
    world.make_status();
    world.publish(&world.metadata(&commit));
    let _agent = world.start();
    world.wait_report("synced", |report| report.sync_status == SyncStatus::Synced);
    let mut data = world.metadata(&commit).to_data().unwrap();
    data.insert("protocol".to_owned(), "9".to_owned());
    world.publish_data(data);
    let report = world.wait_report("an error", |report| report.sync_status == SyncStatus::Error);
    assert_eq!(report.reason, Some(Reason::MetadataInvalid));
    assert_eq!(report.commit.unwrap().as_str(), commit.as_str());
    assert!(world.data("projects/hmi/project.json").is_some());
    world.publish(&world.metadata(&commit));
    world.wait_report("synced again", |report| report.sync_status == SyncStatus::Synced);
}
