//! What is printed: for people, for scripts, in more or fewer words.

use serde_json::{Value, json};
use stoker_testkit::git::{Edit, Tree};

use crate::kit::result::has_every_key;
use crate::kit::world::{Run, World, plant, plant_files, plant_tree};

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
fn an_update_is_printed_with_its_paths() {
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
fn every_path_is_printed_with_v() {
    let (world, repo) = (World::new(), plant());
    let many =
        (0..150).fold(Tree::new(), |tree, number| tree.file(format!("projects/p/{number}"), "1"));
    repo.commit(Edit::put(many)).unwrap();
    let told = |run: &Run| (0..150).all(|number| run.stdout.contains(&format!("p/{number}\n")));
    let plan = world.words("plan", &repo.url(), &["-v"]);
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
fn each_phase_is_printed_once_with_vv() {
    let (world, repo) = (World::new(), plant());
    let run = world.sync(&repo.url(), &["-vv"]).exits(0);
    for phase in ["asking file://", "fetching ", "comparing\n", "writing 4 files\n", "applying\n"] {
        assert_eq!(run.stderr.matches(phase).count(), 1, "{phase}: {run:?}");
    }
    let again = world.sync(&repo.url(), &["-vv"]).exits(0);
    assert!(again.stderr.contains("asking ") && !again.stderr.contains("writing"), "{again:?}");
    assert!(!again.stdout.contains("()"), "{again:?}");
    repo.commit(Edit::put(Tree::new().file("projects/new", "1"))).unwrap();
    world.sync(&repo.url(), &["-vv"]).exits(0).says(&["writing 1 file\n"]);
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
