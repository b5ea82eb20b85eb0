//! Supervisor and worker: what happens when they are killed or asked to end.

use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use stoker_api::condition::SyncStatus;
use stoker_testkit::git::{Edit, Tree};
use stoker_testkit::wait::eventually;

use crate::world::World;

fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}

fn many(count: u32, content: &str) -> Tree {
    (0..count).fold(Tree::new(), |tree, number| {
        let path = format!("projects/p{}/r{number}/data.json", number % 20);
        tree.file(path, format!("{{\"number\":{number},\"content\":{content:?}}}"))
    })
}

// A1, S5, R14: the worker is killed in the middle of a sync; probes stay green, files are whole.
#[test]
fn a_worker_that_is_killed_mid_sync_is_started_again_and_no_file_is_mixed() {
    let (world, first) = World::new();
    world.make_status();
    world.publish(&world.metadata(&first));
    let agent = world.start();
    world.wait_report("synced", |report| report.sync_status == SyncStatus::Synced);
    let old = world.repo.commit(Edit::put(many(2000, "old"))).unwrap();
    world.publish(&world.metadata(&old));
    let has = |commit: &str| {
        let report = world.report();
        report.and_then(|report| report.commit).is_some_and(|found| found.as_str() == commit)
    };
    eventually("the old commit", || has(old.as_str()));
    let new = world.repo.commit(Edit::put(many(2000, "new"))).unwrap();
    world.publish(&world.metadata(&new));
    let is_writing = || {
        let staged = std::fs::read_dir(world.path("data/.sync-staging"));
        staged.is_ok_and(|mut staged| staged.next().is_some())
    };
    eventually("files are being written", is_writing);
    let worker = agent.worker().unwrap();
    kill(worker);
    assert_eq!(agent.probe("/healthz").0, 200);
    assert_eq!(agent.probe("/startupz").0, 200);
    eventually("another worker", || agent.worker().is_some_and(|pid| pid != worker));
    eventually("the new commit", || has(new.as_str()));
    let mixed = (0..2000).filter(|number| {
        let path = format!("projects/p{}/r{number}/data.json", number % 20);
        world.data(&path).is_none_or(|text| !text.contains("\"new\""))
    });
    assert_eq!(mixed.count(), 0);
    assert!(!is_writing(), "temporary files are left");
}

#[test]
fn sigterm_ends_the_agent_and_the_last_report_was_delivered() {
    let (world, commit) = World::new();
    world.make_status();
    world.publish(&world.metadata(&commit));
    let mut agent = world.start();
    world.wait_report("synced", |report| report.sync_status == SyncStatus::Synced);
    let asked = Instant::now();
    agent.terminate();
    agent.wait_end();
    assert!(asked.elapsed().as_secs() < 5, "{:?}", asked.elapsed());
}

// A16, R78: SIGTERM in the middle of a sync ends within the grace period, old or new but not mixed.
#[test]
fn sigterm_mid_sync_finishes_or_undoes_it() {
    let (world, first) = World::new();
    world.make_status();
    world.publish(&world.metadata(&first));
    let mut agent = world.start();
    world.wait_report("synced", |report| report.sync_status == SyncStatus::Synced);
    let new = world.repo.commit(Edit::put(many(2000, "new"))).unwrap();
    world.publish(&world.metadata(&new));
    eventually("files are being written", || world.path("data/.sync-staging").exists());
    let asked = Instant::now();
    agent.terminate();
    agent.wait_end();
    assert!(asked.elapsed().as_secs() < 15, "{:?}", asked.elapsed());
    let arrived = (0..2000).filter(|number| {
        world.data(&format!("projects/p{}/r{number}/data.json", number % 20)).is_some()
    });
    let arrived = arrived.count();
    assert!(arrived == 0 || arrived == 2000, "{arrived} of 2000");
}
