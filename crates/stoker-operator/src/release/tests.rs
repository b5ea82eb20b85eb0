//! Against the real API server: there is no operator there, only what it would leave behind.

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt as _;
use kube::api::{Api, ObjectMeta, PostParams};
use stoker_api::GatewaySync;
use stoker_api::names::FINALIZER;
use stoker_testkit::cluster::Cluster;
use stoker_testkit::node::succeed;
use stoker_testkit::object::gateway_sync;

use super::*;

const OTHER: &str = "example.com/other";

// C10: what runs before the operator is uninstalled.
#[tokio::test]
async fn finalizers_of_ours_go_and_those_of_others_stay() {
    let cluster = cluster().await;
    let namespace = cluster.namespace();
    let client = cluster.client().await;
    let syncs: Api<GatewaySync> = Api::namespaced(client.clone(), namespace.name());
    create(&syncs, "ours", &[FINALIZER]).await;
    create(&syncs, "both", &[OTHER, FINALIZER]).await;
    create(&syncs, "none", &[]).await;

    for name in ["ours", "both", "none"] {
        let sync = syncs.get_metadata(name).await.unwrap();
        assert_eq!(remove_finalizer(&client, &sync).await.unwrap(), name != "none", "{name}");
    }

    assert!(syncs.get("ours").await.unwrap().finalizers().is_empty());
    let both = syncs.get("both").await.unwrap();
    assert_eq!(both.finalizers(), [OTHER]);
    let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    syncs.patch_metadata("both", &PatchParams::default(), &patch).await.unwrap();
}

#[tokio::test]
async fn a_stale_listing_is_read_again() {
    let cluster = cluster().await;
    let namespace = cluster.namespace();
    let client = cluster.client().await;
    let syncs: Api<GatewaySync> = Api::namespaced(client.clone(), namespace.name());
    create(&syncs, "plant", &[FINALIZER]).await;
    let stale = syncs.get_metadata("plant").await.unwrap();
    let patch = Patch::Merge(json!({"metadata": {"annotations": {"newer": "yes"}}}));
    syncs.patch_metadata("plant", &PatchParams::default(), &patch).await.unwrap();

    assert!(remove_finalizer(&client, &stale).await.unwrap());

    let sync = syncs.get("plant").await.unwrap();
    assert!(sync.finalizers().is_empty());
    assert_eq!(sync.annotations()["newer"], "yes");
}

#[tokio::test]
async fn the_certificate_and_the_lease_go_and_a_second_run_finds_nothing_to_do() {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace();
    let client = cluster.client().await;
    let metadata = |name: &str| ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() };
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace.name());
    let leases: Api<Lease> = Api::namespaced(client.clone(), namespace.name());
    let secret = Secret { metadata: metadata("tls"), ..Secret::default() };
    secrets.create(&PostParams::default(), &secret).await.unwrap();
    let lease = Lease { metadata: metadata("lease"), ..Lease::default() };
    leases.create(&PostParams::default(), &lease).await.unwrap();

    for _ in 0..2 {
        delete(secrets.clone(), "tls").await.unwrap();
        delete(leases.clone(), "lease").await.unwrap();
    }

    assert!(secrets.get_opt("tls").await.unwrap().is_none());
    assert!(leases.get_opt("lease").await.unwrap().is_none());
}

#[tokio::test]
async fn an_operator_that_is_not_there_has_nothing_to_scale_or_to_wait_for() {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace();
    let client = cluster.client().await;
    let arguments = Arguments {
        namespace: namespace.name().to_owned(),
        deployments: vec!["stoker-operator-controller-manager".to_owned()],
        selector: "control-plane=controller-manager".to_owned(),
        certificate_secret: None,
        watch_namespaces: Vec::new(),
        lease: None,
    };
    scale_down(&client, &arguments).await.unwrap();
    wait_for_pods(&client, &arguments).await.unwrap();
}

async fn create(syncs: &Api<GatewaySync>, name: &str, finalizers: &[&str]) {
    let mut sync = gateway_sync(name).mapping("projects", "projects").build();
    sync.metadata.finalizers = Some(finalizers.iter().copied().map(str::to_owned).collect());
    syncs.create(&PostParams::default(), &sync).await.unwrap();
}

/// The run's cluster with our definitions in it.
async fn cluster() -> &'static Cluster {
    let cluster = Cluster::shared();
    crate::crds::apply(cluster.client().await).await.unwrap();
    let established = ["wait", "--for=condition=Established", "--timeout=30s", "crd"];
    let definitions = ["gatewaysyncs.stoker.io", "syncprofiles.stoker.io"];
    succeed(cluster.kubectl().args(established).args(definitions));
    cluster
}
