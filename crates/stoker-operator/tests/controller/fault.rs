//! Claims about an API server that misbehaves.

use std::time::Duration;

use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::runtime::watcher;
use kube::runtime::{WatchStreamExt as _, watcher::Config};
use stoker_api::condition::ConditionType;
use stoker_api::contract::metadata::Metadata;
use stoker_api::names;
use stoker_testkit::git::http::HttpServer;
use stoker_testkit::git::{Oid, Repo};
use stoker_testkit::proxy::{EventFault, Fault, FaultProxy, Match, Verb};

use crate::world::{World, cluster, quiet_sync, version};

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
        let is_there = |status: &stoker_api::gatewaysync::GatewaySyncStatus| {
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

// C4, C5: refusals, conflicts and lost answers are retried, and not in a storm.
#[tokio::test(flavor = "multi_thread")]
async fn refused_and_conflicting_requests_are_tried_again_within_reason() {
    let plant = plant().await;
    for (number, fault) in [
        Fault::RetryAfter(429, 1),
        Fault::Status(500),
        Fault::Status(503),
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
        let requests = plant.proxy.count(&Match::any());
        assert!(requests < 150, "{fault:?}: {requests} requests: {:?}", plant.proxy.tally());
    }
}

// C3: a cache that lags never takes a commit back, and never takes what is not seen for gone.
#[tokio::test(flavor = "multi_thread")]
async fn a_cache_that_lags_never_takes_a_commit_back() {
    let plant = plant().await;
    let api = plant.world.api::<ConfigMap>();
    let name = names::metadata_config_map("plant");
    let config = Config::default().fields(&format!("metadata.name={name}"));
    let seen = std::sync::Mutex::new(Vec::<String>::new());
    let record = watcher::watcher(api, config).applied_objects().try_for_each(async |map| {
        let metadata = Metadata::from_data(&map.data.unwrap_or_default()).unwrap();
        let commit = metadata.commit.map(|commit| commit.to_string()).unwrap_or_default();
        let mut seen = seen.lock().unwrap();
        if seen.last() != Some(&commit) {
            seen.push(commit);
        }
        Ok(())
    });
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
    let commits = tokio::select! {
        commits = pushes => commits,
        ended = record => panic!("the watch of the test ended: {ended:?}"),
    };
    let seen = seen.into_inner().unwrap();
    let positions: Vec<_> =
        seen.iter().filter_map(|it| commits.iter().position(|known| known == it)).collect();
    assert!(positions.is_sorted(), "{seen:?} of {commits:?}");
}
