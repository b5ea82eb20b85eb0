//! Claims about writing and about what lies between writing and the change.

mod source;

use proptest::prelude::*;

use crate::halves::Halves;
use crate::request::{DriftCheck, ScanTracking};
use crate::source::{Entry, Kind, ObjectId, Sink, Source};
use crate::testing::{
    Commit, Files, Live, Scratch, checking, request, sync, unlimited, write_then,
};
use crate::{Cancel, Request};

#[test]
fn before_the_change_all_is_written_and_nothing_is_seen() {
    let scratch = Scratch::new();
    let old = Commit::of([("p/a/x", "1"), ("p/b/y", "2"), ("p/c/z", "3")]);
    sync(&scratch, &old, &request(&old, ["p:projects"])).unwrap();
    let new = Commit::of([("p/a/x", "new"), ("p/b/y", "new"), ("p/c/z", "new"), ("p/d/w", "new")]);
    write_then(&scratch, &new, &request(&new, ["p:projects"]), |written| {
        assert_eq!(written.halves(), Halves { projects: true, config: false });
        let before = scratch.snapshot("data");
        let staged = before.keys().filter(|path| path.starts_with(b".sync-staging/")).count();
        assert_eq!(staged, 5, "{before:?}");
        assert!(!before.contains_key(&b"projects/d"[..]));
        let mut renewals = 0;
        written.apply(&mut || renewals += 1).unwrap();
        assert_eq!(renewals, 3, "between the directories projects, a, b and c");
    });
    assert_eq!(scratch.read("data/projects/c/z"), "new");
}

// R82: also what another program left there, the Go operator's agent for one.
#[test]
fn leftovers_in_the_staging_directory_are_removed() {
    let scratch = Scratch::new();
    let commit = Commit::of([("p/a", "1")]);
    scratch.write("data/.sync-staging/projects/old/project.json", "{}");
    sync(&scratch, &commit, &request(&commit, ["p:projects"])).unwrap();
    assert!(!scratch.exists("data/.sync-staging"));
    scratch.write("data/.sync-staging/leftover", "x");
    sync(&scratch, &commit, &request(&commit, ["p:projects"])).unwrap();
    assert!(!scratch.exists("data/.sync-staging"), "also by a run that changes nothing");
}

#[test]
fn a_change_that_is_not_applied_leaves_nothing_behind() {
    let scratch = Scratch::new();
    let old = Commit::of([("p/a", "1")]);
    sync(&scratch, &old, &request(&old, ["p:projects"])).unwrap();
    let (before, state) = (scratch.snapshot("data"), scratch.state().len());
    let new = Commit::of([("p/a", "2"), ("p/b/c", "3")]);
    let (cancel, mut source) = (Cancel::default(), new.clone());
    let mut engine = scratch.engine();
    let plan = engine.plan(&mut source, &request(&new, ["p:projects"]), &cancel).unwrap();
    drop(engine.write(plan, &mut source, &cancel).unwrap());
    assert_eq!(scratch.snapshot("data"), before);
    assert_eq!(scratch.state().len(), state);
    // The same engine can try again.
    let plan = engine.plan(&mut source, &request(&new, ["p:projects"]), &cancel).unwrap();
    engine.write(plan, &mut source, &cancel).unwrap().apply(&mut || {}).unwrap();
    assert_eq!(scratch.read("data/projects/b/c"), "3");
}

// A8: what another process made there meanwhile is merged, not replaced.
#[test]
fn a_directory_that_appears_meanwhile_is_joined() {
    let scratch = Scratch::new();
    let commit = Commit::of([("p/new/x", "1"), ("p/new/deep/y", "2"), ("p/old", "3")]);
    write_then(&scratch, &commit, &request(&commit, ["p:projects"]), |written| {
        scratch.write("data/projects/new/deep/theirs", "t");
        scratch.write("data/projects/new/x", "theirs");
        written.apply(&mut || {}).unwrap();
    });
    for (path, content) in
        [("new/x", "1"), ("new/deep/y", "2"), ("new/deep/theirs", "t"), ("old", "3")]
    {
        assert_eq!(scratch.read(format!("data/projects/{path}")), content);
    }
}

#[test]
fn owed_scans_are_remembered_until_they_are_settled() {
    let scratch = Scratch::new();
    let commit = Commit::of([("p/a", "1"), ("c/b", "2"), ("x", "3")]);
    let owing =
        |maps: [&str; 2]| Request { scan_tracking: ScanTracking::On, ..request(&commit, maps) };
    sync(&scratch, &commit, &owing(["p:projects", "x:etc/x"])).unwrap();
    let projects = Halves { projects: true, config: false };
    assert_eq!(scratch.engine().view().owed(), projects);
    sync(&scratch, &commit, &owing(["p:projects", "c:config/x"])).unwrap();
    let mut engine = scratch.engine();
    let both = Halves { projects: true, config: true };
    assert_eq!(engine.view().owed(), both);
    engine.record_scanned(projects).unwrap();
    assert_eq!(engine.view().owed(), Halves { projects: false, config: true });
    drop(engine);
    let mut engine = scratch.engine();
    engine.record_scanned(both).unwrap();
    assert!(engine.view().owed().is_none());
    drop(engine);
    sync(&scratch, &commit, &owing(["p:projects", "c:config/x"])).unwrap();
    assert!(scratch.engine().view().owed().is_none());
}

#[test]
fn many_small_runs_keep_the_manifest_small_and_true() {
    let scratch = Scratch::new();
    for round in 0..60 {
        let (content, name) = (format!("{round}"), format!("p/dir{}/file", round % 7));
        let commit = Commit::of([(name.as_str(), content.as_str()), ("p/same", "same")]);
        let wanted = unlimited(request(&commit, ["p:projects"]));
        sync(&scratch, &commit, &wanted).unwrap();
        let report = sync(&scratch, &commit, &checking(wanted, DriftCheck::Content)).unwrap();
        assert!(report.drift.is_empty() && report.unchanged == 2, "{report:?}");
        assert!(scratch.state().len() < 25);
    }
}

// A8
#[test]
fn a_gateway_that_writes_and_deletes_meanwhile_never_fails_a_run() {
    let scratch = Scratch::new();
    let commits = ["1", "2"].map(|content| {
        Commit::of([("p/a/x", content), ("p/a/y", content), ("p/b/z", content), ("p/same", "s")])
    });
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let relaxed = std::sync::atomic::Ordering::Relaxed;
            while !done.load(relaxed) {
                scratch.harass("data/projects/a");
                scratch.harass("data/projects/b");
            }
        });
        for round in 0..500 {
            let commit = &commits[round % 2];
            let wanted = unlimited(request(commit, ["p:projects"]));
            sync(&scratch, commit, &wanted).unwrap();
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let wanted = unlimited(request(&commits[1], ["p:projects"]));
    sync(&scratch, &commits[1], &checking(wanted, DriftCheck::Content)).unwrap();
    assert_eq!(scratch.read("data/projects/a/x"), "2");
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 500, ..ProptestConfig::default() })]

    // A9: whatever links are in the live tree, nothing outside is made, changed or read.
    #[test]
    fn links_in_the_live_tree_lead_nowhere(
        links in prop::collection::vec((0..8usize, 0..6usize), 1..6),
        is_known in any::<bool>(),
    ) {
        const PLACES: [&str; 8] =
            ["projects", "projects/a", "projects/a/b", "projects/a/x", "projects/a/b/y", "projects/z", "projects/n", "projects/a/n/m"];
        const TARGETS: [&str; 6] =
            ["../../outside", "/proc/self/cwd", "../../../outside/canary", "..", "nowhere", "."];
        let scratch = Scratch::new();
        scratch.write("outside/canary", "canary");
        scratch.write("outside/x", "canary");
        scratch.chmod("outside/x", 0o600);
        scratch.make_dir("data");
        let outside = scratch.snapshot("outside");
        let commit = Commit::of([("p/a/x", "1"), ("p/a/b/y", "2"), ("p/z", "3")]);
        let wanted = checking(unlimited(request(&commit, ["p:projects"])), DriftCheck::Stat);
        if is_known {
            sync(&scratch, &commit, &wanted).unwrap();
        }
        for (place, target) in links {
            scratch.replace_by_link(&format!("data/{}", PLACES[place]), TARGETS[target]);
        }
        let done = sync(&scratch, &commit, &wanted);
        prop_assert_eq!(scratch.snapshot("outside"), outside);
        prop_assert_eq!(scratch.mode("outside/x"), 0o600);
        if done.is_ok() {
            let files = scratch.files("data");
            let wanted = [("projects/a/x", "1"), ("projects/a/b/y", "2"), ("projects/z", "3")];
            let wanted = wanted.map(|(path, content)| {
                let content = content.as_bytes().to_vec();
                (path.as_bytes().to_vec(), Live::File { content, is_executable: false })
            });
            prop_assert_eq!(files, wanted.into());
        }
    }
}

/// So many files that they are written by a thread of their own, a large one among them.
fn many() -> Files {
    let file = |n: usize| {
        let content = if n == 1_700 { vec![b'x'; 700_000] } else { n.to_string().into_bytes() };
        (format!("p/{}/f{n}", n % 7).into_bytes(), (Kind::File, content))
    };
    (0..2_500).map(file).collect()
}

#[test]
fn many_files_are_written_as_few_are() {
    let scratch = Scratch::new();
    let commit = Commit::from_files(&many());
    let report = sync(&scratch, &commit, &request(&commit, ["p:projects"])).unwrap();
    assert_eq!(report.added.count, 2_500);
    for (path, (_, content)) in many() {
        let path = format!("data/projects/{}", str::from_utf8(&path[2..]).unwrap());
        assert_eq!(scratch.read(&path).as_bytes(), content, "{path}");
    }
}

#[test]
fn a_wrong_file_among_many_undoes_them_all() {
    let scratch = Scratch::new();
    for wrong in ["7", "1699", &"x".repeat(700_000), "2499"] {
        let mut commit = Commit::from_files(&many());
        commit.corrupt(wrong);
        let error = sync(&scratch, &commit, &request(&commit, ["p:projects"])).unwrap_err();
        assert!(error.to_string().contains("is not blob"), "{error}");
        assert!(!scratch.exists("data/projects") && !scratch.exists("data/.sync-staging"));
    }
}
