//! The scan lock.

use std::time::{Duration, Instant};

use fake_gateway::{self as fake, Api, Fault, Relock, Token, Ugly};
use stoker_api::remedy::Remedy;
use stoker_ignition::{Cancel, Consequence, Error, Half, Halves, Held, Limits, Lock, Reason};

use crate::support::{KEY, World, limits};

/// How long a lock is asked for: as long as the gateway is waited for.
const HOLD: Duration = Duration::from_secs(20);

/// The delay of a slow response.
const SLOW: Duration = Duration::from_secs(1);

fn held<E: std::fmt::Debug>(lock: Result<Lock, E>) -> Held {
    match lock.unwrap() {
        Lock::Held(held) => held,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_halves_that_change_are_locked_projects_first() {
    let world = World::new();
    let held = held(world.gateway().lock(Halves::BOTH));
    assert_eq!(held.halves(), Halves::BOTH);
    assert!(world.fake.is_locked(fake::Half::Projects) && world.fake.is_locked(fake::Half::Config));
    assert_eq!(world.posts(), ["scan-lock/projects", "scan-lock/config"]);
    assert!(held.left() > Duration::from_secs(10) && !held.is_short());
    let body: serde_json::Value = serde_json::from_str(&world.fake.requests()[0].body).unwrap();
    assert_eq!(body, serde_json::json!({"acquireTimeout": 5, "holdTimeout": HOLD.as_secs()}));
}

// Else the next run would not outwait the lock of one that was killed.
#[test]
fn a_lock_is_asked_for_no_longer_than_a_run_is_ready_to_wait() {
    for (seconds, hold) in [(2, 10), (10, 10), (45, 45), (60, 60), (600, 60)] {
        let world = World::new();
        drop(world.with_timeout(Duration::from_secs(seconds)).lock(Halves::BOTH));
        let body: serde_json::Value = serde_json::from_str(&world.fake.requests()[0].body).unwrap();
        assert_eq!(body["holdTimeout"], hold, "with a timeout of {seconds} s");
    }
}

#[test]
fn whoever_meets_a_lock_is_told_whose_it_may_be_and_when_it_is_over() {
    let world = World::new();
    world.fake.hold_lock(fake::Half::Projects, Duration::from_mins(10));
    let error = world.with_timeout(Duration::from_secs(1)).lock(Halves::BOTH).unwrap_err().error;
    assert!(error.to_string().contains("by another client or by a killed run"), "{error}");
    assert_eq!(error.remedy(), Remedy::WaitForScanLock);
}

#[test]
fn nothing_to_lock_asks_nobody() {
    let world = World::new();
    assert_eq!(world.gateway().lock(Halves::NONE).unwrap(), Lock::NotNeeded);
    assert_eq!(world.posts(), Vec::<String>::new());
}

#[test]
fn a_gateway_without_the_route_is_gone_on_with() {
    let world = World::with(|options| fake::Options { api: Api::WithoutScanLock, ..options });
    assert_eq!(world.gateway().lock(Halves::BOTH).unwrap(), Lock::NotOffered);
}

#[test]
fn a_lock_that_is_let_go_in_time_is_waited_for() {
    let world = World::new();
    world.fake.hold_lock(fake::Half::Config, Duration::from_mins(10));
    let gateway = world.gateway();
    let waiting = std::thread::spawn(move || gateway.lock(Halves::BOTH));
    assert!(world.fake.wait_for_requests(
        "/data/api/v1/scan-lock/config",
        3,
        Duration::from_secs(20)
    ));
    world.fake.release_lock(fake::Half::Config);
    assert_eq!(held(waiting.join().unwrap()).halves(), Halves::BOTH);
}

/// Lets the next request for the lock of `half` be slow.
fn slow(half: &str) -> Fault {
    Fault::new(Ugly::Slow(SLOW)).on(&format!("/data/api/v1/scan-lock/{half}")).times(1)
}

// Else it would be renewed between every two directories, by waiting until it is over.
#[test]
fn the_time_of_a_lock_begins_with_the_request_that_was_granted() {
    let world = World::new();
    world.fake.hold_lock(fake::Half::Projects, Duration::from_mins(10));
    world.fake.fail(slow("projects"));
    let (gateway, asked) = (world.gateway(), Instant::now());
    let waiting = std::thread::spawn(move || gateway.lock(Halves::NONE.with(Half::Projects)));
    let path = "/data/api/v1/scan-lock/projects";
    assert!(world.fake.wait_for_requests(path, 2, Duration::from_secs(20)));
    world.fake.release_lock(fake::Half::Projects);
    let left = held(waiting.join().unwrap()).left();
    let waited = asked.elapsed();
    assert!(waited + left >= HOLD + SLOW, "{left:?} are left after {waited:?}");
}

#[test]
fn of_two_locks_the_time_of_the_first_counts() {
    let world = World::new();
    world.fake.fail(slow("config"));
    assert!(held(world.gateway().lock(Halves::BOTH)).left() + SLOW <= HOLD);
}

#[test]
fn a_lock_that_stays_held_ends_with_nothing_written() {
    let world = World::new();
    world.fake.hold_lock(fake::Half::Projects, Duration::from_mins(10));
    let error = world.with_timeout(Duration::from_secs(2)).lock(Halves::BOTH).unwrap_err().error;
    assert!(matches!(error, Error::LockHeld { half: Half::Projects, .. }), "{error}");
    assert_eq!(error.consequence(), Consequence::WriteNothing);
    assert!(world.posts().len() >= 2, "asked more than once");
    world.fake.heal();
    world.fake.fail(Fault::new(Ugly::Status(408)).on("/data/api/v1/scan-lock"));
    let error = world.with_timeout(Duration::from_secs(2)).lock(Halves::BOTH).unwrap_err().error;
    assert!(matches!(error, Error::LockTimedOut { .. }), "{error}");
    assert_eq!(error.reason(), Reason::ScanLockHeld);
}

#[test]
fn a_key_that_may_not_write_is_refused_before_anything_is_renamed() {
    let world = World::new();
    world.fake.set_tokens([Token::parse(KEY).unwrap().without_write()]);
    let error = world.gateway().lock(Halves::BOTH).unwrap_err().error;
    assert_eq!(
        (error.reason(), error.consequence()),
        (Reason::GatewayForbidden, Consequence::WriteNothing)
    );
    assert_eq!(world.posts().len(), 1, "no blind retries");
}

#[test]
fn a_gateway_that_restarts_under_the_lock_is_waited_for() {
    let world = World::new();
    world.fake.fail(Fault::new(Ugly::Status(503)).on("/data/api/v1/scan-lock").times(2));
    assert_eq!(held(world.gateway().lock(Halves::BOTH)).halves(), Halves::BOTH);
}

#[test]
fn a_lock_that_runs_short_is_taken_again_even_from_a_gateway_that_lets_it_run_out_first() {
    for relock in [Relock::Extends, Relock::Conflicts] {
        let world = World::with(|options| fake::Options { relock, ..options });
        let gateway = world.with_limits(Limits { hold: Duration::from_secs(1), ..limits() });
        let first = held(gateway.lock(Halves::BOTH));
        let asked = Instant::now();
        while !first.is_short() {
            assert!(asked.elapsed() < Duration::from_secs(20));
            std::thread::yield_now();
        }
        let again = held(gateway.renew(first));
        assert!(again.left() > first.left() || first.left().is_zero(), "{relock:?}");
        assert_eq!(again.halves(), Halves::BOTH);
    }
}

#[test]
fn what_was_locked_before_a_refusal_is_handed_back() {
    let world = World::new();
    world.fake.fail(Fault::new(Ugly::Status(403)).on("/data/api/v1/scan-lock/config"));
    let refusal = world.gateway().lock(Halves::BOTH).unwrap_err();
    assert_eq!(refusal.error.reason(), Reason::GatewayForbidden);
    assert_eq!(refusal.held.map(Held::halves), Some(Halves::NONE.with(Half::Projects)));
    world.fake.heal();
    world.fake.fail(Fault::new(Ugly::Status(403)).on("/data/api/v1/scan-lock"));
    assert_eq!(world.gateway().lock(Halves::BOTH).unwrap_err().held, None);
}

#[test]
fn locks_are_let_go_without_waiting_for_a_scan_though_the_run_is_cancelled() {
    let world =
        World::with(|options| fake::Options { scan_duration: Duration::from_hours(1), ..options });
    let cancel = Cancel::default();
    let gateway = world.cancelled_by(&cancel);
    let held = held(gateway.lock(Halves::BOTH));
    cancel.cancel();
    let posts = world.posts().len();
    gateway.release(held);
    assert_eq!(world.posts().split_off(posts), ["scan/projects", "scan/config"]);
    assert!(!world.fake.is_locked(fake::Half::Projects));
    assert!(!world.fake.is_locked(fake::Half::Config));
}

#[test]
fn a_gateway_that_is_silent_is_not_waited_for_to_let_a_lock_go() {
    let world = World::new();
    let limits = Limits { call: Duration::from_mins(10), ..Limits::default() };
    let gateway = world.with_limits(limits);
    let held = held(gateway.lock(Halves::BOTH));
    world.fake.fail(Fault::new(Ugly::Hang));
    let asked = Instant::now();
    gateway.release(held);
    assert!(asked.elapsed() < Duration::from_secs(20), "it took {:?}", asked.elapsed());
}

// A scan releases a lock, whichever client has it.
#[test]
fn a_lock_whose_time_is_over_is_nobody_s_to_let_go() {
    let world = World::new();
    let limits = Limits { hold: Duration::from_nanos(1), ..limits() };
    let gateway = world.with_limits(limits);
    let held = held(gateway.lock(Halves::BOTH));
    world.fake.hold_lock(fake::Half::Projects, Duration::from_mins(10));
    gateway.release(held);
    assert!(world.fake.is_locked(fake::Half::Projects));
}
