//! `sync` and `plan` by flags: formats, exit codes, and what is not touched.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use serde_json::{Value, json};
use stoker_testkit::git::http::HttpServer;
use stoker_testkit::git::{Edit, Tree};
use stoker_testkit::process::find_program;

use crate::world::{Run, STOKER, World, plant, plant_files, plant_tree};

/// Every key that scripts rely on.
pub(crate) const KEYS: [&str; 19] = [
    "status",
    "ref",
    "resolvedRef",
    "commit",
    "previousCommit",
    "filesAdded",
    "filesModified",
    "filesDeleted",
    "filesUnchanged",
    "added",
    "modified",
    "deleted",
    "truncated",
    "bytesWritten",
    "projects",
    "scan",
    "durationsMs",
    "warnings",
    "error",
];

#[track_caller]
pub(crate) fn has_every_key(result: &Value) {
    for key in KEYS {
        assert!(result.get(key).is_some(), "no {key} in {result:#}");
    }
    for phase in ["resolve", "fetch", "plan", "apply", "gateway", "total"] {
        let time = &result["durationsMs"][phase];
        assert!(time.is_u64(), "durationsMs.{phase} is {time}");
    }
    for half in ["projects", "config"] {
        let word = result["scan"][half].as_str().unwrap_or_default();
        assert!(["done", "skipped", "failed", "owed"].contains(&word), "scan.{half} is {word:?}");
    }
    let error = &result["error"];
    if !error.is_null() {
        assert!(error["reason"].is_string() && error["message"].is_string(), "{error}");
        assert!(error.get("hint").is_some(), "no error.hint in {error}");
    }
}

#[test]
fn a_first_sync_brings_exactly_the_commit() {
    let (world, repo) = (World::new(), plant());
    let run = world.sync(&repo.url(), &[]).exits(0);
    assert_eq!(world.live(), plant_files());
    assert!(run.stdout.starts_with("synced: main at "), "{run:?}");
    assert!(run.stdout.contains("added      4"), "{run:?}");
    assert_eq!(run.stderr, "");
    assert!(!run.stdout.contains('\u{1b}'), "colours in a pipe: {run:?}");
}

#[test]
fn json_has_every_key_on_success_and_on_failure() {
    let (world, repo) = (World::new(), plant());
    let first = world.sync(&repo.url(), &["-o", "json"]).exits(0).json();
    has_every_key(&first);
    let commit = repo.tip("main").unwrap();
    assert_eq!(first["status"], "synced");
    assert_eq!((&first["ref"], &first["resolvedRef"]), (&json!("main"), &json!("refs/heads/main")));
    assert_eq!(first["commit"], commit.as_str());
    assert_eq!(first["previousCommit"], Value::Null);
    assert_eq!((&first["filesAdded"], &first["filesUnchanged"]), (&json!(4), &json!(0)));
    assert_eq!(first["projects"], json!(["line", "oven"]));
    assert_eq!(first["error"], Value::Null);

    let again = world.sync(&repo.url(), &["-o", "json"]).exits(0).json();
    has_every_key(&again);
    assert_eq!((&again["status"], &again["filesUnchanged"]), (&json!("unchanged"), &json!(4)));

    let failed = world.sync(&repo.url(), &["-o", "json", "--ref", "gone"]).exits(1).json();
    has_every_key(&failed);
    assert_eq!((&failed["status"], &failed["ref"]), (&json!("failed"), &json!("gone")));
}

#[test]
fn json_is_there_when_the_command_line_is_wrong() {
    let (world, repo) = (World::new(), plant());
    let by_us = world.sync(&repo.url(), &["-o", "json", "--ref", "a..b"]).exits(2).json();
    has_every_key(&by_us);
    assert_eq!(by_us["status"], "failed");
    let by_the_parser = world.sync(&repo.url(), &["-o", "json", "--no-such-flag"]).exits(2).json();
    has_every_key(&by_the_parser);
    let message = by_the_parser["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("--no-such-flag"), "{message}");
    let absent =
        world.stoker(["sync", "--repo", "https://host/a.git", "-o", "json"]).exits(2).json();
    has_every_key(&absent);
    let message = absent["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("--data"), "what is missing is named: {message}");
}

#[test]
fn yaml_says_the_same_as_json() {
    let (world, repo) = (World::new(), plant());
    world.sync(&repo.url(), &[]).exits(0);
    let yaml = world.sync(&repo.url(), &["-o", "yaml"]).exits(0);
    let yaml: Value = serde_saphyr::from_str(&yaml.stdout).unwrap();
    let mut json = world.sync(&repo.url(), &["-o", "json"]).exits(0).json();
    json["durationsMs"] = yaml["durationsMs"].clone();
    assert_eq!(yaml, json);
}

#[test]
fn an_update_is_told_with_its_paths() {
    let (world, repo) = (World::new(), plant());
    let first = repo.tip("main").unwrap();
    world.sync(&repo.url(), &[]).exits(0);
    let tree =
        Tree::new().file("projects/line/new.json", "{}").file("projects/oven/project.json", "{}");
    let edit = Edit::put(tree).and_remove("projects/line/views/main/view.json");
    let second = repo.commit(edit).unwrap();
    let result = world.sync(&repo.url(), &["-o", "json"]).exits(0).json();
    assert_eq!(result["added"], json!(["projects/line/new.json"]));
    assert_eq!(result["modified"], json!(["projects/oven/project.json"]));
    assert_eq!(result["deleted"], json!(["projects/line/views/main/view.json"]));
    assert_eq!(result["filesUnchanged"], 2);
    assert_eq!(result["previousCommit"], first.as_str());
    assert_eq!(result["commit"], second.as_str());
    let again = world.sync(&repo.url(), &["-o", "json"]).exits(0).json();
    assert_eq!(
        (&again["previousCommit"], &again["commit"]),
        (&result["commit"], &result["commit"])
    );
    let verbose = world.sync(&repo.url(), &["-v", "--ref", "main~0"]);
    assert_eq!(verbose.code, 2, "no revision expressions: {verbose:?}");
}

#[test]
fn every_path_is_told_to_those_who_ask() {
    let (world, repo) = (World::new(), plant());
    let many =
        (0..150).fold(Tree::new(), |tree, number| tree.file(format!("projects/p/{number}"), "1"));
    repo.commit(Edit::put(many)).unwrap();
    let told = |run: &Run| (0..150).all(|number| run.stdout.contains(&format!("p/{number}\n")));
    let mut plan = world.sync_words(&repo.url(), &["-v"]);
    plan[0] = "plan".into();
    let planned = world.stoker(plan).exits(0).stdout;
    assert!((0..150).all(|number| planned.contains(&format!("+ {number}  1 B\n"))), "{planned}");
    let run = world.sync(&repo.url(), &["-v"]).exits(0);
    assert!(told(&run) && !run.stdout.contains('…'), "{run:?}");
    assert_eq!(run.stderr, "");
    repo.rewrite("main", plant_tree()).unwrap();
    let run = world.sync(&repo.url(), &["-v", "--allow-mass-delete"]).exits(0);
    assert!(told(&run) && run.stdout.contains("  - projects/p/149"), "{run:?}");
    let result = world.sync(&repo.url(), &["-o", "json", "-v"]).exits(0).json();
    assert!(result.get("all").is_none() && result.get("changes").is_none(), "{result}");
}

#[test]
fn what_is_being_done_is_told_once_to_those_who_ask() {
    let (world, repo) = (World::new(), plant());
    let run = world.sync(&repo.url(), &["-vv"]).exits(0);
    for phase in ["asking file://", "fetching ", "comparing\n", "writing 4 files\n", "applying\n"] {
        assert_eq!(run.stderr.matches(phase).count(), 1, "{phase}: {run:?}");
    }
    let again = world.sync(&repo.url(), &["-vv"]).exits(0);
    assert!(again.stderr.contains("asking ") && !again.stderr.contains("writing"), "{again:?}");
    assert!(!again.stdout.contains("()"), "{again:?}");
    repo.commit(Edit::put(Tree::new().file("projects/new", "1"))).unwrap();
    let one = world.sync(&repo.url(), &["-vv"]).exits(0);
    assert!(one.stderr.contains("writing 1 file\n"), "{one:?}");
}

#[test]
fn quiet_says_nothing_when_all_is_well_and_the_error_when_it_is_not() {
    let (world, repo) = (World::new(), plant());
    let run = world.sync(&repo.url(), &["-q"]).exits(0);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
    let run = world.sync(&repo.url(), &["-q", "--ref", "gone"]).exits(1);
    assert_eq!(run.stdout, "");
    assert!(run.stderr.starts_with("error: "), "{run:?}");
}

#[test]
fn names_are_escaped_for_people_and_exact_for_scripts() {
    let (world, repo) = (World::new(), plant());
    let odd = Tree::new().file("odd/a\u{1b}[31m\n", "1").file(b"odd/\xff", "2");
    repo.commit(Edit::put(odd)).unwrap();
    let run = world.sync(&repo.url(), &["-v", "--map", "odd:odd"]).exits(0);
    assert!(run.stdout.contains(r"\033[31m\n") && run.stdout.contains(r"\377"), "{run:?}");
    assert!(!run.stdout.contains('\u{1b}'));
    let other = World::new();
    let result = other.sync(&repo.url(), &["-o", "json", "--map", "odd:odd"]).exits(0).json();
    assert_eq!(result["added"], json!(["odd/a\u{1b}[31m\n", {"bytes": "b2RkL/8="}]));
}

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
        let mut command = world.command(STOKER, world.sync_words(&url, more));
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
        let mut words = world.sync_words(&repo.url(), more);
        words[0] = "plan".into();
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

#[test]
fn a_missing_data_directory_is_made_on_request_only() {
    let (world, repo) = (World::new(), plant());
    fs::remove_dir(world.data()).unwrap();
    world.sync(&repo.url(), &[]).exits(1);
    assert!(!world.data().exists());
    world.sync(&repo.url(), &["--create"]).exits(0);
    assert_eq!(world.live(), plant_files());
}

#[test]
fn a_data_directory_that_is_made_is_open_to_no_writer_whatever_the_umask() {
    let (world, repo) = (World::new(), plant());
    for (umask, name) in [("000", "made"), ("077", "shut")] {
        let deep = world.path(name).join("deep/data");
        let script =
            format!("umask {umask}; exec \"$0\" \"$@\" --create --data {}", deep.display());
        let words = ["sync", "--repo", &repo.url(), "--ref", "main", "--map", "projects:projects"];
        let all = ["-c", &script, STOKER].into_iter().chain(words);
        Run::ended(world.command("sh", all)).exits(0);
        for made in [&deep, &world.path(name).join("deep"), &world.path(name)] {
            let mode = fs::metadata(made).unwrap().permissions().mode();
            assert_eq!(mode & 0o7777, 0o755, "{umask}: {}", made.display());
        }
    }
}

// A relative path means the same to us as to the git that we start elsewhere.
#[test]
fn a_store_may_be_named_relative_to_the_working_directory() {
    let (world, repo) = (World::new(), plant());
    world.sync(&repo.url(), &["--store", "objects"]).exits(0);
    assert!(world.path("objects").is_dir());
    assert_eq!(world.live(), plant_files());
}

#[test]
fn works_without_a_home() {
    let (world, repo) = (World::new(), plant());
    let mut command = world.command(STOKER, world.sync_words(&repo.url(), &[]));
    command.env_remove("HOME").env_remove("XDG_CACHE_HOME");
    Run::ended(command).exits(0);
    assert_eq!(world.live(), plant_files());
}

#[test]
fn several_maps_keep_their_order() {
    let (world, repo) = (World::new(), plant());
    repo.commit(Edit::put(Tree::new().file("over/project.json", "over"))).unwrap();
    let words = [
        "--map",
        "projects:projects",
        "--map",
        "over:projects/line",
        "--map",
        "config/site.json:config/",
    ];
    world.sync(&repo.url(), &words).exits(0);
    let live = world.live();
    assert_eq!(live.text("projects/line/project.json"), "over");
    assert_eq!(live.text("config/site.json"), "{\"site\":7}\n");
    assert_eq!(live.text("projects/line/views/main/view.json"), "{\"root\":1}\n");
}

#[test]
fn what_was_changed_on_the_gateway_is_repaired_and_named() {
    let (world, repo) = (World::new(), plant());
    world.sync(&repo.url(), &[]).exits(0);
    fs::write(world.data().join("projects/oven/project.json"), "by hand").unwrap();
    fs::write(world.data().join("projects/oven/foreign"), "by hand").unwrap();
    let run = world.sync(&repo.url(), &[]).exits(0);
    assert!(
        run.stderr.contains("warning: projects/oven/project.json: was changed on the gateway"),
        "{run:?}"
    );
    assert!(
        run.stderr.contains("warning: projects/oven/foreign: was added on the gateway"),
        "{run:?}"
    );
    assert_eq!(world.live(), plant_files());
}

#[test]
fn permissions_that_git_can_not_have_are_drift() {
    let (world, repo) = (World::new(), plant());
    world.sync(&repo.url(), &[]).exits(0);
    let file = world.data().join("projects/oven/project.json");
    let mode = || fs::metadata(&file).unwrap().mode() & 0o7777;
    for odd in [0o4755, 0o2644, 0o1644, 0o666] {
        fs::set_permissions(&file, fs::Permissions::from_mode(odd)).unwrap();
        let run = world.sync(&repo.url(), &[]).exits(0);
        let told = "warning: projects/oven/project.json: was changed on the gateway: repaired";
        assert!(run.stderr.contains(told), "{odd:o}: {run:?}");
        assert_eq!(mode(), 0o644, "{odd:o}");
    }
}

#[test]
fn the_whole_repository_onto_the_data_root_leaves_foreign_files_alone() {
    let (world, repo) = (World::new(), plant());
    fs::create_dir(world.data().join("db")).unwrap();
    fs::write(world.data().join("db/config.idb"), "live").unwrap();
    world.sync(&repo.url(), &["--map", ".:."]).exits(0);
    repo.commit(plant_tree().without("config/site.json")).unwrap();
    world.sync(&repo.url(), &["--map", ".:."]).exits(0);
    assert_eq!(world.live(), plant_files().file("db/config.idb", "live"));
}
