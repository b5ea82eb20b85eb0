//! Hostile contents and data directories: nothing is written, and nothing outside is touched
//! (promises A9, A10).

use std::fs;

use stoker_testkit::git::{Edit, RawEntry, Repo, Tree, hostile};
use stoker_testkit::tree;

use crate::kit::result::has_every_key;
use crate::kit::world::{Run, STOKER, World, plant, plant_files};

// A9
#[test]
fn a_link_planted_in_the_data_directory_leads_nowhere() {
    let (world, repo) = (World::new(), plant());
    let outside = world.path("home/outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("project.json"), "mine").unwrap();
    let before = tree::Tree::read(&outside).unwrap();
    let link = |at: &str| {
        let at = world.data().join(at);
        fs::remove_dir_all(&at).ok();
        fs::remove_file(&at).ok();
        std::os::unix::fs::symlink(&outside, at).unwrap();
    };
    for (number, at) in ["projects", "projects/line", "projects/oven/project.json", ".sync-staging"]
        .into_iter()
        .enumerate()
    {
        world.sync(&repo.url(), &["-q"]);
        link(at);
        let tree = Tree::new()
            .file("projects/line/project.json", format!("{number}"))
            .file("projects/oven/project.json", format!("{number}"));
        repo.commit(Edit::put(tree)).unwrap();
        let run = world.sync(&repo.url(), &[]);
        assert!([0, 1].contains(&run.code), "{at}: {run:?}");
        assert_eq!(tree::Tree::read(&outside).unwrap(), before, "written through {at}");
        if run.code == 1 {
            assert!(run.stderr.contains("hint: "), "{at}: {run:?}");
            fs::remove_file(world.data().join(at)).unwrap();
        }
        world.sync(&repo.url(), &["-q"]).exits(0);
        assert_eq!(world.live().text("projects/line/project.json"), format!("{number}"));
        assert_eq!(tree::Tree::read(&outside).unwrap(), before, "written through {at}");
    }
}

// A10
#[test]
fn no_hostile_name_gets_out_of_the_data_directory_or_crashes_the_program() {
    let (world, repo) = (World::new(), Repo::empty().unwrap());
    let step = if crate::kit::world::is_long() { 1 } else { 7 };
    for hostile in hostile::names().into_iter().step_by(step) {
        let blob = repo.blob("x").unwrap();
        let inner = repo.raw_tree(&[RawEntry::file(&hostile.name, &blob)]).unwrap();
        let outer = repo.raw_tree(&[RawEntry::directory("projects", &inner)]).unwrap();
        repo.commit_tree("main", &outer).unwrap();
        let run = world.sync(&repo.url(), &["-o", "json", "--allow-mass-delete"]);
        assert!([0, 1].contains(&run.code), "{}: {run:?}", hostile.why);
        has_every_key(&run.json());
        let entries = fs::read_dir(world.root()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["cache", "data", "home", "tmp"], "{}", hostile.why);
    }
}

#[test]
fn foreign_directories_may_be_deeper_than_the_usual_number_of_open_files() {
    let (world, repo) = (World::new(), plant());
    world.sync(&repo.url(), &[]).exits(0);
    fs::create_dir_all(world.data().join("projects/line").join("d/".repeat(600))).unwrap();
    let stray = format!("projects/line/{}stray", "d/".repeat(600));
    fs::write(world.data().join(&stray), "s").unwrap();
    let script = "ulimit -Sn 256; exec \"$0\" \"$@\"";
    let mut words = vec!["-c".into(), script.into(), STOKER.into()];
    words.extend(world.words("sync", &repo.url(), &[]));
    Run::ended(world.command("sh", words)).exits(0);
    assert_eq!(world.live(), plant_files());
}
