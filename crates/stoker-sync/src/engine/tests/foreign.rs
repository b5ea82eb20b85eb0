//! Claims about files that no sync brought: few of them go, many of them or a project's stay.

use super::*;
use crate::request::{Deletion, Origin};

const MAPS: [&str; 1] = ["p:projects"];

fn commit() -> Commit {
    Commit::of([("p/line1/project.json", "{}"), ("p/line1/views/a", "1"), ("p/line2/x", "2")])
}

fn asked(commit: &Commit, check: DriftCheck) -> Request {
    checking(request(commit, MAPS), check)
}

// R80: it is not listed among the projects that were synced.
#[test]
fn a_project_made_on_the_gateway_stays_until_its_deletion_is_confirmed() {
    let scratch = Scratch::new();
    let commit = commit();
    sync(&scratch, &commit, &asked(&commit, DriftCheck::Stat)).unwrap();
    for path in ["project.json", "views/b"] {
        scratch.write(format!("data/projects/line3/{path}"), "made here");
    }
    // Litter stays with it: one of them is enough for all.
    scratch.write("data/projects/line1/litter", "x");
    let kept = ["projects/line1/litter", "projects/line3/project.json", "projects/line3/views/b"];
    let mut state = None;
    for check in [DriftCheck::Stat, DriftCheck::Content, DriftCheck::Touched, DriftCheck::Stat] {
        let report = sync(&scratch, &commit, &asked(&commit, check)).unwrap();
        assert_eq!(codes(&report), ["ForeignFilesKept"], "{check:?}");
        assert_eq!(report.foreign_kept.count, 3);
        assert_eq!(strings(&report.foreign_kept.paths), kept);
        assert_eq!((report.deleted.count, report.drift.len()), (0, 0));
        let now = scratch.state();
        assert_eq!(*state.get_or_insert(now.clone()), now, "nothing new, nothing written");
    }
    // Another commit is applied, checks only what it touches, and still reports them.
    let next = Commit::of([("p/line1/project.json", "{1}"), ("p/line1/views/a", "1")]);
    let report = sync(&scratch, &next, &asked(&next, DriftCheck::Touched)).unwrap();
    assert_eq!(codes(&report), ["ForeignFilesKept"]);
    assert_eq!(report.projects, ["line1", "line2"]);
    assert_eq!(scratch.read("data/projects/line1/project.json"), "{1}");
    assert_eq!(scratch.read("data/projects/line3/views/b"), "made here");
    // A confirmed run deletes them, even if it checks only what it touches.
    let confirmed = unlimited(asked(&next, DriftCheck::Touched));
    let report = sync(&scratch, &next, &confirmed).unwrap();
    assert_eq!(strings(&report.deleted.paths), kept);
    assert_eq!((codes(&report), report.foreign_kept.count), (vec![], 0));
    assert!(!scratch.exists("data/projects/line3"));
}

#[test]
fn fewer_than_ten_go_and_ten_stay_with_all_others() {
    for (count, goes) in [(9, true), (10, false), (4962, false)] {
        let scratch = Scratch::new();
        let commit = commit();
        sync(&scratch, &commit, &asked(&commit, DriftCheck::Stat)).unwrap();
        for number in 0..count {
            scratch.write(format!("data/projects/line1/views/{number:04}"), "f");
        }
        let report = sync(&scratch, &commit, &asked(&commit, DriftCheck::Stat)).unwrap();
        assert_eq!(report.deleted.count, if goes { count } else { 0 });
        assert_eq!(report.foreign_kept.count, if goes { 0 } else { count });
        assert!(report.foreign_kept.paths.len() <= 10);
        assert_eq!(scratch.exists("data/projects/line1/views/0000"), !goes);
    }
}

#[test]
fn a_first_sync_keeps_what_was_there_before_it() {
    let scratch = Scratch::new();
    scratch.write("data/projects/legacy/project.json", "{}");
    let commit = commit();
    let report = sync(&scratch, &commit, &asked(&commit, DriftCheck::Stat)).unwrap();
    assert_eq!((codes(&report), report.added.count), (vec!["ForeignFilesKept"], 3));
    assert!(scratch.exists("data/projects/legacy/project.json"));
    // By hand, they are gone: so is the warning.
    scratch.remove("data/projects/legacy/project.json");
    let report = sync(&scratch, &commit, &asked(&commit, DriftCheck::Stat)).unwrap();
    assert_eq!((codes(&report), report.foreign_kept.count), (vec![], 0));
    let state = scratch.state();
    sync(&scratch, &commit, &asked(&commit, DriftCheck::Stat)).unwrap();
    assert_eq!(scratch.state(), state);
}

#[test]
fn what_a_removed_project_still_holds_stays_and_our_own_files_go() {
    let scratch = Scratch::new();
    let commit = commit();
    sync(&scratch, &commit, &asked(&commit, DriftCheck::Stat)).unwrap();
    scratch.write("data/projects/line2/made-here", "f");
    let next = Commit::of([("p/line1/project.json", "{}"), ("p/line1/views/a", "1")]);
    for check in [DriftCheck::Touched, DriftCheck::Stat] {
        let report = sync(&scratch, &next, &asked(&next, check)).unwrap();
        assert_eq!(strings(&report.foreign_kept.paths), ["projects/line2/made-here"]);
        assert!(!scratch.exists("data/projects/line2/x"));
        assert!(scratch.exists("data/projects/line2/made-here"));
    }
}

#[test]
fn a_profile_that_allows_every_deletion_confirms_these_too() {
    let scratch = Scratch::new();
    let commit = commit();
    scratch.write("data/projects/line3/x", "f");
    let wanted = Request { deletion: Deletion::Percent(100), ..asked(&commit, DriftCheck::Stat) };
    sync(&scratch, &commit, &wanted).unwrap();
    assert!(!scratch.exists("data/projects/line3"));
}

fn from(repository: &str, reference: &str, process: &str) -> Origin {
    let [repository, reference, process] = [repository, reference, process].map(str::to_owned);
    Origin { repository, reference, process }
}

#[test]
fn another_repository_may_not_remove_the_files_of_the_last_one_unasked() {
    let scratch = Scratch::new();
    let (one, other) = (Commit::of([("p/a/x", "1"), ("p/b/y", "2")]), Commit::of([("p/a/x", "3")]));
    let ask = |commit: &Commit, repository: &str| Request {
        origin: Some(Box::new(from(repository, "main", "pid 1"))),
        ..asked(commit, DriftCheck::Stat)
    };
    sync(&scratch, &one, &ask(&one, "https://git.example/one.git")).unwrap();
    let before = scratch.snapshot("data");
    let refused = refusal(sync(&scratch, &other, &ask(&other, "https://git.example/other")));
    let plan::Error::OtherRepository { last, now, files } = refused else { panic!("{refused:?}") };
    let repositories = ["https://git.example/one.git", "https://git.example/other"];
    assert_eq!(([&*last, &*now], files), (repositories, 1));
    assert_eq!(scratch.snapshot("data"), before);
    // The same one by another spelling, one that is not said, and one that removes nothing.
    let more = Commit::of([("p/a/x", "1"), ("p/b/y", "2"), ("p/c/z", "3")]);
    sync(&scratch, &more, &ask(&more, "https://git.example/third")).unwrap();
    sync(&scratch, &one, &ask(&one, "https://git.example/third.git/")).unwrap();
    sync(&scratch, &other, &unlimited(ask(&other, "https://git.example/other"))).unwrap();
    sync(&scratch, &one, &asked(&one, DriftCheck::Stat)).unwrap();
    let last = scratch.engine().view.manifest.header().origin.clone().unwrap();
    assert_eq!(last.repository, "https://git.example/other");
}

#[test]
fn another_ref_of_another_process_is_reported_if_it_changes_files() {
    let scratch = Scratch::new();
    let (one, other) = (Commit::of([("p/a/x", "1")]), Commit::of([("p/a/x", "2")]));
    let run = |commit: &Commit, reference: &str, process: &str| {
        let origin = Some(Box::new(from("https://git.example/one", reference, process)));
        let report = sync(&scratch, commit, &Request { origin, ..asked(commit, DriftCheck::Stat) });
        codes(&report.unwrap())
    };
    assert_eq!(run(&one, "main", "pid 1 on a"), [""; 0]);
    assert_eq!(run(&other, "v2", "pid 2 on a"), ["OtherSource"]);
    assert_eq!(run(&other, "main", "pid 1 on a"), [""; 0], "nothing changes");
    assert_eq!(run(&one, "main", "pid 1 on a"), ["OtherSource"]);
    assert_eq!(run(&other, "main", "pid 3 on a"), [""; 0], "the same ref");
    assert_eq!(run(&one, "v3", "pid 3 on a"), [""; 0], "the same process");
}
