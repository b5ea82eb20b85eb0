//! Disks without room, and disks that can't be written (promises A4, A6).

use stoker_testkit::git::{Edit, Repo, Tree};
use stoker_testkit::skip;

use crate::kit::mount::{is_root, noted, with_mount};
use crate::kit::world::{Run, World, plant, plant_files};

/// A plant that fits onto a small disk, a branch that does not, and one that does again.
fn growing() -> Repo {
    let repo = plant();
    let first = repo.tip("main").unwrap();
    for branch in ["big", "after", "many"] {
        repo.set_branch(branch, &first).unwrap();
    }
    let big = (0..40).fold(Tree::new(), |tree, number| {
        tree.noise(format!("projects/big/{number}.bin"), number, 1 << 20)
    });
    repo.commit_to("big", Edit::put(big)).unwrap();
    repo.commit_to("after", Edit::put(Tree::new().file("projects/oven/new.json", "{}"))).unwrap();
    let many = (0..400).fold(Tree::new(), |tree, number| {
        tree.file(format!("projects/many/{number}/view.json"), "{}")
    });
    repo.commit_to("many", Edit::put(many)).unwrap();
    repo
}

fn full_disk(mount: &str) {
    let (world, repo) = (World::new(), growing());
    let run = with_mount(&world, mount, &repo, "sync main first; sync big full; sync main again");
    assert_eq!(run.code, 0, "{run:#?}");
    assert_eq!(noted(&world, "first").0, 0);
    let (code, errors, live) = noted(&world, "full");
    assert_eq!(code, 1, "{errors}");
    assert!(errors.contains("error: ") && errors.contains("hint: make room"), "{errors}");
    assert_eq!(live, plant_files(), "nothing of the new commit is there");
    let (code, errors, live) = noted(&world, "again");
    assert_eq!((code, live), (0, plant_files()), "{errors}");
}

// A4
#[test]
fn a_disk_of_16_mib_that_is_too_small_stays_at_the_old_commit() {
    if is_root() {
        full_disk("mount -t tmpfs -o size=16m tmpfs \"$PWD/data\"");
    }
}

// A4: a real file system, with blocks and a journal of its own.
#[test]
fn an_ext4_of_16_mib_that_is_too_small_stays_at_the_old_commit() {
    if !is_root() {
        return;
    }
    let image = "truncate -s 16M disk.img && mkfs.ext4 -q -m 0 disk.img && mount -o loop disk.img";
    let world = World::new();
    let try_it = format!("{image} data && umount data");
    let works = Run::ended(world.command("sh", ["-c", &try_it]));
    if works.code != 0 {
        skip::record("no loop device or no mkfs.ext4");
        return;
    }
    full_disk(&format!("{image} \"$PWD/data\""));
}

// A4: what is mounted below the data directory has its own room.
#[test]
fn a_volume_below_the_data_directory_that_is_too_small_is_named_and_stays_at_the_old_commit() {
    if !is_root() {
        return;
    }
    let (world, repo) = (World::new(), growing());
    let mount = "mkdir -p data/projects && \
        mount -t tmpfs -o size=1m tmpfs \"$PWD/data/projects\"";
    let run = with_mount(&world, mount, &repo, "sync main first; sync big full; sync after again");
    assert_eq!(run.code, 0, "{run:#?}");
    let (code, errors, live) = noted(&world, "full");
    assert_eq!((code, live), (1, plant_files()), "{errors}");
    assert!(errors.contains("are missing") && errors.contains("\"projects\""), "{errors}");
    let (code, errors, live) = noted(&world, "again");
    assert_eq!((code, live), (0, plant_files().file("projects/oven/new.json", "{}")), "{errors}");
}

// A4, A6: what could not be checked before is reported, and nothing of it is left.
#[test]
fn a_volume_below_the_data_directory_that_runs_full_is_reported_and_recovers() {
    if !is_root() {
        return;
    }
    let (world, repo) = (World::new(), growing());
    let mount = "mkdir -p data/projects && \
        mount -t tmpfs -o size=4m,nr_inodes=20 tmpfs \"$PWD/data/projects\"";
    let run = with_mount(&world, mount, &repo, "sync main first; sync many full; sync after again");
    assert_eq!(run.code, 0, "{run:#?}");
    let (code, errors, _) = noted(&world, "full");
    assert_eq!(code, 1, "{errors}");
    assert!(errors.contains("No space left on device") && errors.contains("make room"), "{errors}");
    assert!(!errors.contains(".stoker-"), "{errors}");
    let (code, errors, live) = noted(&world, "again");
    assert_eq!((code, live), (0, plant_files().file("projects/oven/new.json", "{}")), "{errors}");
}

// A4: bytes are left, but not one more file.
#[test]
fn a_disk_without_a_free_inode_stays_at_the_old_commit_and_says_so() {
    if !is_root() {
        return;
    }
    let (world, repo) = (World::new(), growing());
    let mount = "mount -t tmpfs -o size=64m,nr_inodes=120 tmpfs \"$PWD/data\"";
    let run = with_mount(&world, mount, &repo, "sync main first; sync many full; sync after again");
    assert_eq!(run.code, 0, "{run:#?}");
    let (code, errors, live) = noted(&world, "full");
    assert_eq!((code, live), (1, plant_files()), "{errors}");
    assert!(errors.contains("No space left on device"), "{errors}");
    let (code, errors, live) = noted(&world, "again");
    assert_eq!((code, live), (0, plant_files().file("projects/oven/new.json", "{}")), "{errors}");
}

// A6
#[test]
fn a_read_only_volume_is_named_and_stays_as_it_is() {
    if !is_root() {
        return;
    }
    let (world, repo) = (World::new(), growing());
    let scenario = "sync main first; mount -o remount,ro,bind data; sync after refused; \
                    mount -o remount,rw,bind data; sync after again";
    let run = with_mount(&world, "mount --bind data data", &repo, scenario);
    assert_eq!(run.code, 0, "{run:#?}");
    let (code, errors, live) = noted(&world, "refused");
    assert_eq!((code, live), (1, plant_files()), "{errors}");
    assert!(errors.contains("Read-only file system"), "{errors}");
    assert!(errors.contains("hint: "), "{errors}");
    let (code, errors, live) = noted(&world, "again");
    assert_eq!((code, live), (0, plant_files().file("projects/oven/new.json", "{}")), "{errors}");
}
