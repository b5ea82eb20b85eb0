//! Claims about mappings within each other's destinations, and excludes there.

use stoker_text::glob::Excludes;

use crate::Request;
use crate::request::{DriftCheck, Prune};
use crate::testing::{Commit, Scratch, checking, request, strings, sync, unlimited};

fn overlapping(commit: &Commit, maps: [&str; 2], exclude: &str) -> Request {
    let excludes = Excludes::parse([exclude]).unwrap();
    Request { excludes, ..unlimited(request(commit, maps)) }
}

#[test]
fn an_exclude_of_the_outer_mapping_does_not_keep_what_the_inner_one_brought() {
    let old =
        Commit::of([("s1/x", "1"), ("s1/a/no", "2"), ("s2/keep", "3"), ("s2/deep/keep", "4")]);
    let new = Commit::of([("s1/x", "1"), ("s1/a/no", "2"), ("s2/other", "5")]);
    for maps in [["s1:m", "s2:m/a"], ["s2:m/a", "s1:m"]] {
        for check in [DriftCheck::Touched, DriftCheck::Stat, DriftCheck::Content] {
            let scratch = Scratch::new();
            let run = |commit: &Commit| {
                sync(&scratch, commit, &checking(overlapping(commit, maps, "a/"), check)).unwrap()
            };
            let report = run(&old);
            assert_eq!(strings(&report.added.paths), ["m/a/deep/keep", "m/a/keep", "m/x"]);
            let report = run(&new);
            assert_eq!(strings(&report.deleted.paths), ["m/a/deep/keep", "m/a/keep"]);
            assert!(!scratch.exists("data/m/a/deep") && scratch.exists("data/m/a/other"));
            scratch.write("data/m/a/foreign", "f");
            let report = run(&new);
            let goes: &[&str] = if check == DriftCheck::Touched { &[] } else { &["m/a/foreign"] };
            assert_eq!(strings(&report.deleted.paths), goes);
        }
    }
}

#[test]
fn an_exclude_of_the_inner_mapping_does_not_keep_what_the_outer_one_brought() {
    let old = Commit::of([("s1/a/x", "1"), ("s2/y", "2")]);
    let new = Commit::of([("s1/b", "1"), ("s2/y", "2")]);
    for maps in [["s1:m", "s2:m/a"], ["s2:m/a", "s1:m"]] {
        let scratch = Scratch::new();
        let report = sync(&scratch, &old, &overlapping(&old, maps, "x")).unwrap();
        assert_eq!(strings(&report.added.paths), ["m/a/x", "m/a/y"]);
        let report = sync(&scratch, &new, &overlapping(&new, maps, "x")).unwrap();
        assert_eq!(strings(&report.deleted.paths), ["m/a/x"]);
    }
}

#[test]
fn what_is_excluded_for_its_own_mapping_or_by_its_destination_stays() {
    let old = Commit::of([("s1/x", "1"), ("s2/keep", "3"), ("s2/b/keep", "4")]);
    let new = Commit::of([("s1/x", "1"), ("s2/other", "3")]);
    for exclude in ["{keep,b/keep}", "m/a/**"] {
        let scratch = Scratch::new();
        let maps = ["s1:m", "s2:m/a"];
        sync(&scratch, &old, &request(&old, maps)).unwrap();
        scratch.write("data/m/a/foreign/keep", "f");
        let mut excluding = overlapping(&new, maps, exclude);
        excluding.mappings[1].prune = Prune::OwnOnly;
        let report = sync(&scratch, &new, &excluding).unwrap();
        assert_eq!(report.deleted.count, 0, "{exclude}");
        assert!(scratch.exists("data/m/a/keep") && scratch.exists("data/m/a/b/keep"));
        assert!(scratch.exists("data/m/a/foreign/keep"));
    }
}
