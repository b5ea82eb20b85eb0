//! A result reaches whoever asked for it, in the format that was asked for; or the run has failed.

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
fn the_wish_for_a_format_is_read_wherever_it_stands() {
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
    // What is the value of another flag, or stands behind the last of them, is no such wish.
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
        let run = into_full(command).exits(1);
        assert!(run.stderr.contains("error: failed to write to standard output: "), "{run:?}");
        assert!(run.stderr.contains("hint: "), "{run:?}");
    }
    let run = into_full(sync(&["--bogus", "-o", "json"])).exits(2);
    assert!(run.stderr.contains("standard output"), "{run:?}");
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
fn an_error_that_nobody_can_read_is_an_error_all_the_same() {
    let world = World::new();
    let mut command = world.command(STOKER, ["sync", "--data", "absent", "--map", "a:b"]);
    let full = File::options().write(true).open("/dev/full").unwrap();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(full);
    Run::of(Guarded::spawn(command).unwrap().output().unwrap()).exits(2);
}
