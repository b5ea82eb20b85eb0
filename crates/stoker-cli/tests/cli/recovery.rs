//! A killed run is finished before anything else, git's word included, and as the gateway allows
//! (promises A1, G1).

use std::time::Duration;

use stoker_testkit::gateway::{Fault, Gateway, Half, Options, State, Ugly};

use crate::refusal::refused;
use crate::trace::can_trace;
use crate::update::{Update, nothing_is_left};
use crate::world::{Run, World};

/// A port that nobody listens on.
const AWAY: &str = "http://127.0.0.1:1/plant.git";

// A1: "finished or undone on the next start", which may be one without git.
#[test]
fn a_killed_update_is_finished_while_git_is_away() {
    let (world, update) = (World::new(), Update::new());
    if !can_trace(&world) {
        return;
    }
    update.break_off(&world, &[]);
    let more = ["--ref", "new", "-o", "json"];
    let mut words = world.sync_words(AWAY, &more);
    words[0] = "plan".into();
    let looked = world.stoker(words).exits(1).json();
    assert_eq!(looked["warnings"][0]["code"], "Unfinished", "{looked:#}");
    assert!(world.live() != update.old && world.live() != update.new, "a plan writes nothing");
    let run = world.sync(AWAY, &more);
    let result = run.json();
    refused(run, 1, "RemoteUnreachable", &[]);
    assert_eq!(result["warnings"][0]["code"], "Recovered", "{result:#}");
    assert!(result["previousCommit"].is_string(), "{result:#}");
    assert_eq!(world.live(), update.new);
    nothing_is_left(&world);
}

#[test]
fn a_killed_update_is_finished_though_its_ref_is_gone_and_by_a_watch_too() {
    let (world, update) = (World::new(), Update::new());
    if !can_trace(&world) {
        return;
    }
    update.break_off(&world, &[]);
    refused(world.sync(&update.url(), &["--ref", "gone", "-o", "json"]), 1, "RefNotFound", &[]);
    assert_eq!(world.live(), update.new);
    update.break_off(&world, &[]);
    let mut words = world.sync_words(AWAY, &["--ref", "new", "-o", "json"]);
    words[0] = "watch".into();
    let watch = world.start(words);
    crate::world::eventually("the update is finished", || world.live() == update.new);
    watch.signal(rustix::process::Signal::TERM).unwrap();
    Run::of(watch.output().unwrap()).exits(143);
}

/// A gateway over the data directory, and the flags to reach it.
struct Site {
    world: World,
    update: Update,
    gateway: Gateway,
}

impl Site {
    fn broken() -> Option<Self> {
        let (world, update) = (World::new(), Update::new());
        if !can_trace(&world) {
            return None;
        }
        let gateway = Gateway::start(Options::over(world.data()).token("sync:right")).unwrap();
        world.file("key", "sync:right\n");
        let site = Self { world, update, gateway };
        let (url, key) = site.flags();
        let more = ["--gateway", &url, "--api-key-file", &key];
        site.update.break_off(&site.world, &more);
        // The lock of the killed run is over before the next one comes.
        site.gateway.release_lock(Half::Projects);
        Some(site)
    }

    fn flags(&self) -> (String, String) {
        (self.gateway.url(), self.world.path("key").to_str().unwrap().to_owned())
    }

    fn sync(&self, repo: &str) -> Run {
        self.sync_within("1m", repo)
    }

    fn sync_within(&self, patience: &str, repo: &str) -> Run {
        let (url, key) = self.flags();
        let more = ["--gateway", &url, "--api-key-file", &key, "--gateway-timeout", patience];
        let more = [&more[..], &["--ref", "new", "-o", "json"]].concat();
        self.world.sync(repo, &more)
    }
}

// G1
#[test]
fn a_gateway_that_refuses_the_key_gets_no_file_of_a_killed_run_either() {
    let Some(site) = Site::broken() else { return };
    let before = site.world.live();
    site.gateway.fail(Fault::new(Ugly::Status(401)).on("/data/api/v1"));
    for repo in [AWAY, &site.update.url()] {
        refused(site.sync(repo), 1, "GatewayUnauthorized", &["401"]);
        assert_eq!(site.world.live(), before);
    }
    site.gateway.heal();
    site.gateway.hold_lock(Half::Projects, Duration::from_mins(1));
    refused(site.sync_within("2s", AWAY), 1, "ScanLockHeld", &[]);
    assert_eq!(site.world.live(), before);
    site.gateway.release_lock(Half::Projects);
    let calls = site.gateway.calls().len();
    let result = site.sync(AWAY).exits(1).json();
    assert_eq!(result["error"]["reason"], "RemoteUnreachable", "{result:#}");
    assert_eq!(result["scan"]["projects"], "done", "{result:#}");
    assert_eq!(site.world.live(), site.update.new);
    let calls = site.gateway.calls().split_off(calls);
    let is_locked = |call: &String| call.starts_with("POST /data/api/v1/scan-lock/projects");
    assert!(calls.iter().any(is_locked), "{calls:?}");
}

#[test]
fn a_gateway_that_is_away_gets_the_files_of_a_killed_run_and_is_owed_a_scan() {
    let Some(site) = Site::broken() else { return };
    site.gateway.set(State::Down);
    let result = site.sync_within("2s", AWAY).exits(1).json();
    assert_eq!(result["scan"]["projects"], "owed", "{result:#}");
    assert_eq!(site.world.live(), site.update.new);
    refused(site.sync_within("2s", &site.update.url()), 1, "GatewayConnectionRefused", &[]);
    site.gateway.set(State::Running);
    let result = site.sync(&site.update.url()).exits(0).json();
    assert_eq!(result["scan"]["projects"], "done", "{result:#}");
}

// Waited for while the killed run is finished, and not once more for the run itself.
#[test]
fn a_gateway_that_starts_is_waited_for_once() {
    let Some(site) = Site::broken() else { return };
    site.gateway.set(State::Starting);
    let result = site.sync_within("6s", &site.update.url()).exits(1).json();
    assert_eq!(result["error"]["reason"], "GatewayStarting", "{result:#}");
    let waited = result["durationsMs"]["gateway"].as_u64().unwrap();
    assert!((6000..12_000).contains(&waited), "{result:#}");
}
