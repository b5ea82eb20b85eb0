//! The commands of `docs/quickstart.md`, word for word, bring a second commit to a gateway in less
//! than five minutes.

use std::fs;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use stoker_testkit::node::Node;
use stoker_testkit::quickstart::{self, Passed, Quickstart};

#[test]
fn c01_the_commands_of_the_page_bring_the_second_commit() {
    let Some(node) = Node::or_skip() else { return };
    let quickstart = Quickstart::begin(node, quickstart::sample());
    let started = Instant::now();
    let mut passed = quickstart.run(1..=4);
    let data = quickstart.data_directory();
    assert!(data.join("projects/line-1/project.json").is_file(), "the files of the first commit");
    assert!(!data.join("projects/seed.json").exists(), "the agent writes after the seed step");
    assert!(!data.join("projects/line-2").exists(), "the second commit is not there yet");

    passed.extend(quickstart.run(5..=5));
    let took = started.elapsed();
    let line = fs::read_to_string(data.join("projects/line-2/project.json")).unwrap();
    assert_eq!(line, "{\"title\": \"Line 2\", \"enabled\": true}\n");
    let seen = &passed.last().unwrap().output;
    assert!(seen.ends_with("line-1\nline-2\n"), "the gateway sees both projects: {seen}");

    passed.extend(quickstart.run(6..=6));
    for Passed { section, output, .. } in &passed {
        assert_eq!(section.missing(output), None, "{}: {output}", section.title);
    }
    show(&passed, took);
    assert!(took < Duration::from_mins(5), "the page promises less than five minutes");
}

/// Past the test harness, which shows what a test prints only when it fails.
fn show(passed: &[Passed], took: Duration) {
    let mut out = io::stderr().lock();
    for Passed { section, took, .. } in passed {
        let seconds = took.as_secs_f32();
        writeln!(out, "quickstart  {:<29} {seconds:>5.1} s", section.title).unwrap();
    }
    let seconds = took.as_secs_f32();
    writeln!(out, "quickstart  helm install to second commit {seconds:.1} s").unwrap();
}
