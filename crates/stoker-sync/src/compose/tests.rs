//! Claims about composing: what is listed, and what is not.

use std::collections::HashSet;

use super::*;
use crate::source;
use crate::testing::{Commit, request};

fn composition<const N: usize>(
    commit: &mut Commit,
    maps: [&str; N],
    case: Case,
    most_entries: usize,
) -> Result<Composition, Error> {
    let request = request(commit, maps);
    let mounts = mount::resolve(&request.mappings, commit)?;
    let task = Task {
        request: &request,
        mounts: &mounts,
        manifest: &Manifest::absent(),
        trust: Trust::Nothing,
        visit: &HashSet::new(),
        volume: Volume { longest_path: 4_000, case },
        most_entries,
        cancel: &Cancel::default(),
    };
    compose(&task, commit)
}

fn composed(commit: &mut Commit, maps: [&str; 2], case: Case) -> Result<Vec<String>, Error> {
    let dirs = composition(commit, maps, case, MOST_ENTRIES)?.dirs;
    let files = |dir: &Composed| {
        let path = dir.path.clone();
        dir.files.iter().map(move |file| path.join(&file.name).to_string()).collect::<Vec<_>>()
    };
    Ok(dirs.iter().flat_map(files).collect())
}

// A10
#[test]
fn twins_are_refused_where_the_volume_ignores_case() {
    let mut files = Commit::of([("p/a/View", "1"), ("p/a/view", "2"), ("q/x", "3")]);
    let mut dirs = Commit::of([("p/Dir/a", "1"), ("p/dir/b", "2"), ("q/x", "3")]);
    let mut mappings = Commit::of([("p/Name", "1"), ("q/name", "2")]);
    for commit in [&mut files, &mut dirs, &mut mappings] {
        let refused = composed(commit, ["p:projects", "q:projects"], Case::Ignored);
        assert!(matches!(refused, Err(Error::CaseTwins { .. })), "{refused:?}");
        composed(commit, ["p:projects", "q:projects"], Case::Matters).unwrap();
    }
}

#[test]
fn a_level_of_the_tree_is_one_question_and_a_tree_is_asked_for_once() {
    let mut commit = Commit::of([("p/a/x", "1"), ("p/b/x", "1"), ("p/c/x", "1"), ("q/d", "2")]);
    let all = composed(&mut commit, ["p:projects", "q:config/q"], Case::Matters).unwrap();
    assert_eq!(all, ["config/q/d", "projects/a/x", "projects/b/x", "projects/c/x"]);
    // The root twice, for two mappings; p and q; one tree for a, b and c, which are equal.
    assert_eq!(commit.listed, 2 + 2 + 1);
}

/// A tree that names `tree` at so many places.
fn repeated(commit: &mut Commit, tree: ObjectId, places: u32) -> ObjectId {
    let dir = |number: u32| source::Entry {
        name: number.to_string().into_bytes().into(),
        kind: source::Kind::Dir,
        id: tree,
    };
    commit.add_entries((0..places).map(dir).collect())
}

fn leaf(commit: &mut Commit, name: &str, kind: source::Kind) -> source::Entry {
    let root = commit.root().unwrap();
    let id = commit.list(&[root]).unwrap()[0][0].id;
    source::Entry { name: name.as_bytes().into(), kind, id }
}

fn whole(commit: &mut Commit, most_entries: usize) -> Result<Composition, Error> {
    composition(commit, [".:x"], Case::Matters, most_entries)
}

// B10: a few trees, 10^10 files and more.
#[test]
fn a_tree_that_unfolds_without_end_is_refused_before_it_is_unfolded() {
    for (places, levels) in [(100, 5), (2, 40), (3, 30), (2_000, 3)] {
        let mut commit = Commit::of([("x", "1")]);
        let file = leaf(&mut commit, "file", source::Kind::File);
        let mut tree = commit.add_entries(vec![file]);
        for _ in 0..levels {
            tree = repeated(&mut commit, tree, places);
        }
        commit.set_root(tree);
        commit.listed = 0;
        let refused = whole(&mut commit, MOST_ENTRIES);
        assert!(matches!(refused, Err(Error::TooManyEntries { .. })), "{places} {levels}");
        // Each tree once on the way down, and once when the rest is counted.
        assert!(commit.listed <= 2 * (levels + 1), "{places} {levels}: {}", commit.listed);
    }
}

#[test]
fn a_tree_that_repeats_itself_within_limits_is_taken() {
    let mut commit = Commit::of([("x", "1")]);
    let file = leaf(&mut commit, "file", source::Kind::File);
    let inner = commit.add_entries(vec![file]);
    let middle = repeated(&mut commit, inner, 2);
    let outer = repeated(&mut commit, middle, 1_500);
    commit.set_root(outer);
    // The destination itself, 1,500 directories with two in each, and a file in each of those.
    let all = 1 + 1_500 + 3_000 + 3_000;
    assert_eq!(whole(&mut commit, all).unwrap().entries, all);
    assert!(matches!(whole(&mut commit, all - 1), Err(Error::TooManyEntries { .. })));
}

// B10
#[test]
fn a_tree_that_is_too_deep_is_refused_with_where_it_begins() {
    for (levels, is_taken) in [(MOST_LEVELS - 1, true), (MOST_LEVELS, false), (5_000, false)] {
        let mut commit = Commit::of([("x", "1")]);
        let file = leaf(&mut commit, "file", source::Kind::File);
        let mut tree = commit.add_entries(vec![file]);
        for _ in 0..levels {
            tree = repeated(&mut commit, tree, 1);
        }
        commit.set_root(tree);
        match whole(&mut commit, MOST_ENTRIES) {
            Ok(_) => assert!(is_taken, "{levels}"),
            Err(error) => {
                assert!(!is_taken && error.to_string().contains("\"x/0/0\""), "{levels}: {error}");
            }
        }
    }
}

// A10, B10: git reads the first of them, others the last.
#[test]
fn a_name_that_one_tree_has_twice_is_refused() {
    use source::Kind::{Dir, Executable, File};
    for (one, other) in [(File, File), (File, Executable), (File, Dir), (Dir, File)] {
        let mut commit = Commit::of([("x", "1")]);
        let file = leaf(&mut commit, "inner", File);
        let dir = commit.add_entries(vec![file]);
        let entry = |commit: &mut Commit, kind| match kind {
            Dir => source::Entry { id: dir, ..leaf(commit, "twice", Dir) },
            kind => leaf(commit, "twice", kind),
        };
        let entries = vec![entry(&mut commit, one), entry(&mut commit, other)];
        let tree = commit.add_entries(entries);
        commit.set_root(tree);
        let refused = whole(&mut commit, MOST_ENTRIES).unwrap_err().to_string();
        assert!(refused.contains("\"x/twice\" is there twice"), "{refused}");
        let request = request(&commit, ["twice:x"]);
        let refused = mount::resolve(&request.mappings, &mut commit).unwrap_err().to_string();
        assert!(refused.contains("\"twice\" is there twice"), "{refused}");
    }
}

// A9, A10
#[test]
fn kept_paths_are_out_of_reach_in_any_spelling_where_the_volume_ignores_case() {
    let mut identity = Commit::of([("p/LOCAL/uuid", "1"), ("q/y", "2")]);
    let maps = ["p:config", "q:projects"];
    let all = composed(&mut identity, maps, Case::Ignored).unwrap();
    assert_eq!(all, ["projects/y"]);
    let all = composed(&mut identity, maps, Case::Matters).unwrap();
    assert_eq!(all, ["config/LOCAL/uuid", "projects/y"]);
    let mut ours = Commit::of([("p/x", "1"), ("q/y", "2")]);
    let maps = ["p:.Stoker", "q:projects"];
    let refused = composed(&mut ours, maps, Case::Ignored);
    assert!(matches!(refused, Err(Error::Names { .. })), "{refused:?}");
    composed(&mut ours, maps, Case::Matters).unwrap();
}
