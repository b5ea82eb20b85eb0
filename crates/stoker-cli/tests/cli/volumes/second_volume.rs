//! A data directory of more than one volume: what can't be renamed into place is copied beside it
//! first (promise A1).

use stoker_testkit::{skip, tree};

use crate::kit::mount::{is_root, noted, with_mount};
use crate::kit::strace::{CHANGING, Point, Tally, can_trace, each, points, wide_sample};
use crate::kit::update::Update;
use crate::kit::world::World;

/// The mapping's destination is a mount point.
const MOUNT: &str = "mkdir -p data/projects && mount -t tmpfs tmpfs \"$PWD/data/projects\"";

fn can_mount() -> bool {
    let works = is_root() && {
        let (world, update) = (World::new(), Update::new());
        with_mount(&world, MOUNT, &update.repo, "").code == 0
    };
    if !works && is_root() {
        skip::record("no tmpfs can be mounted here");
    }
    works
}

/// A sync to the old commit, a traced one to the new, and what comes after that.
fn scenario(strace: &str, after: &str) -> String {
    format!("sync old first; RUN='strace -qq {strace}'; sync new struck; RUN=; {after}")
}

fn learned(update: &Update) -> Vec<Point> {
    let world = World::new();
    let learn = scenario(&format!("-y -o trace -e trace={CHANGING}"), "sync old back");
    let run = with_mount(&world, MOUNT, &update.repo, &learn);
    assert_eq!(run.code, 0, "{run:#?}");
    for (name, wanted) in [("first", &update.old), ("struck", &update.new), ("back", &update.old)] {
        let (code, errors, live) = noted(&world, name);
        assert_eq!((code, &live), (0, wanted), "{name}: {errors}");
    }
    points(&world.path("trace"), |line| line.contains("/data/"))
}

// A1
#[test]
fn a_destination_on_another_volume_is_synced_and_survives_a_kill_at_any_call() {
    let update = Update::new();
    if !can_mount() || !can_trace(&World::new()) {
        return;
    }
    let points = learned(&update);
    let tally = Tally::default();
    each(
        &wide_sample(&points, 3),
        || (),
        |(), point| {
            let (world, Point { call, number }) = (World::new(), point);
            let kill =
                format!("-o /dev/null -e trace={call} -e inject={call}:signal=KILL:when={number}");
            let run = with_mount(&world, MOUNT, &update.repo, &scenario(&kill, "sync new again"));
            assert_eq!(run.code, 0, "{run:#?}");
            let code = std::fs::read_to_string(world.path("struck.code")).unwrap();
            tally.note(code.trim().parse().unwrap(), point);
            let killed = tree::Tree::read(&world.path("struck.data")).unwrap();
            let killed = killed.without(".stoker").without(".sync-staging");
            update.allows(&killed, &format!("killed at {point:?}"));
            let (code, errors, live) = noted(&world, "again");
            assert_eq!((code, &live), (0, &update.new), "{point:?}: {errors}");
        },
    );
    tally.proves_something();
}

// A3: a volume that is mounted below the data directory is not synced with it.
#[test]
fn what_was_renamed_on_another_volume_is_made_durable_there() {
    let (world, update) = (World::new(), Update::new());
    if !can_mount() || !can_trace(&world) {
        return;
    }
    let strace = "-y -o trace -e trace=renameat,renameat2,fsync,syncfs";
    let run = with_mount(&world, MOUNT, &update.repo, &scenario(strace, "sync new again"));
    assert_eq!((run.code, noted(&world, "struck").0), (0, 0), "{run:#?}");
    // A run that has nothing to do writes nothing, here too.
    let state = |name: &str| tree::Tree::read(&world.path(name).join(".stoker")).unwrap();
    assert_eq!(state("struck.data"), state("again.data"));
    let trace = std::fs::read_to_string(world.path("trace")).unwrap();
    let calls: Vec<&str> = trace.lines().collect();
    let is_placed = |call: &&str| call.starts_with("renameat") && call.contains("/data/projects/");
    let placed = calls.iter().rposition(is_placed).unwrap();
    let is_synced = |call: &&str| call.starts_with("syncfs(") && call.contains("/data/projects");
    let synced = calls.iter().position(is_synced);
    let recorded = calls.iter().position(|call| call.contains("\"manifest-")).unwrap();
    assert!(synced.is_some_and(|synced| placed < synced && synced < recorded), "{trace}");
}
