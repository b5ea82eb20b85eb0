//! Claims about mappings whose source is not there, and comes back (R16).

use super::*;

/// Mappings of which the last may have no source.
fn optional<const N: usize>(commit: &Commit, maps: [&str; N]) -> Request {
    let mut wanted = request(commit, maps);
    wanted.mappings[N - 1].presence = Presence::Optional;
    wanted
}

fn with_overlay(commit: &Commit) -> Request {
    optional(commit, ["core:projects", "overlay:projects"])
}

#[test]
fn an_absent_optional_source_does_not_keep_what_others_brought() {
    let scratch = Scratch::new();
    let old = Commit::of([("core/stays", "1"), ("core/goes", "2"), ("core/from", "3")]);
    sync(&scratch, &old, &with_overlay(&old)).unwrap();
    scratch.write("data/projects/foreign", "f");
    let new = Commit::of([("core/stays", "1"), ("core/to", "3")]);
    let report = sync(&scratch, &new, &checking(with_overlay(&new), DriftCheck::Stat)).unwrap();
    let gone = ["projects/foreign", "projects/from", "projects/goes"];
    assert_eq!(strings(&report.deleted.paths), gone);
    assert_eq!(strings(&report.added.paths), ["projects/to"]);
}

#[test]
fn what_an_overlay_brought_stays_while_its_source_is_absent() {
    let scratch = Scratch::new();
    let both = Commit::of([("core/a", "1"), ("overlay/b", "2")]);
    sync(&scratch, &both, &with_overlay(&both)).unwrap();
    let without = Commit::of([("core/a", "new")]);
    let report = sync(&scratch, &without, &with_overlay(&without)).unwrap();
    assert_eq!(report.deleted.count, 0);
    assert!(scratch.exists("data/projects/b"));
}

// R16
#[test]
fn an_absent_optional_source_leaves_its_destination_alone() {
    let scratch = Scratch::new();
    let ask = |commit: &Commit| optional(commit, ["p:projects", "c:projects/extra"]);
    let old = Commit::of([("p/a", "1"), ("c/b", "2")]);
    sync(&scratch, &old, &ask(&old)).unwrap();
    scratch.write("data/projects/extra/foreign", "f");
    let new = Commit::of([("p/a", "other")]);
    for check in [DriftCheck::Touched, DriftCheck::Stat] {
        let report = sync(&scratch, &new, &checking(ask(&new), check)).unwrap();
        assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
        assert_eq!(scratch.read("data/projects/a"), "other");
        assert_eq!(scratch.read("data/projects/extra/b"), "2");
        assert!(scratch.exists("data/projects/extra/foreign"));
    }
    // Still ours: when the source is back without it, it goes.
    let back = Commit::of([("p/a", "other"), ("c/d", "4")]);
    sync(&scratch, &back, &ask(&back)).unwrap();
    assert!(scratch.exists("data/projects/extra/d") && !scratch.exists("data/projects/extra/b"));
}

#[test]
fn what_an_absent_source_had_brought_goes_with_its_mapping_empty_directories_included() {
    let scratch = Scratch::new();
    let whole = Commit::of([("core/a", "1"), ("overlay/sub/deep/b", "2")]);
    let both = |commit: &Commit| optional(commit, ["core:etc", "overlay:projects"]);
    sync(&scratch, &whole, &both(&whole)).unwrap();
    let less = Commit::of([("core/a", "1")]);
    sync(&scratch, &less, &both(&less)).unwrap();
    sync(&scratch, &less, &request(&less, ["core:etc"])).unwrap();
    assert!(!scratch.exists("data/projects/sub"));
}

#[test]
fn what_comes_back_under_another_number_is_looked_at_again() {
    let whole = Commit::of([("core/a", "1"), ("overlay/b", "2"), ("extra/e", "3")]);
    let less = Commit::of([("core/a", "1"), ("extra/e", "3")]);
    let scratch = Scratch::new();
    sync(&scratch, &whole, &with_overlay(&whole)).unwrap();
    sync(&scratch, &less, &with_overlay(&less)).unwrap();
    scratch.write("data/projects/b", "by hand");
    let wanted = optional(&whole, ["extra:etc", "core:projects", "overlay:projects"]);
    sync(&scratch, &whole, &checking(wanted, DriftCheck::Touched)).unwrap();
    assert_eq!(scratch.read("data/projects/b"), "2");
}

// Nobody cares for them while they are left alone.
#[test]
fn what_comes_back_is_looked_at_again() {
    let whole = Commit::of([("core/a", "1"), ("overlay/b", "2"), ("overlay/d/c", "3")]);
    let less = Commit::of([("core/a", "1")]);
    for check in [DriftCheck::Touched, DriftCheck::Stat] {
        let scratch = Scratch::new();
        let ask = |commit: &Commit| checking(with_overlay(commit), check);
        sync(&scratch, &whole, &ask(&whole)).unwrap();
        sync(&scratch, &less, &ask(&less)).unwrap();
        scratch.write("data/projects/b", "by hand");
        scratch.remove("data/projects/d/c");
        let report = sync(&scratch, &whole, &ask(&whole)).unwrap();
        assert_eq!(scratch.read("data/projects/b"), "2", "{check:?}");
        assert_eq!(scratch.read("data/projects/d/c"), "3", "{check:?}");
        assert_eq!((report.added.count, report.modified.count), (1, 1), "{report:?}");
        let again = sync(&scratch, &whole, &ask(&whole)).unwrap();
        assert_eq!((again.added.count, again.modified.count), (0, 0), "{again:?}");
    }
}
