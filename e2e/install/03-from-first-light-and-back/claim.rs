//! An installation of the first chart is upgraded to this one and rolled back: the gateway runs on
//! and gets commits in every state.

use stoker_testkit::quickstart::NAMESPACE;
use stoker_testkit::wait::eventually;

const FIRST_LIGHT: &str = "stoker-operator e2e/install/03-from-first-light-and-back/chart \
                           --namespace stoker-system --create-namespace --wait --timeout 2m";
const ROLLBACK: &str = "rollback stoker-operator 1 --namespace stoker-system --wait --timeout 2m";

#[test]
fn c03_an_upgrade_from_first_light_and_a_rollback_restart_no_gateway() {
    let Some(world) = super::world() else { return };
    world.install("");
    world.start_gateway();
    world.uninstall();
    let before = world.gateway();
    world.quickstart.helm(&format!("install {FIRST_LIGHT}"));
    world.sync_a_commit("first-light");
    world.install("");
    world.sync_a_commit("upgraded");
    world.quickstart.helm(ROLLBACK);
    world.sync_a_commit("rolled-back");
    eventually("pods get an agent", || world.injects(NAMESPACE));
    world.install("");
    world.sync_a_commit("upgraded-again");
    assert_eq!(world.gateway(), before, "the gateway was not restarted");
}
