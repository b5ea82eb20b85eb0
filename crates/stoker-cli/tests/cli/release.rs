//! A run that took the scan lock and does not get to its end: where nothing was changed the lock is let
//! go, where something was the gateway is told, and where that is not known the lock stays (promise G1).

use std::ffi::OsString;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use stoker_testkit::gateway::{Fault, Gateway, Half, Options, Relock, Ugly};
use stoker_testkit::git::Repo;
use stoker_testkit::tree;

use crate::owed::Line;
use crate::refusal::refused;
use crate::trace::{Point, can_trace, learn, strike};
use crate::update::Update;
use crate::world::{ENDED, Run, World, eventually, plant};

/// Files for both halves of a gateway, none of which is there yet.
struct Site {
    world: World,
    repo: Repo,
    gateway: Gateway,
}

impl Site {
    fn new() -> Self {
        let (world, repo) = (World::new(), plant());
        let gateway = Gateway::start(Options::over(world.data()).token("sync:right")).unwrap();
        world.file("key", "sync:right\n");
        let profile = "apiVersion: stoker.io/v1alpha1\nkind: SyncProfile\nmetadata: {name: site}\n\
            spec: {designerSessionPolicy: fail, mappings: [{source: projects, destination: projects}, \
            {source: config, destination: config}]}\n";
        world.file("site.yaml", profile);
        Self { world, repo, gateway }
    }

    fn words(&self, patience: &str) -> Vec<OsString> {
        let (url, key) = (self.gateway.url(), self.world.path("key"));
        let (repo, file) = (self.repo.url(), self.world.path("site.yaml"));
        let words = ["sync", "-o", "json", "--repo", &repo, "--ref", "main", "--gateway", &url];
        let mut words: Vec<OsString> = words.map(OsString::from).into();
        words.extend(["--gateway-timeout", patience, "--api-key-file"].map(OsString::from));
        words.extend([key.into(), "-f".into(), file.into()]);
        words.extend(["--data".into(), self.world.data().into()]);
        words
    }

    /// Which scans were asked for.
    fn scans(&self) -> Vec<String> {
        let calls = self.gateway.calls().into_iter();
        calls
            .filter_map(|call| call.strip_prefix("POST /data/api/v1/scan/").map(str::to_owned))
            .collect()
    }

    /// Nothing has changed, and only these locks were let go.
    #[track_caller]
    fn has_let_go(&self, halves: &[&str]) {
        assert_eq!(self.world.live(), tree::Tree::default());
        assert_eq!(self.scans(), halves);
        assert!(!self.gateway.is_locked(Half::Projects), "the lock stays");
    }
}

const CONFIG: &str = "/data/api/v1/scan-lock/config";

#[test]
fn a_lock_is_let_go_when_the_other_one_is_not_given() {
    let site = Site::new();
    site.gateway.hold_lock(Half::Config, Duration::from_mins(10));
    refused(site.world.stoker(site.words("2s")), 1, "ScanLockHeld", &["config"]);
    site.has_let_go(&["projects"]);
    assert!(site.gateway.is_locked(Half::Config), "that one is somebody else's");
    let site = Site::new();
    site.gateway.fail(Fault::new(Ugly::Status(403)).on(CONFIG));
    refused(site.world.stoker(site.words("1m")), 1, "GatewayForbidden", &["403"]);
    site.has_let_go(&["projects"]);
}

#[test]
fn locks_are_let_go_when_a_designer_was_opened_meanwhile() {
    let site = Site::new();
    let designers = "/data/api/v1/designers";
    let open = "{\"items\":[{\"user\":\"ada\",\"project\":\"line\"}],\"metadata\":{\"total\":1}}";
    site.gateway.fail(Fault::new(Ugly::Slow(Duration::ZERO)).on(designers).times(1));
    site.gateway.fail(Fault::new(Ugly::Body("application/json", open.to_owned())).on(designers));
    let run = site.world.stoker(site.words("1m"));
    refused(run, 1, "DesignerSessionActive", &["ada in line"]);
    site.has_let_go(&["projects", "config"]);
}

#[test]
fn a_lock_is_let_go_by_a_run_that_is_asked_to_end() {
    let site = Site::new();
    site.gateway.hold_lock(Half::Config, Duration::from_mins(10));
    let child = site.world.start(site.words("10m"));
    eventually("it waits", || {
        site.gateway.calls().iter().filter(|call| call.ends_with("scan-lock/config")).count() > 1
    });
    let asked = Instant::now();
    child.signal(Signal::TERM).unwrap();
    refused(Run::of(child.output().unwrap()), 143, "Cancelled", &[]);
    assert!(asked.elapsed() < ENDED, "it took {:?}", asked.elapsed());
    site.has_let_go(&["projects"]);
}

/// The calls that begin and end the journal of an update to `new`.
fn journal(line: &Line<'_>) -> (Point, Point) {
    let points = learn(&line.world, line.words("new", "1m"), |line| line.contains("\"journal\""));
    line.completes("old");
    let mut renames = points.into_iter().filter(|point| point.call.starts_with("rename"));
    (renames.next().unwrap(), renames.next_back().unwrap())
}

fn struck(line: &Line<'_>, point: &Point) -> Run {
    let mut words = line.words("new", "1m");
    words.retain(|word| word != "-q");
    words.extend(["-o".into(), "json".into()]);
    strike(&line.world, words, point, "error=EIO")
}

#[test]
fn a_lock_is_let_go_when_the_journal_can_t_be_begun_and_stays_when_it_can_t_be_ended() {
    let update = Update::new();
    let line = Line::new(&update, Relock::Extends);
    if !can_trace(&line.world) {
        return;
    }
    let (begin, end) = journal(&line);
    refused(struck(&line, &begin), 1, "ApplyFailed", &["nothing was changed"]);
    assert_eq!(line.world.live(), update.old);
    assert!(!line.gateway.is_locked(Half::Projects), "the lock stays");
    let asked = || {
        let calls = line.gateway.calls();
        calls.iter().filter(|call| call.starts_with("POST /data/api/v1/scan/")).count()
    };
    let before = asked();
    refused(struck(&line, &end), 1, "ApplyFailed", &["record"]);
    assert!(line.gateway.is_locked(Half::Projects), "the gateway must not read a mixture");
    assert_eq!(asked(), before, "nobody has asked for a scan");
    line.completes("new");
}

#[test]
fn a_change_in_part_is_told_to_the_gateway_and_stays_a_failure() {
    let update = Update::new();
    let line = Line::new(&update, Relock::Extends);
    if !can_trace(&line.world) {
        return;
    }
    let is_live = |line: &str| line.contains("/data/projects");
    let points = learn(&line.world, line.words("new", "1m"), is_live);
    let last = points.iter().rfind(|point| point.call.starts_with("rename")).unwrap();
    line.completes("old");
    let run = struck(&line, last);
    let result = run.json();
    refused(run, 1, "ApplyFailed", &["everything else was applied"]);
    assert_eq!(result["scan"]["projects"], "done", "{result:#}");
    assert!(result["filesModified"].as_u64() > Some(100), "what was done is told: {result:#}");
    assert!(!line.gateway.is_locked(Half::Projects), "the lock stays");
    let files = line.gateway.scans().last().map(|scan| scan.files);
    assert_eq!(files, Some(line.world.live().iter().count()), "what is there was scanned");
    // What the gateway did not scan is owed, and why the run failed is still the same.
    line.completes("old");
    line.gateway.fail(Fault::new(Ugly::Status(500)).on("/data/api/v1/scan/").post());
    let run = struck(&line, last);
    let result = run.json();
    refused(run, 1, "ApplyFailed", &["everything else was applied"]);
    assert_eq!(result["scan"]["projects"], "failed", "{result:#}");
    line.gateway.heal();
    line.completes("new");
}
