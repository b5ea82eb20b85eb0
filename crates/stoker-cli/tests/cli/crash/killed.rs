//! Killed at any file-system call, of an update and of a first sync: old or new, and the next run
//! brings the rest (promises A1, A2).
//!
//! A run dies before the call at which it is struck, and reading changes nothing: killed at a call
//! that reads it leaves the very disk that it leaves at the next call that writes. So the points to
//! die at are all calls that can change a disk, every open among them, and no others. A sample in
//! the usual run; every single one, of the release binary, in `cargo xtask test --long`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::sync::Arc;

use stoker_testkit::git::bad::{BadServer, Fault};
use stoker_testkit::tree::{self, Node};
use stoker_testkit::wait::eventually;

use crate::kit::strace::{
    CHANGING, Point, Tally, can_trace, each, learn, points, processes, sample, strike,
    there_and_back, with_traced_git,
};
use crate::kit::update::{Update, is_temporary, nothing_is_left, same};
use crate::kit::world::{STOKER, World, spawn};

// A1
#[test]
fn an_update_killed_at_any_call_is_old_or_new_and_the_next_run_completes_it() {
    let Some((world, update)) = Update::traceable() else { return };
    let there = learn(&world, update.words(&world, "new"), |_| true);
    let back = learn(&world, update.words(&world, "old"), |_| true);
    assert!(there.len() > 400, "only {} points", there.len());
    let pairs = there_and_back(&sample(&there, 4), &sample(&back, 4));
    let tally = Tally::default();
    let kill = |world: &World, point: &Point, target: &str| {
        let run = strike(world, update.words(world, target), point, "signal=KILL");
        tally.note(run.code, point);
        update.is_old_or_new(world, &format!("killed at {point:?}"));
        update.sync(world, target);
    };
    // To and fro: each trial begins where the one before has converged.
    each(
        &pairs,
        || update.world_at("old"),
        |world, (there, back)| {
            kill(world, there, "new");
            kill(world, back, "old");
        },
    );
    tally.proves_something();
}

// A1: also what cleans up after a kill may be killed.
#[test]
fn a_recovery_killed_at_any_call_recovers() {
    let Some((world, update)) = Update::traceable() else { return };
    let points = learn(&world, update.words(&world, "new"), |line| line.contains("/data"));
    let renames: Vec<Point> =
        points.iter().filter(|point| point.call.starts_with("renameat")).cloned().collect();
    let pairs = there_and_back(&sample(&renames, 3), &sample(&points, 2));
    let cases: Vec<&[(Point, Point)]> = pairs.chunks(2).collect();
    each(
        &cases,
        || update.world_at("old"),
        |world, pairs| {
            for ((first, second), target) in pairs.iter().zip(["new", "old"]) {
                strike(world, update.words(world, target), first, "signal=KILL");
                strike(world, update.words(world, target), second, "signal=KILL");
                update.is_old_or_new(world, &format!("killed at {first:?}, then at {second:?}"));
                update.sync(world, target);
            }
            update.sync(world, "old");
        },
    );
}

// A1: the second run need not be for the same commit.
#[test]
fn a_killed_update_may_be_followed_by_a_return_to_the_old_commit() {
    let Some((world, update)) = Update::traceable() else { return };
    let points = learn(&world, update.words(&world, "new"), |line| line.contains("/data"));
    each(
        &sample(&points, 2),
        || update.world_at("old"),
        |world, point| {
            strike(world, update.words(world, "new"), point, "signal=KILL");
            update.sync(world, "old");
        },
    );
}

// A2
#[test]
fn a_first_sync_killed_at_any_call_succeeds_unaided_the_next_time() {
    let update = Update::new();
    let world = World::new();
    if !can_trace(&world) {
        return;
    }
    let points = learn(&world, update.words(&world, "new"), |_| true);
    let tally = Tally::default();
    each(
        &sample(&points, 4),
        || (),
        |(), point| {
            let world = World::new();
            let run = strike(&world, update.words(&world, "new"), point, "signal=KILL");
            tally.note(run.code, point);
            for (path, node) in world.live().iter().filter(|(path, _)| !is_temporary(path)) {
                let is_new = same(update.new.get(path), node) || *node == Node::EmptyDir;
                assert!(is_new, "{point:?}: {} is {node:?}", path.escape_ascii());
            }
            update.sync(&world, "new");
        },
    );
    tally.proves_something();
}

// A2: the kernel may choose git, and not us, when memory is short.
#[test]
fn git_killed_at_any_call_is_an_error_and_the_next_run_succeeds() {
    let update = Update::new();
    let world = World::new();
    if !can_trace(&world) {
        return;
    }
    let trace = world.path("git-trace");
    let options = format!("-ff -o {} -e trace={CHANGING}", trace.display());
    with_traced_git(&world, &options, update.words(&world, "new")).exits(0);
    // One file per process: a number counts within one of them.
    let files = fs::read_dir(world.root()).unwrap().map(|entry| entry.unwrap().path());
    let traces = files.filter(|path| path.display().to_string().contains("git-trace."));
    let all: BTreeSet<Point> = traces.flat_map(|trace| points(&trace, |_| true)).collect();
    let all: Vec<Point> = all.into_iter().collect();
    each(
        &sample(&all, 3),
        || (),
        |(), Point { call, number }| {
            let world = World::new();
            let how =
                format!("-o /dev/null -e trace={call} -e inject={call}:signal=KILL:when={number}");
            let run = with_traced_git(&world, &how, update.words(&world, "new"));
            assert!([0, 1].contains(&run.code), "git killed at {call} {number}: {run:#?}");
            assert!(run.code == 0 || run.stderr.starts_with("error: "), "{run:#?}");
            let is_untouched = world.live() == tree::Tree::default();
            assert_eq!(is_untouched, run.code == 1, "git killed at {call} {number}");
            update.sync(&world, "new");
        },
    );
}

// A2: what a crash of git itself leaves in a repository.
#[test]
fn planted_locks_of_every_kind_do_not_stop_a_run() {
    let (world, update) = (World::new(), Update::new());
    update.sync(&world, "old");
    let store = fs::read_dir(world.path("cache/stoker")).unwrap().next().unwrap().unwrap().path();
    let mut places = vec![store];
    let mut planted = Vec::new();
    while let Some(place) = places.pop() {
        for entry in fs::read_dir(&place).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                places.push(path);
            }
        }
        for name in [
            "index.lock",
            "HEAD.lock",
            "config.lock",
            "shallow.lock",
            "packed-refs.lock",
            "gc.pid",
            "tmp_pack_x",
            "tmp_idx_x",
            "tmp_obj_x",
        ] {
            let path = place.join(name);
            fs::write(&path, "1 elsewhere").unwrap();
            planted.push(path);
        }
    }
    assert!(planted.len() > 20);
    update.sync(&world, "new");
}

// A1
#[test]
fn a_run_killed_while_the_server_is_silent_takes_git_along_and_does_not_hold_up_the_next() {
    let (world, repo) = (World::new(), Arc::new(Update::new().repo));
    let server = BadServer::start(&repo).unwrap();
    server.behave();
    world.sync(&server.url(), &["--ref", "none"]).exits(1);
    // Just behind the listing of refs.
    server.break_wire(Fault::stall(server.bytes_sent() + 100));
    // A shell as the first process of the fence, so that the kernel does not clean up for us.
    let mut words: Vec<OsString> = vec!["-c".into(), "\"$@\" & wait; sleep 60".into(), "sh".into()];
    words.push(STOKER.into());
    words.extend(world.words("sync", &server.url(), &["--ref", "new"]));
    let _shell = spawn(world.command("sh", words));
    let ours = |program: &str| processes(&world, program);
    eventually("git talks to the server", || !ours("git").is_empty() && server.faults() > 0);
    let stoker = ours("stoker")[0];
    eventually("git has a helper for it", || !ours("git-remote-http").is_empty());
    rustix::process::kill_process(stoker, rustix::process::Signal::KILL).unwrap();
    let family = || [ours("git"), ours("git-remote-http"), ours("stoker")].concat();
    eventually("our git is gone, and all that it had started", || family().is_empty());
    server.behave();
    let next = world.sync(&server.url(), &["--ref", "new", "--lock-timeout", "2s"]).exits(0);
    assert!(next.stdout.starts_with("synced: "), "{next:?}");
    nothing_is_left(&world);
}
