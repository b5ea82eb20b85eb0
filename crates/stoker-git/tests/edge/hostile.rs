//! Commits that nobody would make in good faith.

use stoker_sync::source::{Kind, Source};
use stoker_testkit::git::{Oid, Repo, Tree, hostile};

use crate::world::{Place, files, public};
// A10, B10: names are handed on as they are, whatever git itself thinks of them.
#[test]
fn hostile_names_arrive_as_they_are() {
    // Git itself can't walk a tree with an empty name, so no server can send one.
    for hostile in hostile::names().into_iter().filter(|hostile| !hostile.name.is_empty()) {
        let repo = Repo::empty().unwrap();
        let commit = repo.commit_name("main", hostile.name.clone()).unwrap();
        let place = Place::new();
        let mut source = place
            .commit(&public(&repo.url()), &commit)
            .unwrap_or_else(|error| panic!("{hostile:?}: {error:?}"));
        let root = source.root().unwrap();
        let listed = source.list(&[root]).unwrap();
        assert!(listed[0].iter().any(|entry| *entry.name == *hostile.name), "{hostile:?}");
    }
}

// B3, B2: what points elsewhere is shown, and never followed or fetched.
#[test]
fn submodules_and_links_are_shown_and_not_followed() {
    let elsewhere = Oid::unknown(7);
    let tree = Tree::new()
        .submodule("sub", "https://elsewhere.invalid/x.git", &elsewhere)
        .symlink("link", "/etc/passwd");
    let (repo, commit) = Repo::with(tree).unwrap();
    let place = Place::new();
    let mut source = place.commit(&public(&repo.url()), &commit).unwrap();
    let root = source.root().unwrap();
    let kinds: Vec<_> = source.list(&[root]).unwrap()[0].iter().map(|e| e.kind).collect();
    assert_eq!(kinds, [Kind::File, Kind::Symlink, Kind::Submodule]);
}

// B10: a tree of a thousand levels is a thousand short answers.
#[test]
fn deep_trees_are_read_level_by_level() {
    let path = hostile::deep_path(1000);
    let (repo, commit) = Repo::with(Tree::new().file(&path, "x")).unwrap();
    let place = Place::new();
    let mut source = place.commit(&public(&repo.url()), &commit).unwrap();
    assert_eq!(files(&mut source), [(path, "x".to_owned())]);
}
