//! Whole runs against the simulated gateway, as the agent makes them.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fake_gateway as fake;
use serde_json::json;
use stoker_ignition::{Endpoint, Options};
use stoker_run::{
    Cancel, Content, Error, Failed, GatewayAbsence, GatewayTarget, Outcome, Recovered, RelPath,
    Repair, RunReport, Scan, Silent, Target, WorkDir, scan_owed, state, sync,
};

/// A directory with files to sync, a data directory and a key.
struct World {
    directory: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let world = Self { directory: tempfile::tempdir().unwrap() };
        fs::create_dir(world.path("data")).unwrap();
        world.write("key", "a:b");
        world.write("source/p/plant/project.json", "{}");
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn target(&self) -> Target {
        let profile = json!({
            "mappings": [{"source": "p", "destination": "projects"}],
            "syncPeriod": 30,
            "designerSessionPolicy": "proceed",
            "designerSessionTimeout": "5m",
            "driftPolicy": "repair",
        });
        Target::new(self.path("data"), serde_json::from_value(profile).unwrap())
    }

    fn gateway(&self, url: &str, absence: GatewayAbsence) -> GatewayTarget {
        let mut options = Options::new(Endpoint::parse(url).unwrap(), self.path("key"));
        options.limits.gateway = Duration::from_secs(2);
        GatewayTarget { options, absence }
    }

    fn start(&self, state: fake::State) -> fake::Gateway {
        let options = fake::Options::over(self.path("data")).token("a:b");
        fake::Gateway::start(fake::Options { state, ..options }).unwrap()
    }

    fn sync(&self, target: &Target) -> Result<RunReport, Failed> {
        let cancel = Cancel::default();
        self.sync_until(target, &cancel)
    }

    fn sync_until(&self, target: &Target, cancel: &Cancel) -> Result<RunReport, Failed> {
        let parts = vec![RelPath::parse("p").unwrap()];
        let mut directory = WorkDir::open(&self.path("source"), parts, &Cancel::default()).unwrap();
        let label = directory.scan().unwrap().to_string();
        let content = Content::WorkDir { label, directory: &mut directory };
        sync(target, content, Recovered::none(), cancel, &Silent)
    }
}

/// A port at which no program listens.
const CLOSED: &str = "http://127.0.0.1:9";

#[test]
fn a_gateway_that_may_be_absent_owes_its_scan_and_makes_up_for_it() {
    let (world, cancel) = (World::new(), Cancel::default());
    let mut target = world.target();
    target.gateway = Some(world.gateway(CLOSED, GatewayAbsence::Owes));
    let report = world.sync(&target).unwrap();
    assert_eq!((report.outcome, report.scans.projects), (Outcome::Synced, Scan::Owed));
    assert!(report.owes_scan() && report.gateway_absent.is_some(), "{report:?}");
    assert_eq!(world.read("data/projects/plant/project.json"), "{}");

    let still = scan_owed(&target, &cancel, &Silent).unwrap();
    assert!(still.owes_scan() && still.gateway_absent.is_some(), "{still:?}");
    assert!(state(&world.path("data")).unwrap().owed().projects);

    let gateway = world.start(fake::State::Starting);
    target.gateway = Some(world.gateway(&gateway.url(), GatewayAbsence::Owes));
    assert!(scan_owed(&target, &cancel, &Silent).unwrap().owes_scan(), "it is starting");

    let gateway = world.start(fake::State::Running);
    target.gateway = Some(world.gateway(&gateway.url(), GatewayAbsence::Owes));
    let made = scan_owed(&target, &cancel, &Silent).unwrap();
    assert_eq!((made.scans.projects, made.owes_scan()), (Scan::Done, false));
    assert!(state(&world.path("data")).unwrap().owed().is_none());
    let before = gateway.calls().len();
    assert!(!scan_owed(&target, &cancel, &Silent).unwrap().owes_scan());
    assert_eq!(gateway.calls().len(), before, "nothing is owed, so nothing is asked");
}

#[test]
fn a_gateway_that_must_be_there_fails_the_run_and_the_files_land() {
    let world = World::new();
    let mut target = world.target();
    target.gateway = Some(world.gateway(CLOSED, GatewayAbsence::Fails));
    let Failed { report, error } = world.sync(&target).unwrap_err();
    assert!(matches!(*error, Error::Scan(_)), "{error:?}");
    assert_eq!(error.reason().as_str(), "GatewayConnectionRefused");
    assert_eq!(report.live_commit, report.commit);
    assert_eq!(world.read("data/projects/plant/project.json"), "{}");
}

#[test]
fn a_key_that_is_not_there_is_reported_before_anything_is_written() {
    let world = World::new();
    fs::remove_file(world.path("key")).unwrap();
    let gateway = world.start(fake::State::Running);
    let url = gateway.url();
    for (url, absence) in [
        (CLOSED, GatewayAbsence::Fails),
        (&url, GatewayAbsence::Fails),
        (&url, GatewayAbsence::Owes),
    ] {
        let mut target = world.target();
        target.gateway = Some(world.gateway(url, absence));
        let Failed { report, error } = world.sync(&target).unwrap_err();
        assert_eq!(error.reason().as_str(), "GatewayKeyMissing");
        assert_eq!((report.live_commit, report.changes.len()), (None, 0));
        assert!(!world.path("data/projects").exists());
    }
}

// G3: files are complete before a gateway starts, whatever its API key; the fault is reported.
#[test]
fn a_key_that_is_not_there_does_not_keep_files_from_a_gateway_that_may_be_absent() {
    let (world, cancel) = (World::new(), Cancel::default());
    fs::remove_file(world.path("key")).unwrap();
    let mut target = world.target();
    target.gateway = Some(world.gateway(CLOSED, GatewayAbsence::Owes));
    let report = world.sync(&target).unwrap();
    assert_eq!(world.read("data/projects/plant/project.json"), "{}");
    let reason = report.gateway_absent.as_ref().map(|error| error.reason().as_str());
    assert_eq!((report.owes_scan(), reason), (true, Some("GatewayKeyMissing")));
    let gateway = world.start(fake::State::Starting);
    target.gateway = Some(world.gateway(&gateway.url(), GatewayAbsence::Owes));
    let still = scan_owed(&target, &cancel, &Silent).unwrap();
    let reason = still.gateway_absent.as_ref().map(|error| error.reason().as_str());
    assert_eq!((still.owes_scan(), reason), (true, Some("GatewayKeyMissing")));
}

// A7, G1: of two gateways on one volume each is scanned, whichever run brought the files.
#[test]
fn a_gateway_that_has_loaded_another_commit_is_scanned_though_no_scan_is_owed() {
    let (world, cancel) = (World::new(), Cancel::default());
    let [one, other] = [(); 2].map(|()| world.start(fake::State::Running));
    let mut target = world.target();
    target.gateway = Some(world.gateway(&one.url(), GatewayAbsence::Owes));
    let live = world.sync(&target).unwrap().live_commit;
    assert!(state(&world.path("data")).unwrap().owed().is_none());

    target.gateway = Some(world.gateway(&other.url(), GatewayAbsence::Owes));
    for loaded in ["", "older"] {
        target.loaded = Some(loaded.to_owned());
        let report = world.sync(&target).unwrap();
        assert_eq!((report.scans.projects, report.scans.config), (Scan::Done, Scan::Done));
        assert_eq!((report.outcome, &report.live_commit), (Outcome::Unchanged, &live));
        let made = scan_owed(&target, &cancel, &Silent).unwrap();
        assert_eq!(made.scans.projects, Scan::Done);
    }
    let is_scan = |call: &&String| call.starts_with("POST /data/api/v1/scan/");
    assert_eq!(other.calls().iter().filter(is_scan).count(), 8);

    let calls = other.calls().len();
    target.loaded = live;
    assert_eq!(world.sync(&target).unwrap().scans.projects, Scan::Skipped);
    assert_eq!(other.calls().len(), calls, "it has loaded what is live");

    target.gateway = Some(world.gateway(CLOSED, GatewayAbsence::Owes));
    target.loaded = Some("older".to_owned());
    assert!(world.sync(&target).unwrap().owes_scan());
    assert!(scan_owed(&target, &cancel, &Silent).unwrap().owes_scan());
}

#[test]
fn drift_is_data_and_the_state_is_read_without_a_run() {
    let world = World::new();
    let target = world.target();
    assert!(!state(Path::new(&world.path("data"))).unwrap().is_last_good());
    let first = world.sync(&target).unwrap();
    let commit = first.commit.unwrap();
    let applied = state(&world.path("data")).unwrap();
    assert!(applied.is_last_good() && applied.is_applied(&target, &commit));
    assert!(!applied.is_applied(&target, &"0".repeat(40)));
    let mut other = world.target();
    other.profile.exclude_patterns.push("**/x".to_owned());
    assert!(!applied.is_applied(&other, &commit));

    world.write("data/projects/plant/project.json", "{\"changed\":true}");
    let repaired = world.sync(&target).unwrap();
    assert_eq!((repaired.drift.len(), repaired.repair), (1, Repair::Done));
    assert_eq!(world.read("data/projects/plant/project.json"), "{}");
    let quiet = world.sync(&target).unwrap();
    assert_eq!((quiet.outcome, quiet.drift.len()), (Outcome::Unchanged, 0));
}

#[test]
fn a_cancelled_run_is_undone_and_says_so() {
    let (world, cancel) = (World::new(), Cancel::default());
    cancel.cancel();
    let Failed { report, error } = world.sync_until(&world.target(), &cancel).unwrap_err();
    assert!(error.is_cancelled(), "{error:?}");
    assert_eq!(report.live_commit, None);
    assert!(!world.path("data/projects").exists());
}
