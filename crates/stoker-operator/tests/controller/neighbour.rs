//! Claims about one GatewaySync among many.

use std::time::Duration;

use futures::StreamExt as _;
use futures::stream;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::json;
use stoker_api::names::{self, Label};
use stoker_api::{GatewaySync, crd};
use stoker_testkit::git::Repo;
use stoker_testkit::git::http::HttpServer;
use stoker_testkit::object::{config_map, secret};

use crate::world::{World, eventually, quiet_sync, version};

const GOOD: usize = 100;

/// Stores a GatewaySync that this version can't read, as one of a newer version would be.
async fn store_unreadable(world: &World, url: &str) {
    let definitions: Api<CustomResourceDefinition> = Api::all(world.client.clone());
    let name = "gatewaysyncs.stoker.io";
    let schema = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/paused";
    let loose = json!([{
        "op": "replace", "path": schema, "value": { "x-kubernetes-int-or-string": true },
    }]);
    let loose: json_patch::Patch = serde_json::from_value(loose).unwrap();
    let patch = Patch::<()>::Json(loose);
    definitions.patch(name, &PatchParams::default(), &patch).await.unwrap();
    let resource = ApiResource::erase::<GatewaySync>(&());
    let namespace = world.namespace.name();
    let api: Api<DynamicObject> = Api::namespaced_with(world.client.clone(), namespace, &resource);
    let object: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "stoker.io/v1alpha1",
        "kind": "GatewaySync",
        "metadata": { "name": "unreadable" },
        "spec": { "git": { "repo": url, "ref": "main" }, "paused": 7 },
    }))
    .unwrap();
    eventually("the looser schema counts", || async {
        api.create(&PostParams::default(), &object).await.ok()
    })
    .await;
    let strict = crd::gateway_sync();
    let manager = PatchParams::apply("kubectl").force();
    definitions.patch(name, &manager, &Patch::Apply(&strict)).await.unwrap();
}

// C8, F21: what can't be read is that object's problem.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_can_not_be_read_is_marked_and_a_hundred_others_work() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    let url = server.mount("plant", &repo);
    let mut world = World::idle(&[]).await;
    store_unreadable(&world, &url).await;
    world.restart();
    let names: Vec<String> = (0..GOOD).map(|number| format!("plant-{number}")).collect();
    stream::iter(&names)
        .for_each_concurrent(10, |name| async {
            world.sync(quiet_sync(name, &url)).await;
        })
        .await;
    for name in &names {
        world.until_announced(name, &first).await;
    }
    let resource = ApiResource::erase::<GatewaySync>(&());
    let api: Api<DynamicObject> =
        Api::namespaced_with(world.client.clone(), world.namespace.name(), &resource);
    let marked = eventually("the unreadable one says so", || async {
        let object = api.get("unreadable").await.unwrap();
        let conditions = object.data["status"]["conditions"].as_array()?.clone();
        conditions.iter().any(|it| it["reason"] == "SpecInvalid").then_some(object)
    })
    .await;
    stop_and_go_on(&world, &marked).await;
    let now = api.get("unreadable").await.unwrap();
    assert_eq!(now.metadata.resource_version, marked.metadata.resource_version, "said once");
    api.delete("unreadable", &DeleteParams::default()).await.unwrap();
    tokio::time::timeout(Duration::from_mins(1), async {
        while api.get_opt("unreadable").await.unwrap().is_some() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await
    .unwrap();
}

/// Shows that the emergency stop reaches the agents of a GatewaySync that can't be read any more.
async fn stop_and_go_on(world: &World, sync: &DynamicObject) {
    let maps = world.api::<ConfigMap>();
    let mut map = maps.get(&names::metadata_config_map("plant-0")).await.unwrap();
    let before = map.data.clone().unwrap();
    let mut owner = map.metadata.owner_references.take().unwrap();
    owner[0].name = sync.name_any();
    owner[0].uid = sync.uid().unwrap();
    let mut labels = map.metadata.labels.take().unwrap();
    labels.insert(Label::CrName.as_str().to_owned(), sync.name_any());
    map.metadata = ObjectMeta {
        name: Some(names::metadata_config_map(&sync.name_any())),
        namespace: map.metadata.namespace,
        labels: Some(labels),
        owner_references: Some(owner),
        ..ObjectMeta::default()
    };
    world.create(&map).await;
    let until_paused = |wanted: &'static str| {
        let maps = maps.clone();
        let name = map.name_any();
        async move {
            eventually("the stop is announced", || async {
                let data = maps.get(&name).await.unwrap().data?;
                (data["paused"] == wanted).then_some(data)
            })
            .await
        }
    };
    world.create(&config_map(names::PAUSE_CONFIG_MAP, [("paused", "true")])).await;
    assert_eq!(until_paused("true").await["commit"], before["commit"]);
    maps.delete(names::PAUSE_CONFIG_MAP, &DeleteParams::default()).await.unwrap();
    assert_eq!(until_paused("false").await, before);
}

// S2, R79: what does not concern Stoker is never read, however large it is.
#[tokio::test(flavor = "multi_thread")]
async fn large_objects_of_others_take_no_memory() {
    const MANY: usize = 40;
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    let mut world = World::start().await;
    world.sync(quiet_sync("plant", &server.mount("plant", &repo))).await;
    world.until_announced("plant", &first).await;
    let before = world.peak_memory();
    let large = "x".repeat(700_000);
    for number in 0..MANY {
        let name = format!("large-{number}");
        world.create(&secret(&name, [("key", large.as_str())])).await;
        world.create::<ConfigMap>(&config_map(&name, [("key", large.as_str())])).await;
    }
    world.restart();
    let second = repo.commit(version("2")).unwrap();
    eventually("the controller works again", || async {
        world.recheck("plant").await;
        let commit = world.metadata("plant").await?.commit?;
        (commit.as_str() == second.as_str()).then_some(())
    })
    .await;
    let after = world.peak_memory();
    // All of them come to 53 MiB.
    assert!(after < before + 10, "{before} MiB before, {after} MiB after");
}
