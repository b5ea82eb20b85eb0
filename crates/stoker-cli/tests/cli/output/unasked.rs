//! What is stopped, shown or told though nobody asked for it.

use std::fs;

use stoker_testkit::gateway::{Half, State};
use stoker_testkit::git::{Edit, Repo, Tree};

use crate::kit::result::refused;
use crate::kit::site::Site;
use crate::kit::world::{World, plant};

/// A hundred files that are all one blob.
fn hundred() -> Tree {
    (0..100).fold(Tree::new(), |tree, n| tree.file(format!("projects/a/f{n}"), ""))
}

#[test]
fn one_empty_file_that_comes_does_not_excuse_a_hundred_that_go() {
    let world = World::new();
    let (repo, _) = Repo::with(hundred()).unwrap();
    world.sync(&repo.url(), &[]).exits(0);
    repo.rewrite("main", Tree::new().file("projects/a/one", "")).unwrap();
    let run = world.sync(&repo.url(), &["-o", "json"]).exits(1);
    assert_eq!(run.json()["error"]["reason"], "DeletionBlocked");
    assert!(world.live().get("projects/a/f99").is_some());
}

#[test]
fn a_plan_shows_the_deletion_that_a_sync_would_refuse() {
    let world = World::new();
    let (repo, _) = Repo::with(hundred()).unwrap();
    world.sync(&repo.url(), &[]).exits(0);
    repo.rewrite("main", Tree::new().file("projects/b", "other")).unwrap();
    let words = world.words("plan", &repo.url(), &["-o", "json"]);
    let plan = world.stoker(words).exits(0).json();
    assert_eq!(plan["filesDeleted"], 100);
    assert_eq!(plan["warnings"][0]["code"], "DeletionBlocked");
}

#[test]
fn a_plan_names_the_pointer_that_a_sync_would_refuse() {
    let (world, repo) = (World::new(), plant());
    repo.commit(Edit::put(Tree::new().lfs_pointer("projects/line/image.png", 7))).unwrap();
    let mut words = world.words("plan", &repo.url(), &["-o", "json"]);
    refused(world.stoker(&words), 1, "LfsPointer", &["projects/line/image.png"]);
    words.extend(["--exclude".into(), "**/*.png".into()]);
    assert_eq!(world.stoker(&words).exits(0).json()["filesAdded"], 4);
}

#[test]
fn the_cache_of_a_gateway_in_git_is_told() {
    let world = World::new();
    let tree = Tree::new().file("projects/.resources/c", "x").file("projects/a", "y");
    let (repo, _) = Repo::with(tree).unwrap();
    let run = world.sync(&repo.url(), &["-o", "json"]).exits(0).json();
    assert_eq!(run["warnings"][0]["code"], "RuntimeFilesInGit");
    assert_eq!(run["filesAdded"], 1);
}

#[test]
fn a_scan_stays_owed_when_the_record_of_it_is_lost() {
    let repo = plant();
    let site = Site::new(repo.url());
    site.gateway.set(State::Down);
    site.sync(&[]).exits(1);
    for entry in fs::read_dir(site.world.data().join(".stoker")).unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with("manifest") {
            fs::write(entry.path(), "noise").unwrap();
        }
    }
    site.gateway.set(State::Running);
    let run = site.sync(&[]).exits(0).json();
    assert_eq!(run["scan"]["projects"], "done");
    assert!(site.gateway.scans().iter().any(|scan| scan.half == Half::Projects));
}
