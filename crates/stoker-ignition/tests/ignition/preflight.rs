//! Readiness, and how a run goes about it.

use std::time::{Duration, Instant};

use fake_gateway::{Fault, State, Token, Ugly};
use stoker_ignition::{DataDirectory, Preflight, Readiness, Reason, Scan};

use crate::support::{KEY, World};

fn readiness(world: &World) -> &'static str {
    match world.gateway().readiness() {
        Readiness::Running => "running",
        Readiness::Starting => "starting",
        Readiness::NeedsCommissioning => "needs commissioning",
        Readiness::Unreachable(_) => "unreachable",
        Readiness::Unknown(_) => "unknown",
    }
}

#[test]
fn every_state_is_recognised() {
    let world = World::new();
    for (state, word) in [
        (State::Running, "running"),
        (State::Starting, "starting"),
        (State::Uncommissioned, "needs commissioning"),
        (State::Down, "unreachable"),
    ] {
        world.fake.set(state);
        assert_eq!(readiness(&world), word);
    }
}

// R24.
#[test]
fn gwinfo_has_the_last_word() {
    let world = World::new();
    for (status, word) in [
        ("NEEDS_COMMISSIONING", "needs commissioning"),
        ("STARTING", "starting"),
        ("RUNNING", "running"),
    ] {
        world.fake.heal();
        let text = format!("Version=8.3.6;ContextStatus={status};");
        world.fake.fail(Fault::new(Ugly::Body("text/plain", text)).on("/system/gwinfo"));
        assert_eq!(readiness(&world), word);
    }
}

#[test]
fn one_of_the_two_routes_is_enough() {
    let world = World::new();
    let cases = [
        ("/system/gwinfo", Ugly::Status(404), "running"),
        ("/system/gwinfo", Ugly::Redirect("/welcome".into()), "needs commissioning"),
        ("/StatusPing", Ugly::Status(404), "running"),
        ("/StatusPing", Ugly::Html, "running"),
        ("/StatusPing", Ugly::Status(503), "starting"),
        ("/", Ugly::Html, "unknown"),
    ];
    for (route, ugly, word) in cases {
        world.strike(&ugly, route);
        assert_eq!(readiness(&world), word, "{route} {ugly:?}");
    }
}

#[test]
fn a_gateway_in_service_is_scanned() {
    let world = World::new();
    for data in [DataDirectory::New, DataDirectory::Synced] {
        assert!(matches!(world.gateway().preflight(Duration::ZERO, data), Ok(Preflight::Scan)));
    }
    assert_eq!(world.posts(), Vec::<String>::new());
}

#[test]
fn the_first_sync_of_a_starting_gateway_lands_without_a_scan_and_without_waiting() {
    let cases = [
        (State::Starting, Reason::GatewayStarting),
        (State::Uncommissioned, Reason::GatewayNeedsCommissioning),
    ];
    for (state, reason) in cases {
        let world = World::with(|options| options.state(state));
        let started = Instant::now();
        let preflight = world.gateway().preflight(Duration::ZERO, DataDirectory::New).unwrap();
        let Preflight::FilesOnly { scan: Scan::Skipped, why } = preflight else {
            panic!("{preflight:?}")
        };
        assert_eq!(why.reason(), reason);
        assert!(started.elapsed() < Duration::from_secs(10));
    }
}

#[test]
fn a_later_sync_waits_for_a_starting_gateway() {
    let world = World::with(|options| options.state(State::Starting));
    let gateway = world.gateway();
    let waiting =
        std::thread::spawn(move || gateway.preflight(Duration::ZERO, DataDirectory::Synced));
    assert!(world.fake.wait_for_requests("/StatusPing", 3, Duration::from_secs(20)));
    world.fake.set(State::Running);
    assert!(matches!(waiting.join().unwrap(), Ok(Preflight::Scan)));
}

#[test]
fn a_later_sync_does_not_wait_for_ever() {
    let world = World::with(|options| options.state(State::Uncommissioned));
    let preflight = world
        .with_timeout(Duration::from_secs(2))
        .preflight(Duration::ZERO, DataDirectory::Synced)
        .unwrap();
    let Preflight::FilesOnly { scan: Scan::Owed, why } = preflight else { panic!("{preflight:?}") };
    assert_eq!(why.reason(), Reason::GatewayNeedsCommissioning);
}

#[test]
fn a_gateway_whose_pings_are_odd_is_judged_by_its_api() {
    let world = World::new();
    world.fake.fail(Fault::new(Ugly::Status(404)).on("/StatusPing"));
    world.fake.fail(Fault::new(Ugly::Html).on("/system/gwinfo"));
    assert!(matches!(
        world.gateway().preflight(Duration::ZERO, DataDirectory::Synced),
        Ok(Preflight::Scan)
    ));
}

#[test]
fn a_gateway_that_is_away_is_owed_a_scan() {
    let world = World::new();
    for ugly in [Ugly::Status(500), Ugly::Html, Ugly::Status(404), Ugly::Cut] {
        world.strike(&ugly, "/data/");
        let preflight = world.gateway().preflight(Duration::ZERO, DataDirectory::Synced).unwrap();
        assert!(
            matches!(preflight, Preflight::FilesOnly { scan: Scan::Owed, .. }),
            "{ugly:?} {preflight:?}"
        );
    }
    world.fake.set(State::Down);
    for data in [DataDirectory::New, DataDirectory::Synced] {
        let preflight = world.gateway().preflight(Duration::ZERO, data).unwrap();
        assert!(
            matches!(preflight, Preflight::FilesOnly { scan: Scan::Owed, .. }),
            "{preflight:?}"
        );
    }
}

#[test]
fn a_key_that_is_not_taken_writes_nothing() {
    let world = World::new();
    world.fake.set_tokens([]);
    assert_eq!(
        world.gateway().preflight(Duration::ZERO, DataDirectory::New).unwrap_err().reason(),
        Reason::GatewayUnauthorized
    );
    world.fake.set_tokens([Token::parse(KEY).unwrap().without_read()]);
    assert_eq!(
        world.gateway().preflight(Duration::ZERO, DataDirectory::Synced).unwrap_err().reason(),
        Reason::GatewayForbidden
    );
    std::fs::remove_file(&world.key_file).unwrap();
    assert_eq!(
        world.gateway().preflight(Duration::ZERO, DataDirectory::Synced).unwrap_err().reason(),
        Reason::GatewayKeyMissing
    );
}
