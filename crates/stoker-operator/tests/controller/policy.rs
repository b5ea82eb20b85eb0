//! Claims about the policy that ties each report to its pod.

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::api::rbac::v1::{PolicyRule, Role, RoleBinding, RoleRef, Subject};
use kube::Client;
use kube::api::{Api, ObjectMeta, Patch, PatchParams};
use serde_json::{Value, json};
use stoker_api::names::{self, Label, MANAGED_BY};
use stoker_testkit::cluster::Cluster;
use stoker_testkit::node::succeed;
use stoker_testkit::object::gateway_pod;

use crate::world::{World, eventually};

const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../charts/stoker-operator");
const STATUS: &str = "stoker-status-plant-0";

/// Installs the policy as the chart does.
fn install(world: &World) {
    let mut helm = Cluster::shared().helm();
    helm.args(["template", "stoker-operator", CHART, "--namespace", world.namespace.name()]);
    let rendered = succeed(helm.args(["--show-only", "templates/status-policy.yaml"]));
    world.namespace.apply(&rendered);
}

/// Lets every account of the namespace write status objects, as RBAC does for those of gateways.
async fn bind(world: &World) {
    let rule = PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["configmaps".to_owned()]),
        verbs: vec!["get".to_owned(), "patch".to_owned()],
        ..PolicyRule::default()
    };
    let metadata = ObjectMeta { name: Some("agents".to_owned()), ..ObjectMeta::default() };
    world.create(&Role { metadata: metadata.clone(), rules: Some(vec![rule]) }).await;
    let subject = Subject {
        kind: "ServiceAccount".to_owned(),
        name: "default".to_owned(),
        namespace: Some(world.namespace.name().to_owned()),
        ..Subject::default()
    };
    let role_ref = RoleRef {
        api_group: "rbac.authorization.k8s.io".to_owned(),
        kind: "Role".to_owned(),
        name: "agents".to_owned(),
    };
    world.create(&RoleBinding { metadata, role_ref, subjects: Some(vec![subject]) }).await;
}

/// Merges a patch into the status object; returns what the API server has against it.
async fn merge(client: &Client, world: &World, patch: Value) -> Result<(), String> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), world.namespace.name());
    match api.patch(STATUS, &PatchParams::default(), &Patch::Merge(patch)).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) => Err(status.message.clone()),
        Err(error) => panic!("{error}"),
    }
}

// S10: gateway pods share a service account with others, and still write their own report only.
#[tokio::test(flavor = "multi_thread")]
async fn a_pod_writes_its_own_report_and_nothing_else_of_a_status_object() {
    let world = World::start().await;
    install(&world);
    bind(&world).await;
    let labels = [(Label::ManagedBy.as_str().to_owned(), MANAGED_BY.to_owned())];
    assert_eq!(names::status_config_map("plant", 0), STATUS);
    let map = |name: &str| ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(labels.clone().into()),
            ..ObjectMeta::default()
        },
        data: Some([("other-0".to_owned(), "{}".to_owned())].into()),
        ..ConfigMap::default()
    };
    world.create(&map(STATUS)).await;
    let pod: Pod = world.pod(gateway_pod("plant-0").cr("plant").injected().build()).await;
    assert_eq!(pod.metadata.name.as_deref(), Some("plant-0"));
    let cluster = Cluster::shared();
    let token = cluster.pod_token(&world.namespace, "default", "plant-0").await;
    let agent = cluster.client_with_token(&token).await;
    let forge = || json!({ "data": { "other-0": "{\"forged\":true}" } });
    // The API server takes a moment to learn of a policy.
    let denied = eventually("the policy is in force", || async {
        let denied = merge(&agent, &world, forge()).await.err();
        merge(&world.client, &world, json!({ "data": { "other-0": "{}" } })).await.unwrap();
        denied
    })
    .await;
    assert!(denied.contains("pod plant-0 may write its own report only"), "{denied}");
    merge(&agent, &world, json!({ "data": { "plant-0": "{}" } })).await.unwrap();
    merge(&agent, &world, json!({ "data": { "plant-0": "{\"a\":1}" } })).await.unwrap();
    let refused = [
        json!({ "data": { "other-0": null } }),
        json!({ "data": { "third-0": "{}" } }),
        json!({ "data": { "plant-0": "{}", "third-0": "{}" } }),
        json!({ "binaryData": { "other-0": "e30=" } }),
        json!({ "immutable": true }),
        json!({ "metadata": { "labels": null } }),
        json!({ "metadata": { "finalizers": ["example.com/hold"] } }),
        json!({ "metadata": { "ownerReferences": [{
            "apiVersion": "v1", "kind": "Pod", "name": "plant-0", "uid": pod.metadata.uid,
        }] } }),
    ];
    for patch in refused {
        assert!(merge(&agent, &world, patch.clone()).await.is_err(), "{patch}");
    }
    merge(&agent, &world, json!({ "data": { "plant-0": null } })).await.unwrap();
    // A person has no pod: RBAC alone decides.
    merge(&world.client, &world, forge()).await.unwrap();
}
