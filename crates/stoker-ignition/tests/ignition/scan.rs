//! Scans and what was loaded, G1.

use std::collections::BTreeSet;
use std::time::Duration;

use fake_gateway::{self as fake, Fault, Items, State, Token, Ugly};
use stoker_ignition::{Error, Half, Halves, Lock, Reason, Scan, Verification};

use crate::support::{KEY, World, write};

const SCAN: &str = "/data/api/v1/scan/";

fn projects() -> Halves {
    Halves::NONE.with(Half::Projects)
}

#[test]
fn a_scan_is_done_when_the_gateway_has_loaded_the_files() {
    let world = World::new();
    write(&world.data(), "projects/annex/project.json", "{}");
    let outcome = world.gateway().scan(Halves::BOTH);
    assert_eq!((outcome.projects, outcome.config), (Scan::Done, Scan::Done));
    assert!(outcome.owed().is_none() && outcome.errors.is_empty());
    assert_eq!(world.fake.loaded().projects, ["annex", "plant"]);
    assert_eq!(world.posts(), ["scan/projects", "scan/config"], "projects first");
}

#[test]
fn only_what_changed_is_scanned() {
    let world = World::new();
    let outcome = world.gateway().scan(Halves::NONE.with(Half::Config));
    assert_eq!((outcome.projects, outcome.config), (Scan::Skipped, Scan::Done));
    assert_eq!(world.posts(), ["scan/config"]);
    assert!(world.gateway().scan(Halves::NONE).owed().is_none());
    assert_eq!(world.posts(), ["scan/config"]);
}

#[test]
fn a_scan_lets_the_lock_go() {
    let world = World::new();
    let gateway = world.gateway();
    assert!(matches!(gateway.lock(Halves::BOTH), Ok(Lock::Held(_))));
    assert!(gateway.scan(Halves::BOTH).owed().is_none());
    assert!(
        !world.fake.is_locked(fake::Half::Projects) && !world.fake.is_locked(fake::Half::Config)
    );
}

#[test]
fn a_slow_scan_with_a_late_status_and_a_wrong_clock_is_waited_for() {
    let world = World::with(|options| fake::Options {
        scan_duration: Duration::from_millis(300),
        status_lag: Duration::from_millis(300),
        clock_offset_ms: -86_400_000,
        ..options
    });
    write(&world.data(), "projects/annex/project.json", "{}");
    assert_eq!(world.gateway().scan(projects()).projects, Scan::Done);
    assert_eq!(world.fake.loaded().projects, ["annex", "plant"]);
}

#[test]
fn a_scan_that_nobody_confirms_is_not_done() {
    let world =
        World::with(|options| fake::Options { scan_duration: Duration::from_hours(1), ..options });
    let outcome = world.with_timeout(Duration::from_secs(2)).scan(projects());
    assert_eq!((outcome.projects, outcome.owed()), (Scan::Failed, projects()));
    assert!(matches!(outcome.errors[..], [(Half::Projects, Error::ScanTimedOut { .. })]));
}

// G1: never "Synced" before both scans succeeded.
#[test]
fn no_ugly_answer_makes_a_scan_done() {
    let world = World::new();
    let cases = [
        (Ugly::Status(401), Scan::Failed),
        (Ugly::Status(403), Scan::Failed),
        (Ugly::Status(404), Scan::Failed),
        (Ugly::Status(429), Scan::Failed),
        (Ugly::Status(500), Scan::Failed),
        (Ugly::Status(503), Scan::Owed),
        (Ugly::Redirect("/welcome".into()), Scan::Owed),
        (Ugly::Redirect("/elsewhere".into()), Scan::Failed),
        (Ugly::Drop, Scan::Failed),
    ];
    for (ugly, scan) in cases {
        world.fake.heal();
        world.fake.fail(Fault::new(ugly.clone()).on(SCAN).post());
        let outcome = world.with_timeout(Duration::from_secs(1)).scan(Halves::BOTH);
        assert_eq!((outcome.projects, outcome.config), (scan, scan), "{ugly:?}");
        assert_eq!(outcome.owed(), Halves::BOTH, "{ugly:?}");
    }
}

#[test]
fn a_status_that_is_not_understood_is_no_end_of_a_scan_but_the_scan_is_asked_for() {
    let world = World::new();
    for ugly in
        [Ugly::Html, Ugly::Body("application/json", "{\"lastScanTimestamp\":\"now\"}".into())]
    {
        world.fake.heal();
        world.fake.fail(Fault::new(ugly).on(SCAN).get());
        let posts = world.posts().len();
        let outcome = world.gateway().scan(projects());
        assert_eq!((outcome.projects, world.posts().len()), (Scan::Failed, posts + 1));
        assert_eq!(outcome.errors[0].1.reason(), Reason::GatewayUnexpectedAnswer);
    }
}

#[test]
fn a_gateway_that_stumbles_while_we_wait_is_asked_again() {
    let world =
        World::with(|options| fake::Options { status_lag: Duration::from_millis(200), ..options });
    let gateway = world.gateway();
    world.fake.fail(Fault::new(Ugly::Slow(Duration::ZERO)).on(SCAN).get().times(1));
    world.fake.fail(Fault::new(Ugly::Status(503)).on(SCAN).get().times(2));
    assert_eq!(gateway.scan(projects()).projects, Scan::Done);
}

// A restart takes a while, and the time for it was given.
#[test]
fn a_gateway_that_is_busy_when_it_is_asked_is_asked_again() {
    for (ugly, is_post) in
        [503, 429].into_iter().flat_map(|status| [(status, true), (status, false)])
    {
        let world = World::new();
        let fault = Fault::new(Ugly::Status(ugly)).on(SCAN).times(2);
        world.fake.fail(if is_post { fault.post() } else { fault.get() });
        let outcome = world.gateway().scan(projects());
        assert_eq!(outcome.projects, Scan::Done, "{ugly} {is_post}");
    }
}

#[test]
fn a_gateway_that_is_away_is_owed_both() {
    let world = World::new();
    world.fake.set(State::Down);
    let outcome = world.gateway().scan(Halves::BOTH);
    assert_eq!((outcome.projects, outcome.config), (Scan::Owed, Scan::Owed));
    assert_eq!(outcome.errors.len(), 1, "told once");
}

// R43.
#[test]
fn a_key_without_write_is_not_tried_again() {
    let world = World::new();
    world.fake.set_tokens([Token::parse(KEY).unwrap().without_write()]);
    let outcome = world.gateway().scan(projects());
    assert_eq!(outcome.errors[0].1.reason(), Reason::GatewayForbidden);
    assert_eq!(world.posts(), ["scan/projects"]);
}

fn expected<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

#[test]
fn loaded_projects_are_verified_in_both_shapes() {
    for items in [Items::Strings, Items::Objects] {
        let world = World::with(|options| fake::Options { items, ..options });
        let verified = world.gateway().verify(&expected(["plant"]));
        assert!(matches!(verified, Verification::Loaded), "{verified:?}");
    }
}

#[test]
fn a_project_that_is_not_loaded_is_named() {
    let world = World::new();
    let verified = world.with_timeout(Duration::from_secs(2)).verify(&expected(["annex", "plant"]));
    assert!(
        matches!(&verified, Verification::Missing(missing) if missing == &["annex"]),
        "{verified:?}"
    );
}

#[test]
fn a_list_that_is_not_understood_verifies_nothing_and_fails_nothing() {
    let world = World::new();
    let odd = [
        Ugly::Html,
        Ugly::Status(500),
        Ugly::Body("application/json", "[\"plant\"]".into()),
        Ugly::Body("application/json", r#"{"items":[],"metadata":{"total":3}}"#.into()),
    ];
    for ugly in odd {
        world.strike(&ugly, "/data/api/v1/projects");
        let verified = world.gateway().verify(&expected(["plant"]));
        assert!(matches!(verified, Verification::NotVerified(_)), "{ugly:?} {verified:?}");
    }
}
