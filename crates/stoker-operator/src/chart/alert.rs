//! The alerts fire when they should, as Prometheus itself sees it.

use std::process::Command;

use stoker_testkit::node::succeed;
use stoker_testkit::program::{self, Program};

use super::CHART;

#[test]
fn alerts_fire_after_their_time_and_not_before() {
    let promtool = program::locate(Program::Promtool).unwrap();
    let rules = format!("{CHART}/files/alerts.yaml");
    succeed(Command::new(&promtool).args(["check", "rules", "--lint=all", &rules]));
    let directory = tempfile::tempdir().unwrap();
    let tests = include_str!("alert.yaml").replace("RULES", &rules);
    let path = directory.path().join("alert.yaml");
    std::fs::write(&path, tests).unwrap();
    succeed(Command::new(&promtool).args(["test", "rules"]).arg(path));
}
