//! Clones over SSH, `git://` and `file://` equal the repository.

#![expect(clippy::unwrap_used, reason = "a set-up that fails is a test that fails")]

use std::path::Path;

use stoker_testkit::git::daemon::Daemon;
use stoker_testkit::git::ssh::{Kind, SshServer};
use stoker_testkit::git::{Client, Repo, ignition};

fn plant() -> Repo {
    let (repo, commit) = Repo::with(ignition::tree(200, 1)).unwrap();
    repo.annotated_tag("v1.0.0", &commit).unwrap();
    repo
}

fn ssh_client(server: &SshServer, key: &Path, known_hosts: &Path) -> Client {
    Client::new().unwrap().env("GIT_SSH_COMMAND", server.client_command(key, known_hosts))
}

fn refused(client: &Client, url: &str) -> String {
    let output = client.attempt(["ls-remote", url]).unwrap();
    assert!(!output.status.success(), "{url} was readable");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_clone_by_file_equals_the_repository() {
    let (repo, client) = (plant(), Client::new().unwrap());
    let copy = client.mirror(&repo.url(), "copy").unwrap();
    assert!(repo.equals(&copy).unwrap());
}

#[test]
fn a_clone_by_daemon_equals_the_repository() {
    let (repo, client) = (plant(), Client::new().unwrap());
    let server = Daemon::start(&repo).unwrap();
    let copy = client.mirror(&server.url(), "copy").unwrap();
    assert!(repo.equals(&copy).unwrap());
    drop(client);
    let url = server.url();
    drop(server);
    refused(&Client::new().unwrap(), &url);
}

#[test]
fn a_clone_by_ssh_equals_the_repository_with_either_key() {
    let (repo, server) = (plant(), SshServer::start().unwrap());
    for kind in [Kind::Ed25519, Kind::Rsa] {
        let client = ssh_client(&server, &server.user_key(kind), &server.known_hosts());
        let copy = client.mirror(&server.url(&repo), "copy");
        let copy = copy.unwrap_or_else(|error| panic!("{error}\n{}", server.log()));
        assert!(repo.equals(&copy).unwrap());
    }
    assert_eq!(server.connections(), 2);
}

#[test]
fn ssh_speaks_protocol_two() {
    let (repo, server) = (plant(), SshServer::start().unwrap());
    let key = server.user_key(Kind::Ed25519);
    let client = ssh_client(&server, &key, &server.known_hosts()).env("GIT_TRACE_PACKET", "1");
    let output = client.attempt(["ls-remote", &server.url(&repo)]).unwrap();
    let trace = String::from_utf8_lossy(&output.stderr);
    assert!(trace.contains("< version 2"), "{trace}");
}

#[test]
fn a_key_that_the_server_does_not_know_is_refused() {
    let (repo, server) = (plant(), SshServer::start().unwrap());
    let stranger = server.stranger_key().unwrap();
    let client = ssh_client(&server, &stranger, &server.known_hosts());
    assert!(refused(&client, &server.url(&repo)).contains("Permission denied"));
}

// B12
#[test]
fn unknown_and_changed_host_keys_are_refused() {
    let (repo, server) = (plant(), SshServer::start().unwrap());
    let (url, key) = (server.url(&repo), server.user_key(Kind::Ed25519));
    let unknowing = ssh_client(&server, &key, &server.empty_known_hosts().unwrap());
    assert!(refused(&unknowing, &url).contains("Host key verification failed"));

    let client = ssh_client(&server, &key, &server.known_hosts());
    client.run(["ls-remote", &url]).unwrap();
    server.change_host_keys().unwrap();
    assert!(refused(&client, &url).contains("IDENTIFICATION HAS CHANGED"));
    server.renew_known_hosts().unwrap();
    client.run(["ls-remote", &url]).unwrap();
}
