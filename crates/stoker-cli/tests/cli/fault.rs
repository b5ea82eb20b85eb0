//! Disks that fail, fill up or can't be written, and signals: exit 1 with the reason, old or new, and
//! the next run completes it (promises A4, A5, A6, A16).

use std::ffi::OsString;
use std::time::Instant;

use rustix::process::Signal;
use stoker_testkit::git::{Edit, Repo, Tree};
use stoker_testkit::{skip, tree};

use crate::trace::{Point, can_trace, each, learn, sample, strike};
use crate::update::{Update, nothing_is_left};
use crate::world::{ENDED, Run, STOKER, World, eventually, plant, plant_files, spawn};

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
    let (world, update) = (World::new(), Update::new());
    if !can_trace(&world) {
        return;
    }
    update.sync(&world, "old");
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
    let (world, update) = (World::new(), Update::new());
    if !can_trace(&world) {
        return;
    }
    update.sync(&world, "old");
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

pub(crate) fn is_root() -> bool {
    let is_root = rustix::process::getuid().is_root();
    if !is_root {
        skip::record("mounting needs root");
    }
    is_root
}

/// A shell in a mount namespace of its own. `sync REF NAME` runs a sync, notes exit code and output,
/// and copies the data directory out, because the mount is gone with the shell. `RUN` may name a program
/// that runs the sync.
pub(crate) fn with_mount(world: &World, mount: &str, repo: &Repo, scenario: &str) -> Run {
    let data = world.data();
    let url = repo.url();
    let script = format!(
        "set -e\n\
         sync() {{\n\
           set +e\n\
           $RUN {STOKER} sync --repo {url} --ref $1 --map projects:projects --data {data} \
             >{root}/$2.out 2>{root}/$2.err\n\
           echo $? > {root}/$2.code\n\
           set -e\n\
           cp -a {data} {root}/$2.data\n\
         }}\n\
         {mount}\n{scenario}\n",
        data = data.display(),
        root = world.root().display()
    );
    // The fence of the test kit has made the namespace; nothing that is mounted in it gets out.
    Run::ended(world.command("sh", ["-c", &script]))
}

/// What `sync REF NAME` noted.
pub(crate) fn noted(world: &World, name: &str) -> (i32, String, tree::Tree) {
    let read = |end: &str| std::fs::read_to_string(world.path(&format!("{name}.{end}"))).unwrap();
    let data = tree::Tree::read(&world.path(&format!("{name}.data"))).unwrap();
    for (path, _) in data.iter() {
        let text = String::from_utf8_lossy(path);
        assert!(!text.starts_with(".sync-staging"), "after {name}: {text} is left");
        assert!(!text.contains(".stoker-"), "after {name}: {text} is left");
    }
    let live = data.without(".stoker").without("lost+found");
    (read("code").trim().parse().unwrap(), read("err"), live)
}

/// A plant that fits onto a small disk, a branch that does not, and one that does again.
fn growing() -> Repo {
    let repo = plant();
    let first = repo.tip("main").unwrap();
    for branch in ["big", "after", "many"] {
        repo.set_branch(branch, &first).unwrap();
    }
    let big = (0..40).fold(Tree::new(), |tree, number| {
        tree.noise(format!("projects/big/{number}.bin"), number, 1 << 20)
    });
    repo.commit_to("big", Edit::put(big)).unwrap();
    repo.commit_to("after", Edit::put(Tree::new().file("projects/oven/new.json", "{}"))).unwrap();
    let many = (0..400).fold(Tree::new(), |tree, number| {
        tree.file(format!("projects/many/{number}/view.json"), "{}")
    });
    repo.commit_to("many", Edit::put(many)).unwrap();
    repo
}

fn full_disk(mount: &str) {
    let (world, repo) = (World::new(), growing());
    let run = with_mount(&world, mount, &repo, "sync main first; sync big full; sync main again");
    assert_eq!(run.code, 0, "{run:#?}");
    assert_eq!(noted(&world, "first").0, 0);
    let (code, errors, live) = noted(&world, "full");
    assert_eq!(code, 1, "{errors}");
    assert!(errors.contains("error: ") && errors.contains("hint: make room"), "{errors}");
    assert_eq!(live, plant_files(), "nothing of the new commit is there");
    let (code, errors, live) = noted(&world, "again");
    assert_eq!((code, live), (0, plant_files()), "{errors}");
}

// A4
#[test]
fn a_disk_of_16_mib_that_is_too_small_stays_at_the_old_commit() {
    if is_root() {
        full_disk("mount -t tmpfs -o size=16m tmpfs \"$PWD/data\"");
    }
}

// A4: a real file system, with blocks and a journal of its own.
#[test]
fn an_ext4_of_16_mib_that_is_too_small_stays_at_the_old_commit() {
    if !is_root() {
        return;
    }
    let image = "truncate -s 16M disk.img && mkfs.ext4 -q -m 0 disk.img && mount -o loop disk.img";
    let world = World::new();
    let try_it = format!("{image} data && umount data");
    let works = Run::ended(world.command("sh", ["-c", &try_it]));
    if works.code != 0 {
        skip::record("no loop device or no mkfs.ext4");
        return;
    }
    full_disk(&format!("{image} \"$PWD/data\""));
}

// A4: bytes are left, but not one more file.
#[test]
fn a_disk_without_a_free_inode_stays_at_the_old_commit_and_says_so() {
    if !is_root() {
        return;
    }
    let (world, repo) = (World::new(), growing());
    let mount = "mount -t tmpfs -o size=64m,nr_inodes=120 tmpfs \"$PWD/data\"";
    let run = with_mount(&world, mount, &repo, "sync main first; sync many full; sync after again");
    assert_eq!(run.code, 0, "{run:#?}");
    let (code, errors, live) = noted(&world, "full");
    assert_eq!((code, live), (1, plant_files()), "{errors}");
    assert!(errors.contains("No space left on device"), "{errors}");
    let (code, errors, live) = noted(&world, "again");
    assert_eq!((code, live), (0, plant_files().file("projects/oven/new.json", "{}")), "{errors}");
}

// A6
#[test]
fn a_read_only_volume_is_named_and_stays_as_it_is() {
    if !is_root() {
        return;
    }
    let (world, repo) = (World::new(), growing());
    let scenario = "sync main first; mount -o remount,ro,bind data; sync after refused; \
                    mount -o remount,rw,bind data; sync after again";
    let run = with_mount(&world, "mount --bind data data", &repo, scenario);
    assert_eq!(run.code, 0, "{run:#?}");
    let (code, errors, live) = noted(&world, "refused");
    assert_eq!((code, live), (1, plant_files()), "{errors}");
    assert!(errors.contains("Read-only file system"), "{errors}");
    assert!(errors.contains("hint: "), "{errors}");
    let (code, errors, live) = noted(&world, "again");
    assert_eq!((code, live), (0, plant_files().file("projects/oven/new.json", "{}")), "{errors}");
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
    let rounds = if crate::world::is_long() { 200 } else { 16 };
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
    let (world, update) = (World::new(), Update::new());
    if !can_trace(&world) {
        return;
    }
    update.sync(&world, "old");
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
