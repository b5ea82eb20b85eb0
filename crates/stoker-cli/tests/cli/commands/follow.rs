//! `watch`, `dev` and `demo`: commands that go on.

use std::fs;
use std::time::Instant;

use rustix::process::Signal;
use stoker_testkit::git::{Edit, Tree};
use stoker_testkit::tree;
use stoker_testkit::wait::eventually;

use crate::kit::background::{Heard, end};
use crate::kit::update::nothing_is_left;
use crate::kit::world::{SOON, World, plant, plant_files};

#[test]
fn watch_polls_and_survives_an_outage() {
    let (world, repo) = (World::new(), plant());
    let words = world.words("watch", &repo.url(), &["--interval", "5s"]);
    let mut child = world.start(words);
    let errors = Heard::of(&mut child);
    eventually("the first sync", || world.live() == plant_files());
    let away = repo.path().with_extension("away");
    fs::rename(repo.path(), &away).unwrap();
    eventually("the outage is told", || errors.count("error: ") > 0);
    fs::rename(&away, repo.path()).unwrap();
    repo.commit(Edit::put(Tree::new().file("projects/oven/new.json", "{}"))).unwrap();
    eventually("the new commit", || world.live().get("projects/oven/new.json").is_some());
    end(child, Signal::INT).exits(130);
    assert_eq!(errors.count("error: "), 1, "an outage is told once");
}

fn working_directory(world: &World) {
    let files =
        tree::tree([("projects/line/view.json", "1"), (".git/HEAD", "ref: refs/heads/main")]);
    files.write_to(&world.path("work")).unwrap();
}

#[test]
fn dev_once_brings_uncommitted_files_and_ends() {
    let world = World::new();
    working_directory(&world);
    let data = world.data();
    let words =
        ["dev", "work", "--once", "--map", "projects:projects", "--data", data.to_str().unwrap()];
    let run = world.stoker(words).exits(0);
    assert!(run.stdout.starts_with("synced: working directory"), "{run:?}");
    assert_eq!(world.live(), tree::tree([("projects/line/view.json", "1")]));
    let run = world.stoker(words).exits(0);
    assert!(run.stdout.starts_with("unchanged: "), "{run:?}");
    let words = ["dev", "absent", "--once", "--map", "a:b", "--data", data.to_str().unwrap()];
    assert!(world.stoker(words).exits(2).stderr.contains("absent"));
}

#[test]
fn dev_brings_each_save_and_shows_an_error_and_goes_on() {
    let world = World::new();
    working_directory(&world);
    let data = world.data();
    let words = ["dev", "work", "--map", "projects:projects", "--data", data.to_str().unwrap()];
    let mut child = world.start(words);
    let errors = Heard::of(&mut child);
    let view = || world.live().get("projects/line/view.json").cloned();
    eventually("the first sync", || view().is_some());
    fs::write(world.path("work/projects/line/view.json"), "2").unwrap();
    eventually("the save", || world.live() == tree::tree([("projects/line/view.json", "2")]));
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 7\n";
    fs::write(world.path("work/projects/line/big.png"), pointer.replace("00", &"0".repeat(64)))
        .unwrap();
    fs::write(world.path("work/projects/line/view.json"), "3").unwrap();
    eventually("the error is shown", || errors.count("big.png") > 0);
    fs::remove_file(world.path("work/projects/line/big.png")).unwrap();
    eventually("the save after the error", || {
        world.live() == tree::tree([("projects/line/view.json", "3")])
    });
    end(child, Signal::INT).exits(130);
    nothing_is_left(&world);
}

#[test]
fn demo_in_a_pipe_plays_once_and_leaves_nothing() {
    let world = World::new();
    let started = Instant::now();
    let run = world.stoker(["demo"]).exits(0);
    assert!(started.elapsed() < SOON, "took {:?}", started.elapsed());
    assert!(run.stdout.contains("1. The first sync") && !run.stdout.contains('\u{1b}'), "{run:?}");
    for place in ["tmp", "home"] {
        assert_eq!(fs::read_dir(world.path(place)).unwrap().count(), 0, "left in {place}");
    }
}

#[test]
fn demo_that_is_interrupted_leaves_nothing() {
    let world = World::new();
    let child = world.start(["demo"]);
    eventually("the plant", || fs::read_dir(world.path("tmp")).unwrap().count() > 0);
    let run = end(child, Signal::INT);
    assert!([0, 130].contains(&run.code), "{run:?}");
    assert_eq!(fs::read_dir(world.path("tmp")).unwrap().count(), 0, "{run:?}");
}

#[test]
fn the_files_own_pace_counts_unless_a_flag_says_another() {
    let (world, repo) = (World::new(), plant());
    let file = |polling: &str| {
        let yaml = format!(
            "apiVersion: stoker.io/v1alpha1\nkind: GatewaySync\nspec:\n  polling: {polling}\n\
             \x20 git: {{repo: '{}', ref: main}}\n\
             \x20 sync: {{profiles: {{site: {{mappings: [{{source: projects, destination: projects}}]}}}}}}\n",
            repo.url()
        );
        world.file("sync.yaml", yaml)
    };
    file("{interval: 5s}");
    let watch = ["watch", "-f", "sync.yaml", "--data", "data"];
    let child = world.start(watch);
    eventually("the first sync", || world.live() == plant_files());
    repo.commit(Edit::put(Tree::new().file("projects/oven/new.json", "{}"))).unwrap();
    eventually("the new commit", || world.live().get("projects/oven/new.json").is_some());
    end(child, Signal::INT).exits(130);

    file("{enabled: false}");
    repo.commit(Edit::put(Tree::new().file("projects/oven/more.json", "{}"))).unwrap();
    let child = world.start(watch.iter().chain(&["--interval", "5s"]));
    eventually("it polls all the same", || world.live().get("projects/oven/more.json").is_some());
    end(child, Signal::INT).exits(130);
}
