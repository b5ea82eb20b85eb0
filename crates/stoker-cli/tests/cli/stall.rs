//! Credentials that keep a run waiting: it ends in time all the same, and when it is told to.

use std::net::TcpListener;
use std::time::Instant;

use rustix::process::Signal;

use crate::canary::rsa_key;
use crate::refusal::refused;
use crate::world::{ENDED, Run, World};

const NOWHERE: &str = "https://nowhere.invalid/plant.git";

/// An API that accepts and says nothing, and the flags of an App that asks it.
fn silent_api(world: &World) -> (TcpListener, Vec<String>) {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let key = world.path("app.pem");
    rsa_key(&key);
    let api = format!("http://{}", silent.local_addr().unwrap());
    let mut flags = vec!["--github-app-id", "1", "--github-installation-id", "2", "-o", "json"];
    flags.extend(["--github-api-url", &api, "--github-key-file", key.to_str().unwrap()]);
    (silent, flags.into_iter().map(str::to_owned).collect())
}

#[test]
fn a_run_that_is_asked_to_end_while_github_is_silent_was_cancelled() {
    let world = World::new();
    let (silent, flags) = silent_api(&world);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let child = world.start(world.words("sync", NOWHERE, &flags));
    let _connection = silent.accept().unwrap();
    let asked = Instant::now();
    child.signal(Signal::TERM).unwrap();
    refused(Run::of(child.output().unwrap()), 143, "Cancelled", &[]);
    assert!(asked.elapsed() < ENDED, "it took {:?} to end", asked.elapsed());
}

#[test]
fn a_silent_github_is_given_up_when_the_time_of_git_is_up() {
    let world = World::new();
    let (_silent, flags) = silent_api(&world);
    let mut flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    flags.extend(["--timeout", "2s"]);
    let asked = Instant::now();
    let run = world.sync(NOWHERE, &flags);
    refused(run, 1, "GitHubAppExchangeFailed", &["no answer in time"]);
    assert!(asked.elapsed() < ENDED, "it took {:?} to end", asked.elapsed());
}
