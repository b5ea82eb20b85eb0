//! Runs that wait for each other, for a gateway or for git: for whom, how long, and what they print
//! afterwards (promise A7).

use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;
use stoker_testkit::gateway::{Fault, Half, State, Ugly};
use stoker_testkit::git::{Edit, Repo, Tree};
use stoker_testkit::process::Guarded;
use stoker_testkit::wait::eventually;

use crate::kit::background::has_lock_open;
use crate::kit::result::refused;
use crate::kit::site::Site;
use crate::kit::world::{ENDED, Run, World, plant};

/// A site that is synced, and a commit that is not there yet.
fn site() -> (Site, Repo) {
    let repo = plant();
    let site = Site::new(repo.url());
    site.sync(&[]).exits(0);
    repo.commit(Edit::put(Tree::new().file("projects/oven/new.json", "{}"))).unwrap();
    (site, repo)
}

/// A run that waits for its gateway to come up.
fn waiting(site: &Site) -> Guarded {
    site.gateway.set(State::Starting);
    let calls = site.gateway.calls().len();
    let child = site.world.start(site.words(&["-o", "json", "--gateway-timeout", "1m"]));
    eventually("it waits", || site.gateway.calls().len() > calls + 2);
    child
}

fn phases(result: &Value) -> u64 {
    let names = ["resolve", "fetch", "plan", "apply", "gateway"];
    names.iter().map(|name| result["durationsMs"][name].as_u64().unwrap()).sum()
}

#[test]
fn a_run_that_waits_prints_for_which_and_what_is_live() {
    let (site, _repo) = site();
    let holder = waiting(&site);
    let run = site.world.sync(&site.url, &["-o", "json", "--lock-timeout", "1s"]);
    let result = run.json();
    refused(run, 1, "Locked", &["pid ", " on "]);
    assert!(result["previousCommit"].is_string(), "{result:#}");
    // One that is asked to end while it waits says the same.
    let words = site.world.words("sync", &site.url, &["-o", "json", "--lock-timeout", "1m"]);
    let waiting = site.world.start(words);
    eventually("it waits", || {
        let runs = crate::kit::strace::processes(&site.world, "stoker");
        runs.into_iter().filter(|run| has_lock_open(*run)).count() == 2
    });
    waiting.signal(Signal::INT).unwrap();
    let run = Run::of(waiting.output().unwrap());
    let result = run.json();
    refused(run, 130, "Cancelled", &[]);
    assert!(result["previousCommit"].is_string(), "{result:#}");
    holder.signal(Signal::TERM).unwrap();
    refused(Run::of(holder.output().unwrap()), 143, "Cancelled", &[]);
}

#[test]
fn a_store_is_not_kept_while_a_gateway_is_waited_for() {
    let (site, _repo) = site();
    let holder = waiting(&site);
    let other = site.world.path("other");
    std::fs::create_dir(&other).unwrap();
    let mut words = site.world.words("sync", &site.url, &["--lock-timeout", "2s", "-q"]);
    let data = words.iter().position(|word| word == "--data").unwrap();
    words[data + 1] = other.clone().into();
    site.world.stoker(words).exits(0);
    assert!(other.join("projects/oven/new.json").is_file());
    site.gateway.set(State::Running);
    let result = Run::of(holder.output().unwrap()).exits(0).json();
    assert_eq!(result["scan"]["projects"], "done", "{result:#}");
    assert!(site.world.live().get("projects/oven/new.json").is_some());
}

#[test]
fn the_store_is_waited_for_as_long_as_the_user_says() {
    let (site, _repo) = site();
    let store = site.world.path("store");
    let store = store.to_str().unwrap();
    std::fs::create_dir(store).unwrap();
    let lock = std::fs::File::create(site.world.path("store/lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    std::fs::write(site.world.path("store/lock"), "pid 4711 on elsewhere\n").unwrap();
    let more = ["-o", "json", "--store", store, "--lock-timeout", "1s"];
    let asked = Instant::now();
    let run = site.world.sync(&site.url, &more);
    assert!(asked.elapsed() < Duration::from_secs(20), "it took {:?}", asked.elapsed());
    refused(run, 1, "FetchFailed", &["pid 4711 on elsewhere"]);
}

#[test]
fn a_run_that_is_asked_to_end_while_git_is_silent_was_cancelled() {
    let world = World::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/plant.git", silent.local_addr().unwrap());
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let child = world.start(world.words("sync", &url, &["-o", "json"]));
        let connection = silent.accept().unwrap();
        child.signal(signal).unwrap();
        refused(Run::of(child.output().unwrap()), code, "Cancelled", &[]);
        drop(connection);
    }
}

/// Ends a run that reads a file that it would take hours to read.
fn end_while_it_reads(child: Guarded, file: &Path) {
    eventually("the file is read", || {
        let Some(pid) = child.program_pid() else { return false };
        let open = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
        open.map(|entry| std::fs::read_link(entry.path())).any(|to| to.is_ok_and(|to| to == file))
    });
    let asked = Instant::now();
    child.signal(Signal::TERM).unwrap();
    Run::of(child.output().unwrap()).exits(143);
    assert!(asked.elapsed() < ENDED, "it took {:?}", asked.elapsed());
}

// A16
#[test]
fn a_run_that_is_asked_to_end_while_it_reads_a_huge_file_ends() {
    let huge = |path: &Path| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::File::create(path).unwrap().set_len(1 << 42).unwrap();
    };
    let (world, repo) = (World::new(), plant());
    let live = world.data().join("projects/oven/project.json");
    huge(&live);
    end_while_it_reads(world.start(world.words("sync", &repo.url(), &[])), &live);
    let edited = world.path("work/projects/huge");
    huge(&edited);
    let (work, data) = (world.path("work"), world.path("other"));
    let words = ["dev", work.to_str().unwrap(), "--map", "projects:projects", "--create"];
    let words = words.into_iter().chain(["--data", data.to_str().unwrap()]);
    end_while_it_reads(world.start(words), &edited);
}

#[test]
fn a_wait_for_the_scan_lock_is_time_of_the_gateway() {
    let (site, _repo) = site();
    site.gateway.hold_lock(Half::Projects, Duration::from_mins(1));
    let run = site.sync_within("2s");
    let result = run.json();
    refused(run, 1, "ScanLockHeld", &[]);
    let (gateway, total) = (&result["durationsMs"]["gateway"], &result["durationsMs"]["total"]);
    assert!(gateway.as_u64().unwrap() >= 1900, "{result:#}");
    assert!(phases(&result) + 1000 > total.as_u64().unwrap(), "{result:#}");
}

#[test]
fn a_gateway_that_never_answers_costs_no_more_than_it_is_given() {
    let (site, _repo) = site();
    site.gateway.fail(Fault::new(Ugly::Hang));
    let asked = Instant::now();
    let run = site.sync_within("2s");
    assert!(asked.elapsed() < Duration::from_secs(20), "it took {:?}", asked.elapsed());
    let result = run.json();
    refused(run, 1, "GatewayTimedOut", &["2 s"]);
    assert_eq!(result["scan"]["projects"], "owed", "{result:#}");
    let hint = result["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("--gateway-timeout"), "{hint}");
    assert!(site.world.live().get("projects/oven/new.json").is_some());
}

#[test]
fn what_differs_is_repaired_only_if_it_was() {
    let (site, _repo) = site();
    site.sync(&[]).exits(0);
    let file = site.world.data().join("projects/line/project.json");
    std::fs::write(&file, "{\"title\":\"changed\"}\n").unwrap();
    let drift = |result: &Value| {
        let warnings = result["warnings"].as_array().unwrap();
        let drift = warnings.iter().find(|warning| warning["code"] == "Drift");
        drift.unwrap()["message"].as_str().unwrap().to_owned()
    };
    site.gateway.fail(Fault::new(Ugly::Status(401)).on("/data/api/v1"));
    let told = drift(&site.sync(&[]).exits(1).json());
    assert!(told.contains("not repaired"), "{told}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{\"title\":\"changed\"}\n");
    site.gateway.heal();
    let told = drift(&site.sync(&[]).exits(0).json());
    assert!(told.ends_with(": repaired"), "{told}");
}

// A scan that was done is not yet a project that is loaded.
#[test]
fn a_project_that_is_not_loaded_is_reported_until_it_is() {
    let (site, repo) = site();
    let none = "{\"items\":[],\"metadata\":{\"total\":0}}".to_owned();
    let none = || Fault::new(Ugly::Body("application/json", none.clone()));
    let names = "/data/api/v1/projects/names";
    site.gateway.fail(none().on(names));
    for _ in 0..2 {
        let run = site.sync_within("3s");
        assert_eq!(run.json()["scan"]["projects"], "owed");
        refused(run, 1, "ProjectsNotLoaded", &["oven"]);
    }
    site.gateway.heal();
    let result = site.sync(&[]).exits(0).json();
    assert_eq!(result["scan"]["projects"], "done", "{result:#}");
    assert_eq!(site.sync(&[]).exits(0).json()["scan"]["projects"], "skipped");
    // After an owed scan, too, the run asks which projects are loaded, for all managed projects.
    repo.commit(Edit::put(Tree::new().file("projects/oven/other.json", "{}"))).unwrap();
    site.gateway.set(State::Down);
    site.sync_within("1s").exits(1);
    site.gateway.set(State::Running);
    site.gateway.fail(none().on(names));
    let run = site.sync_within("3s");
    refused(run, 1, "ProjectsNotLoaded", &["line, oven"]);
}

#[test]
fn a_demo_that_is_asked_to_end_says_so_once_and_leaves_nothing() {
    let world = World::new();
    let demo = world.start(["demo"]);
    let has_begun = || {
        let places = std::fs::read_dir(world.path("tmp")).unwrap().flatten();
        places.into_iter().any(|place| place.path().join("store").exists())
    };
    eventually("the first scene", has_begun);
    demo.signal(Signal::INT).unwrap();
    let run = Run::of(demo.output().unwrap()).exits(130);
    assert_eq!(run.stderr.matches("error: ").count(), 1, "{run:#?}");
    assert_eq!(std::fs::read_dir(world.path("tmp")).unwrap().count(), 0);
}
