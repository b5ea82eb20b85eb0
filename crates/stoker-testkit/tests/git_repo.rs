//! Repositories hold what was asked for, bit for bit, and the same ids every time.

#![expect(clippy::unwrap_used, reason = "a set-up that fails is a test that fails")]

use std::collections::BTreeMap;

use stoker_testkit::git::{Edit, Entry, Error, Oid, RawEntry, Repo, Tree, hostile, ignition};

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

/// `mode type id` by path, as git lists it.
fn listing(repo: &Repo, commit: &Oid) -> BTreeMap<Vec<u8>, String> {
    let list = repo.git(["ls-tree", "-r", "-z", commit.as_str()]).unwrap();
    let entries = list.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    entries
        .map(|entry| {
            let tab = entry.iter().position(|byte| *byte == b'\t').unwrap();
            (entry[tab + 1..].to_vec(), text(entry[..tab].to_vec()))
        })
        .collect()
}

fn show(repo: &Repo, what: &str) -> Vec<u8> {
    repo.git(["cat-file", "blob", what]).unwrap()
}

#[test]
fn equal_edits_make_equal_commits_on_every_machine() {
    let (_, first) = Repo::with(Tree::new().file("a/b.json", "{}")).unwrap();
    let (_, second) = Repo::with(Tree::new().file("a/b.json", "{}")).unwrap();
    assert_eq!(first, second);
    assert_eq!(first.as_str(), "7b9be79bdcac997b1b0fd2875fe916ad841a3332");
}

#[test]
fn every_kind_of_entry_is_stored_with_its_mode() {
    let other = Oid::unknown(7);
    let tree = Tree::new()
        .file("file", "bytes")
        .executable("run.sh", "#!/bin/sh\n")
        .symlink("link", "../../etc/passwd")
        .submodule("modules/shared", "https://git.invalid/shared.git", &other)
        .lfs_pointer("big.bin", 123_456)
        .file(b"caf\xe9\n\"quoted\"\t", "odd name");
    let (repo, commit) = Repo::with(tree).unwrap();

    let listing = listing(&repo, &commit);
    let modes: Vec<_> =
        listing.iter().map(|(path, entry)| (path.as_slice(), &entry[..6])).collect();
    let expected: Vec<(&[u8], &str)> = vec![
        (b".gitmodules", "100644"),
        (b"big.bin", "100644"),
        (b"caf\xe9\n\"quoted\"\t", "100644"),
        (b"file", "100644"),
        (b"link", "120000"),
        (b"modules/shared", "160000"),
        (b"run.sh", "100755"),
    ];
    assert_eq!(modes, expected);
    assert_eq!(show(&repo, &format!("{commit}:link")), b"../../etc/passwd");
    assert!(show(&repo, &format!("{commit}:big.bin")).starts_with(b"version https://git-lfs"));
    assert!(text(show(&repo, &format!("{commit}:.gitmodules"))).contains("path = modules/shared"));
}

#[test]
fn edits_build_on_the_parent_and_trees_replace_it() {
    let (repo, _) = Repo::with(Tree::new().file("a", "1").file("dir/b", "1")).unwrap();
    let put = repo.commit(Edit::put(Tree::new().file("c", "2"))).unwrap();
    let removed = repo.commit(Edit::put(Tree::new()).and_remove("dir")).unwrap();
    let replaced = repo.commit(Tree::new().file("only", "3")).unwrap();
    let names = |commit| listing(&repo, commit).into_keys().map(text).collect::<Vec<_>>();
    assert_eq!(names(&put), ["a", "c", "dir/b"]);
    assert_eq!(names(&removed), ["a", "c"]);
    assert_eq!(names(&replaced), ["only"]);
    assert_eq!(repo.git(["rev-list", "--count", "main"]).unwrap(), b"4\n");
    assert_eq!(repo.tip("main").unwrap(), replaced);
}

#[test]
fn a_long_history_comes_from_one_process_in_order() {
    let repo = Repo::empty().unwrap();
    let edits = (0..2_000).map(|n: u32| Edit::put(Tree::new().file("n", n.to_string())));
    let commits = repo.history("main", edits).unwrap();
    let listed = text(repo.git(["rev-list", "--reverse", "main"]).unwrap());
    assert_eq!(
        listed.lines().collect::<Vec<_>>(),
        commits.iter().map(Oid::as_str).collect::<Vec<_>>()
    );
    assert_eq!(show(&repo, &format!("{}:n", commits[1234])), b"1234");
}

#[test]
fn tags_are_light_annotated_or_nested() {
    let (repo, commit) = Repo::with(Tree::new().file("a", "1")).unwrap();
    repo.tag("light", &commit).unwrap();
    let annotated = repo.annotated_tag("v1.0.0", &commit).unwrap();
    let nested = repo.annotated_tag("nested", &annotated).unwrap();
    let peeled = |name| Oid::parse(&text(repo.git(["rev-parse", name]).unwrap())).unwrap();
    assert_eq!(peeled("refs/tags/light"), commit);
    assert_eq!(peeled("refs/tags/v1.0.0"), annotated);
    assert_eq!(peeled("refs/tags/nested"), nested);
    assert_eq!(peeled("refs/tags/nested^{commit}"), commit);
    repo.git(["fsck", "--strict"]).unwrap();
}

#[test]
fn branches_can_be_rewritten_and_moved() {
    let (repo, old) = Repo::with(Tree::new().file("a", "1")).unwrap();
    let new = repo.rewrite("main", Tree::new().file("a", "2")).unwrap();
    assert_eq!(repo.git(["rev-list", "--count", "main"]).unwrap(), b"1\n");
    repo.set_branch("release", &old).unwrap();
    assert_eq!((repo.tip("main").unwrap(), repo.tip("release").unwrap()), (new, old));
}

#[test]
fn an_unreachable_commit_is_there_without_a_name() {
    let (repo, tip) = Repo::with(Tree::new().file("a", "1")).unwrap();
    let fork = repo.unreachable(Tree::new().file("a", "forked")).unwrap();
    assert_eq!(show(&repo, &format!("{fork}:a")), b"forked");
    assert_eq!(
        text(repo.git(["for-each-ref", "--format=%(objectname)"]).unwrap()).trim(),
        tip.as_str()
    );
}

#[test]
fn big_blobs_are_made_without_being_held() {
    let tree = Tree::new().noise("noise.bin", 1, 20_000_001).zeros("zeros.bin", 64 << 20);
    let (repo, commit) = Repo::with(tree).unwrap();
    let size = |name: &str| {
        text(repo.git(["cat-file", "-s", &format!("{commit}:{name}")]).unwrap()).trim().to_owned()
    };
    assert_eq!((size("noise.bin"), size("zeros.bin")), ("20000001".into(), (64 << 20).to_string()));
}

// A10: the repository really carries the names that a careful reader must refuse.
#[test]
fn hostile_names_are_stored_as_they_are() {
    let repo = Repo::empty().unwrap();
    let blob = repo.blob("hostile\n").unwrap();
    let names = hostile::names();
    let entries: Vec<_> =
        names.iter().map(|hostile| RawEntry::file(&hostile.name, &blob)).collect();
    let tree = repo.raw_tree(&entries).unwrap();
    let raw = repo.git(["cat-file", "tree", tree.as_str()]).unwrap();
    for hostile in &names {
        let entry = [b"100644 ", hostile.name.as_slice(), b"\0"].concat();
        assert!(raw.windows(entry.len()).any(|window| window == entry), "{}", hostile.why);
    }
    let commit = repo.commit_tree("main", &tree).unwrap();
    assert_eq!(repo.tip("main").unwrap(), commit);
}

#[test]
fn git_itself_objects_to_a_hostile_tree() {
    let repo = Repo::empty().unwrap();
    repo.commit_name("main", ".git").unwrap();
    let Err(Error::Failed { stderr, .. }) = repo.git(["fsck", "--strict"]) else {
        panic!("git accepts .git in a tree")
    };
    assert!(stderr.contains("hasDotgit"), "{stderr}");
}

#[test]
fn odd_modes_twins_and_duplicates_are_stored_as_they_are() {
    let repo = Repo::empty().unwrap();
    let blob = repo.blob("x").unwrap();
    let modes = ["104755", "100666", "106777", "120777", "0", "100644", "100644"];
    let entries: Vec<_> = modes.iter().map(|mode| RawEntry::new(mode, "same", &blob)).collect();
    let tree = repo.raw_tree(&entries).unwrap();
    let size =
        entries.iter().zip(modes).map(|(_, mode)| mode.len() + " same\0".len() + 20).sum::<usize>();
    assert_eq!(repo.git(["cat-file", "tree", tree.as_str()]).unwrap().len(), size);
}

#[test]
fn long_and_deep_paths_are_stored() {
    let (long, deep) = (vec!["d".repeat(200); 21].join("/"), hostile::deep_path(2_000));
    let tree = Tree::new().file(&long, "long").file(&deep, "deep");
    let (repo, commit) = Repo::with(tree).unwrap();
    let listing = listing(&repo, &commit);
    assert!(listing.contains_key(long.as_bytes()) && listing.contains_key(deep.as_bytes()));
}

#[test]
fn fifty_thousand_files_are_all_there() {
    let tree = ignition::tree(50_000, 1);
    let (repo, commit) = Repo::with(tree.clone()).unwrap();
    let listing = listing(&repo, &commit);
    assert_eq!(listing.len(), 50_000);
    assert!(tree.iter().all(|(path, _)| listing.contains_key(path)));
    let view = listing.keys().find(|path| path.ends_with(b"/view.json")).unwrap();
    let stored = show(&repo, &format!("{commit}:{}", text(view.clone())));
    let Some(Entry::Blob(_, content)) = tree.get(view) else { panic!("a view is a blob") };
    assert_eq!(content, &stoker_testkit::git::Content::Bytes(stored));
}

#[test]
fn an_error_quotes_git() {
    let (repo, _) = Repo::with(Tree::new().file("a", "1")).unwrap();
    let error = repo.commit(Tree::new().file("a//b", "1")).unwrap_err();
    assert!(error.to_string().contains("fast-import"), "{error}");
    assert!(error.to_string().contains("mpty path component"), "{error}");
}
