//! Claims about copies of the pull secret and of the certificates.

use k8s_openapi::api::core::v1::{ConfigMap, ResourceQuota, Secret};
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;
use stoker_api::PodBootstrap;
use stoker_testkit::object::secret;

use crate::world::{SYSTEM, World, certificate, login, policy, until};

const KEY: &str = ".dockerconfigjson";

async fn content(world: &World, namespace: &str) -> Option<String> {
    let found = world.api::<Secret>(namespace).get_opt("plant-registry").await.unwrap()?;
    let data = found.data.unwrap_or_default();
    data.get(KEY).map(|value| String::from_utf8(value.0.clone()).unwrap())
}

async fn has(world: &World, namespace: &str, expected: &str) {
    until("the copy has the content", async || {
        (content(world, namespace).await.as_deref() == Some(expected)).then_some(())
    })
    .await;
}

// K1, I3, I4: copies follow their source and heal; the source itself is never written.
#[tokio::test(flavor = "multi_thread")]
async fn copies_follow_their_source_and_heal() {
    let mut world = World::start().await;
    let line = world.namespace(&[]).await;
    world.copied(&line).await;
    let secrets = world.api::<Secret>(&line);
    let copy = secrets.get("plant-registry").await.unwrap();
    assert_eq!(copy.type_.as_deref(), Some("kubernetes.io/dockerconfigjson"));
    assert_eq!(copy.labels()["stoker.io/replica"], "bootstrap");
    assert!(
        copy.annotations()["stoker.io/replica-of"].starts_with("bootstrap-system/plant-registry ")
    );
    let map = world.api::<ConfigMap>(&line).get("stoker-ca-bundle").await.unwrap().data.unwrap();
    assert_eq!(map["ca.crt"].matches("BEGIN CERTIFICATE").count(), 1);
    assert!(map["bundle.crt"].starts_with(&map["ca.crt"]));
    // Rotated twice, quickly.
    world.pull_secret(&login("second")).await;
    world.pull_secret(&login("third")).await;
    has(&world, &line, &login("third")).await;
    // Edited.
    let edit = json!({ "stringData": { KEY: login("edited") } });
    secrets.patch("plant-registry", &PatchParams::default(), &Patch::Merge(&edit)).await.unwrap();
    has(&world, &line, &login("third")).await;
    // Made immutable, and then the source changes.
    let frozen = json!({ "immutable": true });
    secrets.patch("plant-registry", &PatchParams::default(), &Patch::Merge(&frozen)).await.unwrap();
    world.pull_secret(&login("fourth")).await;
    has(&world, &line, &login("fourth")).await;
    // Deleted.
    secrets.delete("plant-registry", &DeleteParams::default()).await.unwrap();
    has(&world, &line, &login("fourth")).await;
    // Emptied: the copies stay as they are.
    world.pull_secret("{\"auths\":{}}").await;
    let message = world.reason("SecretsReplicated", "ReplicaSourceMissing").await;
    assert!(message.contains("names no registry"), "{message}");
    assert_eq!(content(&world, &line).await, Some(login("fourth")));
    let source = world.api::<Secret>(SYSTEM).get("plant-registry").await.unwrap();
    assert!(!source.labels().contains_key("stoker.io/replica"));
    let managers = source.managed_fields().iter().filter_map(|it| it.manager.as_deref());
    assert_eq!(managers.collect::<Vec<_>>(), ["test"]);
    world.certificates(&certificate("second.example")).await;
    let before = map["ca.crt"].clone();
    until("the certificates are rotated", async || {
        let map = world.api::<ConfigMap>(&line).get("stoker-ca-bundle").await.unwrap();
        (map.data.unwrap()["ca.crt"] != before).then_some(())
    })
    .await;
}

// K3: an object of the user is not overwritten, whatever its type, and reported.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_of_the_same_name_is_kept_and_reported() {
    let mut world = World::bare().await;
    let (mine, other) = (world.namespace(&[]).await, world.namespace(&[]).await);
    let own = secret("plant-registry", [("password", "mine")]);
    world.api::<Secret>(&mine).create(&PostParams::default(), &own).await.unwrap();
    world.pull_secret(&login("first")).await;
    world.certificates(&certificate("first.example")).await;
    world.policy(&policy()).await;
    world.copied(&other).await;
    let message = world.reason("SecretsReplicated", "ReplicaConflict").await;
    assert!(message.contains(&format!("{mine} (pull-secret)")), "{message}");
    let kept = world.api::<Secret>(&mine).get("plant-registry").await.unwrap();
    assert_eq!(kept.data.unwrap().keys().collect::<Vec<_>>(), ["password"]);
    // Gone by the user's hand, it makes room.
    world.api::<Secret>(&mine).delete("plant-registry", &DeleteParams::default()).await.unwrap();
    world.restart();
    has(&world, &mine, &login("first")).await;
    world.reason("SecretsReplicated", "Replicated").await;
}

// K5: copies go when the source goes, the namespace opts out or the policy ends, but not while a pod
// refers to them.
#[tokio::test(flavor = "multi_thread")]
async fn copies_go_when_nothing_needs_them() {
    let mut world = World::start().await;
    let line = world.namespace(&[]).await;
    let pod = world.whole_pod(&line).await;
    let own = secret("own", [("password", "mine")]);
    world.api::<Secret>(&line).create(&PostParams::default(), &own).await.unwrap();
    world.api::<Secret>(SYSTEM).delete("plant-registry", &DeleteParams::default()).await.unwrap();
    let message = world.reason("SecretsReplicated", "ReplicaSourceMissing").await;
    assert!(message.contains("bootstrap-system/plant-registry does not exist"), "{message}");
    assert!(content(&world, &line).await.is_some(), "a pod refers to it");
    let pods: Api<k8s_openapi::api::core::v1::Pod> = world.api(&line);
    for it in pods.list(&kube::api::ListParams::default()).await.unwrap() {
        let now = DeleteParams::default().grace_period(0);
        pods.delete(&it.name_any(), &now).await.unwrap();
    }
    drop(pod);
    world.restart();
    until("the copy is gone", async || content(&world, &line).await.is_none().then_some(())).await;
    assert!(world.api::<ConfigMap>(&line).get_opt("stoker-ca-bundle").await.unwrap().is_some());
    let policies: Api<PodBootstrap> = Api::all(world.client.clone());
    policies.delete("default", &DeleteParams::default()).await.unwrap();
    until("the certificates are gone", async || {
        let map = world.api::<ConfigMap>(&line).get_opt("stoker-ca-bundle").await.unwrap();
        map.is_none().then_some(())
    })
    .await;
    let left = world.api::<Secret>(&line).list(&kube::api::ListParams::default()).await.unwrap();
    assert_eq!(left.items.iter().map(kube::ResourceExt::name_any).collect::<Vec<_>>(), ["own"]);
}

async fn versions(world: &World, lines: &[String]) -> Vec<[Option<String>; 2]> {
    let mut found = Vec::new();
    for line in lines {
        let secret = world.api::<Secret>(line).get("plant-registry").await.unwrap();
        let map = world.api::<ConfigMap>(line).get("stoker-ca-bundle").await.unwrap();
        found.push([secret.resource_version(), map.resource_version()]);
    }
    found
}

// P26: nothing is written when nothing changed.
#[tokio::test(flavor = "multi_thread")]
async fn a_restart_writes_nothing() {
    let mut world = World::start().await;
    let mut lines = Vec::new();
    for _ in 0..3 {
        let line = world.namespace(&[]).await;
        world.copied(&line).await;
        lines.push(line);
    }
    world.reason("SecretsReplicated", "Replicated").await;
    let before = versions(&world, &lines).await;
    world.restart();
    world.ready().await;
    // A namespace that comes later shows that the new process has worked through the queue.
    let last = world.namespace(&[("stoker.io/bootstrap-ca-bundle", "disabled")]).await;
    has(&world, &last, &login("first")).await;
    assert_eq!(versions(&world, &lines).await, before);
}

// K2: a namespace that ends is not an error.
#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_ends_is_left_to_end() {
    let mut world = World::start().await;
    let line = world.namespace(&[]).await;
    world.copied(&line).await;
    let api: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(world.client.clone());
    api.delete(&line, &DeleteParams::default()).await.unwrap();
    until("the namespace is gone", async || {
        api.get_opt(&line).await.unwrap().is_none().then_some(())
    })
    .await;
    world.reason("SecretsReplicated", "Replicated").await;
}

// I3: a quota, a terminating namespace and an object of a user stop their own namespace only.
#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_fails_stops_no_other() {
    let mut world = World::bare().await;
    let full = world.namespace(&[]).await;
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": { "name": "none" },
        "spec": { "hard": { "secrets": "0" } },
    });
    let quotas = world.api::<ResourceQuota>(&full);
    let quota = serde_json::from_value(quota).unwrap();
    quotas.create(&PostParams::default(), &quota).await.unwrap();
    let stuck = world.namespace(&[]).await;
    // A finalizer keeps it in its end.
    let held = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "held", "finalizers": ["example.com/held"] },
    });
    let maps = world.api::<ConfigMap>(&stuck);
    let held = serde_json::from_value(held).unwrap();
    maps.create(&PostParams::default(), &held).await.unwrap();
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(world.client.clone());
    namespaces.delete(&stuck, &DeleteParams::default()).await.unwrap();
    until("the quota counts", async || quotas.get("none").await.unwrap().status?.used.map(drop))
        .await;
    let mut others = Vec::new();
    for _ in 0..20 {
        others.push(world.namespace(&[]).await);
    }
    world.pull_secret(&login("first")).await;
    world.certificates(&certificate("first.example")).await;
    world.policy(&policy()).await;
    for other in &others {
        world.copied(other).await;
    }
    let message = world.reason("SecretsReplicated", "ReplicationFailed").await;
    assert!(message.contains(&full) && message.contains("quota"), "{message}");
    assert!(!message.contains(&stuck), "{message}");
    assert!(content(&world, &stuck).await.is_none());
    // With room, the copy arrives by itself.
    quotas.delete("none", &DeleteParams::default()).await.unwrap();
    has(&world, &full, &login("first")).await;
    world.reason("SecretsReplicated", "Replicated").await;
    let free = json!({ "metadata": { "finalizers": null } });
    maps.patch("held", &PatchParams::default(), &Patch::Merge(&free)).await.unwrap();
}

// K4: a field that another manager took is taken back, whichever way the copy was written before.
#[tokio::test(flavor = "multi_thread")]
async fn fields_that_another_manager_owns_are_taken_back() {
    let mut world = World::start().await;
    let line = world.namespace(&[]).await;
    world.copied(&line).await;
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "stoker-ca-bundle" },
        "data": { "ca.crt": "mine" },
    });
    let maps = world.api::<ConfigMap>(&line);
    let before = maps.get("stoker-ca-bundle").await.unwrap().data.unwrap();
    let forced = PatchParams::apply("another-manager").force();
    maps.patch("stoker-ca-bundle", &forced, &Patch::Apply(&object)).await.unwrap();
    until("the copy is healed", async || {
        let found = maps.get("stoker-ca-bundle").await.unwrap();
        (found.data.as_ref() == Some(&before)).then_some(())
    })
    .await;
    // And the source can still change both.
    world.certificates(&certificate("second.example")).await;
    until("the copy follows", async || {
        let found = maps.get("stoker-ca-bundle").await.unwrap().data.unwrap();
        (found["ca.crt"] != before["ca.crt"] && found["ca.crt"] != "mine").then_some(())
    })
    .await;
}
