//! With cert-manager and a webhook in a Deployment of its own: pods are not Ready before the
//! certificate is there, then pods get agents; and the way back works, too.

use stoker_testkit::quickstart::NAMESPACE;
use stoker_testkit::wait::eventually;

const WEBHOOK: &str = "deployment/stoker-operator-webhook";

const DELETE_SECRET: [&str; 4] =
    ["delete", "secret", "stoker-operator-webhook-cert", "--ignore-not-found"];

// R73: a webhook without a certificate is not Ready.
#[test]
fn c06_a_separate_webhook_waits_for_the_certificate_of_cert_manager() {
    let Some(world) = super::world() else { return };
    world.install("");
    world.start_gateway();
    world.install_cert_manager();
    world.operator(&DELETE_SECRET); // of an earlier claim
    world.quickstart.helm(
        "upgrade stoker-operator charts/stoker-operator --namespace stoker-system \
         --set certManager.enabled=true,webhook.separate=true",
    );
    let started = "--output=jsonpath={.items[*].status.containerStatuses[*].started}";
    let pods = ["get", "pods", "--selector=control-plane=webhook", started];
    eventually("the webhook's containers run", || world.operator(&pods) == "true true");
    let ready = ["get", WEBHOOK, "--output=jsonpath={.status.readyReplicas}"];
    assert_eq!(world.operator(&ready), "", "there is no certificate yet");

    world.fill_certificate();
    world.operator(&["rollout", "status", WEBHOOK, "--timeout=3m"]);
    eventually("pods get an agent", || world.injects(NAMESPACE));
    world.quickstart.helm("test stoker-operator --namespace stoker-system");

    world.install("");
    eventually("the webhook's pods are gone", || {
        world.operator(&["get", "pods", "--selector=control-plane=webhook"]).is_empty()
    });
    eventually("pods get an agent from the operator", || world.injects(NAMESPACE));
    world.operator(&DELETE_SECRET);
}
