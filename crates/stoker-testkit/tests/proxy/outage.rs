//! Outages, partitions and the end of a proxy.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use kube::ResourceExt as _;
use stoker_testkit::cluster::Cluster;
use stoker_testkit::proxy::{Error, Fault, FaultProxy, Match, Verb};

use crate::world::{World, create, world};

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
