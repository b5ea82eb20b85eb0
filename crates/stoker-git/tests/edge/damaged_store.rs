//! Stores that a disk, a power cut or a careless hand has damaged.

use std::fs;
use std::path::Path;

use stoker_testkit::git::{Edit, Repo, Tree};

use crate::store::sample;
use crate::world::{Place, files, public};

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

pub(crate) fn flip(file: &Path, place: usize, bits: u8) {
    let mut bytes = fs::read(file).unwrap();
    let length = bytes.len();
    bytes[place % length] ^= bits;
    fs::write(file, bytes).unwrap();
}

pub(crate) fn each_pack(git: &Path, end: &str, change: impl Fn(&Path)) {
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
