//! Claims about whole runs, on a real disk.

mod overlap;
mod told;

use std::collections::BTreeMap;

use crate::plan::DriftKind;
use crate::request::{DriftPolicy, Look, Prune};
use crate::source::Kind;
use crate::testing::{Commit, Scratch, map, request, sync, unlimited};
use crate::{RelPath, Request};

fn looking(request: Request, look: Look) -> Request {
    Request { look, ..request }
}

fn strings(paths: &[RelPath]) -> Vec<String> {
    paths.iter().map(ToString::to_string).collect()
}

#[test]
fn a_first_sync_puts_files_and_a_second_does_nothing() {
    let scratch = Scratch::new();
    let commit =
        Commit::of([("svc/projects/a/view.json", "1"), ("svc/projects/b/x", "2"), ("other", "3")]);
    let request = request(&commit, ["svc/projects:projects"]);
    let report = sync(&scratch, &commit, &request).unwrap();
    assert_eq!(strings(&report.added.paths), ["projects/a/view.json", "projects/b/x"]);
    assert_eq!(report.projects, ["a", "b"]);
    assert_eq!(report.bytes_written, 2);
    assert_eq!(scratch.read("data/projects/a/view.json"), "1");
    assert!(!scratch.exists("data/other") && !scratch.exists("data/.sync-staging"));
    assert_eq!(scratch.mode("data/.stoker"), 0o700);

    let before = scratch.state();
    for look in [Look::Touched, Look::Stat, Look::Content] {
        let report = sync(&scratch, &commit, &looking(request.clone(), look)).unwrap();
        assert_eq!((report.added.count, report.modified.count, report.deleted.count), (0, 0, 0));
        assert_eq!(report.unchanged, 2);
    }
    assert_eq!(scratch.state(), before, "a no-op writes nothing");
}

#[test]
fn a_state_directory_that_was_open_to_all_is_closed() {
    let scratch = Scratch::new();
    let commit = Commit::of([("p/x", "1")]);
    let request = request(&commit, ["p:projects"]);
    scratch.make_dir("data/.stoker");
    for mode in [0o777, 0o2770] {
        scratch.chmod("data/.stoker", mode);
        sync(&scratch, &commit, &request).unwrap();
        assert_eq!(scratch.mode("data/.stoker"), mode & 0o7000 | 0o700);
    }
}

#[test]
fn a_change_touches_what_changed_and_asks_for_nothing_else() {
    let scratch = Scratch::new();
    let old =
        Commit::of([("p/a/one", "1"), ("p/a/two", "2"), ("p/b/three", "3"), ("p/c/d/four", "4")]);
    sync(&scratch, &old, &request(&old, ["p:projects"])).unwrap();
    let new =
        Commit::of([("p/a/one", "1"), ("p/a/two", "new"), ("p/b/three", "3"), ("p/c/d/four", "4")]);
    let wanted = request(&new, ["p:projects"]);
    let cancel = crate::Cancel::default();
    let mut source = new.clone();
    let mut engine = scratch.engine();
    let plan = engine.plan(&mut source, &wanted, &cancel).unwrap();
    // The root to find the mapping, the mapped tree, and the one directory that changed.
    assert_eq!(source.listed, 3);
    let written = engine.write(plan, &mut source, &cancel).unwrap();
    assert_eq!(source.read, 1);
    let report = written.apply(&mut crate::OpenGate).unwrap();
    assert_eq!(strings(&report.modified.paths), ["projects/a/two"]);
    assert_eq!(report.unchanged, 3);
    assert_eq!(scratch.read("data/projects/a/two"), "new");
}

#[test]
fn files_that_left_the_commit_go_with_their_empty_directories() {
    let scratch = Scratch::new();
    let old = Commit::of([("p/a/b/c/one", "1"), ("p/a/two", "2")]);
    sync(&scratch, &old, &request(&old, ["p:projects"])).unwrap();
    let new = Commit::of([("p/a/two", "2")]);
    let report = sync(&scratch, &new, &request(&new, ["p:projects"])).unwrap();
    assert_eq!(strings(&report.deleted.paths), ["projects/a/b/c/one"]);
    assert!(scratch.exists("data/projects/a/two") && !scratch.exists("data/projects/a/b"));
}

#[test]
fn orphans_go_from_managed_directories_and_from_nowhere_else() {
    let scratch = Scratch::new();
    scratch.write("data/projects/foreign/x", "f");
    scratch.write("data/db/live.db", "d");
    scratch.write("data/redundancy.xml", "r");
    let commit = Commit::of([("p/a", "1")]);
    // R15: a trailing slash means nothing.
    sync(&scratch, &commit, &request(&commit, ["p:projects/"])).unwrap();
    assert!(!scratch.exists("data/projects/foreign"));
    assert_eq!(scratch.read("data/db/live.db"), "d");
    assert_eq!(scratch.read("data/redundancy.xml"), "r");
}

#[test]
fn the_data_root_is_never_pruned() {
    let scratch = Scratch::new();
    scratch.write("data/db/live.db", "d");
    let old = Commit::of([("a", "1"), ("projects/x", "2")]);
    sync(&scratch, &old, &request(&old, [".:."])).unwrap();
    let new = Commit::of([("a", "1")]);
    sync(&scratch, &new, &request(&new, [".:."])).unwrap();
    assert!(scratch.exists("data/db/live.db") && !scratch.exists("data/projects"));
}

#[test]
fn without_pruning_only_our_own_files_go() {
    let scratch = Scratch::new();
    scratch.write("data/projects/foreign", "f");
    let careful = |commit: &Commit| {
        let mut request = request(commit, ["p:projects"]);
        request.mappings[0].prune = Prune::OwnOnly;
        request
    };
    let old = Commit::of([("p/a", "1"), ("p/b", "2")]);
    sync(&scratch, &old, &careful(&old)).unwrap();
    let new = Commit::of([("p/a", "1")]);
    sync(&scratch, &new, &careful(&new)).unwrap();
    assert!(scratch.exists("data/projects/foreign") && !scratch.exists("data/projects/b"));
}

// R41
#[test]
fn a_removed_mapping_takes_its_files_with_it() {
    let scratch = Scratch::new();
    let commit = Commit::of([("p/a", "1"), ("c/b", "2"), ("one.txt", "3")]);
    sync(&scratch, &commit, &request(&commit, ["p:projects", "c:config/x", "one.txt:etc/one"]))
        .unwrap();
    sync(&scratch, &commit, &request(&commit, ["p:projects"])).unwrap();
    assert!(scratch.exists("data/projects/a"));
    assert!(!scratch.exists("data/config/x/b") && !scratch.exists("data/etc/one"));
}

// R16
#[test]
fn an_absent_optional_source_leaves_its_destination_alone() {
    let scratch = Scratch::new();
    let optional = |commit: &Commit| {
        let mut request = request(commit, ["p:projects", "c:projects/extra"]);
        request.mappings[1].presence = crate::request::Presence::Optional;
        request
    };
    let old = Commit::of([("p/a", "1"), ("c/b", "2")]);
    sync(&scratch, &old, &optional(&old)).unwrap();
    scratch.write("data/projects/extra/foreign", "f");
    let new = Commit::of([("p/a", "other")]);
    for look in [Look::Touched, Look::Stat] {
        let report = sync(&scratch, &new, &looking(optional(&new), look)).unwrap();
        assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
        assert_eq!(scratch.read("data/projects/extra/b"), "2");
        assert!(scratch.exists("data/projects/extra/foreign"));
    }
    // Still ours: when the source is back without it, it goes.
    let back = Commit::of([("p/a", "other"), ("c/d", "4")]);
    sync(&scratch, &back, &optional(&back)).unwrap();
    assert!(scratch.exists("data/projects/extra/d") && !scratch.exists("data/projects/extra/b"));
}

#[test]
fn later_mappings_win_and_their_union_is_kept() {
    let scratch = Scratch::new();
    let commit =
        Commit::of([("core/a", "core"), ("core/b", "core"), ("site/b", "site"), ("f", "file")]);
    let maps = ["core:config", "site:config", "f:config/a"];
    sync(&scratch, &commit, &request(&commit, maps)).unwrap();
    assert_eq!(scratch.read("data/config/a"), "file");
    assert_eq!(scratch.read("data/config/b"), "site");
    // What covered it goes, and what was covered is back.
    let new =
        Commit::of([("core/a", "core"), ("core/b", "core"), ("site/c", "site"), ("f", "file")]);
    sync(&scratch, &new, &request(&new, maps)).unwrap();
    assert_eq!(scratch.read("data/config/b"), "core");
    assert_eq!(scratch.read("data/config/c"), "site");
}

// R17, A14
#[test]
fn identity_and_cache_are_untouchable_even_if_git_holds_them() {
    let scratch = Scratch::new();
    let kept = [
        "config/local/key",
        "config/resources/local/k",
        "config/.resources/c",
        "projects/.resources/x",
        "redundancy.xml",
    ];
    for path in kept {
        scratch.write(format!("data/{path}"), "gateway's own");
    }
    let commit = Commit::of([
        ("config/local/key", "git"),
        ("config/a", "git"),
        ("config/.resources/c", "git"),
        ("projects/p", "git"),
        ("redundancy.xml", "git"),
    ]);
    let maps = ["config:config", "projects:projects", "redundancy.xml:redundancy.xml"];
    let report = sync(&scratch, &commit, &request(&commit, maps)).unwrap();
    for path in kept {
        assert_eq!(scratch.read(format!("data/{path}")), "gateway's own", "{path}");
    }
    let codes: Vec<_> = report
        .warnings
        .iter()
        .map(|warning| (warning.code.as_str(), warning.path.to_string()))
        .collect();
    assert_eq!(
        codes,
        [
            ("IdentityPath", "config/local".into()),
            ("IdentityPath", "redundancy.xml".into()),
            ("RuntimeFilesInGit", "config/.resources".into()),
        ]
    );
}

#[test]
fn modes_follow_git_and_a_change_of_mode_alone_is_applied() {
    let scratch = Scratch::new();
    let files = |kind| BTreeMap::from([(b"p/run.sh".to_vec(), (kind, b"#!".to_vec()))]);
    let plain = Commit::from_files(&files(Kind::File));
    sync(&scratch, &plain, &request(&plain, ["p:scripts"])).unwrap();
    assert_eq!(scratch.mode("data/scripts/run.sh"), 0o644);
    let executable = Commit::from_files(&files(Kind::Executable));
    let report = sync(&scratch, &executable, &request(&executable, ["p:scripts"])).unwrap();
    assert_eq!((report.modified.count, report.bytes_written), (1, 0));
    assert_eq!(scratch.mode("data/scripts/run.sh"), 0o755);
}

#[test]
fn files_become_directories_and_back() {
    let scratch = Scratch::new();
    let file = Commit::of([("p/a", "file"), ("p/b/x", "dir")]);
    let dir = Commit::of([("p/a/x/y", "dir"), ("p/b", "file")]);
    for commit in [&file, &dir, &file] {
        sync(&scratch, commit, &unlimited(request(commit, ["p:projects"]))).unwrap();
    }
    assert_eq!(scratch.read("data/projects/a"), "file");
    assert_eq!(scratch.read("data/projects/b/x"), "dir");
}

#[test]
fn what_is_foreign_and_in_the_way_is_a_conflict() {
    let scratch = Scratch::new();
    scratch.write("data/projects/a/foreign", "f");
    let commit = Commit::of([("p/a", "file")]);
    let error = sync(&scratch, &commit, &request(&commit, ["p:projects"])).unwrap_err();
    assert!(error.to_string().contains("projects/a"), "{error}");
    assert_eq!(scratch.read("data/projects/a/foreign"), "f");

    let scratch = Scratch::new();
    scratch.write("data/projects/a", "foreign");
    let commit = Commit::of([("p/a/b", "file")]);
    sync(&scratch, &commit, &request(&commit, ["p:projects"])).unwrap_err();
    assert_eq!(scratch.read("data/projects/a"), "foreign");
}

// A10
#[test]
fn orphans_in_a_directory_that_becomes_a_file_go_with_it() {
    let dir = Commit::of([("p/a/x", "dir"), ("p/b", "1")]);
    let file = Commit::of([("p/a", "file"), ("p/b", "1")]);
    for look in [Look::Touched, Look::Stat, Look::Content] {
        let scratch = Scratch::new();
        sync(&scratch, &dir, &request(&dir, ["p:projects"])).unwrap();
        scratch.write("data/projects/a/orphan", "o");
        scratch.write("data/projects/a/below/orphan", "o");
        let wanted = looking(request(&file, ["p:projects"]), look);
        let report = sync(&scratch, &file, &wanted).unwrap();
        let gone = ["projects/a/below/orphan", "projects/a/orphan", "projects/a/x"];
        assert_eq!(strings(&report.deleted.paths), gone, "{look:?}");
        assert_eq!(scratch.read("data/projects/a"), "file");
        assert!(!scratch.exists("data/.sync-staging"));
    }
}

// A13
#[test]
fn orphans_that_may_not_go_keep_a_directory_from_becoming_a_file() {
    let dir = Commit::of([("p/a/x", "dir"), ("p/b", "1")]);
    let file = Commit::of([("p/a", "file"), ("p/b", "1")]);
    let scratch = Scratch::new();
    sync(&scratch, &dir, &request(&dir, ["p:projects"])).unwrap();
    for number in 0..60 {
        scratch.write(format!("data/projects/a/{number}"), "foreign");
    }
    let before = scratch.state();
    let wanted = request(&file, ["p:projects"]);
    let refused = sync(&scratch, &file, &wanted).unwrap_err();
    assert!(refused.to_string().contains("61 of 62"), "too many at once: {refused}");
    let mut spared = unlimited(wanted.clone());
    spared.mappings[0].prune = Prune::OwnOnly;
    let refused = sync(&scratch, &file, &spared).unwrap_err();
    assert!(refused.to_string().contains("projects/a"), "not ours to delete: {refused}");
    assert_eq!(scratch.state(), before);
    sync(&scratch, &file, &unlimited(wanted)).unwrap();
    assert_eq!(scratch.read("data/projects/a"), "file");
}

#[test]
fn files_that_were_copied_or_restored_were_not_changed_here() {
    let old = Commit::of([("p/a/one", "1"), ("p/a/two", "2"), ("p/b", "3")]);
    let new = Commit::of([("p/a/one", "new"), ("p/a/two", "2")]);
    for look in [Look::Touched, Look::Stat] {
        let scratch = Scratch::new();
        sync(&scratch, &old, &request(&old, ["p:projects"])).unwrap();
        for (path, content) in [("a/one", "1"), ("a/two", "2"), ("b", "3")] {
            let path = format!("data/projects/{path}");
            scratch.remove(&path);
            scratch.write(&path, content);
        }
        let report = sync(&scratch, &new, &looking(request(&new, ["p:projects"]), look)).unwrap();
        assert_eq!(report.warnings, [], "{look:?}");
        assert_eq!(strings(&report.modified.paths), ["projects/a/one"], "{look:?}");
        assert_eq!(report.drift, [], "{look:?}");
    }
}

#[test]
fn drift_is_found_named_and_repaired() {
    let scratch = Scratch::new();
    let commit = Commit::of([("p/a/one", "1"), ("p/a/two", "2"), ("p/b/three", "3")]);
    let wanted = looking(request(&commit, ["p:projects"]), Look::Stat);
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
    let unseen = sync(&scratch, &commit, &looking(wanted.clone(), Look::Stat)).unwrap();
    assert_eq!(unseen.drift.len(), 0);
    let seen = sync(&scratch, &commit, &looking(wanted, Look::Content)).unwrap();
    assert_eq!(seen.drift.len(), 1);
    assert_eq!(scratch.read("data/projects/a"), "1234");
}

/// So many directories that their looks are remembered.
fn many_dirs() -> Commit {
    let file = |n: usize| {
        (format!("p/{}/{n}/view.json", n / 10).into_bytes(), (Kind::File, b"v".to_vec()))
    };
    Commit::from_files(&(0..100).map(file).collect())
}

#[test]
fn a_foreign_file_is_found_in_a_directory_that_was_remembered_whole() {
    for place in ["data/projects/3/37/foreign", "data/projects/3/foreign", "data/projects/3/38/d/f"]
    {
        let scratch = Scratch::new();
        let commit = many_dirs();
        let wanted = looking(request(&commit, ["p:projects"]), Look::Stat);
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
    let mut wanted = None;
    for round in 0..3 {
        let file = |n: usize| {
            let content = format!("{round}").into_bytes();
            (format!("p/{}/{n}/view.json", n / 10).into_bytes(), (Kind::File, content))
        };
        let commit = Commit::from_files(&(0..100).map(file).collect());
        let request = Request { commit: round.to_string(), ..request(&commit, ["p:projects"]) };
        assert_eq!(sync(&scratch, &commit, &request).unwrap().drift.len(), 0);
        wanted = Some((commit, looking(request, Look::Stat)));
    }
    let (commit, wanted) = wanted.unwrap();
    assert_eq!(sync(&scratch, &commit, &wanted).unwrap().drift.len(), 0);
    scratch.write("data/projects/3/37/foreign", "f");
    assert_eq!(sync(&scratch, &commit, &wanted).unwrap().drift.len(), 1);
}

#[test]
fn a_directory_that_became_a_link_is_drift() {
    let scratch = Scratch::new();
    let commit = many_dirs();
    let wanted = looking(request(&commit, ["p:projects"]), Look::Stat);
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
        let report = sync(&scratch, &commit, &looking(wanted, Look::Stat)).unwrap();
        assert_eq!(strings(&report.modified.paths), ["projects/a"]);
        assert_eq!((report.added.count, report.deleted.count, report.unchanged), (0, 0, 2));
        assert_eq!(scratch.read("data/elsewhere/mine"), "m");
    }
}

#[test]
fn excluded_files_are_neither_written_nor_deleted_and_are_forgotten() {
    let scratch = Scratch::new();
    let commit = Commit::of([("p/a", "1"), ("p/keep.txt", "2"), ("p/tmp/x", "3")]);
    let plain = request(&commit, ["p:projects"]);
    sync(&scratch, &commit, &plain).unwrap();
    scratch.write("data/projects/tmp/foreign", "f");
    let excluding = Request {
        excludes: stoker_text::glob::Excludes::parse(["keep.txt", "projects/tmp/"]).unwrap(),
        ..plain.clone()
    };
    sync(&scratch, &commit, &looking(excluding.clone(), Look::Stat)).unwrap();
    for path in ["keep.txt", "tmp/x", "tmp/foreign"] {
        assert!(scratch.exists(format!("data/projects/{path}")), "{path}");
    }
    let new = Commit::of([("p/a", "1")]);
    let excluding = Request { commit: "2".into(), ..excluding };
    sync(&scratch, &new, &excluding).unwrap();
    assert!(scratch.exists("data/projects/keep.txt") && scratch.exists("data/projects/tmp/x"));
}

// A13
#[test]
fn a_mass_deletion_stops_the_run_until_it_is_allowed() {
    let many = |count: usize| {
        let files = (0..count)
            .map(|n| (format!("p/f{n}").into_bytes(), (Kind::File, n.to_string().into_bytes())));
        Commit::from_files(
            &files
                .chain([
                    (b"p/z".to_vec(), (Kind::File, b"z".to_vec())),
                    (b"q".to_vec(), (Kind::File, b"q".to_vec())),
                ])
                .collect(),
        )
    };
    for (before, after, is_stopped) in
        [(200, 99, true), (200, 101, false), (60, 11, false), (8, 0, false)]
    {
        let scratch = Scratch::new();
        sync(&scratch, &many(before), &request(&many(before), ["p:projects"])).unwrap();
        let stopped = sync(&scratch, &many(after), &request(&many(after), ["p:projects"]));
        assert_eq!(stopped.is_err(), is_stopped, "{before} to {after}");
        assert_eq!(scratch.exists(format!("data/projects/f{}", before - 1)), is_stopped);
        sync(&scratch, &many(after), &unlimited(request(&many(after), ["p:projects"]))).unwrap();
    }
    // All of a mapping, though few.
    let scratch = Scratch::new();
    sync(&scratch, &many(12), &request(&many(12), ["p:projects"])).unwrap();
    sync(&scratch, &many(12), &request(&many(12), ["p:elsewhere"])).unwrap();
    let mut gone = request(&many(12), ["p:elsewhere"]);
    gone.mappings = vec![map("q:third/q")];
    sync(&scratch, &many(12), &gone).unwrap_err();
    // A rename is no deletion.
    let moved =
        |n: usize| (format!("p/moved/f{n}").into_bytes(), (Kind::File, n.to_string().into_bytes()));
    let moved = Commit::from_files(&(0..12).map(moved).collect());
    sync(&scratch, &moved, &request(&moved, ["p:elsewhere"])).unwrap();
}

#[test]
fn bytes_that_are_not_the_blob_stop_the_run_before_any_rename() {
    let scratch = Scratch::new();
    let old = Commit::of([("p/a", "1"), ("p/b", "2")]);
    sync(&scratch, &old, &request(&old, ["p:projects"])).unwrap();
    let before = scratch.snapshot("data");
    let mut new = Commit::of([("p/a", "new"), ("p/b", "broken")]);
    new.corrupt("broken");
    let error = sync(&scratch, &new, &request(&new, ["p:projects"])).unwrap_err();
    assert!(error.to_string().contains("projects/b"), "{error}");
    assert_eq!(scratch.snapshot("data"), before);
}

#[test]
fn lfs_pointers_fail_with_their_name() {
    let scratch = Scratch::new();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
    let commit = Commit::of([("p/a", "1"), ("p/big.bin", pointer)]);
    let error = sync(&scratch, &commit, &request(&commit, ["p:projects"])).unwrap_err();
    assert!(error.to_string().contains("projects/big.bin"), "{error}");
    assert!(!scratch.exists("data/projects"));
}

#[test]
fn links_and_submodules_are_skipped_and_named_again_by_every_run() {
    let scratch = Scratch::new();
    let files = BTreeMap::from([
        (b"p/a".to_vec(), (Kind::File, b"1".to_vec())),
        (b"p/deep/link".to_vec(), (Kind::Symlink, b"/etc/passwd".to_vec())),
        (b"p/module".to_vec(), (Kind::Submodule, Vec::new())),
    ]);
    let commit = Commit::from_files(&files);
    for _ in 0..2 {
        let report = sync(&scratch, &commit, &request(&commit, ["p:projects"])).unwrap();
        let codes: Vec<_> = report.warnings.iter().map(|warning| warning.code.as_str()).collect();
        assert_eq!(codes, ["SymlinkSkipped", "SubmoduleSkipped"]);
    }
    assert!(!scratch.exists("data/projects/deep") && !scratch.exists("data/projects/module"));
    // R18, R19
    for source in ["p/deep/link", "p/deep/link/x"] {
        let refused = sync(&scratch, &commit, &request(&commit, [&format!("{source}:projects")]));
        assert!(refused.is_err() && scratch.exists("data/projects/a"));
    }
}

#[test]
fn a_plan_tells_by_which_mapping_files_go_and_where_the_source_had_them() {
    let scratch = Scratch::new();
    let old = Commit::of([("p/a/x", "1"), ("p/b/y", "2"), ("q/z", "3"), ("gone/w", "4")]);
    let maps = ["p:projects", "q/z:config/z", "gone:other"];
    sync(&scratch, &old, &request(&old, maps)).unwrap();
    scratch.write("data/projects/a/foreign", "by hand");
    let new = Commit::of([("p/b/y", "2"), ("q/z", "3")]);
    // Another order, and one mapping less.
    let wanted = looking(unlimited(request(&new, ["q/z:config/z", "p:projects"])), Look::Stat);
    let plan = scratch.engine().plan(&mut new.clone(), &wanted, &crate::Cancel::default()).unwrap();
    let told = |change: &crate::plan::Change| {
        let source = change.source.as_ref().map(ToString::to_string);
        (change.path.to_string(), change.mapping, source)
    };
    let gone: Vec<_> = plan.changes.iter().map(told).collect();
    assert_eq!(
        gone,
        [
            ("other/w".into(), None, None),
            ("projects/a/foreign".into(), Some(1), None),
            ("projects/a/x".into(), Some(1), Some("p/a/x".into())),
        ]
    );
}

#[test]
fn a_plan_refuses_the_pointers_that_its_write_would_and_reads_small_files_only() {
    let scratch = Scratch::new();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 7\n";
    let large = pointer.repeat(20);
    let commit =
        Commit::of([("p/a", "1"), ("p/image.png", pointer), ("p/large", &large), ("p/z", "z")]);
    let plan = |commit: &Commit| {
        let wanted = request(commit, ["p:projects"]);
        scratch.engine().plan(&mut commit.clone(), &wanted, &crate::Cancel::default()).unwrap()
    };
    let mut source = commit.clone();
    let error = plan(&commit).refuse_pointers(&mut source).unwrap_err();
    assert!(
        error.to_string().starts_with("\"projects/image.png\" is a Git LFS pointer"),
        "{error}"
    );
    assert_eq!(source.read, 1, "only what has the size of a pointer is read");
    let fine = Commit::of([("p/large", &large), ("p/z", "z")]);
    plan(&fine).refuse_pointers(&mut fine.clone()).unwrap();
}
