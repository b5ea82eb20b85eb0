//! `watch`, `dev` and `demo`: commands that go on.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rustix::process::Signal;
use stoker_testkit::git::{Edit, Tree};
use stoker_testkit::process::Guarded;
use stoker_testkit::tree;
use stoker_testkit::wait::eventually;

use crate::refusal::refused;
use crate::update::nothing_is_left;
use crate::world::{ENDED, Run, SOON, STOKER, World, plant, plant_files, spawn};

/// Sends a signal to a command that listens to it, and returns how it ended.
pub(crate) fn end(child: Guarded, signal: Signal) -> Run {
    let asked = Instant::now();
    child.signal(signal).unwrap();
    let run = Run::of(child.output().unwrap());
    assert!(asked.elapsed() < ENDED, "it took {:?} to end", asked.elapsed());
    run
}

/// What a command says on standard error while it runs.
pub(crate) struct Heard(Arc<Mutex<String>>);

impl Heard {
    pub(crate) fn of(child: &mut Guarded) -> Self {
        let heard = Arc::new(Mutex::new(String::new()));
        let (lines, into) =
            (BufReader::new(child.take_stderr().unwrap()).lines(), Arc::clone(&heard));
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                *into.lock().unwrap() += &(line + "\n");
            }
        });
        Self(heard)
    }

    pub(crate) fn count(&self, words: &str) -> usize {
        self.0.lock().unwrap().matches(words).count()
    }
}

/// The address that a watcher says it took.
fn listened(child: &mut Guarded) -> String {
    let errors = Heard::of(child);
    eventually("it listens", || errors.count("/sync\n") > 0);
    let said = errors.0.lock().unwrap().clone();
    said.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned()
}

fn post(address: &str, path: &str) -> String {
    post_as(address, path, &format!("Host: {address}\r\n"))
}

/// Asks with headers of one's own.
fn post_as(address: &str, path: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let head =
        format!("POST {path} HTTP/1.1\r\n{headers}Connection: close\r\nContent-Length: 0\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn watch_syncs_at_once_on_request_and_ends_with_143() {
    let (world, repo) = (World::new(), plant());
    let words = world.words("watch", &repo.url(), &["--interval", "1h", "--listen", "127.0.0.1:0"]);
    let mut child = world.start(words);
    let address = listened(&mut child);
    eventually("the first sync", || world.live() == plant_files());
    repo.commit(Edit::put(Tree::new().file("projects/oven/new.json", "{}"))).unwrap();
    let answer = post(&address, "/sync");
    assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");
    eventually("the new commit", || world.live().get("projects/oven/new.json").is_some());
    assert!(post(&address, "/other").starts_with("HTTP/1.1 404"));
    // A page in a browser beside it asks by its own origin, or by a name that it made point here.
    let port = address.rsplit(':').next().unwrap();
    for (headers, word) in [
        (format!("Host: {address}\r\nOrigin: https://evil.example\r\n"), "Origin"),
        (format!("Host: evil.example:{port}\r\n"), "Host"),
    ] {
        let answer = post_as(&address, "/sync", &headers);
        assert!(answer.starts_with("HTTP/1.1 403") && answer.contains(word), "{answer}");
    }
    let answer = post_as(&address, "/sync", &format!("Host: localhost:{port}\r\n"));
    assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");
    let run = end(child, Signal::TERM).exits(143);
    assert_eq!(run.stdout.matches("synced: ").count(), 2, "{run:?}");
    nothing_is_left(&world);
}

#[test]
fn watch_on_an_address_that_is_taken_fails_at_once() {
    let (world, repo) = (World::new(), plant());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let words = world.words("watch", &repo.url(), &["-o", "json", "--listen", &address]);
    let run = world.stoker(words);
    assert_eq!(run.json()["ref"], "main");
    refused(run, 1, "ListenFailed", &[&address]);
    assert_eq!(world.live(), tree::Tree::default());
}

#[test]
fn watch_polls_and_survives_an_outage() {
    let (world, repo) = (World::new(), plant());
    let words = world.words("watch", &repo.url(), &["--interval", "5s"]);
    let mut child = world.start(words);
    let errors = Heard::of(&mut child);
    eventually("the first sync", || world.live() == plant_files());
    let away = repo.path().with_extension("away");
    fs::rename(repo.path(), &away).unwrap();
    eventually("the outage is told", || errors.count("error: ") > 0);
    fs::rename(&away, repo.path()).unwrap();
    repo.commit(Edit::put(Tree::new().file("projects/oven/new.json", "{}"))).unwrap();
    eventually("the new commit", || world.live().get("projects/oven/new.json").is_some());
    end(child, Signal::INT).exits(130);
    assert_eq!(errors.count("error: "), 1, "an outage is told once");
}

#[test]
fn a_terminal_that_is_closed_ends_a_watcher_unless_nohup_says_otherwise() {
    let (world, repo) = (World::new(), plant());
    let words = world.words("watch", &repo.url(), &["--interval", "1h", "--listen", "127.0.0.1:0"]);
    let child = world.start(&words);
    eventually("the first sync", || world.live() == plant_files());
    end(child, Signal::HUP).exits(129);
    nothing_is_left(&world);

    fs::remove_dir_all(world.data()).unwrap();
    fs::create_dir(world.data()).unwrap();
    let script = "trap '' HUP; exec \"$0\" \"$@\"";
    let mut all = vec!["-c".into(), script.into(), STOKER.into()];
    all.extend(words);
    let mut child = spawn(world.command("sh", all));
    let address = listened(&mut child);
    eventually("the first sync", || world.live() == plant_files());
    child.signal(Signal::HUP).unwrap();
    repo.commit(Edit::put(Tree::new().file("projects/oven/new.json", "{}"))).unwrap();
    post(&address, "/sync");
    eventually("it goes on", || world.live().get("projects/oven/new.json").is_some());
    end(child, Signal::TERM).exits(143);
}

fn working_directory(world: &World) {
    let files =
        tree::tree([("projects/line/view.json", "1"), (".git/HEAD", "ref: refs/heads/main")]);
    files.write_to(&world.path("work")).unwrap();
}

#[test]
fn dev_once_brings_uncommitted_files_and_ends() {
    let world = World::new();
    working_directory(&world);
    let data = world.data();
    let words =
        ["dev", "work", "--once", "--map", "projects:projects", "--data", data.to_str().unwrap()];
    let run = world.stoker(words).exits(0);
    assert!(run.stdout.starts_with("synced: working directory"), "{run:?}");
    assert_eq!(world.live(), tree::tree([("projects/line/view.json", "1")]));
    let run = world.stoker(words).exits(0);
    assert!(run.stdout.starts_with("unchanged: "), "{run:?}");
    let words = ["dev", "absent", "--once", "--map", "a:b", "--data", data.to_str().unwrap()];
    assert!(world.stoker(words).exits(2).stderr.contains("absent"));
}

#[test]
fn dev_brings_each_save_and_shows_an_error_and_goes_on() {
    let world = World::new();
    working_directory(&world);
    let data = world.data();
    let words = ["dev", "work", "--map", "projects:projects", "--data", data.to_str().unwrap()];
    let mut child = world.start(words);
    let errors = Heard::of(&mut child);
    let view = || world.live().get("projects/line/view.json").cloned();
    eventually("the first sync", || view().is_some());
    fs::write(world.path("work/projects/line/view.json"), "2").unwrap();
    eventually("the save", || world.live() == tree::tree([("projects/line/view.json", "2")]));
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 7\n";
    fs::write(world.path("work/projects/line/big.png"), pointer.replace("00", &"0".repeat(64)))
        .unwrap();
    fs::write(world.path("work/projects/line/view.json"), "3").unwrap();
    eventually("the error is shown", || errors.count("big.png") > 0);
    fs::remove_file(world.path("work/projects/line/big.png")).unwrap();
    eventually("the save after the error", || {
        world.live() == tree::tree([("projects/line/view.json", "3")])
    });
    end(child, Signal::INT).exits(130);
    nothing_is_left(&world);
}

#[test]
fn demo_in_a_pipe_plays_once_and_leaves_nothing() {
    let world = World::new();
    let started = Instant::now();
    let run = world.stoker(["demo"]).exits(0);
    assert!(started.elapsed() < SOON, "took {:?}", started.elapsed());
    assert!(run.stdout.contains("1. The first sync") && !run.stdout.contains('\u{1b}'), "{run:?}");
    for place in ["tmp", "home"] {
        assert_eq!(fs::read_dir(world.path(place)).unwrap().count(), 0, "left in {place}");
    }
}

#[test]
fn demo_that_is_interrupted_leaves_nothing() {
    let world = World::new();
    let child = world.start(["demo"]);
    eventually("the plant", || fs::read_dir(world.path("tmp")).unwrap().count() > 0);
    let run = end(child, Signal::INT);
    assert!([0, 130].contains(&run.code), "{run:?}");
    assert_eq!(fs::read_dir(world.path("tmp")).unwrap().count(), 0, "{run:?}");
}
