//! An error says what is wrong in the user's own terms, and its hint is the next thing to do here.

use std::fs;

use stoker_testkit::git::Tree;
use stoker_testkit::git::http::{Auth, HttpServer};
use stoker_testkit::leak::Canary;

use crate::kit::result::refused;
use crate::kit::strace::{can_trace, learn, strike};
use crate::kit::update::Update;
use crate::kit::world::{Run, World, guarded, plant};

#[track_caller]
fn hint(run: &Run) -> String {
    run.json()["error"]["hint"].as_str().unwrap_or_else(|| panic!("no hint: {run:?}")).to_owned()
}

#[test]
fn a_server_without_tls_is_not_a_certificate_that_nobody_trusts() {
    let (world, server) = (World::new(), HttpServer::start().unwrap());
    let url = server.url("plant").replace("http://", "https://");
    let run = world.sync(&url, &["-o", "json"]);
    assert!(hint(&run).contains("http://"), "{run:?}");
    assert!(!run.stdout.contains("certificate"), "{run:?}");
    refused(run, 1, "RemoteUnreachable", &["does not speak TLS", &url]);
}

#[test]
fn credentials_that_nobody_gave_are_asked_for() {
    let (world, repo) = (World::new(), plant());
    let server = HttpServer::start().unwrap();
    let url = server.mount("plant", &repo);
    server.require(Auth::Basic("robot".into(), "right".into()));
    let run = world.sync(&url, &["-o", "json"]);
    assert!(hint(&run).contains("--token-file"), "{run:?}");
    refused(run, 1, "AuthenticationFailed", &["wants credentials"]);
    let token = world.file("token", "wrong");
    let more = ["-o", "json", "--token-file", token.to_str().unwrap()];
    refused(world.sync(&url, &more), 1, "AuthenticationFailed", &["refused the credentials"]);
    let run = world.sync("ssh://git@host/a.git", &["-o", "json"]);
    assert!(hint(&run).contains("--ssh-key-file"), "{run:?}");
    refused(run, 2, "Usage", &["needs an SSH key"]);
}

#[test]
fn a_tag_on_a_file_or_a_directory_is_no_commit() {
    let (world, repo) = (World::new(), plant());
    let blob = repo.blob("x").unwrap();
    let tree = repo.raw_tree(&[]).unwrap();
    repo.tag("on-file", &blob).unwrap();
    repo.tag("on-tree", &tree).unwrap();
    repo.annotated_tag("annotated", &blob).unwrap();
    for (tag, object) in [("on-file", &blob), ("on-tree", &tree), ("annotated", &blob)] {
        let run = world.sync(&repo.url(), &["-o", "json", "--ref", tag]);
        assert!(hint(&run).contains("git ls-remote"), "{run:?}");
        assert!(!run.stdout.contains("object store"), "{run:?}");
        refused(run, 1, "NotACommit", &[object.as_str(), "not a commit", &repo.url()]);
    }
    world.sync(&repo.url(), &[]).exits(0);
}

#[test]
fn a_missing_source_is_looked_for_where_it_should_be() {
    let (world, repo) = (World::new(), plant());
    let run = world.sync(&repo.url(), &["-o", "json", "--map", "absent:projects"]).exits(1);
    assert!(hint(&run).contains("git ls-tree -r --name-only main"), "{run:?}");
    fs::create_dir(world.path("work")).unwrap();
    let data = world.data();
    let data = data.to_str().unwrap();
    let words = ["dev", "work", "--once", "--map", "absent:projects", "--data", data, "-o", "json"];
    let run = world.stoker(words);
    assert!(hint(&run).contains("ls work"), "{run:?}");
    refused(run, 1, "SourceNotFound", &["absent"]);
}

#[test]
fn credentials_in_a_url_belong_into_a_file() {
    let world = World::new();
    let url = "https://robot:hunter2@host/a.git";
    let run = world.sync(url, &["-o", "json"]);
    assert!(hint(&run).contains("--token-file") && !run.stdout.contains("Secret"), "{run:?}");
    refused(run, 2, "Usage", &["--repo", "credentials"]);
    let run = world.sync("https://host/a.git", &["-o", "json", "--proxy", "http://u:hunter2@h"]);
    assert!(!run.stdout.contains("Secret") && !run.stdout.contains("hunter2"), "{run:?}");
    refused(run, 2, "Usage", &["--proxy", "credentials"]);
}

#[test]
fn the_data_directory_has_a_name_when_it_is_what_failed() {
    let (world, repo) = (World::new(), plant());
    if !can_trace(&world) {
        return;
    }
    // More files than are made durable one by one, and one beside them in the data directory.
    let many = (0..40).fold(Tree::new(), |tree, number| tree.file(format!("f{number}"), "1"));
    repo.rewrite("main", many).unwrap();
    let words = |world: &World| world.words("sync", &repo.url(), &["--map", ".:."]);
    let points = learn(&world, words(&world), |line| line.contains("/data"));
    let mut named = 0;
    for point in points.iter().filter(|point| ["fsync", "syncfs"].contains(&point.call.as_str())) {
        let other = World::new();
        let run = strike(&other, words(&other), point, "error=EIO");
        assert!(!run.stderr.contains("\"\""), "{point:?}: {run:?}");
        let data = format!("{}: ", other.data().display());
        named += usize::from(run.code == 1 && run.stderr.contains(&data));
    }
    assert!(named > 0, "no call on the data directory itself among {points:?}");
}

#[test]
fn a_run_that_was_applied_in_part_says_where_to_look_and_what_to_do() {
    let (world, update) = (World::new(), Update::new());
    if !can_trace(&world) {
        return;
    }
    update.sync(&world, "old");
    let is_live = |line: &str| line.contains("/data/projects");
    let points = learn(&world, update.words(&world, "new"), is_live);
    let point = points.iter().rfind(|point| point.call.starts_with("rename")).unwrap();
    update.sync(&world, "old");
    let run = strike(&world, update.words(&world, "new"), point, "error=EROFS").exits(1);
    let place = format!("ls -ld {}/projects", world.data().display());
    assert!(run.stderr.contains("everything else was applied"), "{run:?}");
    assert!(run.stderr.contains(&place) && run.stderr.contains("run it again"), "{run:?}");
    update.sync(&world, "new");
}

#[test]
fn what_a_credential_file_holds_is_never_shown() {
    let (world, repo) = (World::new(), plant());
    let (_server, url) = guarded(&repo, "right");
    let canary = Canary::new(["canary-of-the-token-file"]);
    for content in [
        "canary-of-the-token-file",
        "canary-of-the-token-file\nand more\n",
        "\u{1b}canary-of-the-token-file",
        "-----BEGIN canary-of-the-token-file",
    ] {
        let file = world.file("token", content);
        let file = file.to_str().unwrap();
        for flags in [
            &["--token-file", file] as &[&str],
            &["--token-file", file, "--ca-file", file],
            &["--ssh-key-file", file, "--known-hosts-file", file],
            &["--github-app-id", "1", "--github-installation-id", "1", "--github-key-file", file],
            &["--gateway", "http://127.0.0.1:1", "--api-key-file", file],
        ] {
            for volume in ["-q", "-v", "-vv", "-ojson"] {
                let more: Vec<&str> = flags.iter().copied().chain([volume]).collect();
                let run = world.sync(&url, &more);
                assert!([1, 2].contains(&run.code), "{flags:?}: {run:?}");
                run.hides(&canary);
            }
        }
    }
}

#[test]
fn a_commit_that_is_nowhere_has_a_next_step_though_it_is_trusted() {
    let (world, repo) = (World::new(), plant());
    repo.config("uploadpack.allowAnySHA1InWant", "true").unwrap();
    let nowhere = "0123456789".repeat(4);
    let blob = repo.blob("aside").unwrap();
    for (id, reason) in [(nowhere.as_str(), "FetchFailed"), (blob.as_str(), "NotACommit")] {
        let run = world.sync(&repo.url(), &["-o", "json", "--ref", id, "--allow-unreachable"]);
        assert!(hint(&run).contains("git ls-remote"), "{run:?}");
        refused(run, 1, reason, &[id]);
    }
}
