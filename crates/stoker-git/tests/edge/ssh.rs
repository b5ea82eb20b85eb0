//! SSH: keys, host keys, nothing of the user's own; and `git://`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use stoker_api::condition::Reason;
use stoker_core::refs::Scope;
use stoker_git::diagnosis::Fault;
use stoker_git::{Access, Auth, Cancel, Error, auth, remote};
use stoker_testkit::git::daemon::Daemon;
use stoker_testkit::git::ssh::{Kind, SshServer};
use stoker_testkit::git::{Oid, Repo, Tree};
use stoker_testkit::leak::Canary;
use stoker_testkit::skip;

use crate::world::{HELPER, Place, files, hides, public};

struct World {
    repo: Repo,
    commit: Oid,
    server: SshServer,
    place: Place,
}

fn world() -> World {
    let (repo, commit) = Repo::with(Tree::new().file("a", "a")).unwrap();
    World { repo, commit, server: SshServer::start().unwrap(), place: Place::new() }
}

impl World {
    fn access(&self, key: PathBuf, known_hosts: PathBuf) -> Access {
        Access { auth: Auth::SshKey { key, known_hosts }, ..public(&self.server.url(&self.repo)) }
    }
}

#[test]
fn every_kind_of_key_opens_the_door() {
    let world = world();
    for kind in [Kind::Ed25519, Kind::Rsa] {
        let access = world.access(world.server.user_key(kind), world.server.known_hosts());
        world.place.resolve(&access, "main").unwrap();
        let mut source = world.place.commit(&access, &world.commit).unwrap();
        assert_eq!(files(&mut source).len(), 1);
    }
}

// Secrets hold keys without a last newline, mounted for all to read, below paths with blanks.
#[test]
fn a_key_as_secrets_hold_it_works() {
    let world = world();
    let directory = world.place.root.path().join("with blank %h");
    fs::create_dir(&directory).unwrap();
    let (key, hosts) = (directory.join("key"), directory.join("known hosts"));
    let text = fs::read_to_string(world.server.user_key(Kind::Ed25519)).unwrap();
    fs::write(&key, text.trim_end().replace('\n', "\r\n")).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o444)).unwrap();
    fs::copy(world.server.known_hosts(), &hosts).unwrap();
    world.place.resolve(&world.access(key, hosts), "main").unwrap();
}

#[test]
fn an_unknown_key_is_refused() {
    let world = world();
    let key = world.server.stranger_key().unwrap();
    let canary = Canary::of_key(&key);
    let error = world.place.resolve(&world.access(key, world.server.known_hosts()), "main");
    let error = error.unwrap_err();
    hides(&error, &canary);
    assert!(matches!(error.fault(), Some(Fault::Authentication { .. })), "{error:?}");
    assert_eq!(error.reason(), Reason::AuthenticationFailed);
}

// B12: there is no trust on first use, and none after a change.
#[test]
fn host_keys_are_strict() {
    let world = world();
    let key = world.server.user_key(Kind::Ed25519);
    let empty = world.server.empty_known_hosts().unwrap();
    let error = world.place.resolve(&world.access(key.clone(), empty), "main").unwrap_err();
    let Error::Credentials { source: auth::Error::Empty { .. }, .. } = error else {
        panic!("{error:?}")
    };
    assert_eq!(world.server.connections(), 0);
    let other = world.place.root.path().join("hosts");
    let line = fs::read_to_string(world.server.known_hosts()).unwrap();
    fs::write(&other, line.replace("127.0.0.1", "other.example")).unwrap();
    let error = world.place.resolve(&world.access(key.clone(), other), "main").unwrap_err();
    assert!(matches!(error.fault(), Some(Fault::HostKey)), "{error:?}");
    world.server.change_host_keys().unwrap();
    let access = world.access(key, world.server.known_hosts());
    let error = world.place.resolve(&access, "main").unwrap_err();
    assert!(matches!(error.fault(), Some(Fault::HostKey)), "{error:?}");
    world.server.renew_known_hosts().unwrap();
    world.place.resolve(&access, "main").unwrap();
}

#[test]
fn a_file_that_is_not_a_key_is_refused_before_anything_runs() {
    let world = world();
    let key = world.place.root.path().join("key");
    fs::write(&key, "ssh-ed25519 AAAA public, not private").unwrap();
    let error = world.place.resolve(&world.access(key, world.server.known_hosts()), "main");
    let Err(Error::Credentials { source: auth::Error::Malformed { .. }, .. }) = error else {
        panic!("{error:?}")
    };
    assert_eq!(world.server.connections(), 0);
}

#[test]
fn a_repository_that_is_not_there_is_reported() {
    let mut world = world();
    let access = world.access(world.server.user_key(Kind::Ed25519), world.server.known_hosts());
    world.repo = Repo::empty().unwrap();
    fs::remove_dir_all(world.repo.path()).unwrap();
    let gone = Access { url: world.access("k".into(), "h".into()).url, ..access };
    let error = world.place.resolve(&gone, "main").unwrap_err();
    assert!(matches!(error.fault(), Some(Fault::NotFound { .. })), "{error:?}");
}

/// Set for the copy of this test that runs as another user: URL, key, known hosts, helper.
const AS_ANOTHER: &str = "STOKER_TEST_AS_ANOTHER";

// F11: some clusters give every namespace uids of its own, and no image knows them.
#[test]
fn ssh_runs_for_a_uid_without_a_passwd_entry() {
    if let Ok(given) = std::env::var(AS_ANOTHER) {
        return list_as_another(&given.split(' ').collect::<Vec<_>>());
    }
    let world = world();
    let shared = world.place.root.path();
    fs::set_permissions(shared, fs::Permissions::from_mode(0o755)).unwrap();
    let copies = [
        (world.server.user_key(Kind::Ed25519), "key"),
        (world.server.known_hosts(), "hosts"),
        (HELPER.into(), "helper"),
        (std::env::current_exe().unwrap(), "this"),
    ];
    let [key, hosts, helper, this] = copies.map(|(from, name)| {
        let to = shared.join(name);
        fs::copy(from, &to).unwrap();
        fs::set_permissions(&to, fs::Permissions::from_mode(0o555)).unwrap();
        to.display().to_string()
    });
    let mut command = Command::new("setpriv");
    command.args(["--reuid=54321", "--regid=54321", "--clear-groups", &this, "--exact"]);
    command.args(["ssh::ssh_runs_for_a_uid_without_a_passwd_entry", "--nocapture"]);
    let given = [world.server.url(&world.repo), key, hosts, helper].join(" ");
    let output = command.env(AS_ANOTHER, given).env_remove("HOME").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let library = format!("/usr/lib/{}-linux-gnu/libnss_wrapper.so", std::env::consts::ARCH);
    if said.contains("setresuid failed") {
        return skip::record("only root can be another user");
    }
    if said.contains("NoPasswdEntry") && !Path::new(&library).exists() {
        return skip::record("libnss-wrapper is not installed");
    }
    assert!(said.contains("refs/heads/main"), "{said}");
}

fn list_as_another(given: &[&str]) {
    let [url, key, known_hosts, helper] = given else { panic!("{given:?}") };
    let auth = Auth::SshKey { key: key.into(), known_hosts: known_hosts.into() };
    let access = Access { auth, helper: helper.into(), ..public(url) };
    eprintln!("{:?}", remote::list(&access, Scope::Branches, &Cancel::default()).unwrap());
}

#[test]
fn the_git_protocol_works_without_credentials_and_refuses_them() {
    let (repo, commit) = Repo::with(Tree::new().file("a", "a")).unwrap();
    let daemon = Daemon::start(&repo).unwrap();
    let place = Place::new();
    let access = public(&daemon.url());
    place.resolve(&access, "main").unwrap();
    let mut source = place.commit(&access, &commit).unwrap();
    assert_eq!(files(&mut source).len(), 1);
    drop(source);
    let auth = Auth::Token { file: "/dev/null".into(), username: "x".into() };
    let error = place.resolve(&Access { auth, ..access }, "main").unwrap_err();
    assert!(matches!(error, Error::Credentials { .. }), "{error:?}");
}
