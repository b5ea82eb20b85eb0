//! Credentials are seen nowhere: not in arguments, environments, files or errors.

use stoker_api::chain::Chain;
use stoker_git::{Access, Auth, Error};
use stoker_testkit::git::http::{Auth as Wanted, HttpServer};
use stoker_testkit::git::ssh::{Kind, SshServer};
use stoker_testkit::git::{Repo, Tree};
use stoker_testkit::leak::{Canary, Safe, Watch};

use crate::world::{Place, public};

#[track_caller]
fn hides(error: &Error, canary: &Canary) {
    let told = format!("{} {error:?} {error:#?} {:?}", Chain(error), error.remedy());
    assert!(!canary.is_in(told.as_bytes()), "{told}");
}

// F1, F30
#[test]
fn a_token_is_seen_nowhere() {
    let (repo, commit) = Repo::with(Tree::new().file("a", "a")).unwrap();
    let server = HttpServer::start().unwrap();
    let url = server.mount("plant", &repo);
    let token = "canary-7f3a-token-b81e";
    let (place, safe, canary) = (Place::new(), Safe::new(), Canary::new([token]));
    let file = safe.path("token");
    std::fs::write(&file, token).unwrap();
    let watch = Watch::start(&canary, "STOKER_ASKPASS_FILE", place.root.path());
    let auth = Auth::Token { file, username: "robot".to_owned() };
    let access = Access { auth, ..public(&url) };
    server.require(Wanted::Basic("robot".into(), token.into()));
    for _ in 0..5 {
        place.resolve(&access, "main").unwrap();
    }
    drop(place.commit(&access, &commit).unwrap());
    server.require(Wanted::Basic("robot".into(), "another".into()));
    let error = place.resolve(&access, "main").unwrap_err();
    hides(&error, &canary);
    watch.ends_without_a_leak(&["git"]);
}

#[test]
fn an_ssh_key_is_seen_nowhere() {
    let (repo, commit) = Repo::with(Tree::new().file("a", "a")).unwrap();
    let server = SshServer::start().unwrap();
    let key = server.user_key(Kind::Ed25519);
    let (place, canary) = (Place::new(), Canary::of_key(&key));
    let watch = Watch::start(&canary, "STOKER_SSH_KEY", place.root.path());
    let auth = Auth::SshKey { key, known_hosts: server.known_hosts() };
    let access = Access { auth, ..public(&server.url(&repo)) };
    for _ in 0..3 {
        place.resolve(&access, "main").unwrap();
    }
    drop(place.commit(&access, &commit).unwrap());
    let gone = Access { url: public("ssh://git@127.0.0.1:1/x").url, ..access };
    let error = place.resolve(&gone, "main").unwrap_err();
    hides(&error, &canary);
    watch.ends_without_a_leak(&["git"]);
}
