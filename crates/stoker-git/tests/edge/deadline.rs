//! Servers that never end, and operations that are cancelled.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use stoker_api::remedy::Remedy;
use stoker_git::diagnosis::Fault;
use stoker_git::{Access, Limits};
use stoker_testkit::git::Oid;
use stoker_testkit::port::DeadPort;
use stoker_testkit::wait::eventually;

use crate::world::{Place, public};

/// Accepts every connection, reads, sends `greeting`, and then nothing more.
fn silent(greeting: &'static [u8]) -> u16 {
    heard_by_silent(greeting).0
}

/// The same, and reports when a client has sent something.
fn heard_by_silent(greeting: &'static [u8]) -> (u16, mpsc::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, heard) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, tell) = (stream.unwrap(), tell.clone());
            thread::spawn(move || {
                drop(stream.write_all(greeting));
                drop(stream.read(&mut [0; 1]));
                tell.send(()).unwrap_or_default();
                drop(stream.read_to_end(&mut Vec::new()));
            });
        }
    });
    (port, heard)
}

fn impatient(url: &str) -> Access {
    Access { limits: Limits::within(Duration::from_millis(700)), ..public(url) }
}

/// Git's processes that talk to this port, by their arguments.
fn talking_to(port: u16) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let needle = format!("127.0.0.1:{port}");
    lines.filter(|line| String::from_utf8_lossy(line).contains(&needle)).count()
}

/// Long for a crowded machine, and short for what hangs for minutes.
const SOON: Duration = Duration::from_secs(20);

#[track_caller]
fn await_helpers(port: u16, is_it: impl Fn(usize) -> bool, or_else: &str) {
    eventually(or_else, || is_it(talking_to(port)));
}

// R53, B11: a server that accepts and then says nothing, at several points of the conversation.
#[test]
fn a_silent_server_is_given_up_in_time_and_nothing_stays_behind() {
    let greetings: [&[u8]; 4] = [
        b"",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n\r\n001e# ",
    ];
    for greeting in greetings {
        let port = silent(greeting);
        for scheme in ["http", "git"] {
            let place = Place::new();
            let started = Instant::now();
            let access = impatient(&format!("{scheme}://127.0.0.1:{port}/x.git"));
            let error = place.resolve(&access, "main").unwrap_err();
            let in_time = started.elapsed() < SOON;
            assert!(in_time, "{:?}", started.elapsed());
            if greeting.is_empty() {
                assert!(matches!(error.fault(), Some(Fault::TimedOut { .. })), "{error:?}");
                assert_eq!(error.remedy(), Some(Remedy::AllowMoreTime));
            }
            assert_eq!(talking_to(port), 0);
        }
    }
}

// A16: a cancelled operation ends, whatever the server does.
#[test]
fn a_cancelled_listing_ends_at_once_with_all_its_helpers() {
    let port = silent(b"");
    let place = Place::new();
    let cancel = place.cancel.clone();
    let access = public(&format!("http://127.0.0.1:{port}/x.git"));
    let running = thread::spawn(move || place.resolve(&access, "main"));
    await_helpers(port, |count| count >= 2, "git and its helper do not come");
    let told = Instant::now();
    cancel.cancel();
    let error = running.join().unwrap().unwrap_err();
    assert!(matches!(error.fault(), Some(Fault::Cancelled)), "{error:?}");
    assert!(told.elapsed() < SOON, "{:?}", told.elapsed());
    assert_eq!(talking_to(port), 0);
}

#[test]
fn a_port_without_a_listener_is_reported() {
    let dead = DeadPort::take().unwrap();
    let port = dead.number().unwrap();
    for scheme in ["http", "git"] {
        let access = public(&format!("{scheme}://127.0.0.1:{port}/x.git"));
        let error = Place::new().resolve(&access, "main").unwrap_err();
        let Some(Fault::Unreachable { detail }) = error.fault() else { panic!("{error:?}") };
        assert!(detail.contains("connection"), "{detail}");
    }
}

/// Set for the copy of this test that is going to be killed.
const DOOMED: &str = "STOKER_TEST_DOOMED";

// A1: a signal that kills the process kills git, too, and what git has started.
#[test]
fn git_and_its_helpers_end_with_us_even_if_we_are_killed() {
    if let Ok(url) = std::env::var(DOOMED) {
        let commit = Oid::parse(&"1".repeat(40)).unwrap();
        drop(Place::new().commit(&public(&url), &commit));
        return;
    }
    let started =
        b"HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n\r\n";
    for greeting in [b"".as_slice(), started] {
        let (port, heard) = heard_by_silent(greeting);
        let mut doomed = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "deadline::git_and_its_helpers_end_with_us_even_if_we_are_killed"])
            .env(DOOMED, format!("http://127.0.0.1:{port}/x.git"))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // Before the request is out git's helper would notice by itself that git is gone.
        heard.recv_timeout(Duration::from_secs(20)).expect("git asks the server");
        assert!(talking_to(port) >= 2, "git and its helper");
        doomed.kill().unwrap();
        doomed.wait().unwrap();
        await_helpers(port, |count| count == 0, "git lives on without us");
    }
}
