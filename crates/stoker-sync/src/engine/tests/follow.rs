//! Claims about symbolic links in the place of mapped directories.

use super::*;
use crate::{Cancel, Engine, Opened, Options};

/// One run that follows these links.
fn sync_following(
    scratch: &Scratch,
    commit: &Commit,
    request: &Request,
    links: &[&str],
) -> Result<Report, Box<dyn std::error::Error>> {
    let follow = links.iter().map(|link| RelPath::parse(link).unwrap()).collect();
    let (cancel, mut source) = (Cancel::default(), commit.clone());
    let options = Options { follow, ..scratch.options() };
    let mut engine = Engine::open(&options, &cancel).and_then(Opened::finish)?;
    let plan = engine.plan(&mut source, request, &cancel)?;
    Ok(engine.write(plan, &mut source, &cancel)?.apply(&mut || ())?)
}

#[test]
fn a_linked_destination_is_refused_and_followed_when_it_is_named() {
    let scratch = Scratch::new();
    scratch.make_dir("volume/projects");
    scratch.link("data/projects", "../volume/projects");
    let old = Commit::of([("p/a/x", "1"), ("p/a/y", "2"), ("p/b/z", "3")]);
    let ask = |commit: &Commit| checking(request(commit, ["p:projects"]), DriftCheck::Stat);
    let refused = refusal(sync(&scratch, &old, &ask(&old)));
    assert!(
        matches!(&refused, plan::Error::Link { path } if **path == *b"projects"),
        "{refused:?}"
    );

    sync_following(&scratch, &old, &ask(&old), &["projects"]).unwrap();
    assert_eq!(scratch.read("volume/projects/a/x"), "1");
    let before = scratch.state();
    for check in [DriftCheck::Touched, DriftCheck::Stat, DriftCheck::Content] {
        let report = sync_following(&scratch, &old, &checking(ask(&old), check), &["projects"]);
        let report = report.unwrap();
        assert_eq!((report.modified.count, report.drift.len(), report.unchanged), (0, 0, 3));
    }
    assert_eq!(scratch.state(), before, "a no-op writes nothing");

    scratch.write("volume/projects/a/litter", "l");
    scratch.write("volume/projects/a/x", "changed");
    let new = Commit::of([("p/a/x", "1"), ("p/c/new", "4")]);
    let report = sync_following(&scratch, &old, &ask(&old), &["projects"]).unwrap();
    assert_eq!(report.drift.len(), 2);
    sync_following(&scratch, &new, &ask(&new), &["projects"]).unwrap();
    let files: Vec<_> = scratch.files("volume/projects").into_keys().collect();
    assert_eq!(files, [b"a/x".to_vec(), b"c/new".to_vec()]);
    assert!(matches!(scratch.everything("data")[&b"projects"[..]], crate::testing::Live::Link(_)));
    // Without the flag it is refused again, and nothing happens.
    sync(&scratch, &old, &ask(&old)).unwrap_err();
    assert_eq!(scratch.files("volume/projects").len(), 2);
}

#[test]
fn a_link_within_a_mapped_directory_is_followed_and_never_an_orphan() {
    let scratch = Scratch::new();
    scratch.make_dir("elsewhere");
    scratch.link("data/config/resources", "../../elsewhere");
    let commit = Commit::of([("c/resources/core/x", "1"), ("c/y", "2")]);
    let wanted = checking(unlimited(request(&commit, ["c:config"])), DriftCheck::Stat);
    for _ in 0..2 {
        sync_following(&scratch, &commit, &wanted, &["config/resources"]).unwrap();
        assert_eq!(scratch.read("elsewhere/core/x"), "1");
        assert!(scratch.exists("data/config/resources"));
    }
}

#[test]
fn only_that_link_is_followed_and_only_to_a_directory() {
    let scratch = Scratch::new();
    scratch.make_dir("outside");
    scratch.write("file", "f");
    scratch.link("data/projects", "../nowhere");
    let commit = Commit::of([("p/a/x", "1")]);
    let wanted = request(&commit, ["p:projects"]);
    let refused = sync_following(&scratch, &commit, &wanted, &["projects"]).unwrap_err();
    assert!(refused.source().unwrap().to_string().contains("projects"), "{refused}");
    scratch.remove("data/projects");
    scratch.link("data/projects", "../file");
    sync_following(&scratch, &commit, &wanted, &["projects"]).unwrap_err();
    scratch.remove("data/projects");
    // A link within the one that is followed, and one beside it, are not.
    scratch.make_dir("volume");
    scratch.link("data/projects", "../volume");
    scratch.link("volume/a", "../outside");
    sync_following(&scratch, &commit, &wanted, &["projects"]).unwrap_err();
    assert_eq!(scratch.files("outside").len(), 0);
    // A directory needs no following, nor does what is not there.
    let scratch = Scratch::new();
    for _ in 0..2 {
        sync_following(&scratch, &commit, &wanted, &["projects", "none"]).unwrap();
    }
    assert_eq!(scratch.read("data/projects/a/x"), "1");
}
