//! Object stores on volumes with little room: old objects are removed first.

use std::fmt::Write as _;

use stoker_testkit::git::{Edit, Oid, Repo, Tree};

use crate::kit::mount::{is_root, noted, with_mount};
use crate::kit::world::{World, plant, plant_files};

const BINARY: &str = "projects/oven/model.bin";
/// Takes whatever is left of the volume.
const FILL: &str = "cat /dev/zero >cache/ballast 2>filled || true\n";

/// The default store is below the cache.
fn on_4_mib(world: &World, repo: &Repo, scenario: &str) {
    let mount = "mount -t tmpfs -o size=4m tmpfs \"$PWD/cache\"";
    let run = with_mount(world, mount, repo, scenario);
    assert_eq!(run.code, 0, "{run:#?}");
}

/// A plant, and a branch per commit after it: each has other bytes in one file.
fn restless(commits: u64, size: u64) -> Repo {
    let repo = plant();
    repo.set_branch("c0", &repo.tip("main").unwrap()).unwrap();
    for number in 1..=commits {
        let commit = repo.commit(Edit::put(Tree::new().noise(BINARY, number, size))).unwrap();
        repo.set_branch(&format!("c{number}"), &commit).unwrap();
    }
    repo
}

fn syncs(commits: std::ops::RangeInclusive<u64>) -> String {
    commits.fold(String::new(), |mut script, number| {
        writeln!(script, "sync c{number} n{number}").unwrap();
        script
    })
}

#[track_caller]
fn has_landed(world: &World, name: &str) {
    let (code, errors, live) = noted(world, name);
    assert_eq!(code, 0, "{name}: {errors}");
    assert!(live.get(BINARY).is_some(), "{name}");
    assert_eq!(live.without(BINARY), plant_files(), "{name}");
}

#[test]
fn old_packs_on_a_full_volume_make_way_for_the_next_commit() {
    if !is_root() {
        return;
    }
    // Everything at once, and trees before files.
    for filter in ["false", "true"] {
        let (world, repo) = (World::new(), restless(10, 900_000));
        repo.config("uploadpack.allowFilter", filter).unwrap();
        on_4_mib(&world, &repo, &syncs(1..=10));
        for number in 1..=10 {
            has_landed(&world, &format!("n{number}"));
        }
    }
}

#[test]
fn a_damaged_store_without_room_for_a_second_is_rebuilt_in_place() {
    if !is_root() {
        return;
    }
    let (world, repo) = (World::new(), restless(3, 900_000));
    // Nothing is to be fetched until what is here turns out to be damaged.
    let lose = format!("rm data/{BINARY}\nsync c3 again\n");
    let damage = "for pack in $(find cache -name '*.pack'); do chmod +w $pack; \
                  printf garbage | dd of=$pack bs=1 seek=30 conv=notrunc 2>damaged; done\n";
    on_4_mib(&world, &repo, &[&syncs(1..=3), damage, FILL, &lose].concat());
    has_landed(&world, "again");
}

#[test]
fn the_history_finds_room_where_old_packs_had_it() {
    if !is_root() {
        return;
    }
    let (world, repo) = (World::new(), restless(4, 900_000));
    let pinned = repo.tip("c2").map(|commit: Oid| commit.as_str()[..12].to_owned()).unwrap();
    repo.git(["branch", "-D", "c2"]).unwrap();
    repo.config("uploadpack.allowFilter", "true").unwrap();
    let pin = format!("sync {pinned} pinned\n");
    on_4_mib(&world, &repo, &[&syncs(3..=4), FILL, &pin].concat());
    has_landed(&world, "pinned");
}

#[test]
fn a_store_without_room_for_one_commit_says_so_and_serves_the_next() {
    if !is_root() {
        return;
    }
    let (world, repo) = (World::new(), restless(1, 6 << 20));
    let first = repo.tip("c0").unwrap();
    repo.set_branch("after", &first).unwrap();
    repo.commit_to("after", Edit::put(Tree::new().file(BINARY, "small"))).unwrap();
    let scenario = "sync c0 first; sync c1 full; find cache -name 'tmp_*' >left; sync after again";
    on_4_mib(&world, &repo, scenario);
    let (code, errors, live) = noted(&world, "full");
    assert_eq!((code, live), (1, plant_files()), "{errors}");
    assert!(errors.contains("no space is left on the disk of the object store"), "{errors}");
    assert!(errors.contains("hint: ") && errors.contains("--store"), "{errors}");
    assert_eq!(std::fs::read_to_string(world.path("left")).unwrap(), "", "half a pack is left");
    has_landed(&world, "again");
}
