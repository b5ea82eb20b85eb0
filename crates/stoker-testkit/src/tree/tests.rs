use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

fn on_disk(tree: &Tree) -> TempDir {
    let directory = TempDir::new().unwrap();
    tree.write_to(directory.path()).unwrap();
    directory
}

fn read(directory: &TempDir) -> Tree {
    Tree::read(directory.path()).unwrap()
}

#[test]
fn what_is_written_is_what_is_read() {
    let value = tree([("config/a.json", "{}"), ("config/deep/er/b", "x"), ("top", "")])
        .file_with_mode("run.sh", "#!", 0o755)
        .file_with_mode("secret", "k", 0o400)
        .file(b"odd\xff\n name", b"\x00\xff")
        .symlink("link", "config/a.json")
        .symlink("dangling", "/nowhere/at/all")
        .symlink("up", "..")
        .dir("empty/er");
    read(&on_disk(&value)).assert_is(&value);
}

#[test]
fn links_are_read_as_links_even_when_they_lead_outside_or_in_circles() {
    let outside = on_disk(&tree([("secret", "s")]));
    let target = outside.path().to_str().unwrap();
    let value = Tree::default().symlink("out", target).symlink("loop", "loop");
    read(&on_disk(&value)).assert_is(&value);
}

#[test]
fn writing_over_a_link_replaces_it_and_leaves_its_target_alone() {
    let outside = on_disk(&tree([("file", "untouched")]));
    let target = outside.path().join("file");
    let temp = on_disk(&Tree::default().symlink("a", target.to_str().unwrap()));
    tree([("a", "new")]).write_to(temp.path()).unwrap();
    read(&temp).assert_is(&tree([("a", "new")]));
    read(&outside).assert_is(&tree([("file", "untouched")]));
}

#[test]
fn writing_below_a_link_is_refused() {
    let outside = TempDir::new().unwrap();
    let temp = on_disk(&Tree::default().symlink("dir", outside.path().to_str().unwrap()));
    let refused = tree([("dir/file", "x")]).write_to(temp.path()).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::NotADirectory);
    read(&outside).assert_is(&Tree::default());
}

#[test]
fn what_was_there_stays_unless_it_is_replaced() {
    let temp = on_disk(&tree([("a", "1"), ("dir/b", "2")]));
    tree([("dir/c", "3"), ("a", "4")]).write_to(temp.path()).unwrap();
    read(&temp).assert_is(&tree([("a", "4"), ("dir/b", "2"), ("dir/c", "3")]));
}

#[test]
fn sockets_are_an_error_that_names_them() {
    let temp = TempDir::new().unwrap();
    let _socket = UnixListener::bind(temp.path().join("socket")).unwrap();
    let error = Tree::read(temp.path()).unwrap_err();
    assert_eq!(error.to_string(), "socket is neither file, link nor directory");
}

#[test]
fn a_changed_mode_is_a_difference() {
    let value = tree([("a", "")]);
    let temp = on_disk(&value);
    fs::set_permissions(temp.path().join("a"), fs::Permissions::from_mode(0o600)).unwrap();
    assert_ne!(read(&temp), value);
}

#[test]
fn a_difference_names_each_path_and_both_sides() {
    let actual = tree([("same", "s"), ("more", "m"), ("other", "1")]).symlink("kind", "x");
    let expected = tree([("same", "s"), ("less", "l"), ("other", "2"), ("kind", "x")]);
    assert_eq!(
        actual.difference(&expected),
        "~ kind -> x, expected 0644 \"x\"\n\
         - less 0644 \"l\"\n\
         + more 0644 \"m\"\n\
         ~ other 0644 \"1\", expected 0644 \"2\"\n"
    );
}

#[test]
fn long_contents_are_shortened_in_messages() {
    let shown = format!("{:?}", tree([("a", "x".repeat(5000))]));
    assert!(shown.len() < 300, "{shown}");
    assert!(shown.contains("(5000 bytes)"), "{shown}");
}

#[test]
fn parts_can_be_taken_out() {
    let value = tree([("a/b", "1"), ("a/c/d", "2"), ("ab", "3"), ("a-", "4")]);
    assert_eq!(value.below("a"), tree([("b", "1"), ("c/d", "2")]));
    assert_eq!(value.clone().without("a"), tree([("ab", "3"), ("a-", "4")]));
    assert_eq!(value.text("a/c/d"), "2");
}

#[test]
fn directories_are_empty_only_as_long_as_nothing_is_in_them() {
    assert_eq!(Tree::default().dir("a").file("a/b", ""), tree([("a/b", "")]));
    assert_eq!(tree([("a/b", "")]).dir("a"), tree([("a/b", "")]));
}

#[test]
#[should_panic(expected = "../a is no plain relative path")]
fn paths_that_leave_the_tree_are_refused() {
    drop(tree([("../a", "")]));
}

#[test]
#[should_panic(expected = "a/b lies below 0644")]
fn a_file_is_no_directory() {
    drop(tree([("a", ""), ("a/b", "")]));
}

fn any_node() -> impl Strategy<Value = Node> {
    let mode = prop::sample::select(vec![0o400, 0o600, 0o644, 0o755]);
    let bytes = || prop::collection::vec(any::<u8>(), 0..20);
    prop_oneof![
        (bytes(), mode).prop_map(|(bytes, mode)| Node::File { bytes, mode }),
        "[a-z./]{1,9}".prop_map(|target| Node::Symlink(target.into_bytes())),
        Just(Node::EmptyDir),
    ]
}

fn any_tree() -> impl Strategy<Value = Tree> {
    // Directories and leaves draw from different alphabets, so that no leaf is in a path's way.
    let name = prop::collection::vec(prop_oneof![Just(b'\n'), Just(0xff), b'a'..=b'f'], 1..4);
    let path = (prop::collection::vec("[A-C]{1,2}", 0..3), name).prop_map(|(dirs, name)| {
        let mut path = dirs.join("/").into_bytes();
        if !path.is_empty() {
            path.push(b'/');
        }
        [path, name].concat()
    });
    prop::collection::btree_map(path, any_node(), 0..12)
        .prop_map(|nodes| nodes.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_tree_survives_the_way_to_the_disk_and_back(value in any_tree()) {
        let read = read(&on_disk(&value));
        prop_assert!(read.difference(&value).is_empty(), "{}", read.difference(&value));
    }
}
