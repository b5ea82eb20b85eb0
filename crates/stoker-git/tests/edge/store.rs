//! Fetches commits from real repositories and reads them back.

use std::ops::ControlFlow;

use stoker_sync::source::{self, Kind, ObjectId, Source};
use stoker_testkit::git::{Edit, Oid, Repo, Tree, hostile};

use crate::world::{Place, contents, files, filtering, opened, pack_bytes, public, walk};

/// A little of everything.
pub(crate) fn sample() -> Tree {
    Tree::new()
        .file("a.txt", "a")
        .file("dir/b.json", "{}")
        .executable("dir/run.sh", "#!")
        .file("dir/deep/c", "c")
        .symlink("link", "a.txt")
}

pub(crate) fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn a_commit_is_served_as_git_has_it() {
    let (_repo, _place, mut source) = opened(filtering(sample()));
    let expected =
        [("a.txt", "a"), ("dir/b.json", "{}"), ("dir/run.sh", "#!"), ("dir/deep/c", "c")];
    assert_eq!(files(&mut source), pairs(&expected));
    let root = source.root().unwrap();
    let kinds: Vec<_> = source.list(&[root]).unwrap()[0].iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds, [Kind::File, Kind::Dir, Kind::Symlink]);
}

#[test]
fn only_the_wanted_files_are_fetched() {
    let tree = sample().noise("unmapped/big.bin", 1, 4_000_000);
    let (_repo, place, mut source) = opened(filtering(tree));
    let (paths, ids) = walk(&mut source);
    let wanted: Vec<_> =
        paths.iter().zip(&ids).filter(|(p, _)| p.starts_with("dir/")).map(|(_, id)| *id).collect();
    assert_eq!(source.fetch(&wanted).unwrap(), [2, 2, 1]);
    assert!(bytes_in(&place) < 100_000, "{}", bytes_in(&place));
}

// A commit that is wanted as a whole comes in one go; its big files only when they are asked for.
#[test]
fn a_commit_that_is_wanted_whole_comes_at_once_but_for_big_files() {
    let tree = sample().noise("dir/big.bin", 1, 4_000_000);
    let (repo, commit) = Repo::with(tree).unwrap();
    for (expected, fetched) in [(&["dir"][..], 5), (&["", "dir/deep"], 5), (&["dir/deep"], 0)] {
        repo.config("uploadpack.allowFilter", "true").unwrap();
        let place = Place::new();
        let access = public(&repo.url());
        let mut source = place.commit_expecting(&access, &commit, expected).unwrap();
        let (paths, ids) = walk(&mut source);
        let small = paths.iter().zip(&ids).filter(|(path, _)| !path.ends_with("big.bin"));
        let small: Vec<_> = small.map(|(_, id)| *id).collect();
        assert!(bytes_in(&place) < 100_000, "{expected:?}: {}", bytes_in(&place));
        // Without the repository only what is here can be had.
        let moved = repo.path().with_extension("away");
        if fetched > 0 {
            std::fs::rename(repo.path(), &moved).unwrap();
            assert_eq!(source.fetch(&small).unwrap().len(), small.len(), "{expected:?}");
            std::fs::rename(&moved, repo.path()).unwrap();
        }
        assert_eq!(source.fetch(&ids).unwrap().iter().max(), Some(&4_000_000));
        assert_eq!(files(&mut source).len(), 5);
        assert!(!place.directory().join("next.git").exists());
    }
}

// Servers without `filter` send everything at once; nothing else may depend on it.
#[test]
fn a_server_that_leaves_nothing_out_is_asked_once() {
    for expected in [&[][..], &["dir"], &["dir/deep"], &["nowhere"]] {
        let (repo, commit) = Repo::with(sample()).unwrap();
        repo.config("uploadpack.allowFilter", "false").unwrap();
        let place = Place::new();
        let access = public(&repo.url());
        let mut source = place.commit_expecting(&access, &commit, expected).unwrap();
        std::fs::remove_dir_all(repo.path()).unwrap();
        assert_eq!(files(&mut source).len(), 4, "{expected:?}");
    }
}

#[test]
fn the_same_question_twice_and_none_at_all_are_answered() {
    let (_repo, _place, mut source) = opened(Repo::with(sample()).unwrap());
    assert_eq!(source.fetch(&[]).unwrap(), Vec::<u64>::new());
    assert_eq!(source.list(&[]).unwrap().len(), 0);
    assert!(contents(&mut source, &[]).is_empty());
    let (_, ids) = walk(&mut source);
    let twice = [ids[0], ids[1], ids[0]];
    assert_eq!(source.fetch(&twice).unwrap(), [1, 2, 1]);
    assert_eq!(contents(&mut source, &twice), [&b"a"[..], b"{}", b"a"]);
    assert_eq!(source.list(&[ObjectId::EMPTY_TREE]).unwrap(), [[]]);
}

#[test]
fn a_reader_that_breaks_off_or_leaves_bytes_does_not_disturb_the_next() {
    let (_repo, _place, mut source) =
        opened(Repo::with(sample().noise("big", 3, 3_000_000)).unwrap());
    let (_, ids) = walk(&mut source);
    source.fetch(&ids).unwrap();
    let mut seen = 0;
    source
        .read(&ids, &mut |_, _, _| {
            seen += 1;
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(seen, ids.len());
    source.read(&ids, &mut |_, _, _| ControlFlow::Break(())).unwrap();
    assert_eq!(contents(&mut source, &ids).len(), ids.len());
}

#[test]
fn what_is_not_in_the_commit_is_missing_and_not_fetched() {
    let (_repo, _place, mut source) = opened(Repo::with(sample()).unwrap());
    let unknown = ObjectId([7; 20]);
    assert!(source.fetch(&[unknown]).is_err());
    assert!(matches!(source.list(&[unknown]), Err(source::Error::Missing { id }) if id == unknown));
    assert_eq!(files(&mut source).len(), 4);
}

// B7, R8: the commit that was resolved is applied, whatever the branch has become.
#[test]
fn the_announced_commit_is_fetched_even_if_the_branch_moved_on() {
    let (repo, first) = Repo::with(sample()).unwrap();
    repo.commit(Edit::put(Tree::new().file("a.txt", "new"))).unwrap();
    let place = Place::new();
    let mut source = place.commit(&public(&repo.url()), &first).unwrap();
    assert_eq!(files(&mut source)[0].1, "a");
}

// B4: a rewritten history is just another commit.
#[test]
fn a_force_push_converges_on_the_same_store() {
    let (repo, first) = Repo::with(sample()).unwrap();
    let place = Place::new();
    let access = public(&repo.url());
    drop(place.commit(&access, &first).unwrap());
    let rewritten = repo.rewrite("main", Tree::new().file("a.txt", "other")).unwrap();
    repo.git(["gc", "--prune=now", "--quiet"]).unwrap();
    let mut source = place.commit(&access, &rewritten).unwrap();
    assert_eq!(files(&mut source), pairs(&[("a.txt", "other")]));
}

#[test]
fn a_second_commit_brings_only_what_changed() {
    let tree =
        (0..500).fold(Tree::new(), |tree, i| tree.file(format!("d{}/f{i}", i % 50), i.to_string()));
    let (repo, first) = filtering(tree);
    let place = Place::new();
    let access = public(&repo.url());
    drop(place.commit(&access, &first).unwrap());
    let before = bytes_in(&place);
    let second = repo.commit(Edit::put(Tree::new().file("d7/f7", "changed"))).unwrap();
    let mut source = place.commit(&access, &second).unwrap();
    let (paths, ids) = walk(&mut source);
    let at = paths.iter().position(|path| path == "d7/f7").unwrap();
    source.fetch(&[ids[at]]).unwrap();
    assert_eq!(contents(&mut source, &[ids[at]]), [b"changed"]);
    assert!(bytes_in(&place) - before < 8_000, "{}", bytes_in(&place) - before);
}

#[test]
fn a_shallow_remote_can_be_fetched_from() {
    let (repo, _) = Repo::with(sample()).unwrap();
    let tip = repo.commit(Edit::put(Tree::new().file("n", "n"))).unwrap();
    let place = Place::new();
    let clone = place.root.path().join("shallow.git");
    let clone_text = clone.display().to_string();
    repo.git(["clone", "--quiet", "--bare", "--depth=1", &repo.url(), &clone_text]).unwrap();
    let mut source = place.commit(&public(&format!("file://{clone_text}")), &tip).unwrap();
    assert_eq!(files(&mut source).len(), 5);
}

#[test]
fn many_files_are_read_in_the_order_of_the_question() {
    let tree = (0..3000).fold(Tree::new(), |tree, i| {
        tree.file(format!("d{}/f{i}", i % 70), format!("content {i}"))
    });
    let (_repo, _place, mut source) = opened(filtering(tree.noise("big", 9, 2_500_000)));
    let files = files(&mut source);
    assert_eq!(files.len(), 3001);
    for (path, content) in files.iter().filter(|(path, _)| path != "big") {
        let number = path.rsplit_once('f').unwrap().1;
        assert_eq!(*content, format!("content {number}"));
    }
}

fn bytes_in(place: &Place) -> u64 {
    pack_bytes(&place.directory())
}

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
    let (_repo, _place, mut source) = opened(Repo::with(tree).unwrap());
    let root = source.root().unwrap();
    let kinds: Vec<_> = source.list(&[root]).unwrap()[0].iter().map(|e| e.kind).collect();
    assert_eq!(kinds, [Kind::File, Kind::Symlink, Kind::Submodule]);
}

// B10: a tree of a thousand levels needs a thousand short responses.
#[test]
fn deep_trees_are_read_level_by_level() {
    let path = hostile::deep_path(1000);
    let (_repo, _place, mut source) = opened(Repo::with(Tree::new().file(&path, "x")).unwrap());
    assert_eq!(files(&mut source), [(path, "x".to_owned())]);
}
