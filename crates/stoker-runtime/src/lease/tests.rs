//! Claims about leader election against the real API server.

use std::time::Duration;

use stoker_testkit::cluster::Cluster;

use super::*;

fn settings(namespace: &str, identity: &str) -> Settings {
    Settings {
        timing: Timing {
            duration: Duration::from_secs(3),
            renew_within: Duration::from_secs(2),
            retry: Duration::from_millis(200),
        },
        ..Settings::new(namespace, "stoker-operator", identity)
    }
}

async fn within<T>(seconds: u64, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(seconds), future).await.expect("it happens in time")
}

#[tokio::test(flavor = "multi_thread")]
async fn one_instance_leads_and_hands_over_at_once_when_it_ends() {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace();
    let client = cluster.client().await;
    let first = Leadership::seek(client.clone(), settings(namespace.name(), "first"));
    within(10, first.acquired()).await;
    let second = Leadership::seek(client, settings(namespace.name(), "second"));
    let begun = Instant::now();
    assert!(first.is_held() && !second.is_held());
    let term = first.term();
    first.release().await;
    assert!(!first.is_held());
    within(10, second.acquired()).await;
    assert!(second.term() > term);
    // Sooner than a lease expires: it was handed over.
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_vanished_is_replaced_and_knows_that_it_leads_no_more() {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace();
    let client = cluster.client().await;
    let first = settings(namespace.name(), "first");
    let api: Api<Lease> = Api::namespaced(client.clone(), namespace.name());
    // A leader that wrote once and never came back.
    let (sender, standing) = watch::channel(Standing::default());
    let mut vanished = Election { api, settings: first, standing: sender, seen: None, held: None };
    vanished.attempt().await.unwrap();
    let (release, _) = mpsc::channel(1);
    let first = Leadership { standing, release };
    assert!(first.is_held());
    let second = Leadership::seek(client, settings(namespace.name(), "second"));
    within(10, first.lost()).await;
    within(10, second.acquired()).await;
    // The old leader wakes up: its write is refused, and it does not lead.
    vanished.attempt().await.unwrap();
    assert!(!first.is_held() && second.is_held());
}
