//! Claims about the lock (A7).

use std::time::Duration;

use super::*;
use crate::testing::{Commit, Scratch, request, sync};
use crate::{Engine, OpenError, Opened, Options, Request, Written};

fn commit() -> (Commit, Request) {
    let commit = Commit::of([("p/a", "1")]);
    let request = request(&commit, ["p:projects"]);
    (commit, request)
}

/// Writes what a commit brings.
fn write<'e>(engine: &'e mut Engine, (commit, wanted): &(Commit, Request)) -> Written<'e> {
    let (mut source, cancel) = (commit.clone(), Cancel::default());
    let plan = engine.plan(&mut source, wanted, &cancel).unwrap();
    engine.write(plan, &mut source, &cancel).unwrap()
}

#[test]
fn a_second_run_waits_and_then_says_who_holds_the_directory() {
    let (scratch, commit) = (Scratch::new(), commit());
    let mut engine = scratch.engine();
    let written = write(&mut engine, &commit);
    let options = Options { lock_timeout: Duration::from_millis(30), ..scratch.options() };
    let refused = Engine::open(&options, &Cancel::default()).and_then(Opened::finish).unwrap_err();
    let OpenError::Lock { source: Error::Held { holder, waited } } = refused else {
        panic!("{refused:?}")
    };
    assert!(waited >= Duration::from_millis(30));
    assert!(holder.to_string().contains(&format!("pid {}", std::process::id())), "{holder}");
    drop(written);
    drop(engine);
    sync(&scratch, &commit.0, &commit.1).unwrap();
}

#[test]
fn the_words_of_a_dead_holder_do_not_outlive_the_next_start() {
    let scratch = Scratch::new();
    drop(scratch.engine());
    scratch.write("data/.stoker/lock", "pid 1 on elsewhere since 0\n");
    let engine = scratch.engine();
    assert_eq!(scratch.read("data/.stoker/lock"), "");
    drop(engine);
}

#[test]
fn whoever_lost_the_lock_changes_nothing_and_leaves_the_other_alone() {
    let (scratch, commit) = (Scratch::new(), commit());
    let mut first = scratch.engine();
    let written = write(&mut first, &commit);
    scratch.remove("data/.stoker/lock");
    let mut second = scratch.engine();
    let other = write(&mut second, &commit);
    let lost = written.apply(&mut || {}).unwrap_err();
    assert!(matches!(lost, crate::apply::Error::LockLost), "{lost:?}");
    assert!(!scratch.exists("data/projects"));
    other.apply(&mut || {}).unwrap();
    assert_eq!(scratch.read("data/projects/a"), "1");
    assert!(!scratch.exists("data/.sync-staging"));
}

#[test]
fn a_lock_that_is_dropped_is_free_though_a_child_still_has_its_file() {
    let scratch = Scratch::new();
    scratch.make_dir("state");
    let state = Dir::open_root(&scratch.path("state")).unwrap();
    let take = || Lock::take(&state, Duration::ZERO, &Cancel::default()).unwrap();
    let lock = take();
    let _inherited = lock.lock.file.try_clone().unwrap();
    drop(lock);
    take();
}

#[test]
fn waiting_ends_when_the_run_is_cancelled() {
    let scratch = Scratch::new();
    let _engine = scratch.engine();
    let cancel = Cancel::default();
    cancel.cancel();
    let options = Options { lock_timeout: Duration::from_hours(1), ..scratch.options() };
    let refused = Engine::open(&options, &cancel).and_then(Opened::finish).unwrap_err();
    assert!(matches!(refused, OpenError::Lock { source: Error::Cancelled(_) }), "{refused:?}");
}

#[test]
fn a_holder_that_has_not_signed_is_known_to_the_kernel() {
    let scratch = Scratch::new();
    let _engine = scratch.engine();
    assert_eq!(scratch.read("data/.stoker/lock"), "", "it has nothing to write");
    let refused =
        Engine::open(&scratch.options(), &Cancel::default()).and_then(Opened::finish).unwrap_err();
    let OpenError::Lock { source: Error::Held { holder, .. } } = refused else {
        panic!("{refused:?}")
    };
    assert!(holder.to_string().contains(&format!("pid {}", std::process::id())), "{holder}");
}
