//! Objects whose bytes changed on the disk after git had stored them.

use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;

use stoker_git::{Access, CommitSource};
use stoker_sync::source::{ObjectId, Source};
use stoker_testkit::git::{Oid, Repo, Tree};

use crate::damaged_store::{each_pack, flip};
use crate::store::sample;
use crate::world::{Place, contents, files, public, walk};

/// A store that holds a commit with all its files, and what they are.
struct World {
    repo: Repo,
    access: Access,
    commit: Oid,
    place: Place,
    whole: Vec<(String, String)>,
}

fn world(tree: Tree) -> World {
    let (repo, commit) = Repo::with(tree).unwrap();
    repo.config("uploadpack.allowFilter", "false").unwrap();
    let access = public(&repo.url());
    let place = Place::new();
    let whole = files(&mut place.commit(&access, &commit).unwrap());
    World { repo, access, commit, place, whole }
}

impl World {
    fn git(&self) -> PathBuf {
        self.place.directory().join("repo.git")
    }

    fn open(&self) -> CommitSource {
        self.place.commit(&self.access, &self.commit).unwrap()
    }
}

#[test]
fn a_flipped_byte_anywhere_in_a_pack_is_repaired_in_the_same_run() {
    let world = world(sample().file("dir/long", "0123456789".repeat(40)));
    for place in (12..800).step_by(29) {
        each_pack(&world.git(), ".pack", |file| flip(file, place, 0x40));
        let mut source = world.open();
        // Sizes are what git says before it reads an object: they may be wrong, contents never.
        let (_, ids) = walk(&mut source);
        source.fetch(&ids).unwrap();
        let texts = world.whole.iter().map(|(_, text)| text.clone().into_bytes());
        assert!(contents(&mut source, &ids).into_iter().eq(texts), "byte {place}");
    }
}

// Git believes an index: what is where it points to is taken for the object.
#[test]
fn an_index_that_takes_one_object_for_another_is_repaired_in_the_same_run() {
    let tree = sample().file("dir/twin/c", "d");
    for pair in [["main:a.txt", "main:dir/deep/c"], ["main:dir/deep", "main:dir/twin"]] {
        let world = world(tree.clone());
        let [one, other] = pair.map(|name| {
            let id = world.repo.git(["rev-parse", name]).unwrap();
            ObjectId::parse_hex(id.trim_ascii_end()).unwrap()
        });
        each_pack(&world.git(), ".idx", |file| {
            let mut index = fs::read(file).unwrap();
            let (one, other) = (offset(&index, one), offset(&index, other));
            for byte in 0..4 {
                index.swap(one + byte, other + byte);
            }
            fs::write(file, index).unwrap();
        });
        assert_eq!(files(&mut world.open()), world.whole, "{pair:?}");
    }
}

/// Where an index says where an object is: see gitformat-pack(5), version 2.
fn offset(index: &[u8], id: ObjectId) -> usize {
    let count = u32::from_be_bytes(index[8 + 255 * 4..][..4].try_into().unwrap()) as usize;
    let ids = 8 + 256 * 4;
    let place = index[ids..].chunks(20).take(count).position(|found| found == id.0).unwrap();
    ids + count * 24 + place * 4
}

#[test]
fn a_big_file_that_breaks_off_is_an_error_and_the_next_run_repairs_it() {
    let world = world(sample().noise("big", 3, 3_000_000));
    each_pack(&world.git(), ".pack", |file| flip(file, 2_000_000, 0x40));
    let mut source = world.open();
    let (_, ids) = walk(&mut source);
    source.fetch(&ids).unwrap();
    let (mut whole, mut torn) = (0, 0);
    let read = source.read(&ids, &mut |_, size, content| {
        let mut bytes = Vec::new();
        match content.read_to_end(&mut bytes) {
            Ok(count) if count as u64 == size => whole += 1,
            Ok(count) => panic!("{count} of {size} bytes"),
            Err(_) => torn += 1,
        }
        ControlFlow::Continue(())
    });
    assert_eq!(torn, 1);
    assert!(whole < ids.len());
    let error = read.unwrap_err();
    let cause = source.take_error();
    assert!(format!("{cause:?}").contains("Torn"), "{error:?} {cause:?}");
    drop(source);
    assert_eq!(files(&mut world.open()), world.whole);
}

#[test]
fn files_that_vanish_while_they_are_read_are_fetched_again() {
    let world = world(sample());
    let mut source = world.open();
    let (_, ids) = walk(&mut source);
    source.fetch(&ids).unwrap();
    // Git is started again after a break, and finds nothing.
    source.read(&ids, &mut |_, _, _| ControlFlow::Break(())).unwrap();
    fs::remove_dir_all(world.git().join("objects")).unwrap();
    let mut seen = Vec::new();
    source
        .read(&ids, &mut |index, size, _| {
            seen.push((index, size));
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(seen, [(0, 1), (1, 2), (2, 2), (3, 1)]);
}
