//! kube's watcher behind the fault proxy: whatever happens to the stream, the store ends up true
//! (C2).

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::reflector::{self, Store};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use stoker_testkit::cluster::{Cluster, Namespace};
use stoker_testkit::proxy::{EventFault, Fault, FaultProxy, Match, Verb};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Name and value of every object.
type State = BTreeMap<String, String>;

/// A store that kube's watcher fills through the proxy, and the truth beside it.
struct World {
    proxy: FaultProxy,
    direct: Api<ConfigMap>,
    store: Store<ConfigMap>,
    events: watch::Receiver<u64>,
    watcher: JoinHandle<()>,
    _namespace: Namespace<'static>,
}

impl World {
    /// Starts with objects `a` and `b`, and a watch that is open.
    async fn new(config: watcher::Config) -> Self {
        let cluster = Cluster::shared();
        let namespace = cluster.namespace();
        let proxy = FaultProxy::start(cluster.config().await).unwrap();
        let direct = Api::namespaced(cluster.client().await, namespace.name());
        let client = Client::try_from(proxy.config()).unwrap();
        let proxied = Api::<ConfigMap>::namespaced(client, namespace.name());
        let (store, writer) = reflector::store();
        let (count, events) = watch::channel(0);
        let config = config.labels("watched=yes");
        let stream = watcher(proxied, config).default_backoff().reflect(writer);
        let watcher = tokio::spawn(stream.for_each(move |_| {
            count.send_modify(|n| *n += 1);
            std::future::ready(())
        }));
        let mut world = Self { proxy, direct, store, events, watcher, _namespace: namespace };
        world.create("a").await;
        world.create("b").await;
        world.until_true().await;
        world.proxy.until_watches(&configmaps(), 1).await;
        world
    }

    async fn create(&self, name: &str) {
        let object = json!({
            "metadata": { "name": name, "labels": { "watched": "yes" } },
            "data": { "key": "0" },
        });
        let object = serde_json::from_value(object).unwrap();
        self.direct.create(&PostParams::default(), &object).await.unwrap();
    }

    async fn set(&self, name: &str, value: &str) {
        let patch = Patch::Merge(json!({ "data": { "key": value } }));
        self.direct.patch(name, &PatchParams::default(), &patch).await.unwrap();
    }

    async fn delete(&self, name: &str) {
        self.direct.delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// One change of each kind.
    async fn change(&self) {
        self.set("a", "1").await;
        self.create("c").await;
        self.delete("b").await;
        self.set("a", "2").await;
    }

    async fn truth(&self) -> State {
        let objects = self.direct.list(&ListParams::default().labels("watched=yes")).await.unwrap();
        objects.iter().map(entry).collect()
    }

    fn stored(&self) -> State {
        self.store.state().iter().map(|object| entry(object)).collect()
    }

    async fn until_stored(&mut self, what: &str, holds: impl Fn(&State) -> bool) {
        let waiting = async {
            loop {
                self.events.borrow_and_update();
                let stored = self.store.state().iter().map(|object| entry(object)).collect();
                if holds(&stored) {
                    return;
                }
                self.events.changed().await.expect("the watcher runs");
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(45), waiting).await;
        assert!(waited.is_ok(), "{what}: the store is {:?}", self.stored());
    }

    async fn until_true(&mut self) {
        let truth = self.truth().await;
        self.until_stored(&format!("the truth is {truth:?}"), |stored| *stored == truth).await;
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.watcher.abort();
    }
}

fn entry(object: &ConfigMap) -> (String, String) {
    let value = object.data.as_ref().and_then(|data| data.get("key"));
    (object.name_any(), value.cloned().unwrap_or_default())
}

fn configmaps() -> Match {
    Match::verb(Verb::Watch).resource("configmaps")
}

#[tokio::test]
async fn the_store_recovers_by_itself_from_breaks_that_the_client_can_see() {
    let cases = [
        EventFault::Cut,
        EventFault::Gone,
        EventFault::Duplicate,
        EventFault::Delay(Duration::from_millis(100)),
    ];
    for fault in cases {
        let mut world = World::new(watcher::Config::default()).await;
        let rule = world.proxy.fault(configmaps(), Fault::Event(fault)).times(2);
        world.change().await;
        rule.until_hits(1).await;
        world.until_true().await;
    }
}

#[tokio::test]
async fn the_store_recovers_when_new_watches_fail_to_start() {
    let cases = [
        Fault::Status(410),
        Fault::Status(500),
        Fault::Status(503),
        Fault::RetryAfter(429, 1),
        Fault::CutBeforeRequest,
        Fault::CutBeforeResponse,
        Fault::CutMidBody,
    ];
    for fault in cases {
        let mut world = World::new(watcher::Config::default()).await;
        let rule = world.proxy.fault(configmaps(), fault.clone()).times(1);
        assert_eq!(world.proxy.cut_watches(&configmaps()), 1);
        world.change().await;
        rule.until_hits(1).await;
        world.until_true().await;
        world.proxy.until_watches(&configmaps(), 1).await;
        world.set("a", "3").await;
        world.until_true().await;
    }
}

#[tokio::test]
async fn the_store_recovers_from_a_relist_that_breaks_off() {
    let mut world = World::new(watcher::Config::default()).await;
    let lists = Match::verb(Verb::List).resource("configmaps");
    let cut = world.proxy.fault(lists.clone(), Fault::CutMidBody).times(1);
    let refused = world.proxy.fault(lists, Fault::Status(500)).times(1);
    world.proxy.fault(configmaps(), Fault::Event(EventFault::Gone)).times(1);
    world.change().await;
    cut.until_hits(1).await;
    refused.until_hits(1).await;
    world.until_true().await;
}

#[tokio::test]
async fn the_store_recovers_from_an_outage() {
    let mut world = World::new(watcher::Config::default()).await;
    let outage = world.proxy.outage();
    world.change().await;
    assert_ne!(world.stored(), world.truth().await);
    drop(outage);
    world.until_true().await;
}

#[tokio::test]
async fn lost_events_leave_the_store_stale_until_a_relist() {
    let mut world = World::new(watcher::Config::default()).await;
    let loss = world.proxy.fault(configmaps().name("a"), Fault::Event(EventFault::Drop));
    world.set("a", "lost").await;
    world.set("b", "seen").await;
    world.until_stored("b arrives", |stored| stored["b"] == "seen").await;
    assert_eq!(world.stored()["a"], "0", "the change of a was lost");
    assert_eq!(loss.hits(), 1);
    loss.lift();
    world.proxy.fault(configmaps(), Fault::Event(EventFault::Gone)).times(1);
    world.set("b", "again").await;
    world.until_true().await;
}

#[tokio::test]
async fn each_nth_event_can_be_lost() {
    let mut world = World::new(watcher::Config::default()).await;
    world.proxy.fault(configmaps(), Fault::Event(EventFault::Drop)).every(2);
    for value in ["1", "2", "3", "4"] {
        world.set("a", value).await;
    }
    world.set("b", "end").await;
    world.until_stored("b arrives", |stored| stored["b"] == "end").await;
    assert_eq!(world.stored()["a"], "3", "2 and 4 were lost");
}

#[tokio::test]
async fn bookmarks_alone_leave_the_store_stale_until_a_relist() {
    let mut world = World::new(watcher::Config::default().timeout(10)).await;
    let loss = world.proxy.fault(configmaps(), Fault::Event(EventFault::BookmarksOnly));
    world.set("a", "lost").await;
    // Three hits: the change, and a bookmark at the end of this watch and of the next.
    loss.until_hits(3).await;
    assert_eq!(world.stored()["a"], "0", "bookmarks moved the client past the change");
    loss.lift();
    world.proxy.fault(configmaps(), Fault::Event(EventFault::Gone)).times(1);
    world.set("b", "again").await;
    world.until_true().await;
}

#[tokio::test]
async fn swapped_events_leave_an_older_object_until_a_relist() {
    let mut world = World::new(watcher::Config::default()).await;
    let swap = world.proxy.fault(configmaps(), Fault::Event(EventFault::Swap)).times(1);
    world.set("a", "older").await;
    world.set("a", "newer").await;
    world.set("b", "end").await;
    world.until_stored("b arrives", |stored| stored["b"] == "end").await;
    assert_eq!(world.stored()["a"], "older", "the newer one came first");
    swap.lift();
    world.proxy.fault(configmaps(), Fault::Event(EventFault::Gone)).times(1);
    world.set("b", "again").await;
    world.until_true().await;
}

#[tokio::test]
async fn the_store_recovers_from_a_silent_watch_after_the_idle_timeout() {
    let mut world = World::new(watcher::Config::default().timeout(10)).await;
    let silence = world.proxy.fault(configmaps(), Fault::Event(EventFault::Silence)).times(1);
    world.change().await;
    silence.until_hits(1).await;
    assert_ne!(world.stored(), world.truth().await);
    world.until_true().await;
}
