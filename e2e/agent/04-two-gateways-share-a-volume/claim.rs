//! Two pods mount one volume, as a rolling update on a shared volume does: one agent writes, the
//! other says which one does, and takes over when the first one dies.

use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;

use stoker_testkit::git::Tree;
use stoker_testkit::node::signal;
use stoker_testkit::wait::eventually;

use super::{POD, SYNCED, Setup, wait_report, worker};

const OTHER: &str = "plant-1";
const USER: u32 = 2003;
const FILES: u32 = 3000;

fn path(number: u32) -> String {
    format!("projects/line-{}/r{number}/data.json", number % 20)
}

/// Says whether a run is writing files, which wait in this directory until all are there.
fn is_writing(data: &Path) -> bool {
    fs::read_dir(data.join(".sync-staging")).is_ok_and(|mut staged| staged.next().is_some())
}

// A7: exactly one writes; the other says who; a dead holder's lock is taken over.
#[test]
fn c04_one_agent_writes_and_the_other_says_which() {
    let Some(world) = super::World::begin() else { return };
    let namespace = world.node.cluster().namespace();
    let data = world.node.cluster().directory().join(format!("shared-{}", namespace.name()));
    fs::create_dir(&data).unwrap();
    chown(&data, Some(USER), Some(USER)).unwrap();
    let volume = format!("hostPath: {{path: {}}}", data.display());
    let setup = |name| Setup { name, volume: &volume, ..Setup::default() };
    world.start_synced(&namespace, &setup(POD));

    let many = (0..FILES).fold(Tree::new(), |tree, number| tree.file(path(number), "new"));
    let commit = world.advance(&namespace, many);
    eventually("files are being written", || is_writing(&data));
    let holder = worker(&namespace, POD);
    signal(holder, "STOP");
    assert!(is_writing(&data), "it was stopped in the middle");

    world.start(&namespace, &setup(OTHER));
    let report = wait_report(&namespace, OTHER, &["\"reason\":\"Locked\""]);
    assert!(report.contains(&format!("on {POD} since")), "{report}");
    assert!(!data.join(path(0)).exists(), "the other one wrote nothing");

    signal(holder, "KILL");
    for pod in [OTHER, POD] {
        wait_report(&namespace, pod, &[SYNCED, commit.as_str()]);
    }
    let missing = (0..FILES).filter(|number| !data.join(path(*number)).exists());
    assert_eq!((missing.count(), is_writing(&data)), (0, false));
}
