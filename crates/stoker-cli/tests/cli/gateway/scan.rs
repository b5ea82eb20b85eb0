//! A gateway that scans, refuses, is away or is locked (promise G1).

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use stoker_testkit::gateway::{Fault, Half, Options, State, Ugly};
use stoker_testkit::git::{Edit, Repo, Tree};
use stoker_testkit::tree;
use stoker_testkit::wait::eventually;

use crate::kit::result::refused;
use crate::kit::site::Site;
use crate::kit::world::{ENDED, Run, plant, plant_files};

/// A site that has nothing yet, and the repository of its plant.
fn line() -> (Site, Repo) {
    let repo = plant();
    (Site::new(repo.url()), repo)
}

fn change(repo: &Repo) {
    repo.commit(Edit::put(Tree::new().file("projects/oven/new.json", "{}"))).unwrap();
}

// G1
#[test]
fn a_gateway_scans_and_a_run_is_synced_only_then() {
    let (site, repo) = line();
    let result = site.sync(&[]).exits(0).json();
    assert_eq!(result["scan"]["projects"], "done", "{result:#}");
    assert_eq!(result["scan"]["config"], "skipped");
    assert_eq!(site.gateway.loaded().projects, ["line", "oven"]);
    site.gateway.fail(Fault::new(Ugly::Status(500)).on("/data/api/v1/scan").post());
    change(&repo);
    let run = site.sync_within("2s").exits(1);
    assert_eq!(run.json()["status"], "failed");
    site.gateway.heal();
    let result = site.sync(&[]).exits(0).json();
    assert_eq!(result["scan"]["projects"], "done", "what was owed is done: {result:#}");
}

// G1
#[test]
fn a_gateway_that_refuses_the_key_gets_no_file() {
    let (site, _repo) = line();
    site.world.file("key", "sync:wrong");
    refused(site.sync(&[]), 1, "GatewayUnauthorized", &["401"]);
    assert_eq!(site.world.live(), tree::Tree::default());
    site.world.file("key", "no colon");
    let run = site.sync(&[]).exits(1);
    assert!(!run.stdout.contains("no colon"), "{run:?}");
    site.world.file("key", "sync:right");
    site.gateway.fail(Fault::new(Ugly::Status(403)).on("/data/api/v1"));
    refused(site.sync(&[]), 1, "GatewayForbidden", &["403"]);
    assert_eq!(site.world.live(), tree::Tree::default());
}

// G1
#[test]
fn a_gateway_that_is_away_gets_its_files_and_is_owed_a_scan() {
    let (site, repo) = line();
    site.sync(&[]).exits(0);
    change(&repo);
    site.gateway.set(State::Down);
    let run = site.sync_within("2s");
    let result = run.json();
    refused(run, 1, "GatewayConnectionRefused", &[&site.gateway.url()]);
    assert_eq!(result["scan"]["projects"], "owed");
    assert!(site.world.live().get("projects/oven/new.json").is_some());
    site.gateway.set(State::Running);
    let scans = site.gateway.scans().len();
    let result = site.sync(&[]).exits(0).json();
    assert_eq!(result["scan"]["projects"], "done", "{result:#}");
    assert!(site.gateway.scans().len() > scans);
}

// R23
#[test]
fn a_gateway_that_starts_gets_the_files_of_a_first_sync_and_scans_them_when_it_is_up() {
    for state in [State::Starting, State::Uncommissioned] {
        let (site, _repo) = line();
        site.gateway.set(state);
        let scans = site.gateway.scans().len();
        let result = site.sync(&[]).exits(0).json();
        assert_eq!(result["scan"]["projects"], "skipped", "{result:#}");
        assert_eq!(result["warnings"][0]["code"], "GatewayNotReady", "{result:#}");
        assert_eq!(site.world.live(), plant_files());
        assert_eq!(site.gateway.scans().len(), scans);
        site.gateway.set(State::Running);
        let result = site.sync(&[]).exits(0).json();
        assert_eq!(result["scan"]["projects"], "done", "{result:#}");
        assert_eq!(site.sync(&[]).exits(0).json()["scan"]["projects"], "skipped");
    }
}

#[test]
fn a_scan_that_is_owed_is_reported_by_a_run_without_a_gateway() {
    let (site, _repo) = line();
    site.gateway.set(State::Down);
    site.sync_within("2s").exits(1);
    let run = site.world.sync(&site.url, &["-o", "json"]).exits(0).json();
    assert_eq!(run["status"], "unchanged");
    assert_eq!(
        (&run["scan"]["projects"], &run["scan"]["config"]),
        (&"owed".into(), &"skipped".into())
    );
    let failed = site.world.sync(&site.url, &["-o", "json", "--map", "absent:projects"]);
    assert_eq!(failed.exits(1).json()["scan"]["projects"], "owed");
    site.gateway.set(State::Running);
    assert_eq!(site.sync(&[]).exits(0).json()["scan"]["projects"], "done");
}

#[test]
fn a_run_that_is_asked_to_end_during_a_scan_ends_soon_and_owes_it() {
    let repo = plant();
    let slow = |options| Options { scan_duration: Duration::from_mins(1), ..options };
    let site = Site::with(repo.url(), slow);
    let child = site.world.start(site.words(&["-o", "json"]));
    let scan = "POST /data/api/v1/scan/projects";
    eventually("the scan", || site.gateway.calls().iter().any(|call| call.starts_with(scan)));
    let asked = Instant::now();
    child.signal(Signal::TERM).unwrap();
    let run = Run::of(child.output().unwrap()).exits(143);
    assert!(asked.elapsed() < ENDED, "it took {:?}", asked.elapsed());
    assert_eq!(run.json()["scan"]["projects"], "owed", "{run:?}");
    assert_eq!(site.world.live(), crate::kit::world::plant_files(), "the files have landed");
    let later = site.world.sync(&site.url, &["-o", "json"]).exits(0).json();
    assert_eq!(later["scan"]["projects"], "owed", "it is remembered");
    let Site { world, gateway, url } = site;
    drop(gateway);
    let site = Site::over(world, url, |options| options);
    let done = site.sync(&[]).exits(0).json();
    assert_eq!(done["scan"]["projects"], "done");
}

#[test]
fn a_lock_that_another_holds_stops_the_run_before_any_file() {
    let (site, _repo) = line();
    site.gateway.hold_lock(Half::Projects, Duration::from_mins(1));
    let run = site.sync_within("2s");
    refused(run, 1, "ScanLockHeld", &[]);
    assert_eq!(site.world.live(), tree::Tree::default());
    crate::kit::update::nothing_is_left(&site.world);
}

#[test]
fn a_scan_stays_owed_when_the_record_of_it_is_lost() {
    let repo = plant();
    let site = Site::new(repo.url());
    site.gateway.set(State::Down);
    site.sync(&[]).exits(1);
    for entry in fs::read_dir(site.world.data().join(".stoker")).unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with("manifest") {
            fs::write(entry.path(), "noise").unwrap();
        }
    }
    site.gateway.set(State::Running);
    let run = site.sync(&[]).exits(0).json();
    assert_eq!(run["scan"]["projects"], "done");
    assert!(site.gateway.scans().iter().any(|scan| scan.half == Half::Projects));
}
