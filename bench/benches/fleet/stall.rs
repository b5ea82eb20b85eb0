//! P23: remotes that never answer, and how soon the others are served.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use stoker_api::GatewaySync;
use stoker_api::contract::metadata::Metadata;
use stoker_api::names::{self, Annotation};
use stoker_bench::cgroup::Cgroup;
use stoker_bench::finding::{Bar, Finding, Unit};
use stoker_testkit::git::{Repo, Tree};
use stoker_testkit::object::gateway_sync;

use crate::fleet::{Fleet, Place};

/// Long enough for the first attempt at every remote that hangs to run.
const SETTLES: Duration = Duration::from_secs(5);
/// GatewaySyncs with a repository of their own, whose pushes are measured.
const SERVED: usize = 10;
/// The memory limit of the chart.
const LIMIT: u64 = 128 * 1024 * 1024;
const MEBIBYTE: f64 = 1024.0 * 1024.0;
const WITHIN: Duration = Duration::from_mins(2);

pub(crate) async fn measure(fleet: &Fleet<'_>) -> anyhow::Result<Vec<Finding>> {
    let limit = Cgroup::with_limit(LIMIT).context("no memory limit can be set: are you root?")?;
    let operator = fleet.operator_within(&limit)?;
    let served = serve(fleet).await?;
    let before = reactions(fleet, &served, &limit, "before").await?;
    let silent = std::net::TcpListener::bind("127.0.0.1:0")?;
    let port = silent.local_addr()?.port();
    fleet.namespace("hung").await?;
    fleet
        .each(0..fleet.size.hung, async |number| {
            // Each is a host of its own, as far as limits per host go.
            let url =
                format!("http://127.0.{}.{}:{port}/plant.git", number / 250 + 1, number % 250 + 1);
            let sync = gateway_sync(&format!("hung-{number}")).namespace("hung").repo(&url);
            fleet.create(&sync.mapping("projects", "projects").polling("5s").build()).await
        })
        .await?;
    tokio::time::sleep(SETTLES).await;
    let after = reactions(fleet, &served, &limit, "after").await?;
    fleet.clear("hung").await?;
    fleet.clear("served").await?;
    drop(operator);
    let claim = format!("p99 of the others with {} remotes that hang", fleet.size.hung);
    let bar = Bar { id: "P23", claim, limit: 1.2, unit: Unit::Ratio };
    let words = format!(
        "{:.0?} to {:.0?}; medians {:.0?} and {:.0?}",
        after.p99, before.p99, after.median, before.median
    );
    let ratio = bar.judge(after.p99.as_secs_f64() / before.p99.as_secs_f64(), words);
    let claim = "memory within the chart's limit, git included".to_owned();
    let bar = Bar { id: "P23", claim, limit: 128.0, unit: Unit::Mebibytes };
    let memory = before.memory.max(after.memory);
    anyhow::ensure!(limit.killed() == 0, "the kernel killed {} processes", limit.killed());
    Ok(vec![ratio, bar.judge(memory, "most without page cache; none killed".to_owned())])
}

/// A GatewaySync whose pushes are measured.
struct Served {
    place: Place,
    repo: Repo,
}

async fn serve(fleet: &Fleet<'_>) -> anyhow::Result<Vec<Served>> {
    fleet.namespace("served").await?;
    let mut served = Vec::new();
    for number in 0..SERVED {
        let name = format!("served-{number}");
        let (repo, _) = Repo::with(Tree::new().file("projects/a.json", "0"))?;
        let url = fleet.server.mount(&name, &repo);
        let sync = gateway_sync(&name).namespace("served").repo(&url);
        fleet.create(&sync.mapping("projects", "projects").polling("1h").build()).await?;
        let place = Place { namespace: "served".to_owned(), name };
        fleet.announced(&place).await?;
        served.push(Served { place, repo });
    }
    Ok(served)
}

/// How long it takes until a push is announced.
struct Reactions {
    median: Duration,
    /// The slowest but one in a hundred.
    p99: Duration,
    /// The most memory in use meanwhile, in MiB.
    memory: f64,
}

async fn reactions(
    fleet: &Fleet<'_>,
    served: &[Served],
    limit: &Cgroup,
    title: &str,
) -> anyhow::Result<Reactions> {
    let mut times = Vec::new();
    let mut most = 0;
    for number in 0..fleet.size.pushes {
        let Served { place, repo } = &served[number % served.len()];
        let tree = Tree::new().file("projects/a.json", format!("{title} {number}"));
        let commit = repo.commit(tree)?.to_string();
        let syncs: Api<GatewaySync> = Api::namespaced(fleet.client.clone(), &place.namespace);
        let at = jiff::Timestamp::now().to_string();
        let patch =
            json!({ "metadata": { "annotations": { Annotation::RecheckAt.as_str(): at } } });
        let started = Instant::now();
        syncs.patch_metadata(&place.name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        let maps: Api<ConfigMap> = Api::namespaced(fleet.client.clone(), &place.namespace);
        let name = names::metadata_config_map(&place.name);
        loop {
            let data = maps.get(&name).await?.data.unwrap_or_default();
            let announced = Metadata::from_data(&data)?.commit;
            if announced.is_some_and(|announced| announced.as_str() == commit) {
                break;
            }
            anyhow::ensure!(started.elapsed() < WITHIN, "{place:?} is not served");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        times.push(started.elapsed());
        most = most.max(limit.in_use());
    }
    times.sort();
    #[expect(clippy::cast_precision_loss, reason = "some megabytes")]
    let memory = most as f64 / MEBIBYTE;
    let p99 = times[(times.len() * 99 / 100).min(times.len() - 1)];
    Ok(Reactions { median: times[times.len() / 2], p99, memory })
}
