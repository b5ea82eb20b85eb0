//! Contents that must not get into a data directory, and data directories that lead astray: nothing
//! is written, and nothing outside is touched (promises A9, A10, A13).

use std::fs;

use stoker_testkit::git::{Edit, RawEntry, Repo, Tree, hostile};
use stoker_testkit::tree;

use crate::kit::result::{has_every_key, refused, refuses};
use crate::kit::world::{World, plant, plant_files, plant_tree};

#[test]
fn a_mass_deletion() {
    let (world, repo) = (World::new(), plant());
    let many = (0..60).fold(plant_tree(), |tree, number| {
        tree.file(format!("projects/many/{number}.json"), format!("{number}"))
    });
    repo.commit(many).unwrap();
    world.sync(&repo.url(), &[]).exits(0);
    repo.commit(plant_tree()).unwrap();
    refuses((&world, &repo.url()), &[], (1, "DeletionBlocked"), &["60"]);
    world.sync(&repo.url(), &["--allow-mass-delete"]).exits(0);
    assert_eq!(world.live(), plant_files());
}

#[test]
fn files_that_a_gateway_must_not_get() {
    let refuses = |tree: Tree, reason: &str, word: &str| {
        let (world, repo) = (World::new(), plant());
        repo.commit(Edit::put(tree)).unwrap();
        refuses((&world, &repo.url()), &[], (1, reason), &[word]);
    };
    refuses(
        Tree::new().lfs_pointer("projects/line/image.png", 7),
        "LfsPointer",
        "projects/line/image.png",
    );
    refuses(Tree::new().file("projects/line/a\nb", "1"), "NamesRefused", r"a\nb");
    refuses(Tree::new().file(b"projects/line/\xff", "1"), "NamesRefused", r"\377");
    let (world, repo) = (World::new(), Repo::empty().unwrap());
    for name in ["..", "../outside", "a/../../b", ".git"] {
        let blob = repo.blob("x").unwrap();
        let entry = RawEntry::file(name, &blob);
        let inner = repo.raw_tree(&[entry]).unwrap();
        let outer = repo.raw_tree(&[RawEntry::directory("projects", &inner)]).unwrap();
        repo.commit_tree("main", &outer).unwrap();
        refused(world.sync(&repo.url(), &["-o", "json"]), 1, "NamesRefused", &[name]);
        assert_eq!(world.live(), tree::Tree::default(), "{name}");
        assert!(!world.path("outside").exists() && !world.path("b").exists());
    }
}

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
fn something_foreign_in_the_way() {
    let (world, repo) = (World::new(), plant());
    fs::create_dir_all(world.data().join("config/site.json/inner")).unwrap();
    fs::write(world.data().join("config/site.json/inner/x"), "mine").unwrap();
    let map = ["--map", "config/site.json:config/site.json"];
    refuses((&world, &repo.url()), &map, (1, "Conflict"), &["config/site.json"]);
    let (world, repo) = (World::new(), plant());
    fs::write(world.data().join("projects"), "mine").unwrap();
    refuses((&world, &repo.url()), &[], (1, "Conflict"), &["projects"]);
}

#[test]
fn a_data_directory_that_is_none() {
    let (world, repo) = (World::new(), plant());
    fs::remove_dir(world.data()).unwrap();
    let run = world.sync(&repo.url(), &["-o", "json"]);
    let data = world.data();
    refused(run, 1, "DataDirectoryMissing", &[data.to_str().unwrap()]);
    fs::write(world.data(), "a file").unwrap();
    refused(world.sync(&repo.url(), &["-o", "json"]), 1, "DataDirectoryUnusable", &[]);
}
