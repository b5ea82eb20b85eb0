//! A result arrives complete and in the requested format; otherwise the run fails.

use std::fs::File;
use std::process::{Command, Stdio};

use serde_json::Value;
use stoker_testkit::process::Guarded;

use crate::kit::result::has_every_key;
use crate::kit::world::{Run, STOKER, World, plant};

/// Runs a command whose standard output takes nothing.
fn into_full(mut command: Command) -> Run {
    let full = File::options().write(true).open("/dev/full").unwrap();
    command.stdin(Stdio::null()).stdout(full).stderr(Stdio::piped());
    Run::of(Guarded::spawn(command).unwrap().output().unwrap())
}

#[test]
fn the_format_is_read_anywhere_on_the_command_line() {
    let world = World::new();
    for words in [
        &["sync", "--bogus", "-qo", "json"] as &[&str],
        &["sync", "--bogus", "-vojson"],
        &["sync", "--bogus", "-vvo=json"],
        &["-ojson", "sync", "--bogus"],
        &["sync", "-f", "a.yaml", "--bogus", "--output", "json"],
        &["sync", "--ref", "-o", "json"],
    ] {
        let run = world.stoker(words).exits(2);
        has_every_key(&run.json());
        assert!(run.stderr.starts_with("error: "), "{words:?}: {run:?}");
    }
    for words in [&["sync", "-o", "yaml", "--bogus"], &["sync", "--bogus", "-qo", "yaml"]] {
        let run = world.stoker(words).exits(2);
        let value: Value = serde_saphyr::from_str(&run.stdout).unwrap();
        has_every_key(&value);
        assert!(run.stdout.starts_with("status: failed\n"), "{run:?}");
    }
    // The value of another flag, or a word after `--`, does not count.
    for words in [&["sync", "--bogus", "-fo", "json"], &["sync", "--", "-o", "json"]] {
        let run = world.stoker(words).exits(2);
        assert_eq!(run.stdout, "", "{words:?}");
        assert!(run.stderr.starts_with("error: "), "{run:?}");
    }
}

#[test]
fn a_result_that_can_not_be_written_is_a_failure() {
    let (world, repo) = (World::new(), plant());
    let plan = |more: &[&str]| {
        let words = world.words("plan", &repo.url(), more);
        world.command(STOKER, words)
    };
    let sync = |more: &[&str]| world.command(STOKER, world.words("sync", &repo.url(), more));
    for command in [
        plan(&["--exit-code"]),
        plan(&["--exit-code", "-o", "yaml"]),
        sync(&["-o", "json"]),
        sync(&[]),
        world.command(STOKER, ["completions", "bash"]),
        world.command(STOKER, ["sync", "--help"]),
    ] {
        into_full(command)
            .exits(1)
            .says(&["error: failed to write to standard output: ", "hint: "]);
    }
    into_full(sync(&["--bogus", "-o", "json"])).exits(2).says(&["standard output"]);
    into_full(sync(&["-q"])).exits(0);
}

#[test]
fn a_reader_that_went_away_is_forgiven() {
    let (world, repo) = (World::new(), plant());
    let mut command = world.command(STOKER, world.words("sync", &repo.url(), &["-o", "json"]));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped());
    let run = Run::of(Guarded::spawn(command).unwrap().output().unwrap()).exits(0);
    assert_eq!(run.stderr, "");
}

#[test]
fn an_error_on_closed_streams_is_still_an_error() {
    let world = World::new();
    let mut command = world.command(STOKER, ["sync", "--data", "absent", "--map", "a:b"]);
    let full = File::options().write(true).open("/dev/full").unwrap();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(full);
    Run::of(Guarded::spawn(command).unwrap().output().unwrap()).exits(2);
}
