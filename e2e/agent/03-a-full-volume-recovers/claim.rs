//! The gateway's volume runs full: the live files stay as they are, the report says why, and the
//! commit arrives when there is room again.

use std::fs::{self, File};
use std::io::Write as _;

use stoker_testkit::git::Tree;

use super::{POD, SYNCED, Setup, inside, wait_report, worker};

const FILE: &str = "projects/line-1/views/main.json";

// A4, R81: a full volume changes no live file, and the sync resumes by itself.
#[test]
fn c03_a_sync_to_a_full_volume_changes_nothing_and_resumes_with_room() {
    let Some(world) = super::World::begin() else { return };
    let namespace = world.node.cluster().namespace();
    let volume = "emptyDir: {medium: Memory, sizeLimit: 4Mi}";
    let pod = world.start_synced(&namespace, &Setup { volume, ..Setup::default() });
    let first = world.advance(&namespace, Tree::new().file(FILE, "small"));
    wait_report(&namespace, POD, &[SYNCED, first.as_str()]);

    let data = inside(worker(&namespace, POD), "/data");
    let filler = data.join("filler");
    let mut file = File::create(&filler).unwrap();
    while file.write_all(&[1; 4096]).is_ok() {}
    let second = world.advance(&namespace, Tree::new().file(FILE, "large".repeat(40_000)));
    let report = wait_report(&namespace, POD, &["\"reason\":\"DiskFull\""]);
    assert!(report.contains("\"syncStatus\":\"Error\""), "{report}");
    assert!(report.contains(first.as_str()), "it still has the first commit: {report}");
    assert_eq!(fs::read_to_string(data.join(FILE)).unwrap(), "small");

    fs::remove_file(&filler).unwrap();
    drop(file);
    wait_report(&namespace, POD, &[SYNCED, second.as_str()]);
    assert!(fs::read_to_string(data.join(FILE)).unwrap().starts_with("largelarge"));
    assert_eq!(pod.field("{.status.containerStatuses[0].restartCount}"), "0");
}
