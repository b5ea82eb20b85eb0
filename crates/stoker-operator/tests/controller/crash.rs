//! Claims about a controller that is killed: whatever it was doing, the next one finishes it.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use futures::stream;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::api::events::v1::Event;
use kube::api::{DeleteParams, ListParams};
use stoker_api::condition::ConditionType;
use stoker_api::names;
use stoker_testkit::git::Repo;
use stoker_testkit::git::github::GitHubApp;
use stoker_testkit::object::{GatewaySyncBuilder, secret};
use stoker_testkit::proxy::{Fault, FaultProxy, Match};

use crate::world::{World, cluster, eventually, quiet_sync, version};

/// How many lives are lived at once.
const AT_ONCE: usize = 4;

/// What a life left behind.
struct Life {
    /// How many requests the controllers made.
    requests: usize,
    /// How often each event was told.
    events: BTreeMap<String, usize>,
    /// How many tokens the GitHub App issued.
    tokens: usize,
}

fn sync_by_app(app: &GitHubApp, url: &str) -> GatewaySyncBuilder {
    let ids = (app.app_id().parse().unwrap(), app.installation_id().parse().unwrap());
    quiet_sync("plant", url).github_app(ids, "app").polling("5s").spec(|spec| {
        spec.git.allow_insecure_http = Some(true);
        let auth = spec.git.auth.as_mut().unwrap();
        auth.github_app.as_mut().unwrap().api_base_url = Some(app.api_url());
    })
}

/// Lives a whole life of a GatewaySync: two commits, a gateway, the end. The controller is killed
/// after its `kill_after`-th request and started again.
async fn live(kill_after: Option<u64>) -> Life {
    let proxy = FaultProxy::start(cluster().config().await).unwrap();
    let world = World::behind(&proxy, &["--lease-seconds=1"]).await;
    let (repo, first) = Repo::with(version("1")).unwrap();
    let app = GitHubApp::start().unwrap();
    world.secret(&secret("app", [("private-key.pem", app.private_key())])).await;
    let deadly = kill_after.map(|count| proxy.fault(Match::any(), Fault::BlackHole).after(count));
    let operator = world.another(&[]);
    let restarts = async {
        let Some(deadly) = deadly else { return std::future::pending().await };
        while deadly.hits() == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        drop(operator);
        deadly.lift();
        let _next = world.another(&[]);
        std::future::pending::<()>().await;
    };
    let script = async {
        world.sync(sync_by_app(&app, &app.mount("plant", &repo))).await;
        world.until_announced("plant", &first).await;
        let pod = world.gateway("ignition-0", "plant").await;
        for number in 1..=2 {
            let commit =
                if number == 1 { first.clone() } else { repo.commit(version("2")).unwrap() };
            world.recheck("plant").await;
            world.until_announced("plant", &commit).await;
            eventually("agents have their status object", || async {
                let name = names::status_config_map("plant", 0);
                world.api::<ConfigMap>().get_opt(&name).await.unwrap()
            })
            .await;
            world.report_synced(&pod, "plant").await;
            world
                .until("plant", "the commit is everywhere", |status| {
                    status.last_sync_commit.as_deref() == Some(commit.as_str())
                })
                .await;
            world.until_reason("plant", ConditionType::Ready, "AllSynced").await;
        }
        // Its agent would be waited for.
        let now = DeleteParams::default().grace_period(0);
        world.api::<Pod>().delete("ignition-0", &now).await.unwrap();
        world.delete("plant").await;
    };
    tokio::select! {
        () = script => {}
        () = restarts => {}
    }
    let told = world.api::<Event>().list(&ListParams::default()).await.unwrap();
    let mut events = BTreeMap::new();
    for event in told.items {
        let note = event.note.unwrap_or_default();
        *events.entry(format!("{}: {note}", event.reason.unwrap_or_default())).or_default() += 1;
    }
    Life { requests: proxy.count(&Match::any()), events, tokens: app.tokens() }
}

// C6: killed after its k-th request, for every k of a life (every fifth in CI).
#[tokio::test(flavor = "multi_thread")]
async fn a_controller_that_is_killed_at_any_request_is_succeeded_without_a_trace() {
    let whole = live(None).await;
    assert_eq!(whole.tokens, 1);
    let step = if std::env::var_os("STOKER_LONG").is_some() { 1 } else { 5 };
    let points = (0..whole.requests as u64).step_by(step);
    stream::iter(points)
        .for_each_concurrent(AT_ONCE, async |point| {
            let life = live(Some(point)).await;
            for (event, times) in &life.events {
                // Two push events have the same words.
                let most = whole.events.get(event).copied().unwrap_or(1);
                assert!(*times <= most, "killed after request {point}, {times} times: {event}");
            }
            // A token that was issued and not stored yet is lost with the process.
            assert!(life.tokens <= 2, "killed after request {point}: {} tokens", life.tokens);
        })
        .await;
}
