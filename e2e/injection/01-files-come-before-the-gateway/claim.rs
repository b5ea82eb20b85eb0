//! Pods of a StatefulSet and of a Deployment get the agent after the step that seeds the data
//! volume, and the gateway's process finds the files of the commit when it starts.

use stoker_testkit::quickstart::POD;

use super::{INIT_CONTAINERS, SEEDED};

// R2
#[test]
fn c01_pods_of_both_kinds_have_the_agent_in_its_place_and_files_before_the_gateway() {
    let Some(world) = super::world() else { return };
    assert_eq!(world.kubectl(&["get", "pod", POD, INIT_CONTAINERS]), SEEDED);
    world.apply(include_str!("deployment.yaml"));
    world.kubectl(&["rollout", "status", "deployment/early", "--timeout=90s"]);
    let pods = ["get", "pods", "--selector=app=early", "--output=name"];
    let pods = world.kubectl(&pods);
    assert_eq!(pods.lines().count(), 2, "{pods}");
    for pod in pods.lines() {
        assert_eq!(world.kubectl(&["get", pod, INIT_CONTAINERS]), "seed stoker-agent");
        // What was there when the container's process began.
        let seen = world.kubectl(&["logs", pod, "--container=gateway"]);
        assert_eq!(seen.trim(), "seeded\nline-1", "{pod}");
    }
    world.kubectl(&["delete", "deployment", "early", "--timeout=60s"]);
}
