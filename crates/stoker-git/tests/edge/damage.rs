//! Stores that a disk, a power cut or a careless hand has damaged: their files, and the bytes of
//! objects.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use stoker_git::{Access, CommitSource};
use stoker_sync::source::{ObjectId, Source};
use stoker_testkit::git::{Edit, Oid, Repo, Tree};

use crate::store::sample;
use crate::world::{Place, contents, files, public, walk};

type Damage = fn(&Path);

// R52: half a repository, and one that was damaged on the disk.
const DAMAGES: &[(&str, Damage)] = &[
    ("config", |store| write(store, "repo.git/config", "[core\n")),
    ("no HEAD", |store| fs::remove_file(store.join("repo.git/HEAD")).unwrap()),
    ("no objects", |store| fs::remove_dir_all(store.join("repo.git/objects")).unwrap()),
    ("no refs", |store| fs::remove_dir_all(store.join("repo.git/refs")).unwrap()),
    ("shallow", |store| write(store, "repo.git/shallow", "garbage\n")),
    ("a directory for shallow", |store| replace(store, "repo.git/shallow")),
    ("packed refs", |store| write(store, "repo.git/packed-refs", "garbage\n")),
    ("common directory", |store| write(store, "repo.git/commondir", "")),
    ("empty ref", |store| write(store, "repo.git/refs/stoker/commit", "")),
    ("torn ref", |store| write(store, "repo.git/refs/stoker/commit", "1234")),
    ("a ref of nobody", |store| write(store, "repo.git/refs/stoker/x", "garbage\n")),
    ("a directory for HEAD", |store| replace(store, "repo.git/HEAD")),
    ("a directory for the pack", |store| {
        each_pack(&store.join("repo.git"), ".pack", |file| {
            replace(file.parent().unwrap(), name(file));
        });
    }),
    ("a file for a directory", |store| {
        fs::remove_dir_all(store.join("repo.git/objects")).unwrap();
        write(store, "repo.git/objects", "");
    }),
    ("truncated pack", |store| {
        each_pack(&store.join("repo.git"), ".pack", |file| truncate(file, 40));
    }),
    ("a commit that passes for a file", |store| {
        each_pack(&store.join("repo.git"), ".pack", |file| flip(file, 12, 0x20));
    }),
    ("zeroed index", |store| each_pack(&store.join("repo.git"), ".idx", zero)),
    ("zeroed url", |store| zero(&store.join("url"))),
    ("one bit of the url", |store| flip(&store.join("url"), 0, 0x40)),
    ("a directory for the url", |store| replace(store, "url")),
    ("no url, but what was known", |store| {
        write(store, "known-commits", "1234 abc");
        fs::remove_file(store.join("url")).unwrap();
    }),
];

#[test]
fn a_damaged_store_serves_the_commit_that_it_had_and_the_next_one() {
    let (repo, commit) = Repo::with(sample()).unwrap();
    let next = repo.commit(Edit::put(Tree::new().file("n", "n"))).unwrap();
    let access = public(&repo.url());
    for ((name, damage), (wanted, count)) in
        DAMAGES.iter().flat_map(|row| [(&commit, 4), (&next, 5)].map(|wanted| (row, wanted)))
    {
        let place = Place::new();
        drop(place.commit(&access, &commit).unwrap());
        damage(&place.directory());
        let mut source = place.commit(&access, wanted).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        assert_eq!(files(&mut source).len(), count, "{name}");
    }
}

#[test]
fn a_damaged_history_is_rebuilt() {
    let (repo, old) = Repo::with(sample()).unwrap();
    repo.commit(Edit::put(Tree::new().file("n", "n"))).unwrap();
    let access = public(&repo.url());
    let damages: &[(&str, Damage)] = &[
        ("shallow", |store| write(store, "history.git/shallow", "garbage\n")),
        ("packed refs", |store| write(store, "history.git/packed-refs", "garbage\n")),
        ("torn ref", |store| write(store, "history.git/refs/stoker/heads/main", "1234")),
        ("zeroed index", |store| each_pack(&store.join("history.git"), ".idx", zero)),
    ];
    for (number, (name, damage)) in damages.iter().enumerate() {
        let place = Place::new();
        place.resolve(&access, &old.as_str()[..9]).unwrap();
        fs::remove_file(place.directory().join("known-commits")).ok();
        damage(&place.directory());
        repo.commit(Edit::put(Tree::new().file("n", number.to_string()))).unwrap();
        let found = place.resolve(&access, &old.as_str()[..9]);
        assert_eq!(found.unwrap_or_else(|e| panic!("{name}: {e:?}")).commit.as_str(), old.as_str());
    }
}

fn write(store: &Path, name: &str, content: &str) {
    fs::write(store.join(name), content).unwrap();
}

/// Puts a directory in the place of a file.
fn replace(store: &Path, name: &str) {
    fs::remove_file(store.join(name)).unwrap();
    fs::create_dir_all(store.join(name).join("x")).unwrap();
}

fn name(file: &Path) -> &str {
    file.file_name().unwrap().to_str().unwrap()
}

fn flip(file: &Path, place: usize, bits: u8) {
    let mut bytes = fs::read(file).unwrap();
    let length = bytes.len();
    bytes[place % length] ^= bits;
    fs::write(file, bytes).unwrap();
}

fn each_pack(git: &Path, end: &str, change: impl Fn(&Path)) {
    for entry in fs::read_dir(git.join("objects/pack")).unwrap() {
        let path = entry.unwrap().path();
        if path.display().to_string().ends_with(end) {
            let mut rights = fs::metadata(&path).unwrap().permissions();
            std::os::unix::fs::PermissionsExt::set_mode(&mut rights, 0o600);
            fs::set_permissions(&path, rights).unwrap();
            change(&path);
        }
    }
}

fn truncate(file: &Path, length: u64) {
    fs::OpenOptions::new().write(true).open(file).unwrap().set_len(length).unwrap();
}

fn zero(file: &Path) {
    let length = fs::metadata(file).unwrap().len();
    fs::write(file, vec![0; usize::try_from(length).unwrap()]).unwrap();
}

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
