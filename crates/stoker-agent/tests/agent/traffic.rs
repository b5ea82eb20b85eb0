//! What the agent asks of the API server, and what it does while that is away.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use stoker_api::condition::{SyncStatus, Trigger};
use stoker_api::contract::env::Env;
use stoker_api::word::RepoUrl;
use stoker_testkit::git::{Edit, Tree};
use stoker_testkit::proxy::{Fault, FaultProxy, Match, Verb};
use stoker_testkit::wait::eventually;

use crate::world::World;

fn is_synced_at(world: &World, commit: &str) -> bool {
    let report = world.report();
    let report = report.filter(|report| report.sync_status == SyncStatus::Synced);
    report.and_then(|report| report.commit).is_some_and(|found| found.as_str() == commit)
}

// C5: one write per report, and no request beyond one list and one watch.
#[test]
fn a_start_costs_one_list_one_watch_and_one_write_and_a_commit_one_write() {
    let (world, first) = World::new();
    world.make_status();
    world.publish(&world.metadata(&first));
    let proxy = FaultProxy::start(world.config()).unwrap();
    let _agent = world.start_through(&proxy);
    eventually("synced", || is_synced_at(&world, first.as_str()));
    let edit = Edit::put(Tree::new().file("projects/hmi/views/main.json", "{\"a\":2}"));
    let second = world.repo.commit(edit).unwrap();
    world.publish(&world.metadata(&second));
    eventually("synced again", || is_synced_at(&world, second.as_str()));
    let count = |verb| proxy.count(&Match::verb(verb));
    assert_eq!((count(Verb::List), count(Verb::Watch)), (1, 1), "{:?}", proxy.tally());
    assert_eq!((count(Verb::Patch), proxy.count(&Match::any())), (2, 4), "{:?}", proxy.tally());
}

// F06: an agent that may not watch reads once a sync period.
#[test]
fn without_the_right_to_watch_a_commit_arrives_within_the_sync_period() {
    let (world, first) = World::new();
    world.make_status();
    world.publish(&world.metadata(&first));
    let proxy = FaultProxy::start(world.config()).unwrap();
    let forbidden = proxy.fault(Match::verb(Verb::Watch), Fault::Status(403));
    let _agent = world.start_through(&proxy);
    eventually("synced", || is_synced_at(&world, first.as_str()));
    let edit = Edit::put(Tree::new().file("projects/hmi/views/main.json", "{\"a\":2}"));
    let second = world.repo.commit(edit).unwrap();
    let announced = Instant::now();
    world.publish(&world.metadata(&second));
    eventually("synced again", || is_synced_at(&world, second.as_str()));
    // The period is 5 s; the usual one is 30 s.
    assert!(announced.elapsed() < Duration::from_secs(25), "{:?}", announced.elapsed());
    assert!(forbidden.hits() >= 1);
}

// F06: a server that breaks every watch is asked less and less often, not in a tight loop.
#[test]
fn where_every_watch_breaks_the_pauses_between_reads_grow() {
    let (world, commit) = World::new();
    world.make_status();
    world.publish(&world.metadata(&commit));
    let proxy = FaultProxy::start(world.config()).unwrap();
    let _broken = proxy.fault(Match::verb(Verb::Watch), Fault::Status(500));
    let started = Instant::now();
    let _agent = world.start_through(&proxy);
    eventually("it reads again", || proxy.count(&Match::verb(Verb::List)) >= 5);
    // At least 0.25, 0.5, 1 and 2 s; without growth it were at most 3 s.
    assert!(started.elapsed() >= Duration::from_millis(3750), "{:?}", started.elapsed());
    assert!(is_synced_at(&world, commit.as_str()));
}

// C1: the API server goes away and comes back.
#[test]
fn an_outage_of_the_api_server_changes_nothing_and_is_caught_up_with_in_seconds() {
    let (world, first) = World::new();
    world.make_status();
    world.publish(&world.metadata(&first));
    let proxy = FaultProxy::start(world.config()).unwrap();
    let agent = world.start_through(&proxy);
    eventually("synced", || is_synced_at(&world, first.as_str()));
    let outage = proxy.outage();
    let edit = Edit::put(Tree::new().file("projects/hmi/views/main.json", "{\"a\":2}"));
    let second = world.repo.commit(edit).unwrap();
    world.publish(&world.metadata(&second));
    for path in ["/healthz", "/startupz"] {
        assert_eq!(agent.probe(path).0, 200);
    }
    assert_eq!(world.data("projects/hmi/views/main.json").unwrap(), "{\"a\":1}");
    drop(outage);
    let returned = Instant::now();
    eventually("synced again", || is_synced_at(&world, second.as_str()));
    assert!(returned.elapsed() < Duration::from_secs(15), "{:?}", returned.elapsed());
}

// R13: neither git nor the API server is there when the container restarts.
#[test]
fn a_gateway_with_a_last_good_state_starts_without_the_api_server() {
    let (world, first) = World::new();
    world.make_status();
    world.publish(&world.metadata(&first));
    let proxy = FaultProxy::start(world.config()).unwrap();
    let agent = world.start_through(&proxy);
    eventually("synced", || is_synced_at(&world, first.as_str()));
    drop(agent);
    let _outage = proxy.outage();
    world.server.unmount("plant");
    let started = Instant::now();
    let agent = world.start_through(&proxy);
    agent.wait_started();
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

// S3: on an empty volume an API server that is away counts like git that is away.
#[test]
fn without_the_api_server_a_gateway_on_an_empty_volume_waits_until_the_deadline() {
    let (mut world, _) = World::new();
    world.set(Env::StartupDeadline, "4s");
    let proxy = FaultProxy::start(world.config()).unwrap();
    let _outage = proxy.outage();
    let started = Instant::now();
    let agent = world.start_through(&proxy);
    eventually("it says what it waits for", || {
        agent.probe("/startupz").1.starts_with("waiting for the API server")
    });
    agent.wait_started();
    let took = started.elapsed();
    assert!(took >= Duration::from_secs(4) && took < Duration::from_secs(15), "{took:?}");
}

// R45, B11: a stalled server does not keep a newer announcement waiting.
#[test]
fn a_newer_announcement_ends_a_fetch_that_hangs() {
    let (world, commit) = World::new();
    world.make_status();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut metadata = world.metadata(&commit);
    let url = format!("http://{}/plant.git", silent.local_addr().unwrap());
    metadata.git_url = RepoUrl::parse(&url).unwrap();
    metadata.git_timeout = stoker_api::word::Interval::from_secs(600);
    world.publish(&metadata);
    let _agent = world.start();
    let _hanging = silent.accept().unwrap();
    world.publish(&world.metadata(&commit));
    eventually("synced", || is_synced_at(&world, commit.as_str()));
}

// R87: the GatewaySync is deleted while a report could not be delivered.
#[test]
fn with_its_gatewaysync_deleted_an_agent_writes_nothing_more_and_files_stay() {
    let (world, first) = World::new();
    world.make_status();
    world.publish(&world.metadata(&first));
    let proxy = FaultProxy::start(world.config()).unwrap();
    let mut agent = world.start_through(&proxy);
    eventually("synced", || is_synced_at(&world, first.as_str()));
    let refused = proxy.fault(Match::writes(), Fault::Status(503));
    let edit = Edit::put(Tree::new().file("projects/hmi/views/main.json", "{\"a\":2}"));
    let second = world.repo.commit(edit).unwrap();
    world.publish(&world.metadata(&second));
    eventually("a report is refused", || refused.hits() >= 1);
    world.delete_objects();
    eventually("it knows", || agent.log().contains("nothing is announced"));
    refused.lift();
    let writes = proxy.count(&Match::writes());
    // At its end an agent delivers what it still has to say.
    agent.terminate();
    agent.wait_end();
    assert_eq!(proxy.count(&Match::writes()), writes, "{:?}", proxy.tally());
    assert_eq!(world.count_objects(), 0);
    assert_eq!(world.data("projects/hmi/views/main.json").unwrap(), "{\"a\":2}");
}

// A8, G5: what was changed on the gateway is repaired when a sync is asked for.
#[test]
fn a_sync_that_is_asked_for_repairs_drift_and_reports_it() {
    let (world, commit) = World::new();
    world.make_status();
    let mut metadata = world.metadata(&commit);
    world.publish(&metadata);
    let _agent = world.start();
    eventually("synced", || is_synced_at(&world, commit.as_str()));
    std::fs::remove_file(world.path("data/projects/hmi/views/main.json")).unwrap();
    metadata.requested_at = Some("2026-11-16T10:00:00Z".parse().unwrap());
    metadata.trigger = Some(Trigger::Manual);
    world.publish(&metadata);
    let report = world.wait_report("repaired", |report| report.drift.is_some());
    let drift = report.drift.unwrap();
    assert_eq!((drift.count, drift.repaired), (1, true));
    assert_eq!(drift.paths, ["projects/hmi/views/main.json"]);
    assert_eq!(report.trigger, Some(Trigger::Manual));
    assert_eq!(world.data("projects/hmi/views/main.json").unwrap(), "{\"a\":1}");
}
