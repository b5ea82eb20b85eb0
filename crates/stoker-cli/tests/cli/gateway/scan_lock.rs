//! Runs that took the scan lock and fail: if nothing was changed they release the lock, if files
//! were changed they request a scan, and if that is unknown the lock stays (promise G1).

use std::ffi::OsString;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use stoker_testkit::gateway::{Fault, Gateway, Half, Relock, Ugly};
use stoker_testkit::git::Repo;
use stoker_testkit::tree;
use stoker_testkit::wait::eventually;

use crate::kit::result::refused;
use crate::kit::site::{Line, Site};
use crate::kit::strace::{Point, can_trace, learn, strike};
use crate::kit::update::Update;
use crate::kit::world::{ENDED, Run, plant};

/// A site with files for both halves of a gateway, none of which is there yet.
fn both_halves() -> (Site, Repo) {
    let repo = plant();
    let site = Site::new(repo.url());
    let profile = "apiVersion: stoker.io/v1alpha1\nkind: SyncProfile\nmetadata: {name: site}\n\
        spec: {designerSessionPolicy: fail, mappings: [{source: projects, destination: projects}, \
        {source: config, destination: config}]}\n";
    site.world.file("site.yaml", profile);
    (site, repo)
}

/// The words of a run for both halves.
fn words(site: &Site, patience: &str) -> Vec<OsString> {
    site.words(&["-o", "json", "-f", "site.yaml", "--gateway-timeout", patience])
}

/// Which scans were asked for.
fn scans(gateway: &Gateway) -> Vec<String> {
    let scan = |call: String| call.strip_prefix("POST /data/api/v1/scan/").map(str::to_owned);
    gateway.calls().into_iter().filter_map(scan).collect()
}

/// Nothing has changed, and only these locks were let go.
#[track_caller]
fn has_let_go(site: &Site, halves: &[&str]) {
    assert_eq!(site.world.live(), tree::Tree::default());
    assert_eq!(scans(&site.gateway), halves);
    assert!(!site.gateway.is_locked(Half::Projects), "the lock stays");
}

const CONFIG: &str = "/data/api/v1/scan-lock/config";

#[test]
fn a_lock_is_let_go_when_the_other_one_is_not_given() {
    let (site, _repo) = both_halves();
    site.gateway.hold_lock(Half::Config, Duration::from_mins(10));
    refused(site.world.stoker(words(&site, "2s")), 1, "ScanLockHeld", &["config"]);
    has_let_go(&site, &["projects"]);
    assert!(site.gateway.is_locked(Half::Config), "that one is somebody else's");
    let (site, _repo) = both_halves();
    site.gateway.fail(Fault::new(Ugly::Status(403)).on(CONFIG));
    refused(site.world.stoker(words(&site, "1m")), 1, "GatewayForbidden", &["403"]);
    has_let_go(&site, &["projects"]);
}

#[test]
fn a_half_without_a_lock_is_reported() {
    let (site, _repo) = both_halves();
    site.gateway.fail(Fault::new(Ugly::Status(404)).on(CONFIG));
    let result = site.world.stoker(words(&site, "1m")).exits(0).json();
    assert_eq!(result["warnings"][0]["code"], "NoScanLock", "{result:#}");
}

#[test]
fn locks_are_let_go_when_a_designer_was_opened_meanwhile() {
    let (site, _repo) = both_halves();
    let designers = "/data/api/v1/designers";
    let open = "{\"items\":[{\"user\":\"ada\",\"project\":\"line\"}],\"metadata\":{\"total\":1}}";
    site.gateway.fail(Fault::new(Ugly::Slow(Duration::ZERO)).on(designers).times(1));
    site.gateway.fail(Fault::new(Ugly::Body("application/json", open.to_owned())).on(designers));
    let run = site.world.stoker(words(&site, "1m"));
    refused(run, 1, "DesignerSessionActive", &["ada in line"]);
    has_let_go(&site, &["projects", "config"]);
}

#[test]
fn a_lock_is_let_go_by_a_run_that_is_asked_to_end() {
    let (site, _repo) = both_halves();
    site.gateway.hold_lock(Half::Config, Duration::from_mins(10));
    let child = site.world.start(words(&site, "10m"));
    eventually("it waits", || {
        site.gateway.calls().iter().filter(|call| call.ends_with("scan-lock/config")).count() > 1
    });
    let asked = Instant::now();
    child.signal(Signal::TERM).unwrap();
    refused(Run::of(child.output().unwrap()), 143, "Cancelled", &[]);
    assert!(asked.elapsed() < ENDED, "it took {:?}", asked.elapsed());
    has_let_go(&site, &["projects"]);
}

// A16: before the scan is asked for, nothing else lets the lock go.
#[test]
fn a_lock_is_let_go_by_a_run_that_is_asked_to_end_when_its_files_are_in_place() {
    let (site, _repo) = both_halves();
    let scan = "/data/api/v1/scan/projects";
    // Once it is asked whether the key is any good.
    site.gateway.fail(Fault::new(Ugly::Slow(Duration::ZERO)).on(scan).get().times(1));
    site.gateway.fail(Fault::new(Ugly::Hang).on(scan).get());
    let child = site.world.start(words(&site, "10m"));
    let asks = |call: &&String| call.starts_with(&format!("GET {scan}"));
    eventually("it asks", || site.gateway.calls().iter().filter(asks).count() == 2);
    child.signal(Signal::TERM).unwrap();
    let run = Run::of(child.output().unwrap()).exits(143);
    assert_eq!(run.json()["scan"]["projects"], "owed", "{run:?}");
    assert!(site.world.live().get("projects/line/project.json").is_some());
    for half in [Half::Projects, Half::Config] {
        assert!(!site.gateway.is_locked(half), "{half:?}");
    }
}

/// The calls that begin and end the journal of an update to `new`.
fn journal(line: &Line<'_>) -> (Point, Point) {
    let points =
        learn(&line.site.world, line.words("new", "1m"), |line| line.contains("\"journal\""));
    line.completes("old");
    let mut renames = points.into_iter().filter(|point| point.call.starts_with("rename"));
    (renames.next().unwrap(), renames.next_back().unwrap())
}

fn struck(line: &Line<'_>, point: &Point) -> Run {
    let mut words = line.words("new", "1m");
    words.retain(|word| word != "-q");
    words.extend(["-o".into(), "json".into()]);
    strike(&line.site.world, words, point, "error=EIO")
}

#[test]
fn a_lock_is_let_go_when_the_journal_can_t_be_begun_and_stays_when_it_can_t_be_ended() {
    let update = Update::new();
    let line = Line::new(&update, Relock::Extends);
    if !can_trace(&line.site.world) {
        return;
    }
    let (begin, end) = journal(&line);
    refused(struck(&line, &begin), 1, "ApplyFailed", &["nothing was changed"]);
    assert_eq!(line.site.world.live(), update.old);
    assert!(!line.site.gateway.is_locked(Half::Projects), "the lock stays");
    let before = scans(&line.site.gateway);
    refused(struck(&line, &end), 1, "ApplyFailed", &["record"]);
    assert!(line.site.gateway.is_locked(Half::Projects), "the gateway must not read a mixture");
    assert_eq!(scans(&line.site.gateway), before, "nobody has asked for a scan");
    line.completes("new");
}

#[test]
fn a_partial_change_is_scanned_and_stays_a_failure() {
    let update = Update::new();
    let line = Line::new(&update, Relock::Extends);
    if !can_trace(&line.site.world) {
        return;
    }
    let is_live = |line: &str| line.contains("/data/projects");
    let points = learn(&line.site.world, line.words("new", "1m"), is_live);
    let last = points.iter().rfind(|point| point.call.starts_with("rename")).unwrap();
    line.completes("old");
    let run = struck(&line, last);
    let result = run.json();
    refused(run, 1, "ApplyFailed", &["everything else was applied"]);
    assert_eq!(result["scan"]["projects"], "done", "{result:#}");
    assert!(result["filesModified"].as_u64() > Some(100), "what was done is told: {result:#}");
    assert!(!line.site.gateway.is_locked(Half::Projects), "the lock stays");
    let files = line.site.gateway.scans().last().map(|scan| scan.files);
    assert_eq!(files, Some(line.site.world.live().iter().count()), "what is there was scanned");
    // What the gateway did not scan is owed, and why the run failed is still the same.
    line.completes("old");
    line.site.gateway.fail(Fault::new(Ugly::Status(500)).on("/data/api/v1/scan/").post());
    let run = struck(&line, last);
    let result = run.json();
    refused(run, 1, "ApplyFailed", &["everything else was applied"]);
    assert_eq!(result["scan"]["projects"], "failed", "{result:#}");
    line.site.gateway.heal();
    line.completes("new");
}
