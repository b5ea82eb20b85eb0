//! Where the program runs: behind a pipe, on a terminal, in a directory that is there or not.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Instant;

use stoker_testkit::process::{Guarded, find_program};
use stoker_testkit::skip;

use crate::kit::manifest::{PROJECTS, gateway_sync};
use crate::kit::world::{ENDED, Run, SOON, STOKER, World, plant, plant_files};

/// Starts a command that can be written to.
fn talk(mut command: Command) -> Guarded {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Guarded::spawn(command).unwrap()
}

#[test]
fn the_file_may_come_by_standard_input() {
    let (world, repo) = (World::new(), plant());
    let data = world.data();
    let words = ["sync", "-f", "-", "--data", data.to_str().unwrap()];
    let manifest = gateway_sync(&repo.url(), PROJECTS);
    let mut child = talk(world.command(STOKER, words));
    child.take_stdin().unwrap().write_all(manifest.as_bytes()).unwrap();
    Run::of(child.output().unwrap()).exits(0);
    assert_eq!(world.live(), plant_files());
    let mut child = talk(world.command(STOKER, words));
    child.take_stdin().unwrap().write_all(b"spec: [").unwrap();
    let run = Run::of(child.output().unwrap()).exits(2);
    assert!(run.stderr.starts_with("error: standard input: not valid YAML"), "{run:?}");
}

#[test]
fn demo_on_a_terminal_waits_for_ctrl_c_and_leaves_nothing() {
    let world = World::new();
    if find_program("script".as_ref()).is_err() {
        skip::record("there is no script(1) to make a terminal with");
        return;
    }
    let demo = format!("{STOKER} demo");
    let mut child = talk(world.command("script", ["-qec", &demo, "/dev/null"]));
    let mut keyboard = child.take_stdin().unwrap();
    let (sender, lines) = mpsc::channel();
    let screen = BufReader::new(child.take_stdout().unwrap());
    std::thread::spawn(move || {
        screen.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)).ok();
    });
    let started = Instant::now();
    let told = std::iter::from_fn(|| lines.recv_timeout(SOON).ok());
    let last = told.into_iter().find(|line| line.contains("Ctrl-C ends them"));
    assert!(last.is_some(), "after {:?}", started.elapsed());
    assert!(fs::read_dir(world.path("tmp")).unwrap().count() > 0, "the gateways are there");
    assert_eq!(child.try_wait().unwrap(), None, "it waits");
    let asked = Instant::now();
    keyboard.write_all(b"\x03").unwrap();
    Run::of(child.output().unwrap()).exits(130);
    assert!(asked.elapsed() < ENDED, "it took {:?} to end", asked.elapsed());
    for place in ["tmp", "home"] {
        assert_eq!(fs::read_dir(world.path(place)).unwrap().count(), 0, "left in {place}");
    }
}

#[test]
fn a_missing_data_directory_is_made_on_request_only() {
    let (world, repo) = (World::new(), plant());
    fs::remove_dir(world.data()).unwrap();
    world.sync(&repo.url(), &[]).exits(1);
    assert!(!world.data().exists());
    world.sync(&repo.url(), &["--create"]).exits(0);
    assert_eq!(world.live(), plant_files());
}

#[test]
fn a_data_directory_that_is_made_is_open_to_no_writer_whatever_the_umask() {
    let (world, repo) = (World::new(), plant());
    for (umask, name) in [("000", "made"), ("077", "shut")] {
        let deep = world.path(name).join("deep/data");
        let script =
            format!("umask {umask}; exec \"$0\" \"$@\" --create --data {}", deep.display());
        let words = ["sync", "--repo", &repo.url(), "--ref", "main", "--map", "projects:projects"];
        let all = ["-c", &script, STOKER].into_iter().chain(words);
        Run::ended(world.command("sh", all)).exits(0);
        for made in [&deep, &world.path(name).join("deep"), &world.path(name)] {
            let mode = fs::metadata(made).unwrap().permissions().mode();
            assert_eq!(mode & 0o7777, 0o755, "{umask}: {}", made.display());
        }
    }
}

// A relative path means the same to us as to the git that we start elsewhere.
#[test]
fn a_store_may_be_named_relative_to_the_working_directory() {
    let (world, repo) = (World::new(), plant());
    world.sync(&repo.url(), &["--store", "objects"]).exits(0);
    assert!(world.path("objects").is_dir());
    assert_eq!(world.live(), plant_files());
}

#[test]
fn works_without_a_home() {
    let (world, repo) = (World::new(), plant());
    let mut command = world.command(STOKER, world.words("sync", &repo.url(), &[]));
    command.env_remove("HOME").env_remove("XDG_CACHE_HOME");
    Run::ended(command).exits(0);
    assert_eq!(world.live(), plant_files());
}
