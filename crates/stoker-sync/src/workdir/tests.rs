//! Claims about working directories.

use std::collections::BTreeMap;

use super::WorkDir;
use crate::source::{Kind, ObjectId, Source};
use crate::testing::{Scratch, map};
use crate::{Cancel, RelPath, Request};

#[test]
fn ids_are_those_that_git_gives() {
    let scratch = Scratch::new();
    scratch.write("work/a/file", "hello\n");
    scratch.write("work/a.b/run", "#!");
    scratch.chmod("work/a.b/run", 0o755);
    scratch.write("work/.git/config", "x");
    scratch.write("work/a/.git", "gitdir: elsewhere");
    scratch.make_dir("work/empty");
    scratch.link("work/link", "/etc/passwd");
    let mut source = WorkDir::open(&scratch.path("work"), Vec::new(), &Cancel::default()).unwrap();
    let root = source.root().unwrap();
    // git init; git add; git write-tree, with the same files.
    assert_eq!(root.to_string(), "078302be2ef1dd3cd265b696a404dfa0c392716f");
    let listing = &source.list(&[root]).unwrap()[0];
    let kinds: BTreeMap<_, _> =
        listing.iter().map(|entry| (entry.name.to_vec(), entry.kind)).collect();
    let all = [(&b"a"[..], Kind::Dir), (b"a.b", Kind::Dir), (b"link", Kind::Symlink)];
    assert_eq!(kinds, all.map(|(name, kind)| (name.to_vec(), kind)).into());
}

#[test]
fn an_empty_directory_is_the_empty_tree() {
    let scratch = Scratch::new();
    scratch.make_dir("work/nothing");
    let mut source = WorkDir::open(&scratch.path("work"), Vec::new(), &Cancel::default()).unwrap();
    assert_eq!(source.root().unwrap(), ObjectId::EMPTY_TREE);
    assert_eq!(source.list(&[ObjectId::EMPTY_TREE]).unwrap(), [vec![]]);
}

#[test]
fn a_save_is_seen_and_arrives() {
    let scratch = Scratch::new();
    scratch.write("work/p/a", "1");
    scratch.write("work/p/b", "2");
    scratch.write("work/ignored/huge", "3");
    let parts = vec![RelPath::parse("p").unwrap()];
    let mut source = WorkDir::open(&scratch.path("work"), parts, &Cancel::default()).unwrap();
    let cancel = Cancel::default();
    let mut engine = scratch.engine();
    for (content, changes) in [("1", 2), ("saved", 1), ("saved", 0)] {
        scratch.write("work/p/a", content);
        let commit = source.scan().unwrap().to_string();
        let request = Request::new(commit, vec![map("p:projects")]);
        let plan = engine.plan(&mut source, &request, &cancel).unwrap();
        assert_eq!(plan.changes.len(), changes);
        let written = engine.write(plan, &mut source, &cancel).unwrap();
        written.apply(&mut || {}).unwrap();
        assert_eq!(scratch.read("data/projects/a"), content);
    }
    assert!(source.list(&[*source.blobs.keys().next().unwrap()]).is_err());
}

#[test]
fn a_second_save_within_a_tick_is_seen() {
    let scratch = Scratch::new();
    scratch.write("work/a", "1");
    let mut source = WorkDir::open(&scratch.path("work"), Vec::new(), &Cancel::default()).unwrap();
    let before = source.scan().unwrap();
    scratch.edit_unseen("work/a", "2");
    assert_ne!(source.scan().unwrap(), before);
}

#[test]
fn a_directory_that_took_the_place_of_another_is_not_the_same() {
    let scratch = Scratch::new();
    scratch.write("work/a", "1");
    let source = WorkDir::open(&scratch.path("work"), Vec::new(), &Cancel::default()).unwrap();
    assert!(source.is_at(&scratch.path("work")));
    scratch.rename("work", "away");
    assert!(!source.is_at(&scratch.path("work")), "there is none");
    assert!(source.is_at(&scratch.path("away")));
    scratch.write("work/a", "1");
    assert!(!source.is_at(&scratch.path("work")));
}

#[test]
fn what_an_editor_puts_down_is_no_content() {
    let scratch = Scratch::new();
    scratch.write("work/4913/a", "1");
    let mut source = WorkDir::open(&scratch.path("work"), Vec::new(), &Cancel::default()).unwrap();
    let before = source.scan().unwrap();
    assert_ne!(before, ObjectId::EMPTY_TREE, "a directory may be called so");
    scratch.write("work/4913/.a.swp", "x");
    scratch.write("work/4913/4913", "x");
    scratch.link("work/4913/.#a", "somebody@somewhere");
    assert_eq!(source.scan().unwrap(), before);
}
