//! What a gateway can do to us, G1 and G2.

use std::time::{Duration, Instant};

use fake_gateway::{Api, Fault, Options as FakeOptions, State, Ugly};
use stoker_api::remedy::Remedy;
use stoker_ignition::{Cancel, Error, Gateway, Half, Halves, Limits, Options, Reason, Scan};

use crate::support::{CANARY, World, everything, limits};

const PROJECTS: &str = "/data/api/v1/projects/names";

/// A gateway with short deadlines, for what never ends.
fn hasty(world: &World) -> Gateway {
    world.with_limits(Limits { call: Duration::from_millis(400), ..limits() })
}

// G1
#[test]
fn every_answer_that_is_none_has_its_own_reason() {
    let world = World::new();
    let cases = [
        (Ugly::Status(401), Reason::GatewayUnauthorized),
        (Ugly::Empty(401), Reason::GatewayUnauthorized),
        (Ugly::Status(403), Reason::GatewayForbidden),
        (Ugly::Status(404), Reason::GatewayRouteNotFound),
        (Ugly::Status(429), Reason::GatewayTooManyRequests),
        (Ugly::Status(500), Reason::GatewayServerFault),
        (Ugly::Status(502), Reason::GatewayServerFault),
        (Ugly::Status(503), Reason::GatewayStarting),
        (Ugly::Status(418), Reason::GatewayUnexpectedAnswer),
        (Ugly::Redirect("/welcome".into()), Reason::GatewayNeedsCommissioning),
        (Ugly::Redirect("http://gateway/welcome?x=1".into()), Reason::GatewayNeedsCommissioning),
        (Ugly::Redirect("http://evil.example/".into()), Reason::GatewayRedirected),
        (Ugly::Html, Reason::GatewayUnexpectedAnswer),
        (Ugly::Body("application/json", "{\"items\":[".into()), Reason::GatewayUnexpectedAnswer),
        (Ugly::Body("text/plain", "{\"items\":[]}".into()), Reason::GatewayUnexpectedAnswer),
        (Ugly::Cut, Reason::GatewayConnectionLost),
        (Ugly::Drop, Reason::GatewayConnectionLost),
        (Ugly::Huge(5 << 30), Reason::GatewayAnswerTooLarge),
    ];
    for (ugly, reason) in cases {
        world.strike(&ugly, PROJECTS);
        let error = world.gateway().projects().expect_err("it went wrong");
        assert_eq!(error.reason(), reason, "{ugly:?}: {error}");
        assert!(!everything(&error).contains(CANARY), "{ugly:?}");
    }
}

// G2
#[test]
fn a_deadline_holds_whatever_the_gateway_does() {
    let world = World::new();
    for ugly in
        [Ugly::Hang, Ugly::Drip(Duration::from_millis(20)), Ugly::Slow(Duration::from_mins(1))]
    {
        world.strike(&ugly, "");
        let started = Instant::now();
        let error = hasty(&world).projects().expect_err("it never ends");
        assert_eq!(error.reason(), Reason::GatewayTimedOut, "{ugly:?}: {error}");
        assert!(started.elapsed() < Duration::from_secs(10), "{ugly:?}");
    }
}

// G2
#[test]
fn a_huge_body_is_left_unread() {
    let world = World::new();
    world.fake.fail(Fault::new(Ugly::Huge(u64::MAX / 2)));
    assert!(matches!(world.gateway().projects(), Err(Error::TooLarge { limit: 4_194_304, .. })));
}

// G2
#[test]
fn a_call_that_hangs_ends_when_it_is_cancelled() {
    let world = World::new();
    world.fake.fail(Fault::new(Ugly::Hang));
    let cancel = Cancel::default();
    let limits = Limits { call: Duration::from_mins(10), ..Limits::default() };
    let gateway =
        Gateway::connect(Options { cancel: cancel.clone(), limits, ..world.options() }).unwrap();
    let waiting = std::thread::spawn(move || gateway.projects());
    assert!(world.fake.wait_for_requests(PROJECTS, 1, Duration::from_secs(20)));
    let cancelled = Instant::now();
    cancel.cancel();
    assert!(matches!(waiting.join().unwrap(), Err(Error::Cancelled)));
    assert!(cancelled.elapsed() < Duration::from_secs(20));
}

// G2
#[test]
fn what_is_cancelled_already_is_not_even_asked() {
    let world = World::new();
    let cancel = Cancel::default();
    cancel.cancel();
    let gateway = world.cancelled_by(&cancel);
    assert!(matches!(gateway.projects(), Err(Error::Cancelled)));
    let outcome = gateway.scan(Halves::BOTH);
    assert_eq!((outcome.projects, outcome.config), (Scan::Owed, Scan::Owed));
    assert_eq!(world.fake.calls(), Vec::<String>::new());
}

// G1
#[test]
fn a_gateway_that_is_down_refuses() {
    let world = World::new();
    world.fake.set(State::Down);
    let error = world.gateway().projects().expect_err("nobody listens");
    assert_eq!(error.reason(), Reason::GatewayConnectionRefused);
    assert!(error.to_string().contains(&world.fake.url()), "{error}");
}

// G1: older version.
#[test]
fn an_older_gateway_is_told_apart_and_its_scan_never_counts_as_done() {
    let world = World::with(|options| FakeOptions { api: Api::V81, ..options });
    let error = world.gateway().projects().expect_err("8.1 has no API");
    assert_eq!(error.reason(), Reason::GatewayRouteNotFound);
    assert!(matches!(error.remedy(), Remedy::Step(step) if step.contains("8.3")));
    assert_eq!(world.gateway().scan(Halves::NONE.with(Half::Projects)).projects, Scan::Failed);
}

// G1
#[test]
fn redirects_are_not_followed() {
    let (world, elsewhere) = (World::new(), World::new());
    world.fake.fail(Fault::new(Ugly::Redirect(format!("{}{PROJECTS}", elsewhere.fake.url()))));
    assert_eq!(world.gateway().projects().unwrap_err().reason(), Reason::GatewayRedirected);
    assert_eq!(elsewhere.fake.calls(), Vec::<String>::new());
}

#[test]
fn a_redirect_is_told_with_the_address_it_leads_to() {
    let world = World::new();
    let cases = [
        ("https://plant.example:8043/a/b?key=x#y", Some("https://plant.example:8043/a/b")),
        ("https://user:pw@plant.example/", Some("https://plant.example/")),
        ("//plant.example/a?b", Some("//plant.example/a")),
        ("/elsewhere?token=x", Some("/elsewhere")),
        ("/a\tb", Some(r"/a\tb")),
        (&format!("/{CANARY}"), None),
    ];
    for (location, told) in cases {
        world.strike(&Ugly::Redirect(location.into()), "");
        let error = world.gateway().projects().unwrap_err();
        let expected = match told {
            Some(place) => format!("redirects to {place} (302)"),
            None => "redirects elsewhere (302)".to_owned(),
        };
        assert!(error.to_string().ends_with(&expected), "{error}");
    }
}

#[test]
fn an_answer_that_repeats_the_key_is_dropped() {
    let world = World::new();
    let echo = format!(r#"{{"items":[{{"user":"{CANARY}","project":"x"}}]}}"#);
    world.fake.fail(Fault::new(Ugly::Body("application/json", echo)));
    let error = world.gateway().designers().expect_err("it is an echo");
    assert!(!everything(&error).contains(CANARY), "{error}");
}
