//! Claims about the report of a run: counts, kinds of change, warnings that come and go.

use std::collections::BTreeMap;

use stoker_text::glob::Glob;

use crate::request::{DriftCheck, DriftPolicy, Patch};
use crate::source::Kind;
use crate::testing::{Commit, Scratch, checking, request, strings, sync, unlimited};
use crate::{Report, Request};

fn codes(report: &Report) -> Vec<String> {
    let told = report.warnings.iter();
    told.map(|warning| format!("{} {}", warning.code.as_str(), warning.path)).collect()
}

fn patched(commit: &Commit, maps: [&str; 1], file: Option<&str>, set: (&str, &str)) -> Request {
    let mut request = checking(request(commit, maps), DriftCheck::Stat);
    let set = BTreeMap::from([(set.0.to_owned(), set.1.to_owned())]);
    let file = file.map(|glob| Glob::parse(glob).unwrap());
    request.mappings[0].patches.push(Patch { file, set });
    request
}

#[test]
fn warnings_go_with_the_directory_that_they_are_about() {
    let scratch = Scratch::new();
    let old = Commit::of_kinds([
        ("p/a/x", Kind::File, "1"),
        ("p/a/deep/link", Kind::Symlink, "/etc"),
        ("p/a/deep/module", Kind::Submodule, ""),
        ("p/a/deep/.resources/x", Kind::File, "1"),
        ("p/stays/inside/link", Kind::Symlink, "/etc"),
    ]);
    let report = sync(&scratch, &old, &request(&old, ["p:projects"])).unwrap();
    assert_eq!(codes(&report).len(), 4);
    let new = Commit::of_kinds([
        ("p/a/x", Kind::File, "1"),
        ("p/b/deep/link", Kind::Symlink, "/etc"),
        ("p/stays/inside/link", Kind::Symlink, "/etc"),
    ]);
    let stay = ["SymlinkSkipped projects/b/deep/link", "SymlinkSkipped projects/stays/inside/link"];
    for _ in 0..2 {
        let report = sync(&scratch, &new, &request(&new, ["p:projects"])).unwrap();
        assert_eq!(codes(&report), stay);
    }
}

#[test]
fn a_file_in_the_place_of_a_directory_is_an_added_one() {
    let scratch = Scratch::new();
    let dir = Commit::of([("p/a/x", "1"), ("p/b", "2")]);
    let file = Commit::of([("p/a", "1"), ("p/b", "2")]);
    sync(&scratch, &dir, &request(&dir, ["p:projects"])).unwrap();
    let report = sync(&scratch, &file, &unlimited(request(&file, ["p:projects"]))).unwrap();
    assert_eq!(strings(&report.added.paths), ["projects/a"]);
    assert_eq!(strings(&report.deleted.paths), ["projects/a/x"]);
    assert_eq!((report.modified.count, report.unchanged), (0, 1));
}

#[test]
fn drift_that_is_only_reported_is_not_counted_as_unchanged() {
    let scratch = Scratch::new();
    let commit = Commit::of([("p/a", "1"), ("p/b", "2"), ("p/c", "3"), ("p/d", "4")]);
    let mut wanted = checking(request(&commit, ["p:projects"]), DriftCheck::Stat);
    wanted.drift = DriftPolicy::Report;
    sync(&scratch, &commit, &wanted).unwrap();
    scratch.remove("data/projects/a");
    scratch.write("data/projects/b", "edited");
    scratch.chmod("data/projects/c", 0o666);
    scratch.write("data/projects/foreign", "f");
    let report = sync(&scratch, &commit, &wanted).unwrap();
    assert_eq!((report.unchanged, report.drift.len()), (1, 4));
}

#[test]
fn modes_that_were_widened_or_narrowed_are_drift_and_a_group_may_write() {
    let commit = Commit::of_kinds([("p/plain", Kind::File, "1"), ("p/run", Kind::Executable, "2")]);
    let cases = [
        ("plain", 0o644, [0o000, 0o600, 0o444, 0o640, 0o604, 0o646, 0o744, 0o645, 0o4644]),
        ("run", 0o755, [0o000, 0o700, 0o555, 0o750, 0o644, 0o757, 0o711, 0o754, 0o4755]),
    ];
    for check in [DriftCheck::Stat, DriftCheck::Content] {
        let scratch = Scratch::new();
        let wanted = checking(request(&commit, ["p:projects"]), check);
        sync(&scratch, &commit, &wanted).unwrap();
        for (name, right, wrong) in cases {
            let path = format!("data/projects/{name}");
            for mode in wrong {
                scratch.chmod(&path, mode);
                let report = sync(&scratch, &commit, &wanted).unwrap();
                assert_eq!(
                    strings(&report.modified.paths),
                    [format!("projects/{name}")],
                    "{mode:o}"
                );
                assert_eq!((scratch.mode(&path), report.drift.len()), (right, 1));
            }
            scratch.chmod(&path, right | 0o020);
            assert_eq!(sync(&scratch, &commit, &wanted).unwrap().modified.count, 0);
        }
        // Foreign files with the right bytes are treated alike.
        scratch.lose_manifest();
        let report = sync(&scratch, &commit, &wanted).unwrap();
        assert_eq!((report.modified.count, report.unchanged), (0, 2));
    }
}

// R48
#[test]
fn a_patch_that_matches_nothing_is_a_warning_for_as_long_as_it_does() {
    let scratch = Scratch::new();
    let none = Commit::of([("p/a/c.json", "{}")]);
    let one = Commit::of([("p/a/c.json", "{}"), ("p/b/c.json", "{\"k\": 1}")]);
    let run = |commit: &Commit| {
        let request = patched(commit, ["p:projects"], Some("b/**/*.json"), ("k", "7"));
        codes(&sync(&scratch, commit, &request).unwrap())
    };
    assert_eq!(run(&none), ["PatchUnmatched projects"]);
    assert_eq!(run(&none), ["PatchUnmatched projects"]);
    assert!(run(&one).is_empty());
    assert!(run(&one).is_empty());
}

#[test]
fn a_patch_that_changes_nothing_or_has_done_so_before_has_a_match() {
    let scratch = Scratch::new();
    let commit = Commit::of([("p/c.json", "{\"k\": 7}"), ("q/x", "1")]);
    for (value, map) in [("7", "p:projects"), ("8", "p:projects"), ("8", "p/:./projects")] {
        let mut request = patched(&commit, [map], Some("*.json"), ("k", value));
        assert!(codes(&sync(&scratch, &commit, &request).unwrap()).is_empty());
        request.excludes = stoker_text::glob::Excludes::parse(["nothing"]).unwrap();
        assert!(codes(&sync(&scratch, &commit, &request).unwrap()).is_empty(), "{value}");
    }
}

#[test]
fn a_patch_that_names_no_file_is_for_a_file() {
    let scratch = Scratch::new();
    let commit = Commit::of([("p/c.json", "{}")]);
    let request = patched(&commit, ["p/c.json:projects/c.json"], None, ("k", "7"));
    assert!(sync(&scratch, &commit, &request).unwrap().warnings.is_empty());
    assert_eq!(scratch.read("data/projects/c.json"), "{\"k\":7}");
    let request = patched(&commit, ["p:projects"], None, ("k", "7"));
    let report = sync(&scratch, &commit, &request).unwrap();
    let messages: Vec<_> = report.warnings.iter().map(|told| told.message.as_str()).collect();
    assert_eq!(
        messages,
        ["a patch of a directory does not say which file it is for; it was skipped"]
    );
}
