use super::*;
use crate::run_document::Warned;

const LOOK: DriftCheck = DriftCheck::Stat;

fn document(status: Status, commits: [&str; 2]) -> RunDocument {
    let [previous, commit] = commits.map(|commit| Some(commit.to_owned()));
    let error = (status == Status::Failed).then(|| Failure::usage("in vain"));
    RunDocument { status, previous_commit: previous, commit, error, ..RunDocument::default() }
}

#[test]
fn files_are_looked_at_every_ten_minutes_and_again_when_a_look_was_not_one() {
    let start = Instant::now();
    let at = |minutes| start + Duration::from_mins(minutes);
    let (same, other) = (["a", "a"], ["a", "b"]);
    for (status, commits, look, is_checked) in [
        (Status::Unchanged, same, LOOK, true),
        (Status::Synced, same, LOOK, true),
        (Status::Synced, other, LOOK, false),
        (Status::Unchanged, same, DriftCheck::Touched, false),
        (Status::Failed, same, LOOK, false),
    ] {
        let mut memory = Memory::default();
        assert_eq!(memory.drift_check(LOOK, at(0)), LOOK, "the first time");
        memory.take(&mut document(status, commits), look, at(0));
        let next = if is_checked { DriftCheck::Touched } else { LOOK };
        assert_eq!(memory.drift_check(LOOK, at(9)), next, "{status:?} {commits:?} {look:?}");
        assert_eq!(memory.drift_check(LOOK, at(10)), LOOK);
    }
}

#[test]
fn a_look_that_a_new_commit_took_the_place_of_follows_at_once() {
    let (now, minute) = (Instant::now(), Some(Duration::from_mins(1)));
    let mut memory = Memory::default();
    let mut pause = |status, commits, look| {
        memory.take(&mut document(status, commits), look, now);
        memory.pause(minute, 0.5)
    };
    assert_eq!(pause(Status::Synced, ["a", "b"], LOOK), Duration::ZERO);
    assert_ne!(pause(Status::Unchanged, ["b", "b"], LOOK), Duration::ZERO);
    assert_ne!(pause(Status::Synced, ["b", "c"], DriftCheck::Touched), Duration::ZERO);
    assert_ne!(pause(Status::Failed, ["b", "c"], LOOK), Duration::ZERO);
    assert_ne!(pause(Status::DryRun, ["b", "c"], LOOK), Duration::ZERO);
    assert_ne!(pause(Status::Synced, ["b", "c"], DriftCheck::Content), Duration::ZERO);
    let mut first = document(Status::Synced, ["", "a"]);
    first.previous_commit = None;
    let mut memory = Memory::default();
    memory.take(&mut first, LOOK, now);
    assert_ne!(memory.pause(minute, 0.5), Duration::ZERO, "all was written just now");
}

#[test]
fn a_state_is_told_once_and_every_sync() {
    let now = Instant::now();
    let mut memory = Memory::default();
    let mut is_new = |status, commits| memory.take(&mut document(status, commits), LOOK, now);
    assert!(is_new(Status::Synced, ["a", "b"]));
    assert!(is_new(Status::Synced, ["b", "c"]));
    assert!(is_new(Status::Unchanged, ["c", "c"]));
    assert!(!is_new(Status::Unchanged, ["c", "c"]));
    assert!(is_new(Status::Failed, ["c", "c"]));
    assert!(!is_new(Status::Failed, ["c", "c"]));
    assert!(is_new(Status::Unchanged, ["c", "c"]));
}

#[test]
fn pauses_are_spread_and_shorter_after_failures_until_they_have_grown() {
    let seconds = Duration::from_secs;
    let minute = Some(seconds(60));
    for (failures, interval, chance, pause) in [
        (0, minute, 0.5, seconds(60)),
        (0, minute, 0.0, seconds(54)),
        (0, minute, 1.0, seconds(66)),
        (1, minute, 0.5, seconds(2)),
        (5, minute, 0.5, seconds(32)),
        (6, minute, 0.5, seconds(60)),
        (u32::MAX, minute, 0.5, seconds(60)),
        (1, None, 0.5, seconds(2)),
        (u32::MAX, None, 0.5, seconds(64)),
        (0, None, 0.5, Duration::MAX),
    ] {
        let memory = Memory { failures, ..Memory::default() };
        let paused = memory.pause(interval, chance);
        let off = paused.abs_diff(pause);
        assert!(off < Duration::from_millis(1), "{failures} {interval:?} {chance}: {paused:?}");
    }
}

#[test]
fn a_standing_warning_is_news_once_and_two_flips_are_counted_after_the_first_run() {
    let now = Instant::now();
    let mut memory = Memory::default();
    let warned = |code, message: &str| Warned {
        code,
        path: crate::run_document::OutputPath(Vec::new()),
        message: message.to_owned(),
        is_known: false,
    };
    let mut take = |warnings: Vec<Warned>| {
        let mut document = document(Status::Unchanged, ["a", "a"]);
        document.warnings = warnings;
        let is_news = memory.take(&mut document, LOOK, now);
        let fresh = document.warnings.iter().filter(|warned| !warned.is_known).count();
        (is_news, fresh, memory.flips)
    };
    let kept = || warned(WarningCode::ForeignFilesKept, "60 files");
    let other = |message| warned(WarningCode::OtherSource, message);
    assert_eq!(
        take(vec![kept(), other("by pid 1")]),
        (true, 2, 0),
        "the first run replaces nothing"
    );
    assert_eq!(take(vec![kept()]), (false, 0, 0));
    assert_eq!(take(vec![kept(), other("by pid 2")]), (true, 1, 1));
    assert_eq!(take(vec![kept(), other("by pid 3")]), (true, 1, 2));
    assert_eq!(take(vec![]), (false, 0, 2));
    assert_eq!(take(vec![kept()]), (true, 1, 2), "it came back");
}
