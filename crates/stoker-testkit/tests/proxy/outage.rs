//! Outages, partitions and the end of a proxy.

use std::io::ErrorKind;
use std::net::TcpStream;

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
