//! Claims about names (A10): each is refused before anything is written, or written exactly.

use super::*;
use crate::source::Kind;
use crate::testing::{Commit, Live, Scratch, request, sync};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Exact,
    NotForIgnition,
    Refused,
}

/// Written as they are, everywhere.
const EXACT: &[&str] = &[
    "plain", "View 1", "README", "ReadMe", "a.b.c", "a..b", "-rf", "--help", "$HOME", "%2e%2e",
    "a;b&c", "it's", "#", "~", "~root", "git~1", "GIT~1", "git", "CON", "nul", "aux.txt", "COM1",
    "@{-1}", "[x]", "{a,b}", "\u{200b}", ".hidden", ".github",
];
/// Written as they are, but not where the gateway reads names.
const NOT_FOR_IGNITION: &[&str] = &[
    "...", " leading", " ", ".hidden.", "a\\b", "a?b", "*", "**", "C:", "a:b", "a|b", "<script>",
    "a`id`", "\r", "\x1b[31m", "\x7f", "\u{85}",
];
/// Written nowhere.
const REFUSED: &[&str] = &["", ".", "..", "/", "a/b", "a\0b", "\0", ".git", ".GIT", ".Git"];

/// The same of longer names.
const LONGER: &[(&str, Fate)] = &[
    ("Gr\u{f6}\u{df}e", Fate::Exact),
    ("Gro\u{308}\u{df}e", Fate::Exact),
    ("\u{65e5}\u{672c}\u{8a9e}", Fate::Exact),
    ("\u{1f600}", Fate::Exact),
    ("$(reboot)", Fate::Exact),
    ("\u{202e}gpj.exe", Fate::Exact),
    ("\u{feff}bom", Fate::Exact),
    ("resource.json", Fate::Exact),
    (".gitignore", Fate::Exact),
    (".gitattributes", Fate::Exact),
    (".editorconfig", Fate::Exact),
    (".gitmodules", Fate::Exact),
    ("trailing.", Fate::NotForIgnition),
    ("trailing ", Fate::NotForIgnition),
    ("..\\..\\etc", Fate::NotForIgnition),
    ("\"quoted\"", Fate::NotForIgnition),
    ("line\nbreak", Fate::NotForIgnition),
    ("tab\there", Fate::NotForIgnition),
    ("/etc/passwd", Fate::Refused),
    ("../../etc/passwd", Fate::Refused),
    (".stoker-x", Fate::Refused),
];

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
    let short = [(EXACT, Exact), (NOT_FOR_IGNITION, NotForIgnition), (REFUSED, Refused)];
    let short =
        short.into_iter().flat_map(|(names, fate)| names.iter().map(move |name| (*name, fate)));
    let texts = short.chain(LONGER.iter().copied());
    names.extend(texts.map(|(name, fate)| (name.as_bytes().to_vec(), fate)));
    names
}

#[test]
fn every_name_is_written_exactly_or_refused_before_any_write() {
    assert_eq!(names().len(), 85);
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
        ("config/ignition/tags/valueStore.idb", true),
        ("config/ignition/tags/valueStore.idb-wal", false),
        (".uuid", true),
        ("projects/.uuid", false),
        (".ignition-seed-complete", true),
        ("projects/p/.git", true),
        ("projects/p/.git/objects/00/11", true),
        ("projects/p/.gitignore", false),
        ("projects/p/.github/x", false),
        ("projects/.resources", true),
        ("x/y/.resources/z", true),
        (".stoker/lock", true),
        (".sync-staging/f0", true),
        ("projects/.stoker-1", true),
        ("projects/.stoker", false),
    ] {
        assert_eq!(reserved_for(path.as_bytes(), Case::Matters).is_some(), kept, "{path}");
        assert_eq!(reserved_for(path.as_bytes(), Case::Ignored).is_some(), kept, "{path}");
    }
}

#[test]
fn a_destination_that_no_run_ever_writes_is_a_mistake() {
    for (path, fault) in [
        ("config/local", Some(NameFault::Identity)),
        ("config/local/keys", Some(NameFault::Identity)),
        ("redundancy.xml", Some(NameFault::Identity)),
        (".uuid", Some(NameFault::Identity)),
        ("config/ignition/tags/valueStore.idb", Some(NameFault::Identity)),
        ("config/resources/.resources/x", Some(NameFault::RuntimeCache)),
        ("projects/p/.git/hooks", Some(NameFault::Git)),
        ("projects/p/.Git", Some(NameFault::Git)),
        (".stoker/x", Some(NameFault::Reserved)),
        ("config/resources/local", None),
        ("config/resources/local/ignition/system-properties", None),
        ("config", None),
        ("projects/.gitignore", None),
    ] {
        let checked = check_mapped(&RelPath::parse(path).unwrap());
        assert_eq!(checked.err(), fault, "{path}");
    }
}

// A9, A10
#[test]
fn where_case_is_ignored_every_spelling_of_a_kept_path_is_kept() {
    for path in [
        "Config/LOCAL/a",
        "CONFIG/Resources/Local",
        "valuestore.IDB",
        "config/ignition/VALUESTORE.idb/x",
        ".UUID",
        "projects/p/.GIT/config",
        "x/.RESOURCES/y",
        ".Stoker/lock",
        ".SYNC-staging",
        "projects/.Stoker-1",
        // The Kelvin sign and the long s are a k and an s to a volume that folds.
        ".sto\u{212a}er/lock",
        "config/re\u{17f}ources/local",
    ] {
        assert!(reserved_for(path.as_bytes(), Case::Ignored).is_some(), "{path}");
        assert_eq!(reserved_for(path.as_bytes(), Case::Matters), None, "{path}");
    }
}
