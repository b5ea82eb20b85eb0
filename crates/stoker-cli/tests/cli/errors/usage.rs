//! What the command line or the `-f` file gets wrong is exit code 2, before anything is contacted.

use crate::kit::manifest::{self, gateway_sync};
use crate::kit::result::refused;
use crate::kit::world::{Run, World};

/// A repository that nobody can ask: whoever does is found out by the exit code.
const NOWHERE: &str = "https://nowhere.invalid/plant.git";

fn sync(world: &World, more: &[&str]) -> Run {
    let mut all = vec!["-o", "json"];
    all.extend(more);
    world.sync(NOWHERE, &all)
}

#[test]
fn a_path_that_no_commit_can_mend_is_refused_before_anything_is_contacted() {
    let world = World::new();
    let long = format!("projects:projects/{}", "n".repeat(256));
    for (map, vars, words) in [
        ("p:{{.Nope}}", &[] as &[&str], &["--map p:{{.Nope}}", ".Nope"] as &[&str]),
        ("{{.Vars.absent}}:projects", &[], &["absent"]),
        ("p:projects/{{.GatewayName}}", &[], &[".GatewayName"]),
        ("p:projects/{{.Commit}}/{{.Nope}}", &[], &[".Nope"]),
        ("p:{{if}}", &[], &["--map"]),
        ("p:{{.Vars.to}}", &["--var", "to=.stoker"], &[".stoker", "reserved"]),
        ("p:{{.Vars.to}}/x", &["--var", "to=.sync-staging"], &[".sync-staging", "reserved"]),
        ("p:{{.Vars.to}}", &["--var", "to=.."], &["\"..\""]),
        ("p:{{.Vars.to}}", &["--var", "to="], &["empty"]),
        ("p:{{.Vars.to}}", &["--var", "to=/etc"], &["absolute"]),
        ("{{.Vars.from}}:p", &["--var", "from=../x"], &["\"..\""]),
        (&long, &[], &["255"]),
    ] {
        let more: Vec<&str> = ["--map", map].into_iter().chain(vars.iter().copied()).collect();
        refused(sync(&world, &more), 2, "Usage", words);
    }
    // What only the commit decides is asked for after the ref is known.
    refused(sync(&world, &["--map", "p:projects/{{.Commit}}"]), 1, "RemoteUnreachable", &[]);
}

#[test]
fn a_template_in_the_file_is_checked_as_early() {
    let world = World::new();
    let sync =
        "  sync: {profiles: {site: {mappings: [{source: p, destination: 'q/{{.PodName}}'}]}}}";
    let yaml = gateway_sync(NOWHERE, sync).replace("ref: main", "ref: release");
    let run = manifest::run(&world, &yaml, &["-o", "json"]);
    assert_eq!(run.json()["ref"], "release", "the file's own ref is told");
    refused(run, 2, "Usage", &["mappings[0]", "PodName"]);
    let words = ["dev", ".", "--once", "--map", "a:{{.Nope}}", "--data", "data", "-o", "json"];
    refused(world.stoker(words), 2, "Usage", &["--map a:{{.Nope}}", ".Nope"]);
}

#[test]
fn the_ref_is_told_whatever_else_is_wrong() {
    let world = World::new();
    for more in [
        &["--exclude", "[a"] as &[&str],
        &["--map", "p:/etc"],
        &["--gateway", "http://localhost:1"],
        &["-f", "absent.yaml"],
        &["--ref", "a..b"],
    ] {
        let run = sync(&world, more).exits(2);
        let wanted = if more.contains(&"--ref") { "a..b" } else { "main" };
        assert_eq!(run.json()["ref"], wanted, "{more:?}: {run:?}");
    }
}

#[test]
fn a_user_name_that_could_smuggle_something_is_refused() {
    let world = World::new();
    let token = world.file("token", "secret");
    for name in ["robot\npassword=x", "robot:x", "ro\u{7}bot", ""] {
        let more = ["--token-file", token.to_str().unwrap(), "--username", name];
        refused(sync(&world, &more), 2, "Usage", &["--username"]);
    }
}

#[test]
fn a_store_and_a_data_directory_within_each_other_are_refused() {
    let world = World::new();
    std::os::unix::fs::symlink(world.data(), world.path("link")).unwrap();
    for store in ["data", "data/objects", "data/../data/objects/deep", "link/objects", "."] {
        refused(sync(&world, &["--store", store]), 2, "Usage", &["--store", "--data"]);
    }
    assert_eq!(std::fs::read_dir(world.data()).unwrap().count(), 0);
    let beside = sync(&world, &["--store", "data-objects"]);
    refused(beside, 1, "RemoteUnreachable", &[]);
}

#[test]
fn a_working_directory_that_is_the_data_directory_is_refused() {
    let world = World::new();
    std::os::unix::fs::symlink(world.data(), world.path("link")).unwrap();
    for directory in ["data", "link", "./data/."] {
        let words = ["dev", directory, "--once", "--map", "a:b", "--data", "data", "-o", "json"];
        refused(world.stoker(words), 2, "Usage", &["same directory"]);
    }
}

#[test]
fn a_data_directory_within_what_is_mapped_into_it_is_refused() {
    let world = World::new();
    for directory in ["work/src", "work/data/projects"] {
        std::fs::create_dir_all(world.path(directory)).unwrap();
    }
    std::fs::write(world.path("work/src/a"), "1").unwrap();
    std::os::unix::fs::symlink(world.path("work/data"), world.path("link")).unwrap();
    let dev = |directory: &str, map: &str, data: &str| {
        let words = ["dev", directory, "--once", "--map", map, "--data", data, "-o", "json"];
        world.stoker(words)
    };
    for (directory, map, data) in [
        ("work", ".:x", "work/data"),
        ("work", ".:x", "link"),
        ("work", "data:x", "work/data"),
        (".", "work:projects", "work/data"),
        ("work/data/projects", ".:projects", "work/data"),
        ("work/data/projects", ".:.", "work/data"),
    ] {
        refused(dev(directory, map, data), 2, "Usage", &["lies in"]);
    }
    assert!(!world.path("work/data/.stoker").exists());
    // Beside what is mapped is a fine place.
    dev("work", "src:projects/a", "work/data").exits(0);
}

#[test]
fn the_hint_names_the_command_that_was_meant() {
    let world = World::new();
    let hint = |words: &[&str]| {
        let result = world.stoker(words).exits(2).json();
        result["error"]["hint"].as_str().unwrap().to_owned()
    };
    assert!(hint(&["plan", "--bad", "-o", "json"]).ends_with("stoker plan --help"));
    assert!(hint(&["-o", "json", "watch"]).ends_with("stoker watch --help"));
    assert!(hint(&["synch", "-o", "json"]).ends_with("stoker --help"));
    let plan = ["plan", "--repo", NOWHERE, "--ref", "a..b", "--map", "a:b", "--data", "data"];
    let told = world.stoker(plan).exits(2);
    assert!(told.stderr.contains("stoker plan --help"), "{told:?}");
}

#[test]
fn a_plan_that_failed_has_no_changes_and_says_so() {
    let world = World::new();
    let plan = |git_ref: &str| {
        let words = ["plan", "--repo", NOWHERE, "--ref", git_ref, "--map", "a:b", "--data", "data"];
        world.stoker(words.into_iter().chain(["-o", "json"]))
    };
    for (run, code) in [(plan("a..b"), 2), (plan("main"), 1)] {
        assert_eq!(run.exits(code).json()["changes"], serde_json::json!([]));
    }
    let unread = world.stoker(["plan", "--bad", "-o", "json"]).exits(2);
    assert_eq!(unread.json()["changes"], serde_json::json!([]));
    assert!(sync(&world, &[]).exits(1).json().get("changes").is_none());
}
