//! Claims about runs of which a part could not be done: foreign files are not lost, and the next
//! run does the rest (A6).

use rustix::io::Errno;

use super::{apply_under, commits, expected, prepared, wanted};
use crate::Request;
use crate::apply::Error;
use crate::disk::fault::{self, CallKind, Fault};
use crate::request::{DriftCheck, Prune};
use crate::source::Kind;
use crate::testing::{Commit, Scratch, checking, request, strings, sync, write_then};

/// The journal has its name and is durable; then the first change of a live file is denied.
const DENIED: Fault = Fault::Once { at: 2, errno: Errno::ACCESS };

/// Files by their paths, each with its path in it.
fn holding(paths: impl IntoIterator<Item = String>) -> Commit {
    let file = |path: String| (path.clone().into_bytes(), (Kind::File, path.into_bytes()));
    Commit::from_files(&paths.into_iter().map(file).collect())
}

/// A request that checks every managed file.
fn pruning(commit: &Commit, prune: Prune) -> Request {
    let mut request = checking(wanted(commit), DriftCheck::Stat);
    request.mappings[0].prune = prune;
    request
}

#[test]
fn a_directory_that_arrived_in_part_is_brought_by_the_next_run() {
    let (old, new) = commits();
    let scratch = prepared(Some(&old));
    let hindered = write_then(&scratch, &new, &wanted(&new), |written| {
        scratch.write("data/projects/fresh/deep", "in the way");
        written.apply(&mut || {})
    });
    let Err(Error::Incomplete { failed, report }) = hindered else { panic!("{hindered:?}") };
    let named = failed.iter().map(|error| error.path().to_string()).collect::<Vec<_>>();
    assert!(named.contains(&"projects/fresh/deep".to_owned()), "{named:?}");
    let added = strings(&report.added.paths);
    assert!(!added.iter().any(|path| path.starts_with("projects/fresh")), "{added:?}");
    // What is in the way is not ours, though it is where something of ours should be.
    sync(&scratch, &new, &wanted(&new)).unwrap_err();
    assert_eq!(scratch.read("data/projects/fresh/deep"), "in the way");
    scratch.remove("data/projects/fresh/deep");
    sync(&scratch, &new, &wanted(&new)).unwrap();
    assert_eq!(scratch.snapshot("data"), expected(&new));
}

#[test]
fn deletions_that_failed_are_made_up_for_and_are_no_mass_deletion() {
    let keep = || (0..200).map(|number| format!("p/keep/{number}"));
    let old = holding(keep().chain((0..60).map(|number| format!("p/gone/{number}"))));
    let new = holding(keep());
    let scratch = Scratch::new();
    let ask = |commit: &Commit| request(commit, ["p:projects"]);
    sync(&scratch, &old, &ask(&old)).unwrap();
    let failed = apply_under(DENIED, &scratch, &new, &ask(&new));
    let Err(Error::Incomplete { failed, .. }) = failed else { panic!("{failed:?}") };
    assert_eq!(failed.len(), 60);
    sync(&scratch, &new, &ask(&new)).unwrap();
    assert!(!scratch.exists("data/projects/gone"));
}

// A9: nothing is done below a link, and the link is foreign.
#[test]
fn what_went_together_with_its_directory_is_gone() {
    let old = Commit::of([("p/a/x", "1"), ("p/b", "2")]);
    let new = Commit::of([("p/b", "2")]);
    for (prune, is_left) in [(Prune::Foreign, false), (Prune::OwnOnly, true)] {
        let scratch = Scratch::new();
        scratch.write("outside/x", "canary");
        let ask = |commit: &Commit| pruning(commit, prune);
        sync(&scratch, &old, &ask(&old)).unwrap();
        scratch.replace_by_link("data/projects/a", "../../outside");
        for _ in 0..3 {
            sync(&scratch, &new, &ask(&new)).unwrap();
        }
        assert_eq!(scratch.exists("data/projects/a"), is_left, "{prune:?}");
        assert_eq!(scratch.read("outside/x"), "canary");
    }
}

#[test]
fn a_foreign_file_that_could_not_be_deleted_does_not_become_ours() {
    let commit = Commit::of([("p/a", "1")]);
    let ask = |prune| pruning(&commit, prune);
    let scratch = Scratch::new();
    sync(&scratch, &commit, &ask(Prune::Foreign)).unwrap();
    scratch.write("data/projects/foreign", "somebody's");
    let failed = apply_under(DENIED, &scratch, &commit, &ask(Prune::Foreign));
    assert!(matches!(failed, Err(Error::Incomplete { .. })), "{failed:?}");
    sync(&scratch, &commit, &ask(Prune::OwnOnly)).unwrap();
    assert_eq!(scratch.read("data/projects/foreign"), "somebody's");
}

#[test]
fn a_file_that_could_not_be_placed_leaves_the_foreign_one_foreign() {
    let old = Commit::of([("p/a", "1")]);
    // A file by itself, and one with its directory.
    for new in ["p/x", "p/d/x"].map(|path| Commit::of([("p/a", "1"), (path, "git's")])) {
        let scratch = Scratch::new();
        let ask = |commit: &Commit| pruning(commit, Prune::OwnOnly);
        sync(&scratch, &old, &ask(&old)).unwrap();
        let failed = apply_under(DENIED, &scratch, &new, &ask(&new));
        assert!(matches!(failed, Err(Error::Incomplete { .. })), "{failed:?}");
        for path in ["data/projects/x", "data/projects/d/x"] {
            scratch.write(path, "somebody's");
        }
        // The commit is taken back.
        sync(&scratch, &old, &ask(&old)).unwrap();
        for path in ["data/projects/x", "data/projects/d/x"] {
            assert_eq!(scratch.read(path), "somebody's");
        }
    }
}

#[test]
fn what_was_done_before_a_failure_is_reported() {
    let old = Commit::of([("p/d/x", "1"), ("p/d/y", "2"), ("p/z", "3")]);
    let new = Commit::of([("p/d", "file"), ("p/z", "3")]);
    let scratch = Scratch::new();
    sync(&scratch, &old, &wanted(&old)).unwrap();
    let hindered = write_then(&scratch, &new, &wanted(&new), |written| {
        scratch.write("data/projects/d/foreign", "somebody's");
        written.apply(&mut || {})
    });
    let Err(Error::Incomplete { failed, report }) = hindered else { panic!("{hindered:?}") };
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!((report.deleted.count, report.added.count), (2, 0), "{report:?}");
    assert_eq!(report.projects, ["d"]);
}

// R26
#[test]
fn a_directory_that_another_process_made_meanwhile_gets_its_payload_first() {
    let payload = (0..12).map(|number| format!("p/fresh/data{number}.bin"));
    let new = holding(payload.chain(["p/fresh/resource.json".to_owned(), "p/z".to_owned()]));
    let scratch = prepared(Some(&holding(["p/z".to_owned()])));
    let (done, steps) = write_then(&scratch, &new, &wanted(&new), |written| {
        scratch.write("data/projects/fresh/own", "o");
        fault::under(None, || written.apply(&mut || {}))
    });
    done.unwrap();
    let moved = steps.iter().filter_map(|step| step.to.as_ref()).map(ToString::to_string);
    let moved: Vec<String> = moved.filter(|to| to.starts_with("projects/fresh/")).collect();
    assert_eq!(moved.len(), 13, "{moved:?}");
    assert_eq!(moved[12], "projects/fresh/resource.json");
}

// A3: a deletion that a killed run has made counts only once it is durable.
#[test]
fn what_is_found_deleted_is_made_durable_all_the_same() {
    let old = Commit::of([("p/k/x", "1"), ("p/k/y", "2")]);
    let new = Commit::of([("p/k/y", "2")]);
    let scratch = prepared(Some(&old));
    apply_under(Fault::Crash { at: 3 }, &scratch, &new, &wanted(&new)).unwrap_err();
    assert!(!scratch.exists("data/projects/k/x"), "it died after the deletion");
    let ((), again) = fault::under(None, || drop(scratch.engine()));
    let is_synced =
        |step: &fault::RecordedCall| step.kind == CallKind::Fsync && *step.path == *b"projects/k";
    let is_commit = |step: &fault::RecordedCall| {
        step.kind == CallKind::Rename && *step.path == *b".stoker/journal"
    };
    let (synced, commit) = (again.iter().position(is_synced), again.iter().position(is_commit));
    assert!(synced.is_some() && synced < commit, "{again:?}");
}
