//! Claims about runs that are cut short, at every step.

mod lost_files;
mod partial;
mod power_loss;

use rustix::io::Errno;

use crate::disk::fault::{self, CallKind, Fault};
use crate::request::DriftCheck;
use crate::source::Kind;
use crate::testing::{Commit, Files, Live, Scratch, Snapshot, request, sync, unlimited};
use crate::{Cancel, Engine, Opened, Request};

/// Changes of every kind in one commit: resources, swaps, new and vanished directories, modes.
fn commits() -> (Commit, Commit) {
    let old: &[(&str, &str)] = &[
        ("p/a/resource.json", "old"),
        ("p/a/view.json", "old"),
        ("p/gone/resource.json", "old"),
        ("p/gone/data.bin", "old"),
        ("p/swap/x", "was dir"),
        ("p/paws", "was file"),
        ("p/same", "same"),
        ("p/tool", "#!"),
    ];
    let new: &[(&str, &str)] = &[
        ("p/a/resource.json", "new"),
        ("p/a/view.json", "new"),
        ("p/fresh/deep/er/resource.json", "new"),
        ("p/fresh/view.json", "new"),
        ("p/swap", "is file"),
        ("p/paws/y/z", "is dir"),
        ("p/same", "same"),
        ("p/tool", "#!"),
    ];
    let files = |list: &[(&str, &str)], tool: Kind| -> Files {
        let kind = |path: &str| if path == "p/tool" { tool } else { Kind::File };
        let file = |(path, content): &(&str, &str)| {
            (path.as_bytes().to_vec(), (kind(path), content.as_bytes().to_vec()))
        };
        list.iter().map(file).collect()
    };
    (Commit::from_files(&files(old, Kind::File)), Commit::from_files(&files(new, Kind::Executable)))
}

fn wanted(commit: &Commit) -> Request {
    unlimited(request(commit, ["p:projects"]))
}

/// The tree that a commit makes, on a fresh disk with the same foreign file.
fn expected(commit: &Commit) -> Snapshot {
    let scratch = Scratch::new();
    scratch.write("data/db/foreign", "f");
    sync(&scratch, commit, &wanted(commit)).unwrap();
    scratch.snapshot("data")
}

fn prepared(old: Option<&Commit>) -> Scratch {
    let scratch = Scratch::new();
    scratch.write("data/db/foreign", "f");
    if let Some(old) = old {
        sync(&scratch, old, &wanted(old)).unwrap();
    }
    scratch
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
        let run = |scratch: &Scratch| sync(scratch, &new_commit, &wanted(&new_commit)).map(drop);
        let scratch = prepared(from);
        let (done, steps) = fault::under(None, || run(&scratch));
        done.unwrap();
        assert!(steps.len() > 20, "{steps:?}");
        for (at, step) in steps.iter().enumerate() {
            let scratch = prepared(from);
            let (done, _) = fault::under(Some(Fault::Crash { at }), || run(&scratch));
            let when = format!("killed at step {at}, {step:?}");
            // What comes after the commit only tidies up; its failure is not the run's.
            let is_committed = done.is_ok();
            assert_no_mixture(&scratch.snapshot("data"), [&old, &new], &when);
            drop(
                Engine::open(&scratch.options(), &Cancel::default())
                    .and_then(Opened::finish)
                    .unwrap(),
            );
            let live = scratch.snapshot("data");
            assert!(live == new || (live == old && !is_committed), "{when}: {live:#?}");
            run(&scratch).unwrap();
            assert_eq!(scratch.snapshot("data"), new, "{when}");
            let check = Request { drift_check: DriftCheck::Content, ..wanted(&new_commit) };
            let report = sync(&scratch, &new_commit, &check).unwrap();
            assert!(report.drift.is_empty(), "{when}: {:?}", report.drift);
        }
    }
}

// A1: recovery can be killed, too.
#[test]
fn recovery_that_dies_at_any_step_is_repeated() {
    let (old_commit, new_commit) = commits();
    let (old, new) = (prepared(Some(&old_commit)).snapshot("data"), expected(&new_commit));
    let run = |scratch: &Scratch| sync(scratch, &new_commit, &wanted(&new_commit)).map(drop);
    let scratch = prepared(Some(&old_commit));
    let (_, steps) = fault::under(None, || run(&scratch));
    for at in (0..steps.len()).step_by(3) {
        for again in 0..12 {
            let scratch = prepared(Some(&old_commit));
            drop(fault::under(Some(Fault::Crash { at }), || run(&scratch)));
            let open = || {
                Engine::open(&scratch.options(), &Cancel::default())
                    .and_then(Opened::finish)
                    .map(drop)
            };
            drop(fault::under(Some(Fault::Crash { at: again }), open));
            open().unwrap();
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
    let run = |scratch: &Scratch| sync(scratch, &new_commit, &wanted(&new_commit)).map(drop);
    let scratch = prepared(Some(&old_commit));
    let (_, steps) = fault::under(None, || run(&scratch));
    let journal = steps.iter().position(|step| step.kind == CallKind::Rename).unwrap();
    let mut new_files = expected(&new_commit);
    new_files.retain(|_, live| *live != Live::Dir);
    for at in 0..16 {
        let scratch = prepared(Some(&old_commit));
        drop(fault::under(Some(Fault::Crash { at: journal + 2 }), || run(&scratch)));
        let open = || {
            Engine::open(&scratch.options(), &Cancel::default()).and_then(Opened::finish).map(drop)
        };
        drop(fault::under(Some(Fault::Once { at, errno: Errno::ACCESS }), open));
        run(&scratch).unwrap_or_else(|error| panic!("at {at}: {error}"));
        assert_eq!(scratch.files("data"), new_files, "at {at}");
    }
}

// A4, A5, A6: one step fails, the process lives on.
#[test]
fn a_step_that_fails_leaves_old_or_new_and_the_next_run_converges() {
    let (old_commit, new_commit) = commits();
    let new = expected(&new_commit);
    let mut new_files = new.clone();
    new_files.retain(|_, live| *live != Live::Dir);
    let old = prepared(Some(&old_commit)).snapshot("data");
    let run = |scratch: &Scratch| sync(scratch, &new_commit, &wanted(&new_commit)).map(drop);
    let scratch = prepared(Some(&old_commit));
    let (_, steps) = fault::under(None, || run(&scratch));
    for errno in [Errno::NOSPC, Errno::IO, Errno::ACCESS, Errno::ROFS] {
        for at in 0..steps.len() {
            let scratch = prepared(Some(&old_commit));
            let fault = Fault::Once { at, errno };
            let (done, _) = fault::under(Some(fault), || run(&scratch));
            let when = format!("{errno:?} at step {at}, {:?}", steps[at]);
            assert_no_mixture(&scratch.snapshot("data"), [&old, &new], &when);
            let before_journal = steps[..at].iter().all(|step| step.kind != CallKind::Rename);
            if done.is_err() && before_journal {
                assert_eq!(scratch.snapshot("data"), old, "{when}: nothing may be left behind");
            }
            run(&scratch).unwrap_or_else(|error| panic!("{when}: {error}"));
            // An empty directory that could not be removed may stay.
            assert_eq!(scratch.files("data"), new_files, "{when}");
        }
    }
}

// G1: what a killed run left is finished by the gateway's leave only.
#[test]
fn a_killed_run_waits_until_it_is_finished() {
    let (old_commit, new_commit) = commits();
    let run = |scratch: &Scratch| sync(scratch, &new_commit, &wanted(&new_commit)).map(drop);
    let scratch = prepared(Some(&old_commit));
    let (_, steps) = fault::under(None, || run(&scratch));
    let journal = steps.iter().position(|step| step.kind == CallKind::Rename).unwrap();
    let scratch = prepared(Some(&old_commit));
    drop(fault::under(Some(Fault::Crash { at: journal + 3 }), || run(&scratch)));
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
