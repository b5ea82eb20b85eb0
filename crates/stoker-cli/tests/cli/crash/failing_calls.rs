//! Calls that fail, and signals: exit 1 with the reason, old or new, and the next run completes it
//! (promises A4, A5, A6, A7, A16).

use std::ffi::OsString;
use std::time::Instant;

use rustix::process::Signal;

use stoker_testkit::git::Tree;
use stoker_testkit::wait::eventually;

use crate::kit::strace::{Point, can_trace, each, learn, sample, strike};
use crate::kit::update::{Update, nothing_is_left};
use crate::kit::world::{ENDED, Run, STOKER, World, plant, spawn};

/// Which calls fail how, as a full or broken disk makes them.
const FAULTS: [(&str, &str); 10] = [
    ("fsync", "EIO"),
    ("fdatasync", "EIO"),
    ("syncfs", "EIO"),
    ("write", "ENOSPC"),
    ("write", "EIO"),
    ("openat", "EACCES"),
    ("openat2", "EACCES"),
    ("renameat", "EROFS"),
    ("unlinkat", "EACCES"),
    ("mkdirat", "ENOSPC"),
];

fn words_of(errno: &str) -> &'static str {
    match errno {
        "EIO" => "Input/output error",
        "ENOSPC" => "No space left on device",
        "EACCES" => "Permission denied",
        _ => "Read-only file system",
    }
}

// A4, A5, A6
#[test]
fn a_failing_call_is_exit_1_with_its_reason_and_the_next_run_completes_it() {
    let Some((world, update)) = Update::traceable() else { return };
    let points = learn(&world, update.words(&world, "new"), |line| line.contains("/data/"));
    let cases: Vec<(Point, &str)> = FAULTS
        .iter()
        .flat_map(|(call, errno)| {
            let is_it = |point: &&Point| point.call == *call;
            let of_call: Vec<Point> = points.iter().filter(is_it).cloned().collect();
            sample(&of_call, 3).into_iter().map(move |point| (point, *errno))
        })
        .collect();
    let fail = |world: &World, (point, errno): &(Point, &str), target: &str| {
        let run = strike(world, update.words(world, target), point, &format!("error={errno}"));
        let when = format!("{errno} at {point:?}");
        // What only cleans up may fail and be left to the next run.
        assert!([0, 1].contains(&run.code), "{when}: {run:#?}");
        if run.code == 1 {
            assert!(run.stderr.contains(words_of(errno)), "{when}: {run:#?}");
            // Of the data directory, or of the store: which call is the n-th is not quite the same
            // in every run.
            let error = run.stderr.lines().next().unwrap_or_default();
            let beginnings = ["\".", "\"projects", "\"/", "directory /"];
            let names_a_path = beginnings.iter().any(|beginning| error.contains(beginning));
            assert!(names_a_path, "{when}: {run:#?}");
            assert!(run.stderr.contains("hint: "), "{when}: {run:#?}");
        }
        update.is_old_or_new(world, &when);
        update.sync(world, target);
    };
    let cases: Vec<&[(Point, &str)]> = cases.chunks(2).collect();
    each(
        &cases,
        || update.world_at("old"),
        |world, cases| {
            for (case, target) in cases.iter().zip(["new", "old"]) {
                fail(world, case, target);
            }
            update.sync(world, "old");
        },
    );
}

// A5: what was not made durable is not reported as synced.
#[test]
fn a_failed_sync_of_the_volume_is_never_called_synced() {
    let Some((world, update)) = Update::traceable() else { return };
    let is_ours = |line: &str| line.contains("/data");
    let mut points = learn(&world, update.words(&world, "new"), is_ours);
    points.retain(|point| ["fsync", "fdatasync", "syncfs"].contains(&point.call.as_str()));
    assert!(points.len() >= 3, "new files, journal and manifest are made durable: {points:?}");
    for (point, target) in points.iter().zip(["old", "new"].into_iter().cycle()) {
        let mut words = update.words(&world, target);
        words.extend(["-o".into(), "json".into()]);
        let run = strike(&world, words, point, "error=EIO").exits(1);
        assert_eq!(run.json()["status"], "failed", "{point:?}");
        let reason = run.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(reason.contains("Input/output error"), "{point:?}: {reason}");
        update.is_old_or_new(&world, &format!("EIO at {point:?}"));
        update.sync(&world, target);
    }
}

// A16
#[test]
fn a_signal_at_any_moment_ends_the_run_in_time_and_the_next_completes_it() {
    let (world, update) = (World::new(), Update::new());
    update.sync(&world, "old");
    let whole = Instant::now();
    update.sync(&world, "new");
    let whole = whole.elapsed();
    let mut ended_early = 0;
    let signals = [(Signal::TERM, 143), (Signal::INT, 130)].into_iter().cycle();
    let rounds = if crate::kit::world::is_long() { 200 } else { 16 };
    for ((round, (signal, code)), target) in
        (0..rounds).zip(signals).zip(["old", "new"].into_iter().cycle())
    {
        let child = world.start(update.words(&world, target));
        // Where in the run it strikes is the point of the trial, and not a wait for something.
        std::thread::sleep(whole.mul_f64(f64::from(round) / f64::from(rounds)));
        let asked = Instant::now();
        let was_running = child.signal(signal).is_ok();
        let run = Run::of(child.output().unwrap());
        assert!(asked.elapsed() < ENDED, "took {:?}", asked.elapsed());
        // Before it listens the signal finds the first process of a namespace, which is immune.
        assert!([0, code].contains(&run.code), "round {round}: {run:#?}");
        ended_early += usize::from(was_running && run.code == code);
        update.is_old_or_new(&world, &format!("signalled in round {round}"));
        nothing_is_left(&world);
        update.sync(&world, target);
    }
    // How many are depends on how the machine fares meanwhile.
    assert!(ended_early > 0, "none of {rounds} were signalled in time");
}

// A7
#[test]
fn a_second_run_waits_and_says_who_has_the_directory_until_that_one_is_dead() {
    let Some((world, update)) = Update::traceable() else { return };
    // Held in the middle of its work: the writes are done, making them durable takes a minute.
    let words = update.words(&world, "new").into_iter();
    let slow = ["-qq", "-o", "/dev/null", "-e", "inject=syncfs:delay_enter=60000000", STOKER];
    let words = slow.into_iter().map(OsString::from).chain(words);
    let mut holder = spawn(world.command("strace", words));
    eventually("the first run works", || world.data().join(".sync-staging").exists());
    let mut words = update.words(&world, "new");
    words.extend(["--lock-timeout".into(), "1s".into()]);
    let run = world.stoker(words).exits(1);
    assert!(run.stderr.contains("pid ") && run.stderr.contains(" on "), "{run:?}");
    assert!(run.stderr.contains("hint: wait for the other run"), "{run:?}");
    assert_eq!(world.live(), update.old, "the second run has touched nothing");
    holder.kill().unwrap();
    update.sync(&world, "new");
}

#[test]
fn an_error_of_the_data_directory_itself_names_it() {
    let (world, repo) = (World::new(), plant());
    if !can_trace(&world) {
        return;
    }
    // More files than are made durable one by one, and one beside them in the data directory.
    let many = (0..40).fold(Tree::new(), |tree, number| tree.file(format!("f{number}"), "1"));
    repo.rewrite("main", many).unwrap();
    let words = |world: &World| world.words("sync", &repo.url(), &["--map", ".:."]);
    let points = learn(&world, words(&world), |line| line.contains("/data"));
    let mut named = 0;
    for point in points.iter().filter(|point| ["fsync", "syncfs"].contains(&point.call.as_str())) {
        let other = World::new();
        let run = strike(&other, words(&other), point, "error=EIO");
        assert!(!run.stderr.contains("\"\""), "{point:?}: {run:?}");
        let data = format!("{}: ", other.data().display());
        named += usize::from(run.code == 1 && run.stderr.contains(&data));
    }
    assert!(named > 0, "no call on the data directory itself among {points:?}");
}

#[test]
fn a_run_that_was_applied_in_part_names_the_path_and_the_next_step() {
    let Some((world, update)) = Update::traceable() else { return };
    let is_live = |line: &str| line.contains("/data/projects");
    let points = learn(&world, update.words(&world, "new"), is_live);
    let point = points.iter().rfind(|point| point.call.starts_with("rename")).unwrap();
    update.sync(&world, "old");
    let run = strike(&world, update.words(&world, "new"), point, "error=EROFS").exits(1);
    let place = format!("ls -ld {}/projects", world.data().display());
    assert!(run.stderr.contains("everything else was applied"), "{run:?}");
    assert!(run.stderr.contains(&place) && run.stderr.contains("run it again"), "{run:?}");
    update.sync(&world, "new");
}
