//! After `helm uninstall` every GatewaySync and every namespace can be deleted. A gateway runs on
//! through `helm upgrade` and `helm uninstall`.

use stoker_e2e::apply;
use stoker_testkit::node::{Node, succeed};
use stoker_testkit::quickstart::{self, OPERATOR_NAMESPACE, POD, Quickstart};
use stoker_testkit::wait::eventually;

// C10: the operator is uninstalled first, and what is left can be deleted.
#[test]
fn c02_after_uninstall_everything_can_be_deleted_and_the_gateway_runs_on() {
    let Some(node) = Node::or_skip() else { return };
    let quickstart = Quickstart::begin(node, quickstart::sample());
    quickstart.run(1..=4);
    apply(node.cluster().kubectl(), include_str!("stranger.yaml"));
    let finalizers = "--output=jsonpath={.metadata.finalizers}";
    let stranger = ["get", "gatewaysync", "stranger", "--namespace=stranger", finalizers];
    eventually("the controller holds the second GatewaySync", || {
        kubectl(node, &stranger).contains("stoker.io/finalizer")
    });

    let state = "--output=jsonpath={.metadata.uid} {.status.containerStatuses[*].restartCount}";
    let gateway = ["get", "pod", POD, "--namespace=plant", state];
    let before = kubectl(node, &gateway);

    quickstart.helm(
        "upgrade stoker-operator charts/stoker-operator --namespace stoker-system \
         --set podAnnotations.upgraded=yes --wait --timeout 2m",
    );
    let authority = "--output=jsonpath={.webhooks[0].clientConfig.caBundle}";
    let injection = ["get", "mutatingwebhookconfiguration", "stoker-operator-pod-injection"];
    assert!(!kubectl(node, &[&injection[..], &[authority]].concat()).is_empty(), "it is kept");

    quickstart.helm("uninstall stoker-operator --namespace stoker-system");

    let running = "--output=jsonpath={.status.containerStatuses[?(@.name=='gateway')].ready}";
    assert_eq!(kubectl(node, &["get", "pod", POD, "--namespace=plant", running]), "true");
    assert_eq!(kubectl(node, &gateway), before, "neither the pod nor a container was replaced");
    let of_operator = format!("--namespace={OPERATOR_NAMESPACE}");
    let left =
        ["get", "deployments,pods,jobs,leases,secrets,services", &of_operator, "--output=name"];
    eventually("nothing of the operator is left in its namespace", || {
        kubectl(node, &left).is_empty()
    });
    let webhooks =
        ["get", "mutatingwebhookconfigurations,validatingwebhookconfigurations", "--output=name"];
    assert!(!kubectl(node, &webhooks).contains("stoker"), "no webhook without a server behind it");

    kubectl(node, &["delete", "gatewaysync", "plant", "--namespace=plant", "--timeout=30s"]);
    kubectl(
        node,
        &["delete", "namespace", "plant", "stranger", OPERATOR_NAMESPACE, "--timeout=90s"],
    );
}

fn kubectl(node: &Node, arguments: &[&str]) -> String {
    succeed(node.cluster().kubectl().args(arguments))
}
