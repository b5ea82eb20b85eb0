//! Claims about two controllers.

use k8s_openapi::api::coordination::v1::Lease;
use rustix::process::Signal;
use stoker_api::condition::ConditionType;
use stoker_testkit::git::Repo;
use stoker_testkit::git::http::HttpServer;
use stoker_testkit::proxy::{Fault, FaultProxy, Match};

use crate::gateway::events;
use crate::world::{World, cluster, eventually, quiet_sync, version};

const LEASE: &str = "a86165bb.stoker.io";

async fn until_leads(world: &World, name: &str) {
    eventually(&format!("{name} leads"), || async {
        let lease = world.api::<Lease>().get_opt(LEASE).await.unwrap()?;
        (lease.spec?.holder_identity? == name).then_some(())
    })
    .await;
}

// C7: a leader that sleeps through its lease changes nothing when it wakes up.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_was_frozen_writes_nothing_after_another_took_over() {
    let world = World::idle(&["--lease-seconds=6"]).await;
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    let one = world.another(&["--identity=one"]);
    until_leads(&world, "one").await;
    world.sync(quiet_sync("plant", &server.mount("plant", &repo))).await;
    world.until_announced("plant", &first).await;
    let pod = world.gateway("ignition-0", "plant").await;
    world.report_synced(&pod, "plant").await;
    world.until_reason("plant", ConditionType::Ready, "AllSynced").await;
    until_told(&world, 1).await;
    let mut two = world.another(&["--identity=two"]);
    // It is asked to write, and freezes.
    world.recheck("plant").await;
    one.signal(Signal::STOP).unwrap();
    until_leads(&world, "two").await;
    let second = repo.commit(version("2")).unwrap();
    world.recheck("plant").await;
    world.until_announced("plant", &second).await;
    world.report_synced(&pod, "plant").await;
    world.until_reason("plant", ConditionType::Ready, "AllSynced").await;
    until_told(&world, 2).await;
    one.signal(Signal::CONT).unwrap();
    eventually("the first knows that it does not lead", || async {
        world.log().contains("not leading any more").then_some(())
    })
    .await;
    world.until_announced("plant", &second).await;
    // A clean end hands over at once, well before the lease ends.
    two.signal(Signal::TERM).unwrap();
    two.wait().unwrap();
    until_leads(&world, "one").await;
    let third = repo.commit(version("3")).unwrap();
    world.recheck("plant").await;
    world.until_announced("plant", &third).await;
    world.report_synced(&pod, "plant").await;
    world.until_reason("plant", ConditionType::Ready, "AllSynced").await;
    assert_eq!(until_told(&world, 3).await, 3, "once each");
}

/// Waits until so many commits were told, and returns how many were. An event follows the status, and
/// a process that is stopped in between does not write it.
async fn until_told(world: &World, count: usize) -> usize {
    eventually("every commit was told", || async {
        let told = events(world, "SyncCompleted").await.len();
        (told >= count).then_some(told)
    })
    .await
}

// C13: without the right to renew its Lease an instance says so, stops, and goes on later.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_may_not_renew_its_lease_stops_and_leads_again_later() {
    let proxy = FaultProxy::start(cluster().config().await).unwrap();
    let mut world = World::behind(&proxy, &["--lease-seconds=2"]).await;
    world.restart();
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    world.sync(quiet_sync("plant", &server.mount("plant", &repo))).await;
    world.until_announced("plant", &first).await;
    proxy.fault(Match::any().resource("leases"), Fault::Status(403));
    for line in ["failed to read or renew the lease", "403", "lost the leadership"] {
        eventually(line, || async { world.log().contains(line).then_some(()) }).await;
    }
    let second = repo.commit(version("2")).unwrap();
    world.recheck("plant").await;
    proxy.lift_all();
    world.until_announced("plant", &second).await;
}
