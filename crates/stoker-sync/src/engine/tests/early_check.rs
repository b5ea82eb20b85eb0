//! Claims about the drift check that runs before the commit is known.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::{Cancel, EarlyCheck, View};

/// Enough files that the early check runs.
fn large(marker: &str) -> Commit {
    let file = |n: usize| {
        (format!("p/{}/{n}", n / 100).into_bytes(), (Kind::File, marker.as_bytes().to_vec()))
    };
    Commit::from_files(&(0..4_000).map(file).collect())
}

struct Place {
    scratch: Scratch,
    commit: Commit,
    wanted: Request,
}

impl Place {
    fn new() -> Self {
        let (scratch, commit) = (Scratch::new(), large("1"));
        let wanted = checking(request(&commit, ["p:projects"]), DriftCheck::Stat);
        sync(&scratch, &commit, &wanted).unwrap();
        Self { scratch, commit, wanted }
    }

    fn check(&self, request: &Request, is_same_commit: bool) -> Option<EarlyCheck> {
        let view = View::open(&self.scratch.options().data).unwrap();
        let waited = AtomicBool::new(false);
        let wait = || waited.store(true, Ordering::Relaxed);
        let ((), seen) = view.check_while(request, &Cancel::default(), wait, |()| is_same_commit);
        assert!(waited.into_inner(), "what was awaited is always waited for");
        seen
    }

    /// How much drift a run finds after an early check.
    fn drift_after(&self, seen: Option<EarlyCheck>, request: &Request) -> usize {
        let mut engine = self.scratch.engine();
        engine.set_early_check(seen);
        let plan = engine.plan(&mut self.commit.clone(), request, &Cancel::default());
        plan.unwrap().drift.len()
    }
}

#[test]
fn what_was_seen_while_waiting_is_not_looked_at_again() {
    let place = Place::new();
    let seen = place.check(&place.wanted, true);
    assert!(seen.is_some());
    place.scratch.write("data/projects/7/700", "edited after the check");
    assert_eq!(place.drift_after(seen.clone(), &place.wanted), 0);
    assert_eq!(place.drift_after(None, &place.wanted), 1);
    let by_content = checking(place.wanted.clone(), DriftCheck::Content);
    assert_eq!(place.drift_after(seen, &by_content), 1, "a look is no check at every byte");
}

#[test]
fn only_that_all_is_well_is_foreseen() {
    let place = Place::new();
    for harm in [
        |place: &Place| place.scratch.write("data/projects/39/3999", "edited"),
        |place: &Place| place.scratch.remove("data/projects/0/0"),
        |place: &Place| place.scratch.write("data/projects/20/foreign", "f"),
    ] {
        harm(&place);
        assert_eq!(place.check(&place.wanted, true), None);
        sync(&place.scratch, &place.commit, &place.wanted).unwrap();
        assert!(place.check(&place.wanted, true).is_some());
    }
}

#[test]
fn another_commit_another_profile_and_another_kind_of_look_end_it_unused() {
    let place = Place::new();
    assert_eq!(place.check(&place.wanted, false), None);
    let elsewhere = checking(request(&place.commit, ["p:elsewhere"]), DriftCheck::Stat);
    assert_eq!(place.check(&elsewhere, true), None);
    for check in [DriftCheck::Touched, DriftCheck::Content] {
        assert_eq!(place.check(&checking(place.wanted.clone(), check), true), None, "{check:?}");
    }
}

#[test]
fn what_was_seen_before_another_run_says_nothing_about_its_files() {
    let place = Place::new();
    let seen = place.check(&place.wanted, true);
    let other = large("2");
    sync(&place.scratch, &other, &unlimited(request(&other, ["p:projects"]))).unwrap();
    sync(&place.scratch, &place.commit, &unlimited(place.wanted.clone())).unwrap();
    place.scratch.write("data/projects/7/700", "edited");
    assert_eq!(place.drift_after(seen, &place.wanted), 1);
}

// Without a write, a lock file that is open to all can't be distinguished from one on a volume
// without permissions.
#[test]
fn who_opens_everything_to_all_is_not_taken_for_a_volume_without_permissions() {
    let place = Place::new();
    place.scratch.chmod("data/projects/7/700", 0o666);
    place.scratch.chmod("data/.stoker/lock", 0o666);
    let seen = place.check(&place.wanted, true);
    assert_eq!(place.drift_after(seen, &place.wanted), 1);
    assert_eq!(place.scratch.mode("data/.stoker/lock"), 0o600);
}
