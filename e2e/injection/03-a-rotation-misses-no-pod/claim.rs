//! The webhook's certificate is renewed between two pod creations; both pods get the agent.

use stoker_testkit::wait::eventually;

const SECRET: &str = "stoker-operator-webhook-tls";
/// A certificate that was made then is long due.
const AGED: &str = r#"{"stringData":{"tls-made":"2020-01-01T00:00:00Z"}}"#;

// D7
#[test]
fn c03_pods_before_and_after_a_rotation_get_the_agent() {
    let Some(world) = super::world() else { return };
    world.recreate();
    let pair = || world.operator(&["get", "secret", SECRET, r"--output=jsonpath={.data.tls\.crt}"]);
    let before = pair();
    world.operator(&["patch", "secret", SECRET, "--type=merge", "--patch", AGED]);
    eventually("there is another pair", || pair() != before);
    world.recreate();
}
