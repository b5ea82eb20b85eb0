//! The fault proxy between kube's client and a real API server: exact counts, and every fault felt.

#![expect(clippy::unwrap_used, reason = "all of this file is test code")]

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use k8s_openapi::api::authentication::v1::{SelfSubjectReview, TokenRequest};
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, Config, ResourceExt};
use serde_json::json;
use stoker_testkit::cluster::{Cluster, Namespace};
use stoker_testkit::proxy::{Error, Fault, FaultProxy, Match, Verb};

/// A namespace, seen directly and through a proxy.
struct World {
    proxy: FaultProxy,
    direct: Api<ConfigMap>,
    proxied: Api<ConfigMap>,
    namespace: Namespace<'static>,
}

async fn world() -> World {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace();
    let proxy = FaultProxy::start(cluster.config().await).unwrap();
    let direct = Api::namespaced(cluster.client().await, namespace.name());
    let proxied = Api::namespaced(client(blunt(&proxy)), namespace.name());
    World { proxy, direct, proxied, namespace }
}

/// A configuration without kube's own retries, so that each fault shows.
fn blunt(proxy: &FaultProxy) -> Config {
    let mut config = proxy.config();
    config.default_retry = false;
    config
}

fn client(config: Config) -> Client {
    Client::try_from(config).unwrap()
}

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": name }, "data": { "key": "value" } }))
        .unwrap()
}

async fn create(api: &Api<ConfigMap>, name: &str) -> kube::Result<ConfigMap> {
    api.create(&PostParams::default(), &config_map(name)).await
}

async fn exists(api: &Api<ConfigMap>, name: &str) -> bool {
    api.get_opt(name).await.unwrap().is_some()
}

#[tokio::test]
async fn counts_are_exact_by_verb_and_resource() {
    let world = world().await;
    let World { proxy, proxied, namespace, .. } = &world;
    let made = create(proxied, "a").await.unwrap();
    create(proxied, "b").await.unwrap();
    proxied.get("a").await.unwrap();
    assert!(!exists(proxied, "missing").await);
    proxied.list(&ListParams::default()).await.unwrap();
    let patch = Patch::Merge(json!({ "data": { "key": "other" } }));
    proxied.patch("b", &PatchParams::default(), &patch).await.unwrap();
    proxied.replace("a", &PostParams::default(), &made).await.unwrap();
    proxied.delete("a", &DeleteParams::default()).await.unwrap();
    proxied.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    proxied.clone().into_client().apiserver_version().await.unwrap();
    let expected = [
        ("create configmaps", 2),
        ("delete configmaps", 1),
        ("deletecollection configmaps", 1),
        ("get /version", 1),
        ("get configmaps", 2),
        ("list configmaps", 1),
        ("patch configmaps", 1),
        ("update configmaps", 1),
    ];
    assert_eq!(proxy.tally(), BTreeMap::from(expected.map(|(key, n)| (key.to_owned(), n))));
    assert_eq!(proxy.count(&Match::writes().namespace(namespace.name())), 6);
    assert_eq!(proxy.count(&Match::any().name("a")), 3);
    let codes: Vec<_> = proxy.requests().iter().map(|seen| seen.status.unwrap()).collect();
    assert_eq!(codes, [201, 201, 200, 404, 200, 200, 200, 200, 200, 200]);
    proxy.forget();
    assert_eq!(proxy.tally(), BTreeMap::new());
}

#[tokio::test]
async fn scripted_codes_arrive_as_the_api_servers_own_errors() {
    let world = world().await;
    let World { proxy, direct, proxied, .. } = &world;
    let cases = [
        (403, "Forbidden"),
        (409, "AlreadyExists"),
        (410, "Expired"),
        (429, "TooManyRequests"),
        (500, "InternalError"),
        (503, "ServiceUnavailable"),
        (504, "Timeout"),
    ];
    for (code, reason) in cases {
        let name = format!("code-{code}");
        let rule = proxy.fault(Match::verb(Verb::Create), Fault::Status(code)).times(1);
        let Err(kube::Error::Api(status)) = create(proxied, &name).await else {
            panic!("{code} did not arrive");
        };
        assert_eq!((status.code, status.reason.as_str()), (code, reason));
        assert!(!exists(direct, &name).await, "{code}: the server never saw the request");
        create(proxied, &name).await.unwrap();
        assert_eq!(rule.hits(), 1);
    }
}

#[tokio::test]
async fn a_rule_strikes_only_what_it_names() {
    let world = world().await;
    let World { proxy, proxied, .. } = &world;
    proxy.fault(Match::writes().resource("configmaps").name("a"), Fault::Status(500));
    create(proxied, "a").await.expect("a create names no object in its path");
    create(proxied, "b").await.unwrap();
    proxied.get("a").await.unwrap();
    proxied.delete("b", &DeleteParams::default()).await.unwrap();
    proxied.delete("a", &DeleteParams::default()).await.unwrap_err();
    proxy.lift_all();
    proxied.delete("a", &DeleteParams::default()).await.unwrap();
}

#[tokio::test]
async fn kubes_own_retry_waits_as_long_as_retry_after_says() {
    let world = world().await;
    let World { proxy, namespace, .. } = &world;
    let patient = Api::namespaced(client(proxy.config()), namespace.name());
    proxy.fault(Match::verb(Verb::Create), Fault::RetryAfter(429, 1)).times(2);
    let start = Instant::now();
    create(&patient, "a").await.unwrap();
    assert!(start.elapsed() >= Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(proxy.count(&Match::verb(Verb::Create)), 3);
}

#[tokio::test]
async fn a_cut_decides_whether_the_server_saw_the_request() {
    let world = world().await;
    let World { proxy, direct, proxied, .. } = &world;
    let cases = [
        ("before-request", Fault::CutBeforeRequest, false),
        ("before-response", Fault::CutBeforeResponse, true),
        ("mid-body", Fault::CutMidBody, true),
    ];
    for (name, fault, is_done) in cases {
        proxy.fault(Match::verb(Verb::Create), fault).times(1);
        let error = create(proxied, name).await.expect_err(name);
        assert!(!matches!(error, kube::Error::Api(_)), "{name}: no answer, but {error:?}");
        assert_eq!(exists(direct, name).await, is_done, "{name}");
    }
}

#[tokio::test]
async fn a_black_hole_ends_only_by_the_clients_own_patience() {
    let world = world().await;
    let World { proxy, direct, namespace, .. } = &world;
    let mut config = blunt(proxy);
    config.read_timeout = Some(Duration::from_millis(300));
    let hasty = Api::namespaced(client(config), namespace.name());
    proxy.fault(Match::verb(Verb::Create), Fault::BlackHole).times(1);
    let start = Instant::now();
    create(&hasty, "a").await.unwrap_err();
    assert!(start.elapsed() >= Duration::from_millis(300));
    assert!(!exists(direct, "a").await);
    assert_eq!(proxy.requests()[0].status, None);
    create(&hasty, "a").await.unwrap();
}

#[tokio::test]
async fn the_kth_write_can_be_held_so_that_exactly_the_ones_before_it_happened() {
    let world = world().await;
    let World { proxy, direct, proxied, .. } = &world;
    let rule = proxy.fault(Match::writes(), Fault::BlackHole).after(2);
    let api = proxied.clone();
    let writer = tokio::spawn(async move {
        for name in ["a", "b", "c", "d"] {
            create(&api, name).await.unwrap();
        }
    });
    rule.until_hits(1).await;
    writer.abort();
    let done = [exists(direct, "a").await, exists(direct, "b").await, exists(direct, "c").await];
    assert_eq!(done, [true, true, false]);
}

#[tokio::test]
async fn delays_add_up_and_the_request_still_succeeds() {
    let world = world().await;
    let World { proxy, proxied, .. } = &world;
    proxy.fault(Match::any(), Fault::Delay(Duration::from_millis(150)));
    proxy.fault(Match::verb(Verb::Create), Fault::Delay(Duration::from_millis(150)));
    let start = Instant::now();
    create(proxied, "a").await.unwrap();
    assert!(start.elapsed() >= Duration::from_millis(300), "{:?}", start.elapsed());
}

#[tokio::test]
async fn an_outage_refuses_connections_and_ends_with_its_guard() {
    let world = world().await;
    let World { proxy, proxied, .. } = &world;
    let address = proxy.url().replace("https://", "");
    create(proxied, "a").await.unwrap();
    for _ in 0..20 {
        let outage = proxy.outage();
        let refused = TcpStream::connect(&address).map(drop).map_err(|error| error.kind());
        assert_eq!(refused, Err(ErrorKind::ConnectionRefused));
        proxied.get("a").await.expect_err("the pooled connection is cut, too");
        drop(outage);
        proxied.get("a").await.unwrap();
    }
    let (first, second) = (proxy.outage(), proxy.outage());
    drop(first);
    proxied.get("a").await.expect_err("outages overlap");
    drop(second);
    proxied.get("a").await.unwrap();
}

#[tokio::test]
async fn a_server_that_goes_away_for_a_while_comes_back_by_itself() {
    let world = world().await;
    let World { proxy, proxied, .. } = &world;
    create(proxied, "a").await.unwrap();
    let start = Instant::now();
    proxy.go_away(Duration::from_secs(3));
    let mut failures = 0;
    while proxied.get("a").await.is_err() {
        failures += 1;
        tokio::time::sleep(Duration::from_millis(20)).await; // a client's pause, not a wait
    }
    assert!(failures > 0);
    assert!(start.elapsed() >= Duration::from_secs(3), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_partition_stops_everything_and_loses_nothing() {
    let world = world().await;
    let World { proxy, proxied, .. } = &world;
    create(proxied, "a").await.unwrap();
    let partition = proxy.partition();
    let api = proxied.clone();
    let reader = tokio::spawn(async move { api.get("a").await });
    proxy.until_count(&Match::verb(Verb::Get), 1).await;
    assert!(TcpStream::connect(proxy.url().replace("https://", "")).is_ok(), "nothing is refused");
    assert!(!reader.is_finished());
    assert_eq!(proxy.requests()[1].status, None);
    drop(partition);
    reader.await.unwrap().unwrap();
}

#[tokio::test]
async fn the_server_sees_the_proxys_identity_or_the_one_that_the_client_brings() {
    let world = world().await;
    let World { proxy, direct, namespace, .. } = &world;
    let accounts =
        Api::<ServiceAccount>::namespaced(direct.clone().into_client(), namespace.name());
    let account = json!({ "metadata": { "name": "agent" } });
    let account = serde_json::from_value(account).unwrap();
    accounts.create(&PostParams::default(), &account).await.unwrap();
    let request = TokenRequest::default();
    let token = accounts.create_token_request("agent", &PostParams::default(), &request).await;
    let token = token.unwrap().status.unwrap().token;

    let mut with_token = proxy.config();
    with_token.auth_info.token = Some(token.into());
    let mut impersonating = proxy.config();
    impersonating.auth_info.impersonate = Some("jane".to_owned());

    assert_eq!(user_of(direct.clone().into_client()).await, user_of(client(proxy.config())).await);
    let agent = format!("system:serviceaccount:{}:agent", namespace.name());
    assert_eq!(user_of(client(with_token)).await, agent);
    assert_eq!(user_of(client(impersonating)).await, "jane");
}

async fn user_of(client: Client) -> String {
    let reviews = Api::<SelfSubjectReview>::all(client);
    let review = reviews.create(&PostParams::default(), &SelfSubjectReview::default()).await;
    review.unwrap().status.unwrap().user_info.unwrap().username.unwrap()
}

#[test]
fn programs_reach_the_proxy_by_its_kubeconfig_and_tests_need_no_runtime() {
    let cluster = Cluster::shared();
    let config = tokio::runtime::Runtime::new().unwrap().block_on(cluster.config());
    let proxy = FaultProxy::start(config).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), proxy.kubeconfig()).unwrap();
    let mut kubectl = cluster.kubectl();
    kubectl.arg("--kubeconfig").arg(file.path()).args([
        "get",
        "namespace",
        "kube-system",
        "-oname",
    ]);

    let output = kubectl.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "namespace/kube-system\n");
    assert_eq!(proxy.count(&Match::verb(Verb::Get).resource("namespaces")), 1);

    let hole = Match::verb(Verb::Get).resource("namespaces");
    proxy.fault(hole.clone(), Fault::BlackHole);
    let mut child = kubectl.spawn().unwrap();
    proxy.wait_count(&hole, 2);
    assert!(child.try_wait().unwrap().is_none(), "kubectl waits in the black hole");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test]
async fn nothing_of_a_dropped_proxy_is_left() {
    let World { proxy, proxied, direct: _, namespace: _namespace } = world().await;
    create(&proxied, "a").await.unwrap();
    proxy.fault(Match::verb(Verb::Get), Fault::BlackHole);
    let api = proxied.clone();
    let stuck = tokio::spawn(async move { api.get("a").await.map(|object| object.name_any()) });
    proxy.until_count(&Match::verb(Verb::Get), 1).await;
    let address = proxy.url().replace("https://", "");
    drop(proxy);
    let refused = TcpStream::connect(&address).map(drop).map_err(|error| error.kind());
    assert_eq!(refused, Err(ErrorKind::ConnectionRefused));
    stuck.await.unwrap().expect_err("the connection went with the proxy");
}

#[tokio::test]
async fn an_outage_may_outlive_its_proxy() {
    let proxy = FaultProxy::start(Cluster::shared().config().await).unwrap();
    let outage = proxy.outage();
    drop(proxy);
    drop(outage);
}

#[tokio::test]
async fn a_proxy_that_can_not_start_says_why() {
    let mut config = Cluster::shared().config().await;
    config.root_cert = Some(vec![b"no certificate".to_vec()]);
    let error = FaultProxy::start(config).unwrap_err();
    assert!(matches!(error, Error::Connect(_)), "{error:?}");
}
