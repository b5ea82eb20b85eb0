//! Claims about the lock (A7).

use std::time::Duration;

use super::*;
use crate::testing::{Commit, Scratch, request, sync};
use crate::{Engine, OpenError, Options};

#[test]
fn a_second_run_waits_and_then_says_who_holds_the_directory() {
    let scratch = Scratch::new();
    let commit = Commit::of([("p/a", "1")]);
    let wanted = request(&commit, ["p:projects"]);
    let cancel = Cancel::default();
    let mut source = commit.clone();
    let mut engine = scratch.engine();
    let plan = engine.plan(&mut source, &wanted, &cancel).unwrap();
    let written = engine.write(plan, &mut source, &cancel).unwrap();
    let options = Options { lock_timeout: Duration::from_millis(30), ..scratch.options() };
    let refused = Engine::open(&options, &cancel).unwrap_err();
    let OpenError::Lock { source: Error::Held { holder, waited } } = refused else {
        panic!("{refused:?}")
    };
    assert!(waited >= Duration::from_millis(30));
    assert!(holder.to_string().contains(&format!("pid {}", std::process::id())), "{holder}");
    drop(written);
    drop(engine);
    sync(&scratch, &commit, &wanted).unwrap();
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
fn a_lock_file_that_was_replaced_locks_nothing() {
    let scratch = Scratch::new();
    let commit = Commit::of([("p/a", "1")]);
    let wanted = request(&commit, ["p:projects"]);
    let cancel = Cancel::default();
    let mut source = commit.clone();
    let mut engine = scratch.engine();
    let plan = engine.plan(&mut source, &wanted, &cancel).unwrap();
    let written = engine.write(plan, &mut source, &cancel).unwrap();
    scratch.remove("data/.stoker/lock");
    let error = written.apply(&mut crate::OpenGate).unwrap_err();
    assert!(matches!(error, crate::apply::Error::LockLost), "{error:?}");
    assert!(!scratch.exists("data/projects") && !scratch.exists("data/.sync-staging"));
}

#[test]
fn a_lock_that_is_dropped_is_free_though_a_child_still_has_its_file() {
    let scratch = Scratch::new();
    scratch.make_dir("state");
    let state = Dir::open_root(&scratch.path("state")).unwrap();
    let take = || Lock::take(&state, Duration::ZERO, &Cancel::default()).unwrap();
    let lock = take();
    let _inherited = lock.file.try_clone().unwrap();
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
    let refused = Engine::open(&options, &cancel).unwrap_err();
    assert!(matches!(refused, OpenError::Lock { source: Error::Cancelled(_) }), "{refused:?}");
}

#[test]
fn a_holder_that_has_not_signed_is_known_to_the_kernel() {
    let scratch = Scratch::new();
    let _engine = scratch.engine();
    assert_eq!(scratch.read("data/.stoker/lock"), "", "it has nothing to write");
    let refused = Engine::open(&scratch.options(), &Cancel::default()).unwrap_err();
    let OpenError::Lock { source: Error::Held { holder, .. } } = refused else {
        panic!("{refused:?}")
    };
    assert!(holder.to_string().contains(&format!("pid {}", std::process::id())), "{holder}");
}

#[test]
fn the_holder_is_found_among_the_locks_of_a_machine() {
    let locks = "1: POSIX  ADVISORY  WRITE 10 00:1d:815 0 EOF\n\
                 2: FLOCK  ADVISORY  WRITE 11 00:1d:815 0 EOF\n\
                 2: -> FLOCK  ADVISORY  WRITE 12 00:1d:815 0 EOF\n\
                 3: FLOCK  ADVISORY  WRITE 0 00:1d:816 0 EOF\n\
                 4: FLOCK  ADVISORY  WRITE 13 00:1d:817 0 EOF\n\
                 5: FLOCK  ADVISORY  WRITE 14 00:2d:817 0 EOF\n";
    assert_eq!(pid_in(locks, 815), Some(11));
    for unknown in [816, 817, 818] {
        assert_eq!(pid_in(locks, unknown), None);
    }
}
