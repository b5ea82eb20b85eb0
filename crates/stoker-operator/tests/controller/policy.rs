//! Claims about the policy that ties each report to its pod.

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::api::rbac::v1::{PolicyRule, Role, RoleBinding, RoleRef, Subject};
use kube::Client;
use kube::api::{Api, ObjectMeta, Patch, PatchParams};
use serde_json::{Value, json};
use stoker_api::condition::ConditionType;
use stoker_api::names::{self, Annotation, Label, MANAGED_BY};
use stoker_testkit::cluster::Cluster;
use stoker_testkit::node::succeed;
use stoker_testkit::object::gateway_pod;
use stoker_testkit::proxy::FaultProxy;

use crate::gateway::plant_in;
use crate::world::{World, eventually};

const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../charts/stoker-operator");
const STATUS: &str = "stoker-status-plant-0";

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

// S10, F5: gateway pods share a service account with others, and still write their own report only.
#[tokio::test(flavor = "multi_thread")]
async fn a_pod_writes_its_own_report_and_nothing_else_of_a_status_object() {
    let world = World::start().await;
    release(&world, &["status-policy"]);
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
    // The operator of another release, which the policy does not know by name, prunes reports.
    let other = release_as(&world, &format!("{}-b", world.namespace.name()), &RIGHTS);
    let token = operator_token(&world, &other).await;
    let operator = cluster.client_with_token(&token).await;
    merge(&operator, &world, json!({ "data": { "other-0": null } })).await.unwrap();
    merge(&operator, &world, json!({ "metadata": { "labels": null } })).await.unwrap();
}

/// The templates that make an operator's account and its rights.
const RIGHTS: [&str; 2] = ["serviceaccount", "rbac"];

/// Makes a pod of a release's operator, and returns its token.
async fn operator_token(world: &World, release: &str) -> String {
    let account = format!("{release}-controller-manager");
    let pod = gateway_pod("operator-0").without_annotation(Annotation::Inject);
    world.pod(pod.service_account(&account).build()).await;
    Cluster::shared().pod_token(&world.namespace, &account, "operator-0").await
}

/// Renders templates of the chart for a release of its own, and applies them. Returns the name of
/// the release's objects.
fn release(world: &World, templates: &[&str]) -> String {
    release_as(world, world.namespace.name(), templates)
}

/// The same for a release of this name.
fn release_as(world: &World, name: &str, templates: &[&str]) -> String {
    let namespace = world.namespace.name();
    let mut helm = Cluster::shared().helm();
    helm.args(["template", name, CHART, "--namespace", namespace]);
    helm.args(["--set", &format!("watchNamespaces={{{namespace}}},fullnameOverride={name}")]);
    for template in templates {
        helm.args(["--show-only", &format!("templates/{template}.yaml")]);
    }
    world.namespace.apply(&succeed(&mut helm));
    name.to_owned()
}

async fn until_logged(world: &World, line: &str) {
    eventually(line, || async { world.log().contains(line).then_some(()) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_says_where_reports_are_not_fenced() {
    let mut world = World::idle(&[]).await;
    world.restart();
    until_logged(&world, "--status-policy is not set").await;
    world.flag(format!("--status-policy={}-status", world.namespace.name()));
    world.restart();
    until_logged(&world, "reports are not fenced, the policy is missing").await;
    release(&world, &["status-policy"]);
    world.restart();
    until_logged(&world, "reports are fenced").await;
    let binding = format!("{}-status", world.namespace.name());
    let mut kubectl = world.namespace.kubectl();
    succeed(kubectl.args(["delete", "validatingadmissionpolicybinding", &binding]));
    world.restart();
    until_logged(&world, "reports are not fenced, the policy is not bound").await;
}

/// A namespace whose controller has the rights that the chart gives, and no others.
pub(crate) struct Chart {
    pub(crate) world: World,
    pub(crate) proxy: FaultProxy,
    /// A client with the same rights.
    pub(crate) operator: Client,
    /// The Role that serves this namespace.
    pub(crate) role: String,
}

/// Starts a controller as the chart does, with the token of a pod.
pub(crate) async fn chart() -> Chart {
    let mut world = World::idle(&[]).await;
    release(&world, &["status-policy"]);
    let name = release(&world, &RIGHTS);
    let token = operator_token(&world, &name).await;
    let proxy = FaultProxy::start(Cluster::shared().config_with_token(&token).await).unwrap();
    world.connect_by(&proxy);
    world.flag(format!("--status-policy={name}-status"));
    world.flag(format!("--token-writer-role={name}-token-writer"));
    world.flag(format!("--service-account={name}-controller-manager"));
    world.restart();
    let operator = Cluster::shared().client_with_token(&token).await;
    Chart { world, proxy, operator, role: format!("{name}-watched") }
}

// S10: the policy exempts the operator by its name, although its token is that of a pod, too.
#[tokio::test(flavor = "multi_thread")]
async fn the_operator_works_with_the_rights_of_the_chart_and_behind_its_policy() {
    let Chart { world, proxy, operator, .. } = chart().await;
    let plant = plant_in(world).await;
    let world = &plant.world;
    let pod = world.gateway("ignition-0", "plant").await;
    world.report_synced(&pod, "plant").await;
    world.until_reason("plant", ConditionType::Ready, "AllSynced").await;
    until_logged(world, "reports are fenced").await;
    // A pod of the namespace may not write this report; the operator may take it away.
    let stranger = Cluster::shared().pod_token(&world.namespace, "default", "ignition-0").await;
    let stranger = Cluster::shared().client_with_token(&stranger).await;
    let forge = || json!({ "data": { "other-0": "{}" } });
    let denied = eventually("the policy is in force", || async {
        let denied = merge(&stranger, world, forge()).await.err();
        merge(&world.client, world, json!({ "data": { "other-0": null } })).await.unwrap();
        denied
    })
    .await;
    assert!(denied.contains("may write its own report only"), "{denied}");
    merge(&operator, world, forge()).await.unwrap();
    merge(&operator, world, json!({ "data": { "other-0": null } })).await.unwrap();
    world.delete("plant").await;
    let refused: Vec<_> =
        proxy.requests().into_iter().filter(|seen| seen.status == Some(403)).collect();
    assert!(refused.is_empty(), "the chart's rights are not enough: {refused:#?}");
}
