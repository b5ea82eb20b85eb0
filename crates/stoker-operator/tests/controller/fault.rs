//! Claims about an API server that misbehaves.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::runtime::watcher;
use kube::runtime::{WatchStreamExt as _, watcher::Config};
use serde_json::{Value, json};
use stoker_api::condition::{ConditionType, SyncStatus};
use stoker_api::contract::metadata::Metadata;
use stoker_api::gatewaysync::GatewaySyncStatus;
use stoker_api::{limit, names};
use stoker_testkit::git::http::HttpServer;
use stoker_testkit::git::{Oid, Repo};
use stoker_testkit::proxy::{EventFault, Fault, FaultProxy, Match, Verb};

use crate::tell::{free_port, get};
use crate::world::{World, cluster, condition, eventually, quiet_sync, version};

/// A plant whose controller reaches the API server through a proxy.
struct Plant {
    world: World,
    proxy: FaultProxy,
    repo: Repo,
    _server: HttpServer,
    pod: Pod,
}

async fn plant() -> Plant {
    plant_with(&[]).await
}

async fn plant_with(flags: &[&str]) -> Plant {
    let proxy = FaultProxy::start(cluster().config().await).unwrap();
    let mut world = World::behind(&proxy, flags).await;
    world.restart();
    let (repo, first) = Repo::with(version("0")).unwrap();
    let server = HttpServer::start().unwrap();
    world.sync(quiet_sync("plant", &server.mount("plant", &repo))).await;
    world.until_announced("plant", &first).await;
    let pod = world.gateway("ignition-0", "plant").await;
    let plant = Plant { world, proxy, repo, _server: server, pod };
    plant.settle(&first).await;
    plant
}

impl Plant {
    /// Pushes a commit and waits until it is everywhere.
    async fn push(&self, text: &str) -> Oid {
        let commit = self.repo.commit(version(text)).unwrap();
        self.world.recheck("plant").await;
        self.world.until_announced("plant", &commit).await;
        self.settle(&commit).await;
        commit
    }

    async fn settle(&self, commit: &Oid) {
        self.world.report_synced(&self.pod, "plant").await;
        let is_there = |status: &GatewaySyncStatus| {
            status.last_sync_commit.as_deref() == Some(commit.as_str())
        };
        self.world.until("plant", "the commit is everywhere", is_there).await;
        self.world.until_reason("plant", ConditionType::Ready, "AllSynced").await;
    }
}

// C2: after any fault of a watch the controller sees what is.
#[tokio::test(flavor = "multi_thread")]
async fn faults_of_watches_lose_nothing() {
    let plant = plant().await;
    let faults = [
        EventFault::Gone,
        EventFault::Cut,
        EventFault::Duplicate,
        EventFault::Swap,
        EventFault::Drop,
        EventFault::BookmarksOnly,
    ];
    for (number, fault) in faults.into_iter().enumerate() {
        let watches = |resource: &str| Match::verb(Verb::Watch).resource(resource);
        let rules = ["gatewaysyncs", "configmaps"]
            .map(|kind| plant.proxy.fault(watches(kind), Fault::Event(fault)).times(1));
        let commit = plant.repo.commit(version(&format!("{fault:?} {number}"))).unwrap();
        plant.world.recheck("plant").await;
        rules[0].until_hits(1).await;
        // A lost event, or one that waits for the next, is seen when the connection ends.
        plant.proxy.cut_watches(&Match::any());
        plant.world.until_announced("plant", &commit).await;
        plant.world.report_synced(&plant.pod, "plant").await;
        rules[1].until_hits(1).await;
        plant.proxy.cut_watches(&Match::any());
        plant.settle(&commit).await;
        plant.proxy.lift_all();
    }
}

// C2: a stream that stays open and says nothing is given up; the default is three minutes.
#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_falls_silent_is_given_up_and_nothing_is_lost() {
    let plant = plant_with(&["--watch-silent-seconds=10"]).await;
    let silence = |kind: &str| {
        let watches = Match::verb(Verb::Watch).resource(kind);
        plant.proxy.fault(watches, Fault::Event(EventFault::Silence)).times(1)
    };
    let (syncs, maps) = (silence("gatewaysyncs"), silence("configmaps"));
    let commit = plant.repo.commit(version("silent")).unwrap();
    plant.world.recheck("plant").await;
    syncs.until_hits(1).await;
    plant.world.until_announced("plant", &commit).await;
    maps.until_hits(1).await;
    plant.settle(&commit).await;
}

// C4, C5: refusals, conflicts, late and lost answers are retried, and not in a storm; the operator
// stays alive meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn refused_and_conflicting_requests_are_tried_again_within_reason() {
    let health = free_port();
    let listen = format!("--health-probe-bind-address=127.0.0.1:{health}");
    let plant = plant_with(&[&listen]).await;
    for (number, fault) in [
        Fault::RetryAfter(429, 1),
        Fault::Status(500),
        Fault::Status(503),
        Fault::Status(504),
        Fault::Delay(Duration::from_millis(500)),
        Fault::Status(409),
        Fault::CutBeforeRequest,
        Fault::CutBeforeResponse,
        Fault::CutMidBody,
    ]
    .into_iter()
    .enumerate()
    {
        plant.proxy.forget();
        let rule = plant.proxy.fault(Match::any(), fault.clone()).every(2).times(5);
        plant.push(&format!("{fault:?} {number}")).await;
        rule.lift();
        let alive = get(health, "/healthz").await.unwrap();
        assert!(alive.starts_with("HTTP/1.1 200"), "{fault:?}: {alive}");
        let requests = plant.proxy.count(&Match::any());
        assert!(requests < 150, "{fault:?}: {requests} requests: {:?}", plant.proxy.tally());
    }
}

// C11: metadata that does not fit is said, agents keep what they have, and nothing is tried for ever;
// a pause reaches them all the same.
#[tokio::test(flavor = "multi_thread")]
async fn metadata_that_does_not_fit_is_not_published_and_a_pause_is() {
    let plant = plant().await;
    let world = &plant.world;
    let before = world.metadata("plant").await.unwrap();
    let value = "x".repeat(limit::VAR_VALUE);
    let vars: BTreeMap<String, &str> =
        (0..limit::VARS).map(|number| (format!("v{number}"), value.as_str())).collect();
    // The webhook, which would deny this, is not there.
    let profiles: BTreeMap<String, Value> = (0..4)
        .map(|number| {
            let mappings = json!([{ "source": "projects", "destination": "projects" }]);
            (format!("p{number}"), json!({ "mappings": mappings, "vars": vars }))
        })
        .collect();
    world.patch("plant", json!({ "spec": { "sync": { "profiles": profiles } } })).await;
    let says_so = |status: &GatewaySyncStatus| {
        let ready = condition(status, ConditionType::Ready);
        ready.is_some_and(|ready| ready.status == "False" && ready.message.contains("786432"))
    };
    world.until("plant", "the status says that the metadata does not fit", says_so).await;
    plant.proxy.forget();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let writes = plant.proxy.count(&Match::writes());
    assert_eq!(writes, 0, "{:?}", plant.proxy.tally());
    assert_eq!(world.metadata("plant").await.unwrap(), before);
    world.patch("plant", json!({ "spec": { "paused": true } })).await;
    let paused = eventually("agents are paused", || async {
        world.metadata("plant").await.filter(|metadata| metadata.is_paused)
    })
    .await;
    assert_eq!(paused.profiles, before.profiles);
}

// C11: a report that is far too large concerns its own gateway only.
#[tokio::test(flavor = "multi_thread")]
async fn a_report_that_is_too_large_is_named_and_others_count() {
    let plant = plant().await;
    let world = &plant.world;
    world.gateway("ignition-1", "plant").await;
    world.report_text("plant", "ignition-1", &"x".repeat(900_000)).await;
    let sync = world
        .until("plant", "the report is named", |status| {
            let gateways = &status.discovered_gateways;
            let find = |name: &str| gateways.iter().find(|gateway| gateway.pod_name == name);
            find("ignition-1").is_some_and(|large| {
                large.message.as_deref().is_some_and(|text| text.contains("900000 bytes"))
            }) && find("ignition-0").is_some_and(|it| it.sync_status == Some(SyncStatus::Synced))
        })
        .await;
    assert!(serde_json::to_string(&sync.status).unwrap().len() < 20_000);
}

// C3: a cache that lags never takes a commit back, and never takes what is not seen for gone.
#[tokio::test(flavor = "multi_thread")]
async fn a_cache_that_lags_never_takes_a_commit_back() {
    let plant = plant().await;
    let late = EventFault::Delay(Duration::from_secs(2));
    for kind in ["configmaps", "gatewaysyncs"] {
        plant.proxy.fault(Match::verb(Verb::Watch).resource(kind), Fault::Event(late)).times(3);
    }
    let pushes = async {
        let mut commits = Vec::new();
        for number in 1..=3 {
            let commit = plant.repo.commit(version(&format!("late {number}"))).unwrap();
            plant.world.recheck("plant").await;
            plant.world.until_announced("plant", &commit).await;
            commits.push(commit.to_string());
        }
        let last = plant.repo.commit(version("last")).unwrap();
        plant.world.recheck("plant").await;
        plant.world.until_announced("plant", &last).await;
        plant.settle(&last).await;
        commits.push(last.to_string());
        commits
    };
    let (commits, seen) = recorded(&plant.world, pushes).await;
    let positions: Vec<_> =
        seen.iter().filter_map(|it| commits.iter().position(|known| known == it)).collect();
    assert!(positions.is_sorted(), "{seen:?} of {commits:?}");
}

/// Does something, and returns which commits agents were given meanwhile, one after the other.
async fn recorded<T>(world: &World, work: impl Future<Output = T>) -> (T, Vec<String>) {
    let name = names::metadata_config_map("plant");
    let config = Config::default().fields(&format!("metadata.name={name}"));
    let seen = std::sync::Mutex::new(Vec::<String>::new());
    let changes = watcher::watcher(world.api::<ConfigMap>(), config).applied_objects();
    let record = changes.try_for_each(async |map| {
        let metadata = Metadata::from_data(&map.data.unwrap_or_default()).unwrap();
        let commit = metadata.commit.map(|commit| commit.to_string()).unwrap_or_default();
        let mut seen = seen.lock().unwrap();
        if seen.last() != Some(&commit) {
            seen.push(commit);
        }
        Ok(())
    });
    let done = tokio::select! {
        done = work => done,
        ended = record => panic!("the watch of the test ended: {ended:?}"),
    };
    (done, seen.into_inner().unwrap())
}
