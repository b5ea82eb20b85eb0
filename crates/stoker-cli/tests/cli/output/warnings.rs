//! What is printed, and how often: warnings that persist, runs that wait, processes that replace
//! each other's files, and a repository that is damaged on its server.

use std::fs;

use rustix::fs::{FlockOperation, flock};
use rustix::process::Signal;
use stoker_testkit::git::{Repo, Tree};
use stoker_testkit::tree;
use stoker_testkit::wait::eventually;

use crate::kit::background::{Heard, end};
use crate::kit::world::{Run, World, plant};

fn many(count: usize) -> Tree {
    (0..count).fold(Tree::new(), |tree, n| tree.file(format!("projects/a/f{n}"), n.to_string()))
}

#[test]
fn two_watchers_of_different_refs_name_each_other_and_end() {
    let world = World::new();
    let (repo, _) = Repo::with(Tree::new().file("projects/a/x", "main")).unwrap();
    repo.commit_to("other", Tree::new().file("projects/a/x", "other")).unwrap();
    let start = |name: &str| {
        world.start(world.words("watch", &repo.url(), &["--ref", name, "--interval", "5s"]))
    };
    let mut one = start("main");
    eventually("the first sync", || world.live().get("projects/a/x").is_some());
    let mut other = start("other");
    eventually("one of them ends", || {
        one.try_wait().unwrap().is_some() || other.try_wait().unwrap().is_some()
    });
    let ended = if one.try_wait().unwrap().is_some() { one } else { other };
    let run = Run::of(ended.output().unwrap()).exits(1);
    let said = "error: another process keeps replacing the files of this one: the last run brought";
    assert!(run.stderr.contains(said) && run.stderr.contains("pid "), "{run:?}");
}

#[test]
fn a_watcher_takes_the_confirmation_of_a_mass_deletion_once_and_prints_the_time() {
    let world = World::new();
    let (repo, _) = Repo::with(many(80)).unwrap();
    world.sync(&repo.url(), &[]).exits(0);
    repo.rewrite("main", many(20)).unwrap();
    let more = ["--interval", "5s", "--allow-mass-delete"];
    let mut child = world.start(world.words("watch", &repo.url(), &more));
    let errors = Heard::of(&mut child);
    eventually("the confirmed deletion", || world.live().get("projects/a/f79").is_none());
    repo.rewrite("main", Tree::new().file("projects/b/x", "x")).unwrap();
    eventually("the other one is refused", || errors.count("would delete 20 of 20") > 0);
    assert!(world.live().get("projects/a/f19").is_some());
    let run = end(child, Signal::INT).exits(130);
    assert!(
        run.stdout.lines().all(|line| line.starts_with("20") && line.contains("Z ")),
        "{run:?}"
    );
}

#[test]
fn a_deletion_that_is_blocked_in_dev_blocks_only_itself() {
    let world = World::new();
    let files = (0..60).map(|n| (format!("work/projects/line/f{n}"), n.to_string()));
    tree::tree(files).file("work/projects/oven/x", "1").write_to(world.root()).unwrap();
    let words = ["dev", "work", "--map", "projects:projects", "--data", "data"];
    let mut child = world.start(words);
    let errors = Heard::of(&mut child);
    eventually("the first sync", || world.live().get("projects/oven/x").is_some());
    fs::rename(world.path("work/projects/line"), world.path("away")).unwrap();
    fs::write(world.path("work/projects/oven/x"), "2").unwrap();
    eventually("the save", || world.live().text("projects/oven/x") == "2");
    assert!(world.live().get("projects/line/f59").is_some());
    eventually("the way out", || errors.count("start it again with --allow-mass-delete") > 0);
    fs::write(world.path("work/projects/oven/x"), "3").unwrap();
    eventually("the next save", || world.live().text("projects/oven/x") == "3");
    assert_eq!(errors.count("--allow-mass-delete"), 1, "a standing warning is printed once");
    end(child, Signal::INT).exits(130);
}

#[test]
fn a_run_that_waits_for_another_says_so() {
    let (world, repo) = (World::new(), plant());
    world.sync(&repo.url(), &[]).exits(0);
    let lock = fs::File::options().write(true).open(world.data().join(".stoker/lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    fs::write(world.data().join(".stoker/lock"), "pid 4711 on elsewhere since 1794803368\n")
        .unwrap();
    let run = world.sync(&repo.url(), &["--lock-timeout", "3s"]).exits(1);
    let said = "waiting for another run on the data directory: pid 4711 on elsewhere since 2026-";
    assert!(run.stderr.starts_with(said), "{run:?}");
    assert!(run.stderr.contains("waited 3 s"), "{run:?}");
    let run = world.sync(&repo.url(), &["--lock-timeout", "1s"]).exits(1);
    assert!(!run.stderr.contains("waiting for"), "{run:?}");
}

#[test]
fn many_warnings_of_a_code_are_counted_and_all_are_shown_on_request() {
    let world = World::new();
    let links = (0..130).fold(many(1), |tree, n| tree.symlink(format!("projects/a/l{n:03}"), "f0"));
    let (repo, _) = Repo::with(links).unwrap();
    let run = world.sync(&repo.url(), &[]).exits(0);
    assert_eq!(run.stderr.matches("a symbolic link is not followed").count(), 10, "{run:?}");
    assert!(run.stderr.contains("and 120 more of SymlinkSkipped; -v shows all"), "{run:?}");
    let run = world.sync(&repo.url(), &["-v"]).exits(0);
    assert_eq!(run.stderr.matches("a symbolic link is not followed").count(), 130, "{run:?}");
    let result = world.sync(&repo.url(), &["-o", "json"]).exits(0).json();
    let warnings = result["warnings"].as_array().unwrap();
    assert_eq!((warnings.len(), &warnings[100]["message"]), (101, &"… and 30 more".into()));
}

#[test]
fn a_repository_that_is_damaged_on_the_server_is_reported() {
    let (world, repo) = (World::new(), plant());
    let id = repo.git(["rev-parse", "main:projects/line/project.json"]).unwrap();
    let id = String::from_utf8(id).unwrap();
    let (first, rest) = id.trim().split_at(2);
    fs::remove_file(repo.path().join("objects").join(first).join(rest)).unwrap();
    let run = world.sync(&repo.url(), &[]).exits(1);
    assert!(run.stderr.contains("its copy of the repository is damaged"), "{run:?}");
    assert!(!run.stderr.contains("the server said: "), "{run:?}");
    let run = world.sync(&repo.url(), &["-v"]).exits(1);
    let said = "the server said: ";
    assert!(run.stderr.contains(said) && run.stderr.contains("corruption"), "{run:?}");
}

#[test]
fn the_cache_of_a_gateway_in_git_is_reported() {
    let world = World::new();
    let tree = Tree::new().file("projects/.resources/c", "x").file("projects/a", "y");
    let (repo, _) = Repo::with(tree).unwrap();
    let run = world.sync(&repo.url(), &["-o", "json"]).exits(0).json();
    assert_eq!(run["warnings"][0]["code"], "RuntimeFilesInGit");
    assert_eq!(run["filesAdded"], 1);
}
