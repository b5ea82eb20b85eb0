//! Two replicas run, one leads. When it is killed the other one takes over, and gateways get the
//! next commit.

use stoker_testkit::quickstart::OPERATOR_NAMESPACE;
use stoker_testkit::wait::eventually;

const HOLDER: [&str; 4] =
    ["get", "lease", "a86165bb.stoker.io", "--output=jsonpath={.spec.holderIdentity}"];

#[test]
fn c04_the_other_replica_takes_over() {
    let Some(world) = super::world() else { return };
    world.install("");
    world.start_gateway();
    let leader = world.operator(&HOLDER);
    world.node().kill_container(OPERATOR_NAMESPACE, &leader, "manager");
    // Its container would start again under the same name, and hold the Lease on.
    world.operator(&["delete", "pod", &leader, "--grace-period=0", "--force"]);
    eventually("another replica leads", || {
        let holder = world.operator(&HOLDER);
        !holder.is_empty() && holder != leader
    });
    world.sync_a_commit("after-the-leader");
    world.operator(&["rollout", "status", &format!("deployment/{}", super::OPERATOR)]);
}
