//! Claims about a cluster that does not know our kinds yet.

use stoker_testkit::git::Repo;
use stoker_testkit::git::http::HttpServer;
use stoker_testkit::proxy::{Fault, FaultProxy, Match};

use crate::world::{World, cluster, eventually, quiet_sync, version};

// Other tests need the definitions: the proxy answers as an API server without them does.
#[tokio::test(flavor = "multi_thread")]
async fn without_definitions_the_operator_names_the_command_and_waits_for_them() {
    let proxy = FaultProxy::start(cluster().config().await).unwrap();
    let mut world = World::behind(&proxy, &[]).await;
    let missing = ["gatewaysyncs", "syncprofiles"]
        .map(|kind| proxy.fault(Match::any().resource(kind), Fault::Status(404)));
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    world.sync(quiet_sync("plant", &server.mount("plant", &repo))).await;
    world.restart();
    eventually("the operator asks again", || async { (missing[0].hits() >= 2).then_some(()) })
        .await;
    let log = world.log();
    let told: Vec<_> =
        log.lines().filter(|line| line.contains("definitions are missing")).collect();
    assert_eq!(told.len(), 1, "once, however long it takes: {log}");
    assert!(told[0].contains("stoker-operator crds apply"), "{}", told[0]);
    assert_eq!(world.metadata("plant").await, None);
    proxy.lift_all();
    world.until_announced("plant", &first).await;
}
