//! Claims about whole runs, on a real disk.

mod absent_source;
mod deletion;
mod drift;
mod early_check;
mod follow;
mod foreign;
mod overlap;
mod ownership;
mod properties;
mod report;

use crate::plan::DriftKind;
use crate::request::{DriftCheck, DriftPolicy, Presence, Prune};
use crate::source::Kind;
use crate::testing::{Commit, Scratch, checking, map, refusal, request, strings, sync, unlimited};
use crate::{RelPath, Report, Request, View, compose, plan, write};

fn codes(report: &Report) -> Vec<&'static str> {
    report.warnings.iter().map(|warning| warning.code.as_str()).collect()
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
    for check in [DriftCheck::Touched, DriftCheck::Stat, DriftCheck::Content] {
        let report = sync(&scratch, &commit, &checking(request.clone(), check)).unwrap();
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
    let report = written.apply(&mut || {}).unwrap();
    assert_eq!(strings(&report.modified.paths), ["projects/a/two"]);
    assert_eq!(report.unchanged, 3);
    assert_eq!(scratch.read("data/projects/a/two"), "new");
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

#[test]
fn modes_follow_git_and_a_change_of_mode_alone_is_applied() {
    let scratch = Scratch::new();
    let [plain, executable] =
        [Kind::File, Kind::Executable].map(|kind| Commit::of_kinds([("p/run.sh", kind, "#!")]));
    sync(&scratch, &plain, &request(&plain, ["p:scripts"])).unwrap();
    assert_eq!(scratch.mode("data/scripts/run.sh"), 0o644);
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

// R54
#[test]
fn all_lfs_pointers_are_named_and_nothing_is_written() {
    let pointer = |n: u8| format!("version https://git-lfs.github.com/spec/v1\noid {n}\nsize 1\n");
    let [one, two, large] = [pointer(1), pointer(2), pointer(3).repeat(20)];
    let scratch = Scratch::new();
    let commit =
        Commit::of([("p/a", "1"), ("p/z.png", &one), ("p/b/c.png", &two), ("p/large", &large)]);
    let wanted = request(&commit, ["p:projects"]);
    let mut source = commit.clone();
    let planned = scratch.plan(&commit, &wanted).refuse_pointers(&mut source).unwrap_err();
    assert_eq!(source.read, 2, "only what has the size of a pointer is read");
    for error in [planned, refusal(sync(&scratch, &commit, &wanted))] {
        let write::Error::LfsPointers { paths } = error else { panic!("{error:?}") };
        assert_eq!(strings(&paths), ["projects/b/c.png", "projects/z.png"]);
    }
    assert!(!scratch.exists("data/projects"));
    let fine = Commit::of([("p/large", &large), ("p/z", "z")]);
    let wanted = request(&fine, ["p:projects"]);
    scratch.plan(&fine, &wanted).refuse_pointers(&mut fine.clone()).unwrap();
}

#[test]
fn a_source_that_is_spelled_wrong_gets_a_suggestion() {
    let scratch = Scratch::new();
    let commit = Commit::of([("services/site/projects/a", "1"), ("Shared/x", "2")]);
    for (source, nearest) in [
        ("service/site/projects", Some("services/site/projects")),
        ("services/site/project", Some("services/site/projects")),
        ("services/stie/nothing", Some("services/site")),
        ("shared", Some("Shared")),
        ("services/site/views", None),
        ("elsewhere", None),
    ] {
        let map = format!("{source}:projects");
        let error = refusal(sync(&scratch, &commit, &request(&commit, [&map])));
        let plan::Error::Compose { source: compose::Error::SourceMissing { path, nearest: found } } =
            error
        else {
            panic!("{error:?}")
        };
        let found = found.map(|found| found.to_string());
        assert_eq!((path.to_string().as_str(), found.as_deref()), (source, nearest));
    }
}

// F19
// R18, R19: a link is not a source either, nor is what lies behind one.
#[test]
fn links_and_submodules_are_skipped_and_named_again_by_every_run() {
    let scratch = Scratch::new();
    let commit = Commit::of_kinds([
        ("p/a", Kind::File, "1"),
        ("p/deep/link", Kind::Symlink, "/etc/passwd"),
        ("p/module", Kind::Submodule, ""),
    ]);
    for _ in 0..2 {
        let report = sync(&scratch, &commit, &request(&commit, ["p:projects"])).unwrap();
        assert_eq!(codes(&report), ["SymlinkSkipped", "SubmoduleSkipped"]);
    }
    assert!(!scratch.exists("data/projects/deep") && !scratch.exists("data/projects/module"));
    for source in ["p/deep/link", "p/deep/link/x"] {
        let mut wanted = request(&commit, [&*format!("{source}:projects")]);
        let refused = sync(&scratch, &commit, &wanted);
        assert!(refused.is_err() && scratch.exists("data/projects/a"), "{source}");
        // That a source may be absent does not make a link one that empties its destination.
        wanted.mappings[0].presence = Presence::Optional;
        sync(&scratch, &commit, &wanted).ok();
        assert!(scratch.exists("data/projects/a"), "{source}");
    }
}

#[test]
fn a_plan_names_the_mapping_and_the_source_of_deleted_files() {
    let scratch = Scratch::new();
    let old = Commit::of([("p/a/x", "1"), ("p/b/y", "2"), ("q/z", "3"), ("gone/w", "4")]);
    let maps = ["p:projects", "q/z:config/z", "gone:other"];
    sync(&scratch, &old, &request(&old, maps)).unwrap();
    scratch.write("data/projects/a/foreign", "by hand");
    let new = Commit::of([("p/b/y", "2"), ("q/z", "3")]);
    // Another order, and one mapping less.
    let wanted =
        checking(unlimited(request(&new, ["q/z:config/z", "p:projects"])), DriftCheck::Stat);
    let plan = scratch.plan(&new, &wanted);
    let told = |change: &crate::plan::Change| {
        let source = change.source.as_ref().map(ToString::to_string);
        (change.path.to_string(), change.mapping, source)
    };
    let gone: Vec<_> = plan.changes.iter().map(told).collect();
    assert_eq!(
        gone,
        [
            ("other/w".into(), None, Some("gone/w".into())),
            ("projects/a/foreign".into(), Some(1), None),
            ("projects/a/x".into(), Some(1), Some("p/a/x".into())),
        ]
    );
}

// A run replaces segments of the manifest while a `View` opens them one by one.
#[test]
fn a_look_beside_a_run_sees_the_record_of_one_or_the_other() {
    let scratch = Scratch::new();
    let [one, other] = ["1", "2"].map(|text| Commit::of([("p/a", text), ("p/b", "x")]));
    let ask = |commit: &Commit| request(commit, ["p:projects"]);
    sync(&scratch, &one, &ask(&one)).unwrap();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            for commit in [&other, &one].into_iter().cycle().take(600) {
                sync(&scratch, commit, &ask(commit)).unwrap();
            }
        });
        while !run.is_finished() {
            let view = View::open(&scratch.options().data).unwrap();
            assert_eq!(view.notices(), [], "{:?}", view.commit());
        }
    });
}
