//! Designer policies: G4, R44, R45.

use std::time::Duration;

use fake_gateway::Ugly;
use stoker_ignition::{Cancel, Consequence, Error, Policy, Reason};

use crate::support::World;

const DESIGNERS: &str = "/data/api/v1/designers";
const LONG: Policy = Policy::Wait(Duration::from_mins(10));

#[test]
fn proceed_does_not_even_ask() {
    let world = World::new();
    world.fake.open_designer("ada", "plant");
    world.gateway().wait_for_designers(Policy::Proceed).unwrap();
    assert_eq!(world.fake.calls(), Vec::<String>::new());
}

#[test]
fn nobody_there_is_nobody_in_the_way() {
    let world = World::new();
    for policy in [Policy::Fail, LONG] {
        world.gateway().wait_for_designers(policy).unwrap();
        world.gateway().check_designers(policy).unwrap();
    }
}

#[test]
fn fail_names_who_is_there() {
    let world = World::new();
    world.fake.open_designer("ada", "plant");
    let error = world.gateway().wait_for_designers(Policy::Fail).unwrap_err();
    assert_eq!(error.to_string(), "1 designer session(s) open: ada in plant");
    assert_eq!(error.consequence(), Consequence::WriteNothing);
}

#[test]
fn wait_goes_on_when_the_last_session_closes() {
    let world = World::new();
    let id = world.fake.open_designer("ada", "plant");
    let gateway = world.gateway();
    let waiting = std::thread::spawn(move || gateway.wait_for_designers(LONG));
    assert!(world.fake.wait_for_requests(DESIGNERS, 2, Duration::from_secs(20)));
    world.fake.close_designer(&id);
    waiting.join().unwrap().unwrap();
}

#[test]
fn wait_ends_with_its_time_and_with_a_cancel() {
    let world = World::new();
    world.fake.open_designer("ada", "plant");
    let short = Policy::Wait(Duration::from_millis(150));
    let error = world.gateway().wait_for_designers(short).unwrap_err();
    assert_eq!(error.reason(), Reason::DesignerSessionActive);
    let cancel = Cancel::default();
    let gateway = world.cancelled_by(&cancel);
    let asked = world.fake.calls().len();
    let waiting = std::thread::spawn(move || gateway.wait_for_designers(LONG));
    assert!(world.fake.wait_for_requests(DESIGNERS, asked + 1, Duration::from_secs(20)));
    cancel.cancel();
    assert!(matches!(waiting.join().unwrap(), Err(Error::Cancelled)));
}

// G4, R44: a missing response does not mean that no session is open.
#[test]
fn an_unknown_state_never_proceeds() {
    let world = World::new();
    let odd = [
        Ugly::Status(401),
        Ugly::Status(403),
        Ugly::Status(404),
        Ugly::Status(500),
        Ugly::Html,
        Ugly::Cut,
        Ugly::Body("application/json", "{}".into()),
        Ugly::Body("application/json", r#"{"items":[],"metadata":{"total":1}}"#.into()),
    ];
    for ugly in odd {
        world.strike(&ugly, DESIGNERS);
        for policy in [Policy::Fail, Policy::Wait(Duration::from_millis(60))] {
            let error = world.gateway().wait_for_designers(policy).unwrap_err();
            assert_eq!(error.reason(), Reason::DesignerStateUnknown, "{ugly:?} {policy:?}");
            assert_eq!(error.consequence(), Consequence::WriteNothing);
        }
        world.gateway().wait_for_designers(Policy::Proceed).unwrap();
    }
}

// G4: opened between the check and the first rename.
#[test]
fn a_session_that_opens_late_is_seen_by_the_second_look() {
    let world = World::new();
    let gateway = world.gateway();
    gateway.wait_for_designers(LONG).unwrap();
    world.fake.open_designer("ada", "plant");
    assert_eq!(gateway.check_designers(LONG).unwrap_err().reason(), Reason::DesignerSessionActive);
}
