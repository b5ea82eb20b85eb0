//! Claims about composing: what is listed, and what is not.

use std::collections::HashSet;

use super::*;
use crate::source;
use crate::testing::{Commit, request};

fn composed(commit: &mut Commit, maps: [&str; 2], case: Case) -> Result<Vec<String>, Error> {
    let request = request(commit, maps);
    let mounts = mount::resolve(&request.mappings, commit)?;
    let task = Task {
        request: &request,
        mounts: &mounts,
        manifest: &Manifest::absent(),
        trust: Trust::Nothing,
        visit: &HashSet::new(),
        volume: Volume { longest_path: 4_000, case },
        most_entries: MOST_ENTRIES,
        cancel: &Cancel::default(),
    };
    let dirs = compose(&task, commit)?.dirs;
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

#[test]
fn a_tree_that_unfolds_without_end_is_refused() {
    let mut commit = Commit::of([("p/x", "1"), ("q/y", "2")]);
    let blob = commit.list(&[commit.clone().root().unwrap()]).unwrap()[0][0].id;
    let leaf = |number: u32| source::Entry {
        name: number.to_string().into_bytes().into(),
        kind: source::Kind::File,
        id: blob,
    };
    let mut tree = commit.add_entries((0..200).map(leaf).collect());
    for _ in 0..3 {
        let dir = |number: u32| source::Entry {
            name: number.to_string().into_bytes().into(),
            kind: source::Kind::Dir,
            id: tree,
        };
        tree = commit.add_entries((0..200).map(dir).collect());
    }
    commit.set_root(tree);
    let request = request(&commit, [".:x"]);
    let mounts = mount::resolve(&request.mappings, &mut commit).unwrap();
    let task = Task {
        request: &request,
        mounts: &mounts,
        manifest: &Manifest::absent(),
        trust: Trust::Nothing,
        visit: &HashSet::new(),
        volume: Volume { longest_path: 4_000, case: Case::Matters },
        most_entries: 10_000,
        cancel: &Cancel::default(),
    };
    let refused = compose(&task, &mut commit);
    assert!(matches!(refused, Err(Error::TooManyEntries { .. })));
}
