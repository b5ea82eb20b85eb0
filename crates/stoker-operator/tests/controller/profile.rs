//! Claims about the status of SyncProfiles.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use stoker_api::{SyncProfile, crd};
use stoker_testkit::object::{profile, sync_profile};
use stoker_testkit::proxy::{Fault, FaultProxy, Match, Verb};

use crate::world::{World, cluster, eventually};

fn profiles(world: &World) -> Api<DynamicObject> {
    let resource = ApiResource::erase::<SyncProfile>(&());
    Api::namespaced_with(world.client.clone(), world.namespace.name(), &resource)
}

/// Waits until the SyncProfile `press` says whether it is valid, and returns the condition.
async fn until_valid(world: &World, wanted: &str) -> Value {
    let api = profiles(world);
    eventually(&format!("Valid is {wanted}"), || async {
        let object = api.get("press").await.unwrap();
        let condition = object.data["status"]["conditions"][0].clone();
        (condition["status"] == wanted).then_some(condition)
    })
    .await
}

async fn create(world: &World) {
    let press = profile().mapping("press", "projects");
    world.create(&sync_profile("press", press).build()).await;
}

/// Makes the SyncProfile `press` one that this version can't read, as one of a newer version is.
async fn make_unreadable(world: &World) {
    let definitions: Api<CustomResourceDefinition> = Api::all(world.client.clone());
    let name = "syncprofiles.stoker.io";
    let schema = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/dryRun";
    let loose = json!([{
        "op": "replace", "path": schema, "value": { "x-kubernetes-int-or-string": true },
    }]);
    let loose: json_patch::Patch = serde_json::from_value(loose).unwrap();
    let patch = Patch::<()>::Json(loose);
    definitions.patch(name, &PatchParams::default(), &patch).await.unwrap();
    let api = profiles(world);
    let number = Patch::Merge(json!({ "spec": { "dryRun": 7 } }));
    eventually("the looser schema counts", || async {
        api.patch("press", &PatchParams::default(), &number).await.ok()
    })
    .await;
    let strict = crd::all().into_iter().find(|it| it.metadata.name.as_deref() == Some(name));
    let manager = PatchParams::apply("kubectl").force();
    definitions.patch(name, &manager, &Patch::Apply(&strict.unwrap())).await.unwrap();
}

// C8: what can't be read is marked, once.
#[tokio::test(flavor = "multi_thread")]
async fn a_sync_profile_that_can_not_be_read_is_not_valid() {
    let mut world = World::start().await;
    create(&world).await;
    until_valid(&world, "True").await;
    make_unreadable(&world).await;
    let condition = until_valid(&world, "False").await;
    assert_eq!(condition["reason"], "ProfilesInvalid");
    assert!(condition["message"].as_str().unwrap().contains("integer `7`"), "{condition}");
    let before = profiles(&world).get("press").await.unwrap().metadata.resource_version;
    // A controller that starts again changes nothing, and still follows the others.
    world.restart();
    let other = profile().mapping("other", "projects");
    world.create(&sync_profile("other", other).build()).await;
    eventually("the other is valid", || async {
        profiles(&world).get("other").await.unwrap().data.get("status").cloned()
    })
    .await;
    let after = profiles(&world).get("press").await.unwrap().metadata.resource_version;
    assert_eq!(after, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_of_a_sync_profile_that_could_not_be_written_is_written_later() {
    let proxy = FaultProxy::start(cluster().config().await).unwrap();
    let mut world = World::behind(&proxy, &[]).await;
    world.restart();
    create(&world).await;
    until_valid(&world, "True").await;
    let writes = Match::verb(Verb::Patch).resource("syncprofiles/status");
    // More often than what the watch reports makes the controller try.
    let refused = proxy.fault(writes, Fault::Status(500)).times(3);
    let api = profiles(&world);
    let change = Patch::Merge(json!({ "spec": { "vars": { "line": "3" } } }));
    api.patch("press", &PatchParams::default(), &change).await.unwrap();
    eventually("the status is of the new generation", || async {
        let object = api.get("press").await.unwrap();
        (object.data["status"]["observedGeneration"] == 2).then_some(())
    })
    .await;
    assert_eq!(refused.hits(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_of_sync_profiles_that_is_missing_is_named_with_the_command() {
    let proxy = FaultProxy::start(cluster().config().await).unwrap();
    let missing = proxy.fault(Match::any().resource("syncprofiles"), Fault::Status(404));
    let mut world = World::behind(&proxy, &[]).await;
    world.restart();
    eventually("the log names the kind and the command", || async {
        let log = world.log();
        let line = log.lines().find(|line| line.contains("definitions are missing"))?;
        assert!(!line.contains("GatewaySync"), "{line}");
        (line.contains("SyncProfile") && line.contains("stoker-operator crds apply")).then_some(())
    })
    .await;
    missing.lift();
    create(&world).await;
    until_valid(&world, "True").await;
}
