//! `watch --listen`: a request starts a sync at once.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use rustix::process::Signal;
use stoker_testkit::git::{Edit, Tree};
use stoker_testkit::process::Guarded;
use stoker_testkit::wait::eventually;

use crate::kit::background::{Heard, end};
use crate::kit::update::nothing_is_left;
use crate::kit::world::{STOKER, World, plant, plant_files, spawn};

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
fn what_watch_prints_as_yaml_is_one_document_after_the_other() {
    let (world, repo) = (World::new(), plant());
    let more = ["--interval", "1h", "--listen", "localhost:0", "-o", "yaml"];
    let mut child = world.start(world.words("watch", &repo.url(), &more));
    let address = listened(&mut child);
    eventually("the first sync", || world.live() == plant_files());
    repo.commit(Edit::put(Tree::new().file("projects/oven/new.json", "{}"))).unwrap();
    post(&address, "/sync");
    eventually("the new commit", || world.live().get("projects/oven/new.json").is_some());
    let run = end(child, Signal::TERM).exits(143);
    let documents: Vec<&str> = run.stdout.split("---\n").collect();
    assert_eq!(documents.len(), 2, "{run:?}");
    assert!(documents.iter().all(|text| text.starts_with("status: synced\n")), "{run:?}");
}

#[test]
fn a_terminal_that_is_closed_ends_a_watcher_unless_nohup_says_otherwise() {
    let (world, repo) = (World::new(), plant());
    let words = world.words("watch", &repo.url(), &["--interval", "1h", "--listen", "127.0.0.1:0"]);
    // Whoever runs the tests may have said nohup, too.
    let mut heard = vec!["--default-signal=HUP".into(), STOKER.into()];
    heard.extend(words.clone());
    let child = spawn(world.command("env", heard));
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

#[test]
fn silent_connections_do_not_stop_a_watcher() {
    let (world, repo) = (World::new(), plant());
    let words = world.words("watch", &repo.url(), &["--interval", "5s", "--listen", "127.0.0.1:0"]);
    // Enough for a run, and less than the connections that follow.
    let script = "ulimit -n 128; exec \"$0\" \"$@\"";
    let mut all = vec!["-c".into(), script.into(), STOKER.into()];
    all.extend(words);
    let mut child = spawn(world.command("sh", all));
    let address = listened(&mut child).parse().unwrap();
    eventually("the first sync", || world.live() == plant_files());
    let connect = || TcpStream::connect_timeout(&address, Duration::from_millis(100)).ok();
    let silent: Vec<TcpStream> = (0..250).filter_map(|_| connect()).collect();
    assert!(silent.len() > 128, "{} connections", silent.len());
    repo.commit(Edit::put(Tree::new().file("projects/oven/new.json", "{}"))).unwrap();
    eventually("the new commit", || world.live().get("projects/oven/new.json").is_some());
    drop(silent);
    assert!(post(&address.to_string(), "/sync").starts_with("HTTP/1.1 202"));
    end(child, Signal::TERM).exits(143);
}

#[test]
fn a_watcher_that_is_quiet_says_where_it_listens() {
    let (world, repo) = (World::new(), plant());
    let words = world.words("watch", &repo.url(), &["-q", "--listen", "127.0.0.1:0"]);
    let mut child = world.start(words);
    let errors = Heard::of(&mut child);
    eventually("the address", || errors.count("listening on http://127.0.0.1:") == 1);
    end(child, Signal::INT).exits(130);
}
