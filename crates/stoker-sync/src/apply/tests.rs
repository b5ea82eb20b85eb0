//! Claims about runs that are cut short, at every step.

mod lost_files;
mod partial;
mod power_loss;

use rustix::io::Errno;

use super::Error;
use crate::disk::fault::{self, CallKind, Fault, RecordedCall};
use crate::request::DriftCheck;
use crate::source::Kind;
use crate::testing::{
    Commit, Live, Scratch, Snapshot, checking, request, sync, unlimited, write_then,
};
use crate::{Cancel, Engine, Opened, Report, Request};

/// Changes of every kind in one commit: resources, swaps, new and vanished directories, modes.
fn commits() -> (Commit, Commit) {
    let old = Commit::of([
        ("p/a/resource.json", "old"),
        ("p/a/view.json", "old"),
        ("p/gone/resource.json", "old"),
        ("p/gone/data.bin", "old"),
        ("p/swap/x", "was dir"),
        ("p/paws", "was file"),
        ("p/same", "same"),
        ("p/tool", "#!"),
    ]);
    let new = Commit::of_kinds([
        ("p/a/resource.json", Kind::File, "new"),
        ("p/a/view.json", Kind::File, "new"),
        ("p/fresh/deep/er/resource.json", Kind::File, "new"),
        ("p/fresh/view.json", Kind::File, "new"),
        ("p/swap", Kind::File, "is file"),
        ("p/paws/y/z", Kind::File, "is dir"),
        ("p/same", Kind::File, "same"),
        ("p/tool", Kind::Executable, "#!"),
    ]);
    (old, new)
}

fn wanted(commit: &Commit) -> Request {
    unlimited(request(commit, ["p:projects"]))
}

fn run(scratch: &Scratch, commit: &Commit) -> Result<(), Box<dyn std::error::Error>> {
    sync(scratch, commit, &wanted(commit)).map(drop)
}

/// A fresh disk with a foreign file, and with a commit, if one is given.
fn prepared(old: Option<&Commit>) -> Scratch {
    let scratch = Scratch::new();
    scratch.write("data/db/foreign", "f");
    if let Some(old) = old {
        run(&scratch, old).unwrap();
    }
    scratch
}

/// The tree that a commit makes on a fresh disk.
fn expected(commit: &Commit) -> Snapshot {
    prepared(Some(commit)).snapshot("data")
}

/// The calls that lead from one commit, or from none, to another.
fn calls(from: Option<&Commit>, to: &Commit) -> Vec<RecordedCall> {
    let scratch = prepared(from);
    let (done, calls) = fault::under(None, || run(&scratch, to));
    done.unwrap();
    calls
}

/// A disk on which a run was killed so many calls after its journal got its name.
fn killed_after_journal(old: &Commit, new: &Commit, calls_after: usize) -> Scratch {
    let is_journal = |step: &RecordedCall| step.kind == CallKind::Rename;
    let journal = calls(Some(old), new).iter().position(is_journal).unwrap();
    let scratch = prepared(Some(old));
    drop(fault::under(Some(Fault::Crash { at: journal + calls_after }), || run(&scratch, new)));
    scratch
}

/// Writes what a request brings, and applies it under a fault.
fn apply_under(
    fault: Fault,
    scratch: &Scratch,
    commit: &Commit,
    request: &Request,
) -> Result<Report, Error> {
    write_then(scratch, commit, request, |written| {
        fault::under(Some(fault), || written.apply(&mut || {})).0
    })
}

/// No live file has other content than before or after.
fn assert_no_mixture(live: &Snapshot, [old, new]: [&Snapshot; 2], when: &str) {
    for (path, found) in live.iter().filter(|(path, _)| !path.starts_with(b".s")) {
        if let Live::File { content, .. } = found {
            let is = |tree: &Snapshot| matches!(tree.get(path), Some(Live::File { content: there, .. }) if there == content);
            assert!(is(old) || is(new), "{when}: {:?}", String::from_utf8_lossy(path));
        }
    }
}

// A1, R27, F25: kill at every step of an update, and of a first sync.
// R82: what a killed run left behind is gone after the next start.
#[test]
fn a_run_that_dies_at_any_step_is_finished_or_undone_by_the_next_start() {
    let (old_commit, new_commit) = commits();
    for from in [Some(&old_commit), None] {
        let (old, new) = (prepared(from).snapshot("data"), expected(&new_commit));
        let steps = calls(from, &new_commit);
        assert!(steps.len() > 20, "{steps:?}");
        for (at, step) in steps.iter().enumerate() {
            let scratch = prepared(from);
            let (done, _) = fault::under(Some(Fault::Crash { at }), || run(&scratch, &new_commit));
            let when = format!("killed at step {at}, {step:?}");
            // What comes after the commit only tidies up; its failure is not the run's.
            let is_committed = done.is_ok();
            assert_no_mixture(&scratch.snapshot("data"), [&old, &new], &when);
            drop(scratch.engine());
            let live = scratch.snapshot("data");
            assert!(live == new || (live == old && !is_committed), "{when}: {live:#?}");
            run(&scratch, &new_commit).unwrap();
            assert_eq!(scratch.snapshot("data"), new, "{when}");
            let check = checking(wanted(&new_commit), DriftCheck::Content);
            let report = sync(&scratch, &new_commit, &check).unwrap();
            assert!(report.drift.is_empty(), "{when}: {:?}", report.drift);
        }
    }
}

// A1: recovery can be killed, too.
#[test]
fn recovery_that_dies_at_any_step_is_repeated() {
    let (old_commit, new_commit) = commits();
    let (old, new) = (expected(&old_commit), expected(&new_commit));
    for at in (0..calls(Some(&old_commit), &new_commit).len()).step_by(3) {
        for again in 0..12 {
            let scratch = prepared(Some(&old_commit));
            drop(fault::under(Some(Fault::Crash { at }), || run(&scratch, &new_commit)));
            drop(fault::under(Some(Fault::Crash { at: again }), || scratch.try_engine().map(drop)));
            drop(scratch.engine());
            let live = scratch.snapshot("data");
            assert!(live == new || live == old, "killed at {at}, then at {again}");
        }
    }
}

#[test]
fn an_engine_whose_run_broke_off_does_not_begin_another() {
    let (old_commit, new_commit) = commits();
    let scratch = prepared(Some(&old_commit));
    let (cancel, mut source) = (Cancel::default(), new_commit.clone());
    let mut engine = scratch.engine();
    let plan = engine.plan(&mut source, &wanted(&new_commit), &cancel).unwrap();
    let written = engine.write(plan, &mut source, &cancel).unwrap();
    // The journal has its name, and the disk does not say that it is durable.
    let fault = Fault::Once { at: 1, errno: Errno::IO };
    let (done, steps) = fault::under(Some(fault), || written.apply(&mut || {}));
    let kinds: Vec<_> = steps.iter().map(|step| step.kind).collect();
    assert!(done.is_err() && kinds == [CallKind::Rename, CallKind::Fsync], "{steps:?}");
    let plan = engine.plan(&mut source, &wanted(&new_commit), &cancel).unwrap();
    let refused = engine.write(plan, &mut source, &cancel).err().unwrap();
    assert!(matches!(refused, crate::write::Error::Unfinished), "{refused:?}");
    drop(engine);
    drop(scratch.engine());
    assert_eq!(scratch.snapshot("data"), expected(&new_commit));
}

// A6: recovery goes on where a path can't be changed, and the next run tries it again.
#[test]
fn a_step_that_fails_in_recovery_is_not_lost() {
    let (old_commit, new_commit) = commits();
    let new_files = prepared(Some(&new_commit)).files("data");
    for at in 0..16 {
        let scratch = killed_after_journal(&old_commit, &new_commit, 2);
        let denied = Some(Fault::Once { at, errno: Errno::ACCESS });
        drop(fault::under(denied, || scratch.try_engine().map(drop)));
        run(&scratch, &new_commit).unwrap_or_else(|error| panic!("at {at}: {error}"));
        assert_eq!(scratch.files("data"), new_files, "at {at}");
    }
}

// A4, A5, A6: one step fails, the process lives on.
#[test]
fn a_step_that_fails_leaves_old_or_new_and_the_next_run_converges() {
    let (old_commit, new_commit) = commits();
    let (old, new) = (expected(&old_commit), expected(&new_commit));
    let new_files = prepared(Some(&new_commit)).files("data");
    let steps = calls(Some(&old_commit), &new_commit);
    for errno in [Errno::NOSPC, Errno::IO, Errno::ACCESS, Errno::ROFS] {
        for at in 0..steps.len() {
            let scratch = prepared(Some(&old_commit));
            let fault = Fault::Once { at, errno };
            let (done, _) = fault::under(Some(fault), || run(&scratch, &new_commit));
            let when = format!("{errno:?} at step {at}, {:?}", steps[at]);
            assert_no_mixture(&scratch.snapshot("data"), [&old, &new], &when);
            let before_journal = steps[..at].iter().all(|step| step.kind != CallKind::Rename);
            if done.is_err() && before_journal {
                assert_eq!(scratch.snapshot("data"), old, "{when}: nothing may be left behind");
            }
            run(&scratch, &new_commit).unwrap_or_else(|error| panic!("{when}: {error}"));
            // An empty directory that could not be removed may stay.
            assert_eq!(scratch.files("data"), new_files, "{when}");
        }
    }
}

// G1: what a killed run left is finished by the gateway's leave only.
#[test]
fn a_killed_run_waits_until_it_is_finished() {
    let (old_commit, new_commit) = commits();
    let scratch = killed_after_journal(&old_commit, &new_commit, 3);
    let left = scratch.snapshot("data");
    let open = || Engine::open(&scratch.options(), &Cancel::default()).unwrap();
    let Opened::Interrupted(interrupted) = open() else { panic!("it was killed") };
    drop(interrupted);
    assert_eq!(scratch.snapshot("data"), left);
    assert!(crate::View::is_unfinished(&scratch.options().data).unwrap());
    let Opened::Interrupted(interrupted) = open() else { panic!("it was not finished") };
    assert!(interrupted.halves().projects);
    drop(interrupted.finish(&mut || {}).unwrap());
    assert_eq!(scratch.snapshot("data"), expected(&new_commit));
    assert!(!crate::View::is_unfinished(&scratch.options().data).unwrap());
    assert!(matches!(open(), Opened::Ready(_)));
}
