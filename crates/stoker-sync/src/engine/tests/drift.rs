//! Claims about what others did to the live files, and what is known of them.

use stoker_text::glob::Excludes;

use super::*;

#[test]
fn files_that_were_copied_or_restored_were_not_changed_here() {
    let old = Commit::of([("p/a/one", "1"), ("p/a/two", "2"), ("p/b", "3")]);
    let new = Commit::of([("p/a/one", "new"), ("p/a/two", "2")]);
    for check in [DriftCheck::Touched, DriftCheck::Stat] {
        let scratch = Scratch::new();
        sync(&scratch, &old, &request(&old, ["p:projects"])).unwrap();
        for (path, content) in [("a/one", "1"), ("a/two", "2"), ("b", "3")] {
            let path = format!("data/projects/{path}");
            scratch.remove(&path);
            scratch.write(&path, content);
        }
        let report = sync(&scratch, &new, &checking(request(&new, ["p:projects"]), check)).unwrap();
        assert_eq!(report.warnings, [], "{check:?}");
        assert_eq!(strings(&report.modified.paths), ["projects/a/one"], "{check:?}");
        assert_eq!(report.drift, [], "{check:?}");
    }
}

#[test]
fn drift_is_found_named_and_repaired() {
    let scratch = Scratch::new();
    let commit = Commit::of([("p/a/one", "1"), ("p/a/two", "2"), ("p/b/three", "3")]);
    let wanted = checking(request(&commit, ["p:projects"]), DriftCheck::Stat);
    sync(&scratch, &commit, &wanted).unwrap();
    scratch.write("data/projects/a/one", "edited");
    scratch.remove("data/projects/b/three");
    scratch.write("data/projects/a/foreign", "f");

    let reporting = Request { drift: DriftPolicy::Report, ..wanted.clone() };
    let before = scratch.state();
    let report = sync(&scratch, &commit, &reporting).unwrap();
    let kinds: Vec<_> =
        report.drift.iter().map(|drifted| (drifted.path.to_string(), drifted.kind)).collect();
    let all = [
        ("projects/a/foreign".to_owned(), DriftKind::Foreign),
        ("projects/a/one".into(), DriftKind::Modified),
        ("projects/b/three".into(), DriftKind::Missing),
    ];
    assert_eq!(kinds, all);
    assert_eq!(scratch.read("data/projects/a/one"), "edited");
    assert_eq!(scratch.state(), before);

    let report = sync(&scratch, &commit, &wanted).unwrap();
    assert_eq!(report.drift.len(), 3);
    assert_eq!(scratch.read("data/projects/a/one"), "1");
    assert_eq!(scratch.read("data/projects/b/three"), "3");
    assert!(!scratch.exists("data/projects/a/foreign"));
    assert!(sync(&scratch, &commit, &wanted).unwrap().drift.is_empty());
}

#[test]
fn an_edit_that_keeps_the_look_is_found_by_content() {
    let scratch = Scratch::new();
    let commit = Commit::of([("p/a", "1234")]);
    let wanted = request(&commit, ["p:projects"]);
    sync(&scratch, &commit, &wanted).unwrap();
    scratch.edit_unseen("data/projects/a", "4321");
    let unseen = sync(&scratch, &commit, &checking(wanted.clone(), DriftCheck::Stat)).unwrap();
    assert_eq!(unseen.drift.len(), 0);
    let seen = sync(&scratch, &commit, &checking(wanted, DriftCheck::Content)).unwrap();
    assert_eq!(seen.drift.len(), 1);
    assert_eq!(scratch.read("data/projects/a"), "1234");
}

/// Enough directories that their stamps are recorded.
fn many_dirs(content: &str) -> Commit {
    let file = |n: usize| {
        (format!("p/{}/{n}/view.json", n / 10).into_bytes(), (Kind::File, content.into()))
    };
    Commit::from_files(&(0..100).map(file).collect())
}

#[test]
fn a_foreign_file_is_found_in_a_directory_that_was_remembered_whole() {
    for place in ["data/projects/3/37/foreign", "data/projects/3/foreign", "data/projects/3/38/d/f"]
    {
        let scratch = Scratch::new();
        let commit = many_dirs("v");
        let wanted = checking(request(&commit, ["p:projects"]), DriftCheck::Stat);
        sync(&scratch, &commit, &wanted).unwrap();
        assert_eq!(sync(&scratch, &commit, &wanted).unwrap().drift.len(), 0);
        scratch.write(place, "f");
        // Whoever sets the time back can't set back that they did.
        scratch.set_times_of(place.rsplit_once('/').unwrap().0, "data/projects/4");
        let seen = sync(&scratch, &commit, &wanted).unwrap();
        assert_eq!(seen.drift.len(), 1, "{place}");
        assert!(!scratch.exists(place));
    }
}

#[test]
fn a_foreign_file_is_found_in_a_directory_that_many_changes_have_touched() {
    let scratch = Scratch::new();
    for round in ["0", "1", "2"] {
        let commit = many_dirs(round);
        let report = sync(&scratch, &commit, &request(&commit, ["p:projects"])).unwrap();
        assert_eq!(report.drift.len(), 0);
    }
    let commit = many_dirs("2");
    let wanted = checking(request(&commit, ["p:projects"]), DriftCheck::Stat);
    assert_eq!(sync(&scratch, &commit, &wanted).unwrap().drift.len(), 0);
    scratch.write("data/projects/3/37/foreign", "f");
    assert_eq!(sync(&scratch, &commit, &wanted).unwrap().drift.len(), 1);
}

#[test]
fn what_comes_to_a_directory_that_was_left_behind_is_found() {
    let old = Commit::of([("p/dir/left/f", "1"), ("p/dir/g", "2")]);
    let new = Commit::of([("p/dir/g", "2")]);
    let scratch = Scratch::new();
    let wanted = |commit: &Commit| {
        let excludes = Excludes::parse(["**/*.bak"]).unwrap();
        checking(Request { excludes, ..request(commit, ["p:projects"]) }, DriftCheck::Stat)
    };
    sync(&scratch, &old, &wanted(&old)).unwrap();
    scratch.write("data/projects/dir/left/keep.bak", "k");
    for _ in 0..3 {
        sync(&scratch, &new, &unlimited(wanted(&new))).unwrap();
    }
    scratch.write("data/projects/dir/left/stray", "s");
    let report = sync(&scratch, &new, &wanted(&new)).unwrap();
    assert_eq!(strings(&report.deleted.paths), ["projects/dir/left/stray"]);
    assert!(scratch.exists("data/projects/dir/left/keep.bak"));
}

#[test]
fn what_an_exclude_or_a_mapping_had_spared_goes_when_it_does_not_any_more() {
    let old = Commit::of([("p/dir/left/f", "1"), ("p/dir/g", "2")]);
    let new = Commit::of([("p/dir/g", "2")]);
    let excluding = |request: Request| Request {
        excludes: Excludes::parse(["projects/dir/left/**"]).unwrap(),
        ..request
    };
    let sparing = |mut request: Request| {
        request.mappings[0].prune = Prune::OwnOnly;
        request
    };
    for spare in [&excluding as &dyn Fn(Request) -> Request, &sparing] {
        let scratch = Scratch::new();
        let plain = |commit| checking(unlimited(request(commit, ["p:projects"])), DriftCheck::Stat);
        sync(&scratch, &old, &plain(&old)).unwrap();
        scratch.write("data/projects/dir/left/foreign", "f");
        sync(&scratch, &old, &spare(plain(&old))).unwrap();
        sync(&scratch, &new, &spare(plain(&new))).unwrap();
        assert!(scratch.exists("data/projects/dir/left/foreign"));
        sync(&scratch, &new, &plain(&new)).unwrap();
        assert!(!scratch.exists("data/projects/dir/left"));
    }
}

#[test]
fn a_directory_that_became_a_link_is_drift() {
    let scratch = Scratch::new();
    let commit = many_dirs("v");
    let wanted = checking(request(&commit, ["p:projects"]), DriftCheck::Stat);
    sync(&scratch, &commit, &wanted).unwrap();
    scratch.rename("data/projects/3/37", "moved");
    scratch.link("data/projects/3/37", "../../../moved");
    let seen = sync(&scratch, &commit, &wanted);
    assert!(seen.is_err(), "a foreign link is in the way: {seen:?}");
}

#[test]
fn a_lost_or_damaged_manifest_means_comparing_by_content() {
    for damage in [None].into_iter().chain((0..16).map(Some)) {
        let scratch = Scratch::new();
        scratch.write("data/elsewhere/mine", "m");
        let commit = Commit::of([("p/a", "1"), ("p/b", "2"), ("f", "3")]);
        let wanted = request(&commit, ["p:projects", "f:elsewhere/f"]);
        sync(&scratch, &commit, &wanted).unwrap();
        match damage {
            Some(share) => scratch.damage_manifest(share),
            None => scratch.lose_manifest(),
        }
        scratch.write("data/projects/a", "edited");
        let report = sync(&scratch, &commit, &checking(wanted, DriftCheck::Stat)).unwrap();
        assert_eq!(strings(&report.modified.paths), ["projects/a"]);
        assert_eq!((report.added.count, report.deleted.count, report.unchanged), (0, 0, 2));
        assert_eq!(scratch.read("data/elsewhere/mine"), "m");
    }
}
