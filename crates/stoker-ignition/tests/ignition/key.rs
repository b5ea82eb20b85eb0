//! The API key, G3.

use fake_gateway::Token;
use stoker_ignition::{Gateway, Options, Reason};

use crate::support::{CANARY, KEY, World, everything};

#[test]
fn the_key_is_read_anew_for_every_call() {
    let world = World::new();
    let gateway = world.gateway();
    gateway.projects().unwrap();
    let rotated = "ci:rotated-fedcba9876543210";
    world.fake.set_tokens([Token::parse(rotated).unwrap()]);
    assert_eq!(gateway.projects().unwrap_err().reason(), Reason::GatewayUnauthorized);
    std::fs::write(&world.key_file, rotated).unwrap();
    gateway.projects().unwrap();
}

#[test]
fn a_trailing_newline_does_not_matter() {
    let world = World::new();
    for key in [format!("{KEY}\n"), format!("{KEY}\r\n")] {
        std::fs::write(&world.key_file, key).unwrap();
        world.gateway().projects().unwrap();
    }
}

#[test]
fn a_key_that_can_not_work_is_said_so_and_not_sent() {
    let world = World::new();
    for text in ["", "\n", CANARY, &format!("{KEY}\n{KEY}\n")] {
        std::fs::write(&world.key_file, text).unwrap();
        let error = world.gateway().projects().unwrap_err();
        assert_eq!(error.reason(), Reason::GatewayKeyUnusable, "{text:?}");
        assert!(!everything(&error).contains(CANARY));
        assert!(error.to_string().contains("key"), "it names the file: {error}");
    }
    std::fs::remove_file(&world.key_file).unwrap();
    let error = world.gateway().projects().unwrap_err();
    assert_eq!(error.reason(), Reason::GatewayKeyMissing);
    assert_eq!(world.fake.calls(), Vec::<String>::new());
}

#[test]
fn readiness_needs_no_key_and_the_rest_asks_for_one() {
    let world = World::new();
    let gateway = Gateway::connect(Options { api_key_file: None, ..world.options() }).unwrap();
    assert!(matches!(gateway.readiness(), stoker_ignition::Readiness::Running));
    assert_eq!(gateway.projects().unwrap_err().reason(), Reason::GatewayKeyMissing);
    assert!(world.fake.requests().iter().all(|request| request.token.is_none()));
}

#[test]
fn nothing_that_can_be_printed_holds_the_key() {
    let world = World::new();
    let options = world.options();
    assert!(!format!("{options:?}").contains(CANARY));
    world.fake.set_tokens([]);
    let gateway = world.gateway();
    let outcome = gateway.scan(stoker_ignition::Halves::BOTH);
    assert!(!format!("{outcome:?}").contains(CANARY));
    assert!(outcome.errors.iter().all(|(_, error)| error.reason() == Reason::GatewayUnauthorized));
}
