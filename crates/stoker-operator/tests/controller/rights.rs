//! Claims about the rights of agents.

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::api::{Api, DeleteParams, ObjectMeta, PostParams};
use stoker_testkit::git::Repo;
use stoker_testkit::git::http::HttpServer;
use stoker_testkit::object::gateway_pod;

use crate::world::{World, eventually, quiet_sync, version};

async fn may(world: &World, account: &str, verb: &str, config_map: &str) -> bool {
    let namespace = world.namespace.name();
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(format!("system:serviceaccount:{namespace}:{account}")),
            resource_attributes: Some(ResourceAttributes {
                namespace: Some(namespace.to_owned()),
                verb: Some(verb.to_owned()),
                resource: Some("configmaps".to_owned()),
                name: Some(config_map.to_owned()),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let api: Api<SubjectAccessReview> = Api::all(world.client.clone());
    let answer = api.create(&PostParams::default(), &review).await.unwrap();
    answer.status.unwrap().allowed
}

// S10, R75, R77: exactly the accounts of gateways, exactly their objects, for as long as they are.
#[tokio::test(flavor = "multi_thread")]
async fn agents_read_their_metadata_and_write_their_status_and_nothing_else() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    let url = server.mount("plant", &repo);
    let world = World::start().await;
    for name in ["plant", "other"] {
        world.sync(quiet_sync(name, &url)).await;
        world.until_announced(name, &first).await;
    }
    assert!(!may(&world, "default", "get", "stoker-metadata-plant").await);
    let metadata = ObjectMeta { name: Some("ignition".into()), ..ObjectMeta::default() };
    world.create(&ServiceAccount { metadata, ..ServiceAccount::default() }).await;
    let pod = gateway_pod("ignition-0").cr("plant").service_account("ignition").injected();
    world.pod(pod.build()).await;
    eventually("the agent has its rights", || async {
        may(&world, "ignition", "patch", "stoker-status-plant-0").await.then_some(())
    })
    .await;
    for verb in ["get", "list", "watch"] {
        assert!(may(&world, "ignition", verb, "stoker-metadata-plant").await, "{verb}");
    }
    for (account, verb, name) in [
        ("ignition", "patch", "stoker-metadata-plant"),
        ("ignition", "delete", "stoker-status-plant-0"),
        ("ignition", "get", "stoker-metadata-other"),
        ("ignition", "patch", "stoker-status-other-0"),
        ("default", "get", "stoker-metadata-plant"),
    ] {
        assert!(!may(&world, account, verb, name).await, "{account} {verb} {name}");
    }
    let delete = DeleteParams::default().grace_period(0);
    world.api::<Pod>().delete("ignition-0", &delete).await.unwrap();
    eventually("the rights go with the pod", || async {
        (!may(&world, "ignition", "get", "stoker-metadata-plant").await).then_some(())
    })
    .await;
}
