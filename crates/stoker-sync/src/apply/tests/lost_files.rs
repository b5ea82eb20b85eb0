//! Claims about runs whose own files are taken away or torn.

use super::{apply_under, commits, expected, prepared, wanted};
use crate::Request;
use crate::apply::Error;
use crate::disk::fault::Fault;
use crate::halves::Halves;
use crate::request::ScanTracking;
use crate::testing::{Commit, Scratch, sync, write_then};
use crate::warning::WarningCode;

/// The journal counts, and then nothing more happens.
const AFTER_JOURNAL: Fault = Fault::Crash { at: 2 };

fn take_stage(scratch: &Scratch) {
    scratch.rename("data/.sync-staging", "taken");
}

#[test]
fn what_vanished_before_it_was_placed_is_named_and_brought_by_the_next_run() {
    let (old, new) = commits();
    let scratch = prepared(Some(&old));
    let robbed = write_then(&scratch, &new, &wanted(&new), |written| {
        take_stage(&scratch);
        written.apply(&mut || {})
    });
    let error = robbed.unwrap_err();
    let Error::Incomplete { failed, report } = error else { panic!("{error:?}") };
    let named: Vec<String> = failed.iter().map(|error| error.path().to_string()).collect();
    assert!(named.iter().any(|path| path == "projects/a/view.json"), "{named:?}");
    assert!(named.iter().any(|path| path == "projects/fresh"), "{named:?}");
    assert_eq!((report.added.count, report.modified.count), (0, 0), "{report:?}");
    assert!(report.deleted.count > 0, "{report:?}");
    let report = sync(&scratch, &new, &wanted(&new)).unwrap();
    assert_eq!(report.warnings, [], "nobody else has changed anything");
    assert_eq!(scratch.snapshot("data"), expected(&new));
}

#[test]
fn a_killed_run_whose_stage_is_gone_is_not_taken_for_done() {
    let (old, new) = commits();
    let scratch = prepared(Some(&old));
    apply_under(AFTER_JOURNAL, &scratch, &new, &wanted(&new)).unwrap_err();
    take_stage(&scratch);
    let engine = scratch.engine();
    let told = engine.view().notices().iter().map(|notice| notice.path.to_string());
    let told: Vec<String> = told.collect();
    assert!(told.iter().any(|path| path == "projects/a/view.json"), "{told:?}");
    drop(engine);
    sync(&scratch, &new, &wanted(&new)).unwrap();
    assert_eq!(scratch.snapshot("data"), expected(&new));
}

// G1: generations are never used twice: the record of an old scan would count for a new one.
#[test]
fn a_journal_that_can_not_be_read_takes_no_debt_along() {
    let [old, new] = ["old", "new"].map(|word| Commit::of([("p/a", word), ("p/b", "same")]));
    let owing = |commit: &Commit| Request { scan_tracking: ScanTracking::On, ..wanted(commit) };
    let scratch = Scratch::new();
    sync(&scratch, &old, &owing(&old)).unwrap();
    let both = Halves { projects: true, config: true };
    scratch.engine().record_scanned(both).unwrap();
    apply_under(AFTER_JOURNAL, &scratch, &new, &wanted(&new)).unwrap_err();
    scratch.write("data/.stoker/journal", "torn");
    let engine = scratch.engine();
    assert_eq!(engine.view().owed(), both);
    assert!(!engine.view().is_first(), "a record that was lost was there");
    drop(engine);
    // Nothing was done in between: it is remembered all the same.
    assert_eq!(scratch.engine().view().owed(), both);
    let report = sync(&scratch, &new, &owing(&new)).unwrap();
    assert!(
        report.warnings.iter().any(|told| told.code == WarningCode::ManifestCorrupt),
        "{report:?}"
    );
    assert_eq!(scratch.engine().view().owed(), both);
    assert_eq!(scratch.read("data/projects/a"), "new");
}
