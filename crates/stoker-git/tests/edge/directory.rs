//! What a store finds in its directory: nothing, its own, too much of its own, or someone else's.

use std::fs;
use std::path::Path;
use std::time::Duration;

use stoker_api::remedy::Remedy;
use stoker_git::{Error, store};
use stoker_testkit::git::{Edit, Oid, Repo, Tree};

use crate::store::{pairs, sample};
use crate::world::{Place, files, filtering, pack_bytes, public};

fn plant() -> (Repo, Oid) {
    let tree = Tree::new().file("projects/a", "1").noise("projects/big", 7, 300_000);
    filtering(tree)
}

// A file with the name `url` and a URL in it is not rare enough to be a proof.
#[test]
fn repositories_of_someone_else_are_refused_and_stay_as_they_are() {
    let (repo, commit) = plant();
    let cases = ["repo.git", "history.git", "next.git"].map(|name| [(name, 1), (name, 2)]);
    for (name, entries) in cases.into_iter().flatten() {
        let place = Place::new();
        let theirs = place.directory().join(name);
        repo.git(["clone", "--quiet", "--bare", &repo.url(), theirs.to_str().unwrap()]).unwrap();
        if entries == 2 {
            fs::write(place.directory().join("url"), "https://git.example/theirs.git").unwrap();
        }
        let before = fs::read(theirs.join("packed-refs")).unwrap();
        let error = assert_refused(&place, name, entries, &repo, &commit);
        assert!(
            matches!(error.remedy(), Some(Remedy::UseEmptyStore | Remedy::CheckStore { .. })),
            "{error:?}"
        );
        assert_eq!(fs::read(theirs.join("packed-refs")).unwrap(), before);
    }
}

#[test]
fn whatever_someone_else_has_under_our_names_is_refused_and_stays_as_it_is() {
    let (repo, commit) = plant();
    let plants = [
        "repo.git/.git/HEAD",
        "repo.git/refs/heads/main",
        "history.git/notes.txt",
        "next.git/x",
        "repo.git",
        "url",
        "known-commits",
        "url.new",
        "known-commits.new",
        "unfetchable",
        "lock",
    ];
    for name in plants {
        let place = Place::new();
        let theirs = place.directory().join(name);
        fs::create_dir_all(theirs.parent().unwrap()).unwrap();
        fs::write(&theirs, "mine").unwrap();
        assert_refused(&place, name.split('/').next().unwrap(), 1, &repo, &commit);
        assert_eq!(fs::read(&theirs).unwrap(), b"mine", "{name}");
    }
    let place = Place::new();
    let elsewhere = place.root.path().join("elsewhere");
    fs::create_dir_all(elsewhere.join("refs/stoker")).unwrap();
    fs::create_dir(place.directory()).unwrap();
    std::os::unix::fs::symlink(&elsewhere, place.directory().join("repo.git")).unwrap();
    assert_refused(&place, "repo.git", 1, &repo, &commit);
}

/// Claims that what has this name is refused as foreign, and that nothing is added beside it.
fn assert_refused(place: &Place, name: &str, entries: usize, repo: &Repo, commit: &Oid) -> Error {
    let error = place.commit(&public(&repo.url()), commit).unwrap_err();
    let Error::Store { source: store::Error::Foreign { path }, .. } = &error else {
        panic!("{name}: {error:?}")
    };
    assert_eq!(path, &place.directory().join(name));
    assert_eq!(fs::read_dir(place.directory()).unwrap().count(), entries, "{name}");
    error
}

#[test]
fn a_store_of_another_url_is_ours_however_damaged() {
    let (repo, commit) = plant();
    let (other, _) = plant();
    let damages: [(&str, Interruption); 3] = [
        ("HEAD", |store| fs::write(store.join("repo.git/HEAD"), "garbage").unwrap()),
        ("refs", |store| fs::remove_dir_all(store.join("repo.git/refs")).unwrap()),
        ("a crash", |store| {
            for name in ["url.new", "known-commits.new"] {
                fs::write(store.join(name), "torn").unwrap();
            }
        }),
    ];
    for (name, damage) in damages {
        let place = Place::new();
        drop(place.open(&public(&other.url())).unwrap());
        damage(&place.directory());
        place.commit(&public(&repo.url()), &commit).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        assert!(!place.directory().join("url.new").exists(), "{name}");
    }
}

// While one run makes its store, another sees a part of it.
#[test]
fn a_store_that_another_run_is_making_is_waited_for() {
    let (repo, _) = plant();
    let access = public(&repo.url());
    let place = Place::new();
    drop(place.open(&access).unwrap());
    let (url, git) = (place.directory().join("url"), place.directory().join("repo.git"));
    fs::remove_file(url).unwrap();
    fs::rename(git.join("HEAD"), git.join("HEAD.new")).unwrap();
    fs::remove_dir_all(git.join("refs")).unwrap();
    let lock = fs::File::open(place.directory().join("lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    std::thread::scope(|scope| {
        let opened = scope.spawn(|| place.open(&access).map(drop));
        std::thread::sleep(Duration::from_millis(200));
        fs::rename(git.join("HEAD.new"), git.join("HEAD")).unwrap();
        drop(lock);
        opened.join().unwrap().unwrap();
    });
}

#[test]
fn other_names_do_not_matter() {
    let (repo, commit) = plant();
    let place = Place::new();
    fs::create_dir(place.directory()).unwrap();
    fs::write(place.directory().join("notes"), "mine").unwrap();
    place.commit(&public(&repo.url()), &commit).unwrap();
    assert_eq!(fs::read(place.directory().join("notes")).unwrap(), b"mine");
}

type Interruption = fn(&Path);

// A2: a kill or a power cut while a store is made or removed.
#[test]
fn a_store_that_was_begun_or_half_removed_is_still_ours() {
    let (repo, commit) = Repo::with(sample()).unwrap();
    let access = public(&repo.url());
    let interruptions: [(&str, Interruption); 6] = [
        ("only a lock", |store| fs::remove_dir_all(store.join("repo.git")).unwrap()),
        ("an empty repository", |store| {
            fs::remove_dir_all(store.join("repo.git")).unwrap();
            fs::create_dir_all(store.join("repo.git/objects/pack")).unwrap();
        }),
        ("no HEAD yet", |store| {
            fs::remove_dir_all(store.join("repo.git")).unwrap();
            fs::create_dir_all(store.join("repo.git/refs/stoker")).unwrap();
            fs::write(store.join("repo.git/HEAD.new"), "ref: re").unwrap();
        }),
        ("the blocks of small files never reached the disk", |store| {
            fs::write(store.join("repo.git/HEAD"), [0; 21]).unwrap();
            fs::write(store.join("repo.git/config"), "").unwrap();
            fs::write(store.join("lock"), [0; 12]).unwrap();
        }),
        ("HEAD is empty", |store| fs::write(store.join("repo.git/HEAD"), "").unwrap()),
        ("its removal had begun", |store| {
            fs::remove_dir_all(store.join("repo.git/refs")).unwrap();
            fs::remove_file(store.join("repo.git/config")).unwrap();
        }),
    ];
    for (name, interrupt) in interruptions {
        let place = Place::new();
        drop(place.commit(&access, &commit).unwrap());
        fs::remove_file(place.directory().join("url")).unwrap();
        fs::remove_dir_all(place.directory().join("history.git")).unwrap();
        interrupt(&place.directory());
        let mut source = place.commit(&access, &commit).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        assert_eq!(files(&mut source)[0], pairs(&[("a.txt", "a")])[0], "{name}");
    }
}

#[test]
fn a_store_with_many_packs_makes_way_for_the_next_commit_without_unwanted_files() {
    let (repo, commit) = plant();
    let place = Place::new();
    let access = public(&repo.url());
    drop(place.commit_expecting(&access, &commit, &["projects"]).unwrap());
    let packs = place.directory().join("repo.git/objects/pack");
    let pack = fs::read_dir(&packs).unwrap().map(|entry| entry.unwrap().path());
    let pack = pack.into_iter().find(|path| path.extension().is_some_and(|end| end == "pack"));
    for number in 0..61 {
        for end in ["pack", "idx"] {
            let from = pack.as_ref().unwrap().with_extension(end);
            fs::copy(from, packs.join(format!("pack-{number}.{end}"))).unwrap();
        }
    }
    drop(place.commit_expecting(&access, &commit, &["projects"]).unwrap());
    assert!(packs.join("pack-60.pack").exists(), "it may be that one commit needs them all");
    let next = repo.commit(Edit::put(Tree::new().file("projects/a", "2"))).unwrap();
    drop(place.commit_expecting(&access, &next, &["projects"]).unwrap());
    let left = pack_bytes(&place.directory());
    assert!(left < 100_000, "{left} bytes");
}
