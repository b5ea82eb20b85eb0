//! What goes through unharmed: counted exactly, and with the right identity.

use std::collections::BTreeMap;

use k8s_openapi::api::authentication::v1::{SelfSubjectReview, TokenRequest};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use stoker_testkit::cluster::Cluster;
use stoker_testkit::proxy::{Fault, FaultProxy, Match, Verb};
use stoker_testkit::wait::eventually;

use crate::world::{World, client, create, exists, world};

#[tokio::test]
async fn counts_are_exact_by_verb_and_resource() {
    let world = world().await;
    let World { proxy, proxied, .. } = &world;
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
    assert_eq!(proxy.count(&Match::writes()), 6);
    assert_eq!(proxy.count(&Match::any().name("a")), 3);
    let codes: Vec<_> = proxy.requests().iter().map(|seen| seen.status.unwrap()).collect();
    assert_eq!(codes, [201, 201, 200, 404, 200, 200, 200, 200, 200, 200]);
    proxy.forget();
    assert_eq!(proxy.tally(), BTreeMap::new());
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
    eventually("kubectl asks again", || proxy.count(&hole) == 2);
    assert!(child.try_wait().unwrap().is_none(), "kubectl waits in the black hole");
    child.kill().unwrap();
    child.wait().unwrap();
}
