//! Scans, locks, and what a gateway does to the files.

use std::time::Duration;

use crate::support::{PATIENCE, gateway, get, plant, post, write};
use fake_gateway::{Gateway, Half, Options, Relock, State, signature};
use serde_json::{Value, json};

const LOCK: &str = "/data/api/v1/scan-lock/projects";
const SCAN: &str = "/data/api/v1/scan/projects";

fn body(acquire: u64, hold: u64) -> String {
    json!({"acquireTimeout": acquire, "holdTimeout": hold}).to_string()
}

fn scans(gateway: &Gateway, half: Half) -> usize {
    gateway.scans().iter().filter(|scan| scan.half == half).count()
}

/// Asks for a scan of `half` and waits until it ended.
fn scan(gateway: &Gateway, half: Half) {
    let ended = scans(gateway, half);
    assert_eq!(post(gateway, &format!("/data/api/v1/scan/{}", half.name()), "").status, 200);
    assert!(gateway.wait_for_scans(half, ended + 1, PATIENCE));
}

#[test]
fn a_start_loads_what_is_there_and_a_scan_what_has_come_since() {
    let (data, gateway) = gateway(|options| options);
    assert_eq!(gateway.loaded().projects, ["plant"]);
    write(data.path(), "projects/annex/project.json", "{}");
    write(data.path(), "projects/no-project/readme.txt", "x");
    write(data.path(), "projects/.resources/cache/project.json", "{}");
    assert_eq!(gateway.loaded().projects, ["plant"], "nothing is seen before a scan");
    scan(&gateway, Half::Projects);
    let loaded = gateway.loaded();
    assert_eq!(loaded.projects, ["annex", "plant"]);
    assert_eq!(loaded.poisoned, []);
    assert!(!loaded.files.keys().any(|path| path.contains(".resources")));
}

#[test]
fn a_scan_looks_at_its_own_half_only() {
    let (data, gateway) = gateway(|options| options);
    write(data.path(), "projects/annex/project.json", "{}");
    scan(&gateway, Half::Config);
    assert_eq!(gateway.loaded().projects, ["plant"]);
}

#[test]
fn digests_tell_states_apart() {
    let (data, gateway) = gateway(|options| options);
    scan(&gateway, Half::Projects);
    write(data.path(), "projects/plant/views/main/view.json", "{\"new\":1}");
    scan(&gateway, Half::Projects);
    let digests: Vec<String> = gateway
        .scans()
        .into_iter()
        .filter(|scan| scan.half == Half::Projects)
        .map(|scan| scan.digest)
        .collect();
    assert_eq!(digests[0], digests[1]);
    assert_ne!(digests[1], digests[2]);
}

#[test]
fn half_files_poison_until_the_resource_is_gone() {
    let (data, gateway) = gateway(|options| options);
    let view = "projects/plant/views/main/view.json";
    for glimpse in ["", "{\"half"] {
        write(data.path(), view, glimpse);
        scan(&gateway, Half::Projects);
        assert_eq!(gateway.loaded().poisoned[0].path, view, "{glimpse:?}");
    }
    write(data.path(), view, "{}");
    scan(&gateway, Half::Projects);
    assert_eq!(gateway.loaded().poisoned.len(), 1, "the cache stays poisoned");
    std::fs::remove_dir_all(data.path().join("projects/plant/views/main")).unwrap();
    scan(&gateway, Half::Projects);
    assert_eq!(gateway.loaded().poisoned, []);
}

#[test]
fn a_listed_file_that_is_missing_is_poison() {
    let (data, gateway) = gateway(|options| options);
    std::fs::remove_file(data.path().join("projects/plant/views/main/view.json")).unwrap();
    scan(&gateway, Half::Projects);
    assert_eq!(gateway.loaded().poisoned[0].why, "listed in resource.json and not there");
}

#[test]
fn the_status_can_lag_behind_the_truth() {
    let lagging = |lag| gateway(move |options| Options { status_lag: lag, ..options });
    let (_data, late) = lagging(Duration::from_hours(1));
    scan(&late, Half::Projects);
    let told = get(&late, SCAN).json();
    assert_eq!(told["lastScanTimestamp"], 0, "the scan is over and nobody says so");
    let (_data, soon) = lagging(Duration::from_millis(50));
    scan(&soon, Half::Projects);
    let asked = std::time::Instant::now();
    while get(&soon, SCAN).json()["lastScanTimestamp"] == 0 {
        assert!(asked.elapsed() < PATIENCE);
    }
}

#[test]
fn every_scan_changes_the_timestamp() {
    let (_data, gateway) = gateway(|options| options);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..5 {
        assert!(seen.insert(get(&gateway, SCAN).json()["lastScanTimestamp"].as_i64()));
        scan(&gateway, Half::Projects);
        let asked = std::time::Instant::now();
        while get(&gateway, SCAN).json()["scanActive"] == true {
            assert!(asked.elapsed() < PATIENCE);
        }
    }
}

#[test]
fn the_clock_of_the_gateway_is_its_own() {
    let (_data, gateway) = gateway(|options| Options { clock_offset_ms: -3_600_000, ..options });
    let told = get(&gateway, SCAN).json()["lastScanTimestamp"].as_i64().unwrap();
    assert!(told < jiff::Timestamp::now().as_millisecond() - 3_500_000);
}

#[test]
fn the_lock_answers_as_documented() {
    let (_data, gateway) = gateway(|options| options);
    assert_eq!(get(&gateway, LOCK).status, 204);
    assert_eq!(post(&gateway, LOCK, "").status, 500, "empty body");
    for bad in ["{", "{}", r#"{"acquireTimeout":"10","holdTimeout":60}"#, r#"{"holdTimeout":60}"#] {
        assert_eq!(post(&gateway, LOCK, bad).status, 400, "{bad}");
    }
    assert_eq!(post(&gateway, LOCK, &body(1, 60)).status, 200);
    assert_eq!(get(&gateway, LOCK).json()["heldBy"], "ci");
    assert_eq!(post(&gateway, LOCK, &body(1, 60)).status, 200, "the holder extends it");
    gateway.hold_lock(Half::Projects, PATIENCE);
    assert_eq!(post(&gateway, LOCK, &body(1, 60)).status, 409);
    assert_eq!(
        get(&gateway, "/data/api/v1/scan-lock/config").status,
        204,
        "the other half is free"
    );
}

#[test]
fn a_gateway_can_refuse_even_the_holder() {
    let (_data, gateway) = gateway(|options| Options { relock: Relock::Conflicts, ..options });
    assert_eq!(post(&gateway, LOCK, &body(1, 60)).status, 200);
    assert_eq!(post(&gateway, LOCK, &body(1, 60)).status, 409);
}

#[test]
fn a_scan_releases_the_lock_of_its_half() {
    let (_data, gateway) = gateway(|options| options);
    assert_eq!(post(&gateway, LOCK, &body(1, 60)).status, 200);
    assert_eq!(post(&gateway, "/data/api/v1/scan/config", "").status, 200);
    assert!(gateway.is_locked(Half::Projects));
    assert_eq!(post(&gateway, SCAN, "").status, 200);
    assert!(!gateway.is_locked(Half::Projects));
}

#[test]
fn a_lock_expires_by_itself() {
    let (_data, gateway) = gateway(|options| options);
    let taken = std::time::Instant::now();
    assert_eq!(post(&gateway, LOCK, &body(1, 1)).status, 200);
    while gateway.is_locked(Half::Projects) {
        assert!(taken.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
    assert!(taken.elapsed() >= Duration::from_secs(1));
}

#[test]
fn the_lock_times_out_while_a_scan_runs() {
    let (_data, gateway) =
        gateway(|options| Options { scan_duration: Duration::from_secs(30), ..options });
    assert_eq!(post(&gateway, SCAN, "").status, 200);
    assert_eq!(get(&gateway, SCAN).json()["scanActive"], true);
    assert_eq!(post(&gateway, LOCK, &body(0, 60)).status, 408);
}

#[test]
fn scans_of_its_own_wait_for_the_lock() {
    let every = Some(Duration::from_millis(2));
    let (data, gateway) = gateway(|options| Options { auto_scan: every, ..options });
    assert_eq!(post(&gateway, LOCK, &body(10, 60)).status, 200);
    write(data.path(), "projects/annex/project.json", "");
    // Config is not locked: its scans show that time has passed.
    let config = scans(&gateway, Half::Config);
    assert!(gateway.wait_for_scans(Half::Config, config + 5, PATIENCE));
    assert_eq!(gateway.loaded().poisoned, []);
    write(data.path(), "projects/annex/project.json", "{}");
    scan(&gateway, Half::Projects);
    assert_eq!(gateway.loaded().projects, ["annex", "plant"]);
}

#[test]
fn a_resource_whose_signature_does_not_fit_is_rewritten() {
    let data = tempfile::tempdir().unwrap();
    plant(data.path());
    let fits = signature([("view.json", b"{}".as_slice())]);
    let good = format!(
        r#"{{"files":["view.json"],"attributes":{{"lastModificationSignature":"{fits}"}}}}"#
    );
    write(data.path(), "projects/plant/views/good/view.json", "{}");
    write(data.path(), "projects/plant/views/good/resource.json", &good);
    let options =
        Options { rewrites_resources: true, ..Options::over(data.path()).token("ci:s3cret") };
    let gateway = Gateway::start(options).unwrap();
    let read = |path: &str| std::fs::read_to_string(data.path().join(path)).unwrap();
    assert_eq!(read("projects/plant/views/good/resource.json"), good);
    let rewritten = read("projects/plant/views/main/resource.json");
    let value: Value = serde_json::from_str(&rewritten).unwrap();
    assert_eq!(value["attributes"]["lastModification"]["actor"], "external");
    assert_eq!(value["attributes"]["lastModificationSignature"], fits.as_str());
    assert!(
        rewritten.starts_with("{\n\t\"files\" : "),
        "order and spacing are its own: {rewritten}"
    );
    let external = "config/resources/external/ignition/tag-provider/site/resource.json";
    assert_eq!(read(external), "{}", "external is read-only to a gateway");
    scan(&gateway, Half::Projects);
    assert_eq!(read("projects/plant/views/main/resource.json"), rewritten, "once is enough");
}

#[test]
fn commissioning_overwrites_files_once() {
    let project = "projects/plant/project.json";
    let (data, gateway) =
        gateway(|options| options.state(State::Uncommissioned).seed(project, "{\"seed\":1}"));
    let read = || std::fs::read_to_string(data.path().join(project)).unwrap();
    assert!(read().contains("Plant"));
    gateway.set(State::Running);
    assert_eq!(read(), "{\"seed\":1}");
    write(data.path(), project, "{}");
    gateway.set(State::Starting);
    gateway.set(State::Running);
    assert_eq!(read(), "{}");
}
