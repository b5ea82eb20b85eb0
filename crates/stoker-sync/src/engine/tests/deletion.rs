//! Claims about how much a run may delete unasked (A13).

use super::*;
use crate::testing::Files;

/// So many files below one directory.
fn many(source: &str, files: usize) -> Files {
    let file = |n: usize| {
        let content = format!("{source} {n}").into_bytes();
        (format!("{source}/{source}{n}").into_bytes(), (Kind::File, content))
    };
    (0..files).map(file).collect()
}

/// How many files a blocked run would have deleted, and of how many.
fn blocked(done: Result<Report, Box<dyn std::error::Error>>) -> (u64, u64) {
    let error = refusal(done);
    let plan::Error::MassDeletion(blocked) = error else { panic!("{error:?}") };
    (blocked.deleted, blocked.total)
}

#[test]
fn a_mapping_that_loses_all_its_files_stops_the_run_wherever_they_are() {
    let scratch = Scratch::new();
    let mut files = many("core", 60);
    files.insert(b"site/keep".to_vec(), (Kind::File, Vec::new()));
    let core = Commit::from_files(&files);
    files.extend(many("site", 12));
    files.remove(&b"site/keep"[..]);
    let both = Commit::from_files(&files);
    let maps = ["core:projects", "site:projects"];
    sync(&scratch, &both, &request(&both, maps)).unwrap();
    assert_eq!(blocked(sync(&scratch, &core, &request(&core, maps))), (12, 12));
    assert_eq!(blocked(sync(&scratch, &both, &request(&both, ["core:projects"]))), (12, 12));
    assert!(scratch.exists("data/projects/site0"));
}

#[test]
fn a_foreign_file_that_stays_excuses_no_deletion() {
    let scratch = Scratch::new();
    let old = Commit::from_files(&many("p", 12));
    let new = Commit::of([("p/keep", "")]);
    let reporting = |commit: &Commit| {
        let wanted = checking(request(commit, ["p:projects"]), DriftCheck::Stat);
        Request { drift: DriftPolicy::Report, ..wanted }
    };
    sync(&scratch, &old, &reporting(&old)).unwrap();
    scratch.write("data/projects/foreign", "f");
    assert_eq!(blocked(sync(&scratch, &new, &reporting(&new))), (12, 12));
}

#[test]
fn a_mass_deletion_can_be_withheld_while_everything_else_goes_on() {
    let scratch = Scratch::new();
    let mut files = many("p", 60);
    let old = Commit::from_files(&files);
    files.retain(|path, _| path == b"p/p0");
    files.insert(b"p/new".to_vec(), (Kind::File, b"new".to_vec()));
    files.insert(b"p/p0".to_vec(), (Kind::File, b"changed".to_vec()));
    let new = Commit::from_files(&files);
    let ask = |commit: &Commit| Request {
        excess: crate::request::Excess::Withheld,
        ..checking(request(commit, ["p:projects"]), DriftCheck::Stat)
    };
    sync(&scratch, &old, &ask(&old)).unwrap();
    let mut state = None;
    for _ in 0..3 {
        let withheld = scratch.plan(&new, &ask(&new)).withheld;
        assert_eq!(withheld.map(|withheld| withheld.deleted), Some(59));
        let report = sync(&scratch, &new, &ask(&new)).unwrap();
        assert_eq!(report.deleted.count, 0);
        assert_eq!(scratch.read("data/projects/new"), "new");
        assert_eq!(scratch.read("data/projects/p0"), "changed");
        assert!(scratch.exists("data/projects/p59"));
        assert_eq!(scratch.engine().view().files(), 61);
        let now = scratch.state();
        assert_eq!(*state.get_or_insert(now.clone()), now, "a no-op writes nothing");
    }
    let report = sync(&scratch, &new, &unlimited(ask(&new))).unwrap();
    assert_eq!(report.deleted.count, 59);
    assert_eq!(scratch.files("data/projects").len(), 2);
}

#[test]
fn a_file_that_moves_is_not_deleted() {
    let scratch = Scratch::new();
    let old = many("p", 12);
    let moved = old.iter().map(|(path, file)| {
        let name = path.strip_prefix(b"p/").unwrap();
        ([b"p/moved/", name].concat(), file.clone())
    });
    let new = Commit::from_files(&moved.collect());
    let old = Commit::from_files(&old);
    sync(&scratch, &old, &request(&old, ["p:projects"])).unwrap();
    sync(&scratch, &new, &request(&new, ["p:projects"])).unwrap();
    assert!(scratch.exists("data/projects/moved/p0") && !scratch.exists("data/projects/p0"));
}
