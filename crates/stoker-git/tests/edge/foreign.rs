//! What a store finds in its directory: nothing, its own, too much of its own, or someone else's.

use std::fs;

use stoker_git::{Error, store};
use stoker_testkit::git::{Edit, Repo, Tree};

use crate::world::{Place, public};

fn plant() -> (Repo, stoker_testkit::git::Oid) {
    let tree = Tree::new().file("projects/a", "1").noise("projects/big", 7, 300_000);
    let (repo, commit) = Repo::with(tree).unwrap();
    repo.config("uploadpack.allowFilter", "true").unwrap();
    repo.config("uploadpack.allowAnySHA1InWant", "true").unwrap();
    (repo, commit)
}

#[test]
fn repositories_of_someone_else_are_refused_and_stay_as_they_are() {
    let (repo, commit) = plant();
    for name in ["repo.git", "history.git", "top.git"] {
        let place = Place::new();
        let theirs = place.directory().join(name);
        repo.git(["clone", "--quiet", "--bare", &repo.url(), theirs.to_str().unwrap()]).unwrap();
        let before = fs::read(theirs.join("packed-refs")).unwrap();
        let error = place.commit(&public(&repo.url()), &commit).unwrap_err();
        let Error::Store { source: store::Error::Foreign { path }, .. } = &error else {
            panic!("{error:?}")
        };
        assert_eq!(path, &theirs);
        assert!(error.hint().unwrap().contains("--store"), "{error:?}");
        assert_eq!(fs::read(theirs.join("packed-refs")).unwrap(), before);
        assert_eq!(fs::read_dir(place.directory()).unwrap().count(), 1, "nothing was added");
    }
}

#[test]
fn a_file_of_someone_else_is_refused_and_other_names_do_not_matter() {
    let (repo, commit) = plant();
    let place = Place::new();
    fs::create_dir(place.directory()).unwrap();
    fs::write(place.directory().join("notes"), "mine").unwrap();
    fs::write(place.directory().join("url"), "mine").unwrap();
    let error = place.commit(&public(&repo.url()), &commit).unwrap_err();
    assert!(
        matches!(error, Error::Store { source: store::Error::Foreign { .. }, .. }),
        "{error:?}"
    );
    fs::remove_file(place.directory().join("url")).unwrap();
    place.commit(&public(&repo.url()), &commit).unwrap();
    assert_eq!(fs::read(place.directory().join("notes")).unwrap(), b"mine");
}

#[test]
fn a_store_with_many_packs_is_made_anew_without_the_files_that_nobody_wants() {
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
    let next = repo.commit(Edit::put(Tree::new().file("projects/a", "2"))).unwrap();
    drop(place.commit_expecting(&access, &next, &["projects"]).unwrap());
    let left: u64 =
        fs::read_dir(&packs).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    assert!(left < 100_000, "{left} bytes");
}
