//! With `webhook.separate` the controller's Deployment is scaled to zero: pods are still injected,
//! and their gateways come up with the files of the last commit.

use stoker_testkit::wait::eventually;

use super::OPERATOR;

#[test]
fn c04_pods_are_injected_while_no_controller_runs() {
    let Some(world) = super::world() else { return };
    let deployment = format!("deployment/{OPERATOR}");
    let replicas = world.operator(&["get", &deployment, "--output=jsonpath={.spec.replicas}"]);
    world.operator(&["scale", &deployment, "--replicas=0"]);
    let pods = ["get", "pods", "--selector=control-plane=controller-manager", "--output=name"];
    eventually("no controller runs", || world.operator(&pods).is_empty());
    world.recreate();
    let projects = world.quickstart.data_directory().join("projects");
    assert!(projects.join("line-1/project.json").is_file());
    world.operator(&["scale", &deployment, &format!("--replicas={replicas}")]);
    world.operator(&["rollout", "status", &deployment, "--timeout=90s"]);
}
