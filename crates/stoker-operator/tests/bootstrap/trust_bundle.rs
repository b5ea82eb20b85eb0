//! Claims about ClusterTrustBundles as the source of the certificates.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use serde_json::{Value, json};
use stoker_testkit::proxy::{Fault, Match};
use stoker_testkit::skip;

use crate::world::{World, certificate, kubectl, login, policy, until};

const BETA: &str = "certificates.k8s.io/v1beta1";
const VERSIONS: [&str; 3] = ["v1", "v1beta1", "v1alpha1"];

/// A bundle; those of a signer have its name in theirs.
fn bundle(name: &str, signer: Option<&str>, pem: &str) -> Value {
    json!({
        "apiVersion": BETA, "kind": "ClusterTrustBundle", "metadata": { "name": name },
        "spec": { "signerName": signer, "trustBundle": pem },
    })
}

fn put(object: &Value) {
    kubectl(&["apply", "--server-side"], object);
}

fn remove(object: &Value) {
    kubectl(&["delete"], object);
}

/// The policy of most claims, with this ClusterTrustBundle.
fn policy_with(named: &Value) -> Value {
    let mut spec = policy();
    spec["caBundle"]["source"] = json!({ "clusterTrustBundle": named });
    spec
}

/// The certificates of the copy in a namespace, and where they are from.
async fn copy(world: &World, namespace: &str) -> Option<(String, String)> {
    let map = world.api::<ConfigMap>(namespace).get_opt("stoker-ca-bundle").await.unwrap()?;
    let origin = map.annotations()["stoker.io/replica-of"].clone();
    Some((map.data.unwrap_or_default().remove("ca.crt")?, origin))
}

/// Waits until the copy has these certificates and no other, and returns where they are from.
async fn has(world: &World, namespace: &str, pems: &[&String]) -> String {
    until("the copy has the certificates", async || {
        let (text, origin) = copy(world, namespace).await?;
        let all = pems.iter().all(|pem| text.contains(&pem.replace("\r\n", "\n")));
        let count = text.matches("BEGIN CERTIFICATE").count();
        (all && count == pems.len()).then_some(origin)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_bundles_are_copied_by_their_name_and_by_their_signer() {
    let mut world = World::bare().await;
    if !world.serves(BETA, "clustertrustbundles").await {
        return skip::record("this Kubernetes serves no ClusterTrustBundles");
    }
    let line = world.namespace(&[]).await;
    world.pull_secret(&login("first")).await;
    let [own, first, second, third] =
        ["own", "first", "second", "third"].map(|name| certificate(&format!("{name}.example")));
    let number = fastrand::u32(..);
    let named = bundle(&format!("plant-{number}"), None, &own);
    let signer = format!("line-{number}.example/ca");
    let part = |name: &str, pem: &str| {
        bundle(&format!("{}:{name}", signer.replace('/', ":")), Some(&signer), pem)
    };
    // One that does not exist yet is named; it is copied once it exists.
    world.policy(&policy_with(&json!({ "name": format!("plant-{number}") }))).await;
    let message = world.reason("SecretsReplicated", "ReplicaSourceMissing").await;
    assert!(message.contains(&format!("no ClusterTrustBundle/plant-{number}")), "{message}");
    put(&named);
    let origin = has(&world, &line, &[&own]).await;
    assert!(origin.starts_with(&format!("ClusterTrustBundle/plant-{number} ")), "{origin}");
    world.reason("SecretsReplicated", "Replicated").await;
    // All bundles of a signer count together, and no other.
    put(&part("a", &first));
    put(&part("b", &second));
    world.policy(&policy_with(&json!({ "signerName": signer }))).await;
    let origin = has(&world, &line, &[&first, &second]).await;
    assert!(origin.starts_with(&format!("ClusterTrustBundles-of-{signer} ")), "{origin}");
    put(&part("b", &third));
    has(&world, &line, &[&first, &third]).await;
    remove(&part("a", &first));
    has(&world, &line, &[&third]).await;
    remove(&part("b", &third));
    let message = world.reason("SecretsReplicated", "ReplicaSourceMissing").await;
    assert!(message.contains(&format!("no ClusterTrustBundles of {signer}")), "{message}");
    remove(&named);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_without_trust_bundles_says_so() {
    let mut world = World::bare().await;
    let proxy = world.proxy().await;
    for version in VERSIONS {
        let path = format!("/apis/certificates.k8s.io/{version}");
        proxy.fault(Match::any().resource(path), Fault::Status(404));
    }
    world.restart();
    world.ready().await;
    world.pull_secret(&login("first")).await;
    world.policy(&policy_with(&json!({ "signerName": "example.com/ca" }))).await;
    let message = world.reason("SecretsReplicated", "ReplicaSourceMissing").await;
    assert!(message.contains("the cluster has no ClusterTrustBundles"), "{message}");
}

// I4: what is not known is not missing.
#[tokio::test(flavor = "multi_thread")]
async fn copies_stay_while_the_cluster_does_not_say_what_it_has() {
    let mut world = World::bare().await;
    if !world.serves(BETA, "clustertrustbundles").await {
        return skip::record("this Kubernetes serves no ClusterTrustBundles");
    }
    let line = world.namespace(&[]).await;
    let (before, after) = (certificate("before.example"), certificate("after.example"));
    let name = format!("plant-{}", fastrand::u32(..));
    let source = |pem: &str| bundle(&name, None, pem);
    put(&source(&before));
    world.pull_secret(&login("first")).await;
    world.policy(&policy_with(&json!({ "name": name }))).await;
    has(&world, &line, &[&before]).await;
    let proxy = world.proxy().await;
    let unsaid = "/apis/certificates.k8s.io/v1beta1";
    let unsaid = proxy.fault(Match::any().resource(unsaid), Fault::Status(503));
    world.restart();
    unsaid.until_hits(1).await;
    // A namespace that comes later shows that the new process has worked through the queue.
    let last = world.namespace(&[("stoker.io/bootstrap-ca-bundle", "disabled")]).await;
    until("the pull secret is copied", async || {
        let secrets = world.api::<k8s_openapi::api::core::v1::Secret>(&last);
        secrets.get_opt("plant-registry").await.unwrap()
    })
    .await;
    assert!(copy(&world, &line).await.is_some(), "nobody said that the source is gone");
    unsaid.lift();
    put(&source(&after));
    has(&world, &line, &[&after]).await;
    remove(&source(&after));
}
