//! `dev` while a directory is edited, replaced, and left alone.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::sync::mpsc;

use rustix::fs::{FlockOperation, flock};
use rustix::process::Signal;
use stoker_testkit::process::{Guarded, find_program};
use stoker_testkit::wait::eventually;
use stoker_testkit::{skip, tree};

use crate::kit::background::{Heard, end};
use crate::kit::world::{Run, SOON, STOKER, World};

/// A working directory with one mapped file.
fn work(world: &World, content: &str) {
    tree::tree([("projects/line/view.json", content)]).write_to(&world.path("work")).unwrap();
}

fn dev(world: &World, more: &[&str]) -> Guarded {
    let words = ["dev", "work", "--map", "projects:projects", "--data", "data"];
    world.start(words.iter().chain(more))
}

fn is_live(world: &World, content: &str) -> bool {
    world.live() == tree::tree([("projects/line/view.json", content)])
}

#[test]
fn a_directory_that_takes_the_place_of_another_is_followed() {
    let world = World::new();
    work(&world, "1");
    let mut child = dev(&world, &[]);
    let errors = Heard::of(&mut child);
    eventually("the first sync", || is_live(&world, "1"));
    fs::rename(world.path("work"), world.path("work.old")).unwrap();
    eventually("it is missed", || errors.count("error: ") > 0);
    work(&world, "2");
    eventually("the other directory", || is_live(&world, "2"));
    eventually("it is told", || errors.count("is another directory now") == 1);
    fs::write(world.path("work/projects/line/view.json"), "3").unwrap();
    eventually("a save there", || is_live(&world, "3"));
    fs::remove_dir_all(world.path("work")).unwrap();
    work(&world, "4");
    eventually("one more", || is_live(&world, "4"));
    end(child, Signal::INT).exits(130);
}

#[test]
fn a_pipe_in_the_directory_is_skipped_and_reported() {
    let world = World::new();
    work(&world, "1");
    let pipe = world.path("work/projects/line/pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o644.into(), 0)
        .unwrap();
    let run = Run::of(dev(&world, &["--once"]).output().unwrap()).exits(0);
    assert!(run.stderr.contains("warning: projects/line/pipe: "), "{run:?}");
    assert!(is_live(&world, "1"));
}

#[test]
fn what_an_editor_puts_down_stops_nothing() {
    let world = World::new();
    work(&world, "1");
    let at = |name: &str| world.path("work/projects/line").join(name);
    for name in [".view.json.swp", "view.json~", "#view.json#", "4913", ".DS_Store"] {
        fs::write(at(name), "x").unwrap();
    }
    std::os::unix::fs::symlink("somebody@host.1:2", at(".#view.json")).unwrap();
    let run = Run::of(dev(&world, &["--once"]).output().unwrap()).exits(0);
    assert_eq!(run.stderr, "");
    assert!(is_live(&world, "1"));
}

#[test]
fn a_directory_is_not_called_a_commit() {
    let world = World::new();
    fs::create_dir(world.path("work")).unwrap();
    let run = Run::of(dev(&world, &["--once"]).output().unwrap()).exits(1);
    assert!(run.stderr.contains("the source \"projects\" does not exist"), "{run:?}");
    assert!(!run.stderr.contains("commit"), "{run:?}");
}

#[test]
fn a_signal_during_a_run_is_not_an_error() {
    let world = World::new();
    work(&world, "1");
    fs::create_dir(world.data().join(".stoker")).unwrap();
    let lock = fs::File::create(world.data().join(".stoker/lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let child = dev(&world, &["--lock-timeout", "1h"]);
    eventually("it waits for the lock", || {
        let runs = crate::kit::strace::processes(&world, "stoker");
        runs.into_iter().any(crate::kit::background::has_lock_open)
    });
    let run = end(child, Signal::INT).exits(130);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
}

#[test]
fn a_terminal_shows_how_to_end_it() {
    let world = World::new();
    if find_program("script".as_ref()).is_err() {
        skip::record("there is no script(1) to make a terminal with");
        return;
    }
    work(&world, "1");
    let words = "work --map projects:projects --data data";
    let dev = format!("{STOKER} dev {words}");
    let mut command = world.command("script", ["-qec", &dev, "/dev/null"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = Guarded::spawn(command).unwrap();
    let mut keyboard = child.take_stdin().unwrap();
    let (sender, lines) = mpsc::channel();
    let screen = BufReader::new(child.take_stdout().unwrap());
    std::thread::spawn(move || {
        screen.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)).ok();
    });
    let mut told = std::iter::from_fn(|| lines.recv_timeout(SOON).ok());
    assert!(told.any(|line| line.contains("watching work, Ctrl-C ends")));
    keyboard.write_all(b"\x03").unwrap();
    Run::of(child.output().unwrap()).exits(130);
}
