//! Claims about operators that share the GatewaySyncs of a cluster.

use k8s_openapi::api::coordination::v1::Lease;
use stoker_testkit::git::Repo;
use stoker_testkit::git::http::HttpServer;

use crate::world::{World, eventually, quiet_sync, version};

/// So many that no part is without one, but for a chance of 1 in 2,000.
const SYNCS: usize = 12;

// With one Lease for all, a shard that does not lead would leave its part unserved for ever.
#[tokio::test(flavor = "multi_thread")]
async fn two_shards_in_one_namespace_lead_side_by_side_and_serve_everything() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    let url = server.mount("plant", &repo);
    let world = World::idle(&["--lease-seconds=6"]).await;
    let _shards = [
        world.another(&["--shard=0/2", "--identity=zero"]),
        world.another(&["--shard=1/2", "--identity=one"]),
    ];
    let names: Vec<String> = (0..SYNCS).map(|number| format!("plant-{number}")).collect();
    for name in &names {
        world.sync(quiet_sync(name, &url)).await;
    }
    for name in &names {
        world.until_announced(name, &first).await;
    }
    let leases = world.api::<Lease>();
    for (lease, leader) in
        [("a86165bb.stoker.io-0-of-2", "zero"), ("a86165bb.stoker.io-1-of-2", "one")]
    {
        eventually(&format!("{leader} leads"), || async {
            let lease = leases.get_opt(lease).await.unwrap()?;
            (lease.spec?.holder_identity? == leader).then_some(())
        })
        .await;
    }
}
