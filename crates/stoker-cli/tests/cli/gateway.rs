//! A gateway that scans, refuses, is away or is locked (promise G1).

use std::time::{Duration, Instant};

use rustix::process::Signal;
use stoker_testkit::gateway::{Fault, Gateway, Half, Options, State, Ugly};
use stoker_testkit::git::{Edit, Repo, Tree};
use stoker_testkit::tree;

use crate::refusal::refused;
use crate::world::{ENDED, Run, World, eventually, plant};

/// A gateway with its key in a file, and a world that is synced with it once.
struct Line {
    world: World,
    repo: Repo,
    gateway: Gateway,
}

impl Line {
    fn new() -> Self {
        let (world, repo) = (World::new(), plant());
        let gateway = Gateway::start(Options::over(world.data()).token("sync:right")).unwrap();
        world.file("key", "sync:right\n");
        Self { world, repo, gateway }
    }

    fn sync(&self) -> Run {
        self.sync_within("1m")
    }

    fn sync_within(&self, patience: &str) -> Run {
        let (url, key) = (self.gateway.url(), self.world.path("key"));
        let key = key.to_str().unwrap();
        let more =
            ["-o", "json", "--gateway", &url, "--api-key-file", key, "--gateway-timeout", patience];
        self.world.sync(&self.repo.url(), &more)
    }

    fn change(&self) {
        self.repo.commit(Edit::put(Tree::new().file("projects/oven/new.json", "{}"))).unwrap();
    }
}

// G1
#[test]
fn a_gateway_scans_and_a_run_is_synced_only_then() {
    let line = Line::new();
    let result = line.sync().exits(0).json();
    assert_eq!(result["scan"]["projects"], "done", "{result:#}");
    assert_eq!(result["scan"]["config"], "skipped");
    assert_eq!(line.gateway.loaded().projects, ["line", "oven"]);
    line.gateway.fail(Fault::new(Ugly::Status(500)).on("/data/api/v1/scan").post());
    line.change();
    let run = line.sync_within("2s").exits(1);
    assert_eq!(run.json()["status"], "failed");
    line.gateway.heal();
    let result = line.sync().exits(0).json();
    assert_eq!(result["scan"]["projects"], "done", "what was owed is done: {result:#}");
}

// G1
#[test]
fn a_gateway_that_refuses_the_key_gets_no_file() {
    let line = Line::new();
    line.world.file("key", "sync:wrong");
    refused(line.sync(), 1, "GatewayUnauthorized", &["401"]);
    assert_eq!(line.world.live(), tree::Tree::default());
    line.world.file("key", "no colon");
    let run = line.sync().exits(1);
    assert!(!run.stdout.contains("no colon"), "{run:?}");
    line.world.file("key", "sync:right");
    line.gateway.fail(Fault::new(Ugly::Status(403)).on("/data/api/v1"));
    refused(line.sync(), 1, "GatewayForbidden", &["403"]);
    assert_eq!(line.world.live(), tree::Tree::default());
}

// G1
#[test]
fn a_gateway_that_is_away_gets_its_files_and_is_owed_a_scan() {
    let line = Line::new();
    line.sync().exits(0);
    line.change();
    line.gateway.set(State::Down);
    let run = line.sync_within("2s");
    let result = run.json();
    refused(run, 1, "GatewayConnectionRefused", &[&line.gateway.url()]);
    assert_eq!(result["scan"]["projects"], "owed");
    assert!(line.world.live().get("projects/oven/new.json").is_some());
    line.gateway.set(State::Running);
    let scans = line.gateway.scans().len();
    let result = line.sync().exits(0).json();
    assert_eq!(result["scan"]["projects"], "done", "{result:#}");
    assert!(line.gateway.scans().len() > scans);
}

#[test]
fn a_scan_that_is_owed_is_told_by_a_run_without_a_gateway() {
    let line = Line::new();
    line.gateway.set(State::Down);
    line.sync_within("2s").exits(1);
    let run = line.world.sync(&line.repo.url(), &["-o", "json"]).exits(0).json();
    assert_eq!(run["status"], "unchanged");
    assert_eq!(
        (&run["scan"]["projects"], &run["scan"]["config"]),
        (&"owed".into(), &"skipped".into())
    );
    let failed = line.world.sync(&line.repo.url(), &["-o", "json", "--map", "absent:projects"]);
    assert_eq!(failed.exits(1).json()["scan"]["projects"], "owed");
    line.gateway.set(State::Running);
    assert_eq!(line.sync().exits(0).json()["scan"]["projects"], "done");
}

#[test]
fn a_run_that_is_asked_to_end_during_a_scan_ends_soon_and_owes_it() {
    let (world, repo) = (World::new(), plant());
    let options = Options::over(world.data()).token("sync:right");
    let slow = Options { scan_duration: Duration::from_mins(1), ..options };
    let gateway = Gateway::start(slow).unwrap();
    let (key, url) = (world.file("key", "sync:right"), gateway.url());
    let more = ["-o", "json", "--gateway", &url, "--api-key-file", key.to_str().unwrap()];
    let child = world.start(world.sync_words(&repo.url(), &more));
    let scan = "POST /data/api/v1/scan/projects";
    eventually("the scan", || gateway.calls().iter().any(|call| call.starts_with(scan)));
    let asked = Instant::now();
    child.signal(Signal::TERM).unwrap();
    let run = Run::of(child.output().unwrap()).exits(143);
    assert!(asked.elapsed() < ENDED, "it took {:?}", asked.elapsed());
    assert_eq!(run.json()["scan"]["projects"], "owed", "{run:?}");
    assert_eq!(world.live(), crate::world::plant_files(), "the files have landed");
    let later = world.sync(&repo.url(), &["-o", "json"]).exits(0).json();
    assert_eq!(later["scan"]["projects"], "owed", "it is remembered");
    drop(gateway);
    let gateway = Gateway::start(Options::over(world.data()).token("sync:right")).unwrap();
    let url = gateway.url();
    let more = ["-o", "json", "--gateway", &url, "--api-key-file", key.to_str().unwrap()];
    let done = world.sync(&repo.url(), &more).exits(0).json();
    assert_eq!(done["scan"]["projects"], "done");
}

#[test]
fn a_lock_that_another_holds_stops_the_run_before_any_file() {
    let line = Line::new();
    line.gateway.hold_lock(Half::Projects, Duration::from_mins(1));
    let run = line.sync_within("2s");
    refused(run, 1, "ScanLockHeld", &[]);
    assert_eq!(line.world.live(), tree::Tree::default());
    crate::update::nothing_is_left(&line.world);
}

#[test]
fn a_gateway_by_a_wrong_url_or_without_a_key() {
    let line = Line::new();
    let more = ["-o", "json", "--gateway", "http://localhost:1"];
    refused(line.world.sync(&line.repo.url(), &more), 2, "Usage", &["API key"]);
    let data = line.world.data();
    let words = ["dev", ".", "--once", "--map", "tmp:projects", "--data", data.to_str().unwrap()];
    refused(line.world.stoker(words.into_iter().chain(more)), 2, "Usage", &["API key"]);
    let key = line.world.path("key");
    let more = ["-o", "json", "--gateway", "localhost", "--api-key-file", key.to_str().unwrap()];
    refused(line.world.sync(&line.repo.url(), &more), 2, "Usage", &["--gateway"]);
}
