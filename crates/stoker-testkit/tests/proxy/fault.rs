//! Faults that are scripted, and felt by kube's client.

use std::time::{Duration, Instant};

use kube::Api;
use kube::api::DeleteParams;
use stoker_testkit::proxy::{Fault, Match, Verb};

use crate::world::{World, blunt, client, create, exists, world};

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
