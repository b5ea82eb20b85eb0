//! Credentials from mounted files, host keys from the controller.

use stoker_api::condition::{Reason, SyncStatus};
use stoker_api::contract::env::Env;
use stoker_api::contract::metadata::AuthType;
use stoker_api::word::RepoUrl;
use stoker_testkit::git::http::Auth;
use stoker_testkit::git::ssh::{Kind, SshServer};

use crate::world::World;

// B13, F34: a rotated token counts without a restart.
#[test]
fn a_refused_token_is_reported_and_a_rotated_one_is_used() {
    let (mut world, commit) = World::new();
    world.make_status();
    world.server.require(Auth::Basic("x-access-token".to_owned(), "canary-right".to_owned()));
    let token = world.path("token");
    std::fs::write(&token, "canary-wrong").unwrap();
    world.set(Env::GitTokenFile, token.display().to_string());
    let mut metadata = world.metadata(&commit);
    metadata.auth_type = AuthType::Token;
    world.publish(&metadata);
    let agent = world.start();
    let report = world.wait_report("refused", |report| report.sync_status == SyncStatus::Error);
    assert_eq!(report.reason, Some(Reason::AuthenticationFailed));
    std::fs::write(&token, "canary-right\n").unwrap();
    agent.wait_started();
    let report = world.wait_report("synced", |report| report.sync_status == SyncStatus::Synced);
    assert!(!format!("{report:?}{}", agent.log()).contains("canary"));
}

#[test]
fn ssh_verifies_against_the_host_keys_that_the_controller_published() {
    let (mut world, commit) = World::new();
    world.make_status();
    let server = SshServer::start().unwrap();
    let key = server.user_key(Kind::Ed25519);
    world.set(Env::GitSshKeyFile, key.display().to_string());
    let mut metadata = world.metadata(&commit);
    metadata.git_url = RepoUrl::parse(&server.url(&world.repo)).unwrap();
    metadata.auth_type = AuthType::SshKey;
    world.publish(&metadata);
    let agent = world.start();
    let report = world.wait_report("no host keys", |report| report.reason.is_some());
    assert_eq!(report.reason, Some(Reason::AuthenticationFailed));
    assert_eq!(server.connections(), 0);
    metadata.known_hosts = Some(std::fs::read_to_string(server.known_hosts()).unwrap());
    world.publish(&metadata);
    agent.wait_started();
    world.wait_report("synced", |report| report.sync_status == SyncStatus::Synced);
}

#[test]
fn a_pod_that_was_injected_without_a_credential_says_that_it_must_be_recreated() {
    let (world, commit) = World::new();
    world.make_status();
    let mut metadata = world.metadata(&commit);
    metadata.auth_type = AuthType::Token;
    world.publish(&metadata);
    let _agent = world.start();
    let report = world.wait_report("restart needed", |report| report.reason.is_some());
    assert_eq!(report.reason, Some(Reason::RestartNeeded));
    assert!(report.message.contains("GIT_TOKEN_FILE"), "{}", report.message);
}
