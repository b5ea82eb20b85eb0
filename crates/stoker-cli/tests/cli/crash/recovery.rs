//! A killed run is finished before anything else, before git is contacted too, and as the gateway
//! allows (promises A1, G1).

use std::time::Duration;

use stoker_testkit::gateway::{Fault, Half, State, Ugly};

use crate::kit::result::refused;
use crate::kit::site::Site;
use crate::kit::strace::can_trace;
use crate::kit::update::{Update, nothing_is_left};
use crate::kit::world::{Run, World};

/// A port without a listener.
const AWAY: &str = "http://127.0.0.1:1/plant.git";

// A1: "finished or undone on the next start", which may be one without git.
#[test]
fn a_killed_update_is_finished_while_git_is_away() {
    let Some((world, update)) = Update::traceable() else { return };
    update.break_off(&world, &[]);
    let more = ["--ref", "new", "-o", "json"];
    let words = world.words("plan", AWAY, &more);
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
fn a_killed_update_is_reported_by_the_run_that_finishes_it() {
    let (world, whole, update) = (World::new(), World::new(), Update::new());
    if !can_trace(&world) {
        return;
    }
    update.break_off(&world, &[]);
    update.sync(&whole, "old");
    let more = ["--ref", "new", "-o", "json", "--allow-mass-delete"];
    let [finished, unbroken] =
        [&world, &whole].map(|world| world.sync(&update.url(), &more).exits(0).json());
    assert_eq!(unbroken["status"], "synced", "{unbroken:#}");
    let keys = ["status", "commit", "previousCommit", "filesUnchanged", "projects"];
    let lists = ["filesAdded", "filesModified", "filesDeleted", "added", "modified", "deleted"];
    for key in keys.into_iter().chain(lists) {
        assert_eq!(finished[key], unbroken[key], "{key}");
    }
    let again = world.sync(&update.url(), &more).exits(0).json();
    assert_eq!(again["status"], "unchanged", "{again:#}");
}

#[test]
fn a_killed_update_is_finished_though_its_ref_is_gone_and_by_a_watch_too() {
    let Some((world, update)) = Update::traceable() else { return };
    update.break_off(&world, &[]);
    refused(world.sync(&update.url(), &["--ref", "gone", "-o", "json"]), 1, "RefNotFound", &[]);
    assert_eq!(world.live(), update.new);
    update.break_off(&world, &[]);
    let words = world.words("watch", AWAY, &["--ref", "new", "-o", "json"]);
    let watch = world.start(words);
    stoker_testkit::wait::eventually("the update is finished", || world.live() == update.new);
    watch.signal(rustix::process::Signal::TERM).unwrap();
    Run::of(watch.output().unwrap()).exits(143);
}

/// A site whose update was killed in the middle.
struct Broken {
    site: Site,
    update: Update,
}

impl Broken {
    fn new() -> Option<Self> {
        let update = Update::new();
        let site = Site::new(update.url());
        if !can_trace(&site.world) {
            return None;
        }
        update.break_off(&site.world, &site.flags());
        // The lock of the killed run is over before the next one comes.
        site.gateway.release_lock(Half::Projects);
        Some(Self { site, update })
    }

    /// A run to `new`, from a repository that may be away.
    fn sync(&self, url: &str, patience: &str) -> Run {
        let Site { world, .. } = &self.site;
        let more = ["--ref", "new", "-o", "json", "--gateway-timeout", patience];
        let mut words = world.words("sync", url, &more);
        words.extend(self.site.flags());
        world.stoker(words)
    }
}

// A1: whatever the gateway says, a mixture of two commits does not stay; G1: nothing more is written.
#[test]
fn a_gateway_that_refuses_the_key_does_not_keep_a_killed_run_from_being_finished() {
    let Some(broken) = Broken::new() else { return };
    let Broken { site, update } = &broken;
    site.gateway.fail(Fault::new(Ugly::Status(401)).on("/data/api/v1"));
    let run = broken.sync(&site.url, "1m");
    let result = run.json();
    refused(run, 1, "GatewayUnauthorized", &["401"]);
    let codes = result["warnings"].as_array().unwrap().iter().map(|warning| &warning["code"]);
    assert_eq!(codes.collect::<Vec<_>>(), ["NoScanLock", "Recovered"], "{result:#}");
    assert_eq!(site.world.live(), update.new);
    site.gateway.heal();
    let result = broken.sync(&site.url, "1m").exits(0).json();
    assert_eq!(result["scan"]["projects"], "done", "{result:#}");
}

#[test]
fn a_killed_run_is_finished_without_the_lock_only_if_waiting_did_not_help() {
    let Some(broken) = Broken::new() else { return };
    let Broken { site, update } = &broken;
    site.gateway.hold_lock(Half::Projects, Duration::from_mins(1));
    let result = broken.sync(AWAY, "2s").exits(1).json();
    assert_eq!(result["scan"]["projects"], "owed", "{result:#}");
    assert!(result["durationsMs"]["gateway"].as_u64().unwrap() >= 1900, "{result:#}");
    assert_eq!(site.world.live(), update.new);
    site.gateway.release_lock(Half::Projects);
    let calls = site.gateway.calls().len();
    let result = broken.sync(&site.url, "1m").exits(0).json();
    assert_eq!(result["scan"]["projects"], "done", "{result:#}");
    assert!(site.gateway.calls().len() > calls);
}

#[test]
fn a_killed_run_is_finished_under_the_lock_that_the_gateway_gives() {
    let Some(broken) = Broken::new() else { return };
    let Broken { site, update } = &broken;
    let calls = site.gateway.calls().len();
    let result = broken.sync(AWAY, "1m").exits(1).json();
    assert_eq!(result["error"]["reason"], "RemoteUnreachable", "{result:#}");
    assert_eq!(result["scan"]["projects"], "done", "{result:#}");
    assert_eq!(site.world.live(), update.new);
    let calls = site.gateway.calls().split_off(calls);
    let is_locked = |call: &String| call.starts_with("POST /data/api/v1/scan-lock/projects");
    assert!(calls.iter().any(is_locked), "{calls:?}");
}

#[test]
fn a_gateway_that_is_away_gets_the_files_of_a_killed_run_and_is_owed_a_scan() {
    let Some(broken) = Broken::new() else { return };
    let Broken { site, update } = &broken;
    site.gateway.set(State::Down);
    let result = broken.sync(AWAY, "2s").exits(1).json();
    assert_eq!(result["scan"]["projects"], "owed", "{result:#}");
    assert_eq!(site.world.live(), update.new);
    refused(broken.sync(&site.url, "2s"), 1, "GatewayConnectionRefused", &[]);
    site.gateway.set(State::Running);
    let result = broken.sync(&site.url, "1m").exits(0).json();
    assert_eq!(result["scan"]["projects"], "done", "{result:#}");
}

// Waited for while the killed run is finished, and not once more for the run itself.
#[test]
fn a_gateway_that_starts_is_waited_for_once() {
    let Some(broken) = Broken::new() else { return };
    let Broken { site, .. } = &broken;
    site.gateway.set(State::Starting);
    let result = broken.sync(&site.url, "6s").exits(1).json();
    assert_eq!(result["error"]["reason"], "GatewayStarting", "{result:#}");
    let waited = result["durationsMs"]["gateway"].as_u64().unwrap();
    assert!((6000..12_000).contains(&waited), "{result:#}");
}
