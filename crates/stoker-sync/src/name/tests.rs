//! Claims about names (A10): each is refused before anything is written, or written exactly.

use super::*;
use crate::source::Kind;
use crate::testing::{Commit, Live, Scratch, request, sync};

/// What becomes of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is written as it is, everywhere.
    Exact,
    /// It is written as it is, but not where the gateway reads names.
    NotForIgnition,
    /// It is written nowhere.
    Refused,
}

fn names() -> Vec<(Vec<u8>, Fate)> {
    use Fate::{Exact, NotForIgnition, Refused};
    let mut names: Vec<(Vec<u8>, Fate)> = vec![
        (vec![b'x'; 255], Exact),
        (vec![b'x'; 256], Refused),
        (vec![b'x'; 5_000], Refused),
        ("\u{e9}".repeat(127).into_bytes(), Exact),
        (b"\xff\xfe".to_vec(), NotForIgnition),
        (b"caf\xe9".to_vec(), NotForIgnition),
        (b"\xc3".to_vec(), NotForIgnition),
        (b"\xed\xa0\x80".to_vec(), NotForIgnition),
        (b"\xf0\x9f".to_vec(), NotForIgnition),
    ];
    let texts: &[(&str, Fate)] = &[
        ("plain", Exact),
        ("View 1", Exact),
        ("Gr\u{f6}\u{df}e", Exact),
        ("Gro\u{308}\u{df}e", Exact),
        ("\u{65e5}\u{672c}\u{8a9e}", Exact),
        ("\u{1f600}", Exact),
        ("README", Exact),
        ("ReadMe", Exact),
        ("a.b.c", Exact),
        ("a..b", Exact),
        ("-rf", Exact),
        ("--help", Exact),
        ("$(reboot)", Exact),
        ("$HOME", Exact),
        ("%2e%2e", Exact),
        ("a;b&c", Exact),
        ("it's", Exact),
        ("#", Exact),
        ("~", Exact),
        ("~root", Exact),
        ("git~1", Exact),
        ("GIT~1", Exact),
        ("git", Exact),
        ("CON", Exact),
        ("nul", Exact),
        ("aux.txt", Exact),
        ("COM1", Exact),
        ("@{-1}", Exact),
        ("[x]", Exact),
        ("{a,b}", Exact),
        ("\u{202e}gpj.exe", Exact),
        ("\u{feff}bom", Exact),
        ("\u{200b}", Exact),
        ("resource.json", Exact),
        ("...", NotForIgnition),
        (".hidden", NotForIgnition),
        ("trailing.", NotForIgnition),
        ("trailing ", NotForIgnition),
        (" leading", NotForIgnition),
        (" ", NotForIgnition),
        (".gitignore", NotForIgnition),
        (".gitmodules", NotForIgnition),
        ("a\\b", NotForIgnition),
        ("..\\..\\etc", NotForIgnition),
        ("a?b", NotForIgnition),
        ("*", NotForIgnition),
        ("**", NotForIgnition),
        ("C:", NotForIgnition),
        ("a:b", NotForIgnition),
        ("a|b", NotForIgnition),
        ("\"quoted\"", NotForIgnition),
        ("<script>", NotForIgnition),
        ("a`id`", NotForIgnition),
        ("line\nbreak", NotForIgnition),
        ("tab\there", NotForIgnition),
        ("\r", NotForIgnition),
        ("\x1b[31m", NotForIgnition),
        ("\x7f", NotForIgnition),
        ("\u{85}", NotForIgnition),
        ("", Refused),
        (".", Refused),
        ("..", Refused),
        ("/", Refused),
        ("a/b", Refused),
        ("/etc/passwd", Refused),
        ("../../etc/passwd", Refused),
        ("a\0b", Refused),
        ("\0", Refused),
        (".git", Refused),
        (".GIT", Refused),
        (".Git", Refused),
        (".stoker-x", Refused),
    ];
    names.extend(texts.iter().map(|(name, fate)| (name.as_bytes().to_vec(), *fate)));
    names
}

#[test]
fn every_name_is_written_exactly_or_refused_before_any_write() {
    assert!(names().len() >= 60);
    for (name, fate) in names() {
        for kind in [Kind::File, Kind::Dir] {
            for (destination, is_exact) in
                [("projects", fate == Fate::Exact), ("elsewhere", fate != Fate::Refused)]
            {
                let scratch = Scratch::new();
                let commit = Commit::with_name(&name, kind);
                let done =
                    sync(&scratch, &commit, &request(&commit, [&format!(".:{destination}")]));
                let what = format!("{:?} in {destination}: {done:?}", path::Quoted(&name));
                assert_eq!(done.is_ok(), is_exact, "{what}");
                let written =
                    scratch.files(&format!("data/{}", if is_exact { destination } else { "" }));
                let mut wanted = vec![b"honest".to_vec()];
                wanted.push(if kind == Kind::Dir {
                    [&name, &b"/inner"[..]].concat()
                } else {
                    name.clone()
                });
                wanted.retain(|_| is_exact);
                wanted.sort();
                assert_eq!(written.keys().cloned().collect::<Vec<_>>(), wanted, "{what}");
            }
        }
    }
}

#[test]
fn twins_by_case_and_by_normalization_are_two_files_where_case_matters() {
    let scratch = Scratch::new();
    let twins = [("p/View", "1"), ("p/view", "2"), ("p/\u{e9}", "3"), ("p/e\u{301}", "4")];
    let commit = Commit::of(twins);
    sync(&scratch, &commit, &request(&commit, ["p:projects"])).unwrap();
    for (path, content) in twins {
        let path = path.replace("p/", "data/projects/");
        assert_eq!(scratch.read(path), content);
    }
}

#[test]
fn paths_that_the_gateway_could_not_open_are_refused() {
    let scratch = Scratch::new();
    let name = "d".repeat(250);
    for (depth, is_written) in [(10, true), (17, false)] {
        let path = format!("p/{}/file", vec![name.as_str(); depth].join("/"));
        let commit = Commit::of([(&path, "deep")]);
        let done = sync(&scratch, &commit, &request(&commit, ["p:projects"]));
        assert_eq!(done.is_ok(), is_written, "{depth}: {done:?}");
    }
    let live = scratch.files("data");
    assert!(live.values().all(|file| matches!(file, Live::File { .. })) && live.len() == 1);
}

#[test]
fn identity_covers_what_is_below_and_nothing_beside() {
    for (path, kept) in [
        ("config/local", true),
        ("config/local/a/b", true),
        ("config/localhost", false),
        ("config/resources/local/x", true),
        ("config/resources/core/local", false),
        ("projects/redundancy.xml", false),
        ("redundancy.xml", true),
        ("valueStore.idb", true),
        (".ignition-seed-complete", true),
        ("projects/.resources", true),
        ("x/y/.resources/z", true),
        (".stoker/lock", true),
        (".sync-staging/f0", true),
        ("projects/.stoker-1", true),
        ("projects/.stoker", false),
    ] {
        assert_eq!(keeper(path.as_bytes()).is_some(), kept, "{path}");
    }
}
