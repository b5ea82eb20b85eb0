//! Runs that change nothing write nothing: no-ops, `plan`, and a sync with `dryRun`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use serde_json::json;
use stoker_testkit::git::http::HttpServer;
use stoker_testkit::git::{Edit, Tree};
use stoker_testkit::process::find_program;

use crate::kit::manifest::{gateway_sync, run};
use crate::kit::result::has_every_key;
use crate::kit::world::{Run, STOKER, World, plant, plant_files};

/// Everything about a tree that a write would change.
fn fingerprint(directory: &Path) -> BTreeMap<String, String> {
    let mut seen = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(path) = open.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        let times = (metadata.mtime_nsec(), metadata.ctime_nsec(), metadata.mtime());
        let content = if metadata.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        let state = format!("{} {:o} {times:?} {content:?}", metadata.ino(), metadata.mode());
        seen.insert(path.display().to_string(), state);
        if metadata.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    seen
}

/// A `git` first on the path that notes each call in a file and runs the real one.
fn counted_git(world: &World) -> String {
    let real = find_program("git".as_ref()).unwrap();
    let log = world.path("git-calls");
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    let script =
        format!("#!/bin/sh\necho \"$*\" >> {}\nexec {} \"$@\"\n", log.display(), real.display());
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())
}

#[test]
fn a_no_op_writes_nothing_and_asks_git_once() {
    let (world, repo) = (World::new(), plant());
    let server = HttpServer::start().unwrap();
    let url = server.mount("plant", &repo);
    world.sync(&url, &[]).exits(0);
    let (data, cache) = (fingerprint(&world.data()), fingerprint(&world.path("cache")));
    server.take_requests();
    for more in [&[] as &[&str], &["--no-drift"], &["--verify"]] {
        let path = counted_git(&world);
        let mut command = world.command(STOKER, world.words("sync", &url, more));
        command.env("PATH", path);
        let run = Run::ended(command).exits(0);
        assert!(run.stdout.starts_with("unchanged: "), "{run:?}");
        let calls = fs::read_to_string(world.path("git-calls")).unwrap();
        assert_eq!(calls.lines().count(), 1, "with {more:?}: {calls}");
        fs::remove_file(world.path("git-calls")).unwrap();
        fs::remove_dir_all(world.path("bin")).unwrap();
    }
    assert_eq!(fingerprint(&world.data()), data);
    assert_eq!(fingerprint(&world.path("cache")), cache);
    let discoveries =
        server.take_requests().iter().filter(|request| request.is_discovery()).count();
    assert_eq!(discoveries, 3);
}

// Trailing slashes mean nothing, except behind a file's directory.
#[test]
fn a_mapping_spelled_with_slashes_is_the_same_mapping() {
    let (world, repo) = (World::new(), plant());
    world.sync(&repo.url(), &["--map", "projects:projects"]).exits(0);
    let before = fingerprint(&world.data());
    for map in ["projects/:projects/", "projects:projects/", "./projects:projects//"] {
        let run = world.sync(&repo.url(), &["--map", map]).exits(0);
        assert!(run.stdout.starts_with("unchanged: "), "{map}: {run:?}");
        assert_eq!(fingerprint(&world.data()), before, "{map}");
    }
    let file = "config/site.json";
    let (other, repo) = (World::new(), plant());
    other.sync(&repo.url(), &["--map", &format!("{file}:config/a")]).exits(0);
    other.sync(&repo.url(), &["--map", &format!("{file}:config/a/")]).exits(0);
    let live = stoker_testkit::tree::tree([("config/a/site.json", "{\"site\":7}\n")]);
    assert_eq!(other.live(), live);
}

#[test]
fn plan_shows_what_would_change_and_touches_nothing() {
    let (world, repo) = (World::new(), plant());
    let plan = |more: &[&str]| {
        let words = world.words("plan", &repo.url(), more);
        world.stoker(words)
    };
    let before = fingerprint(&world.data());
    let run = plan(&[]).exits(0);
    assert!(run.stdout.contains("4 to add, 0 to change, 0 to delete"), "{run:?}");
    assert!(run.stdout.contains("+ project.json"), "{run:?}");
    plan(&["--exit-code"]).exits(3);
    assert_eq!(fingerprint(&world.data()), before, "an empty data directory stays so");

    world.sync(&repo.url(), &[]).exits(0);
    plan(&["--exit-code"]).exits(0);
    let tree = Tree::new()
        .file("projects/line/project.json", "{}")
        .executable("projects/oven/project.json", "{\"title\":\"oven\"}\n");
    repo.commit(Edit::put(tree).and_remove("projects/line/views/main/view.json")).unwrap();
    let before = fingerprint(&world.data());
    let result = plan(&["-o", "json"]).exits(0).json();
    has_every_key(&result);
    assert_eq!(result["status"], "planned");
    let changes = json!([
        {"path": "projects/line/project.json", "action": "modify", "bytes": 2, "mapping": 0, "source": "projects/line/project.json"},
        {"path": "projects/line/views/main/view.json", "action": "delete", "bytes": 0, "mapping": 0, "source": "projects/line/views/main/view.json"},
        {"path": "projects/oven/project.json", "action": "mode", "bytes": 0, "mapping": 0, "source": "projects/oven/project.json"},
    ]);
    let mut told = result["changes"].as_array().unwrap().clone();
    told.sort_by_key(|change| change["path"].to_string());
    assert_eq!(json!(told), changes);
    assert_eq!(fingerprint(&world.data()), before);
    plan(&["--ref", "gone", "--exit-code"]).exits(1);
}

fn profile(policies: &str) -> String {
    format!(
        "  sync:\n    defaults: {{{policies}}}\n    \
         profiles: {{site: {{mappings: [{{source: projects, destination: projects}}]}}}}"
    )
}

#[test]
fn a_dry_run_reports_what_a_sync_would_do_and_writes_nothing() {
    let (world, repo) = (World::new(), plant());
    let yaml = gateway_sync(&repo.url(), &profile("dryRun: true"));
    let result = run(&world, &yaml, &["-o", "json"]).exits(0).json();
    assert_eq!(result["status"], "dryRun", "{result:#}");
    assert_eq!(result["filesAdded"], plant_files().iter().count(), "{result:#}");
    assert_eq!(fs::read_dir(world.data()).unwrap().count(), 0);
}

#[test]
fn drift_is_named_by_who_only_looks() {
    let (world, repo) = (World::new(), plant());
    let yaml = gateway_sync(&repo.url(), &profile(""));
    run(&world, &yaml, &[]).exits(0);
    fs::write(world.data().join("projects/oven/project.json"), "edited").unwrap();
    for (policy, changes, told) in
        [("repair", 1, "a sync repairs it"), ("report", 0, "left as it is")]
    {
        let yaml = gateway_sync(&repo.url(), &profile(&format!("driftPolicy: {policy}")));
        let (file, data) = (world.file("plan.yaml", yaml), world.data());
        let words = ["plan", "-f", file.to_str().unwrap(), "--data", data.to_str().unwrap()];
        let result = world.stoker(words.into_iter().chain(["-o", "json"])).exits(0).json();
        assert_eq!(result["changes"].as_array().unwrap().len(), changes, "{result:#}");
        let warning = &result["warnings"][0];
        assert_eq!(warning["path"], "projects/oven/project.json", "{result:#}");
        assert!(warning["message"].as_str().unwrap().contains(told), "{result:#}");
    }
}
