//! Which files arrive in the data directory, and which are repaired there.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use stoker_testkit::git::{Edit, Repo, Tree};

use crate::kit::world::{World, is_long, plant, plant_files, plant_tree};

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
    world.sync(&repo.url(), &[]).exits(0).says(&[
        "warning: projects/oven/project.json: was changed on the gateway",
        "warning: projects/oven/foreign: was added on the gateway",
    ]);
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

// A15: what a checkout would convert, and what it would not hold in memory.
#[test]
fn every_content_arrives_byte_for_byte() {
    let world = World::new();
    let odd = [
        ("empty", Vec::new()),
        ("unix.txt", b"one\ntwo\n".to_vec()),
        ("dos.txt", b"one\r\ntwo\r\n".to_vec()),
        ("ident.txt", b"$Id$\n".to_vec()),
        ("zeros.bin", vec![0; 3 << 20]),
        ("utf16.txt", b"\xff\xfea\0\n\0".to_vec()),
    ];
    let attributes = "* text=auto eol=crlf ident\n*.txt working-tree-encoding=UTF-16 filter=lfs\n";
    let plain = Tree::new().file(".gitattributes", attributes);
    let tree =
        odd.iter().fold(plain, |tree, (name, bytes)| tree.file(format!("odd/{name}"), bytes));
    // More than a signed number of 32 bits counts to.
    let huge: u64 = if is_long() { (1 << 31) + 7 } else { 20 << 20 };
    let (repo, _) = Repo::with(tree.zeros("odd/huge.bin", huge)).unwrap();
    let data = world.data();
    let words = ["sync", "--repo", &repo.url(), "--ref", "main", "--map", "odd:odd", "--data"];
    world.stoker(words.into_iter().chain([data.to_str().unwrap()])).exits(0);
    for (name, bytes) in odd {
        assert_eq!(fs::read(data.join("odd").join(name)).unwrap(), bytes, "{name}");
    }
    assert_eq!(fs::metadata(data.join("odd/huge.bin")).unwrap().len(), huge);
}
