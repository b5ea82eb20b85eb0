//! Killed with a gateway attached: the scan that is owed is done by the next run, and the scan lock
//! does not stay (promises A1, G1).

use stoker_testkit::gateway::{Half, Relock};

use crate::kit::site::Line;
use crate::kit::strace::{KILLED, Point, Tally, can_trace, each, learn, strike, wide_sample};
use crate::kit::update::Update;

// A1, G1
#[test]
fn a_run_with_a_gateway_killed_at_any_call_owes_the_scan_until_the_next_run() {
    let update = Update::new();
    let line = Line::new(&update, Relock::Extends);
    if !can_trace(&line.site.world) {
        return;
    }
    let old = line.seen();
    let points = learn(&line.site.world, line.words("new", "20s"), |_| true);
    let new = line.seen();
    assert_ne!(old, new, "the gateway has seen both");
    assert!(points.iter().any(|point| point.call == "connect"), "it speaks to the gateway");
    let tally = Tally::default();
    let kill = |line: &Line<'_>, point: &Point, (target, wanted): (&str, &String)| {
        let run = strike(&line.site.world, line.words(target, "20s"), point, "signal=KILL");
        tally.note(run.code, point);
        update.is_old_or_new(&line.site.world, &format!("killed at {point:?}"));
        line.completes(target);
        assert_eq!(&line.seen(), wanted, "{point:?}: {target} was not scanned as a whole");
        let scans = line.site.gateway.scans().len();
        line.completes(target);
        assert_eq!(line.site.gateway.scans().len(), scans, "{point:?}: nothing is owed any more");
    };
    each(
        &wide_sample(&points, 3),
        || Line::new(&update, Relock::Extends),
        |line, point| {
            kill(line, point, ("new", &new));
            line.completes("old");
        },
    );
    tally.proves_something();
}

/// Where a run has the lock in hand: the first rename makes its intent the journal, others follow.
fn under_lock(line: &Line<'_>) -> (Point, Point) {
    let points = learn(&line.site.world, line.words("new", "20s"), |_| true);
    let mut renames = points.into_iter().filter(|point| point.call == "renameat");
    (renames.next().unwrap(), renames.nth(50).unwrap())
}

// A1, G1: a gateway may refuse its lock even to the run that had it.
#[test]
fn a_lock_that_a_killed_run_left_is_waited_for() {
    let update = Update::new();
    let line = Line::new(&update, Relock::Conflicts);
    if !can_trace(&line.site.world) {
        return;
    }
    let (intent, among) = under_lock(&line);
    line.completes("old");
    let killed_at = |point: &Point| {
        let run = strike(&line.site.world, line.words("new", "20s"), point, "signal=KILL");
        assert_eq!(run.code, KILLED, "{point:?}: {run:#?}");
        assert!(
            line.site.gateway.is_locked(Half::Projects),
            "{point:?}: it died with the lock in hand"
        );
    };
    // Nothing was renamed: the next run undoes it, and starts again as soon as it may.
    killed_at(&intent);
    let run = line.site.world.stoker(line.words("new", "1s")).exits(1);
    assert!(run.stderr.contains("scan lock"), "{run:#?}");
    assert_eq!(line.site.world.live(), update.old, "nothing happens without the lock");
    // As its hold time does when it is over.
    line.site.gateway.release_lock(Half::Projects);
    line.completes("new");
    line.completes("old");
    // Some of it was renamed: the next run waits for the lock, and completes it then. What keeps us
    // out keeps the gateway from reading it, too.
    killed_at(&among);
    line.site.world.stoker(line.words("new", "1s")).exits(0);
    assert_eq!(line.site.world.live(), update.new);
    let files = line.site.gateway.scans().last().map(|scan| scan.files);
    assert_eq!(files, Some(update.new.iter().count()), "all of it was scanned");
}
