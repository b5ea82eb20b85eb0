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
    let emptied = sync(&scratch, &core, &request(&core, maps)).unwrap_err().to_string();
    assert!(emptied.contains("12 of 12 files"), "{emptied}");
    let unmapped = sync(&scratch, &both, &request(&both, ["core:projects"])).unwrap_err();
    assert!(unmapped.to_string().contains("12 of 12 files"), "{unmapped}");
    assert!(scratch.exists("data/projects/site0"));
}

#[test]
fn a_foreign_file_that_stays_excuses_no_deletion() {
    let scratch = Scratch::new();
    let old = Commit::from_files(&many("p", 12));
    let new = Commit::of([("p/keep", "")]);
    let reporting = |commit: &Commit| {
        let wanted = looking(request(commit, ["p:projects"]), Look::Stat);
        Request { drift: DriftPolicy::Report, ..wanted }
    };
    sync(&scratch, &old, &reporting(&old)).unwrap();
    scratch.write("data/projects/foreign", "f");
    let refused = sync(&scratch, &new, &reporting(&new)).unwrap_err().to_string();
    assert!(refused.contains("12 of 12 files"), "{refused}");
}
