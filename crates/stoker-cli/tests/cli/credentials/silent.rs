//! Credentials that never arrive: a run still ends in time, and when it is cancelled.

use std::net::TcpListener;
use std::time::Instant;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::Signal;

use super::never_shown::rsa_key;
use crate::kit::result::refused;
use crate::kit::site::Site;
use crate::kit::world::{ENDED, Run, World, plant};

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
    refused(run, 1, "GitHubAppExchangeFailed", &["no response in time"]);
    assert!(asked.elapsed() < ENDED, "it took {:?} to end", asked.elapsed());
}

/// A pipe without a writer.
fn pipe(world: &World, name: &str) -> String {
    let path = world.path(name);
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(CWD, &path, FileType::Fifo, mode, 0).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Claims that a run ends by itself and names the pipe.
#[track_caller]
fn names(world: &World, url: &str, flags: &[&str], pipe: &str) {
    let asked = Instant::now();
    let run = world.sync(url, flags).exits(1);
    assert!(asked.elapsed() < ENDED, "it took {:?} to end", asked.elapsed());
    for word in [pipe, "a pipe without a writer", "hint: "] {
        assert!(run.stderr.contains(word), "no {word:?}: {run:?}");
    }
}

#[test]
fn a_pipe_without_a_writer_is_refused_for_git() {
    let world = World::new();
    let pipe = &pipe(&world, "pipe");
    names(&world, NOWHERE, &["--token-file", pipe], pipe);
    names(&world, NOWHERE, &["--ca-file", pipe], pipe);
    let app = ["--github-app-id", "1", "--github-installation-id", "2", "--github-key-file", pipe];
    names(&world, NOWHERE, &app, pipe);
    let (key, ssh) = (world.path("id"), "ssh://git@nowhere.invalid/plant.git");
    rsa_key(&key);
    let hosts = world.file("hosts", "nowhere.invalid ssh-ed25519 AAAA");
    let (key, hosts) = (key.to_str().unwrap(), hosts.to_str().unwrap());
    names(&world, ssh, &["--ssh-key-file", pipe, "--known-hosts-file", hosts], pipe);
    names(&world, ssh, &["--ssh-key-file", key, "--known-hosts-file", pipe], pipe);
}

#[test]
fn a_pipe_without_a_writer_is_refused_for_a_gateway() {
    let repo = plant();
    let site = Site::new(repo.url());
    let (world, gateway) = (&site.world, site.gateway.url());
    let pipe = &pipe(world, "pipe");
    names(world, &site.url, &["--gateway", &gateway, "--api-key-file", pipe], pipe);
    let key = world.file("key", "a:b");
    let flags = ["--api-key-file", key.to_str().unwrap(), "--gateway-ca-file", pipe];
    names(world, &site.url, &[&flags[..], &["--gateway", "https://127.0.0.1:1"]].concat(), pipe);
}
