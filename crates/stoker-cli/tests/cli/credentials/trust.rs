//! Which servers a run trusts, and which servers get a credential.

use stoker_testkit::git::http::{Auth, HttpServer};
use stoker_testkit::git::tls::{Authority, Flaw};
use stoker_testkit::leak::{Canary, Safe};
use stoker_testkit::port::DeadPort;

use crate::kit::world::{Run, STOKER, World, guarded, plant, plant_files};

// Credentials over http are for this machine only, and a proxy may be anywhere.
#[test]
fn a_token_for_this_machine_goes_by_no_proxy_of_the_environment() {
    let (world, repo, safe) = (World::new(), plant(), Safe::new());
    let (_server, url) = guarded(&repo, "t");
    let (token, port) = (safe.put("token", "t"), DeadPort::take().unwrap());
    let words = world.words("sync", &url, &["--token-file", &token]);
    let mut command = world.command(STOKER, words);
    command.env("http_proxy", format!("http://127.0.0.1:{}", port.number().unwrap()));
    Run::ended(command).exits(0);
    let far = "http://proxy.example:3128";
    let refused = world.sync(&url, &["--token-file", &token, "--proxy", far]).exits(2);
    assert!(refused.stderr.contains("--allow-insecure-http"), "{refused:?}");
}

// B12
#[test]
fn a_private_authority_is_trusted_by_file_and_nothing_else_is() {
    let (world, repo) = (World::new(), plant());
    let (ours, other) = (Authority::new().unwrap(), Authority::new().unwrap());
    let server = HttpServer::start_tls(&ours.issue(Flaw::None).unwrap()).unwrap();
    let url = server.mount("plant", &repo);
    let file = |authority: &Authority| authority.file().to_str().unwrap().to_owned();
    let refused = |more: &[&str], remedy: &str| {
        let run = world.sync(&url, more).exits(1);
        assert!(run.stderr.contains(&url) && run.stderr.contains(remedy), "{run:?}");
        assert_eq!(world.live(), stoker_testkit::tree::Tree::default());
    };
    refused(&[], "--ca-file");
    refused(&["--ca-file", &file(&other)], "--ca-file");
    for (flaw, remedy) in [
        (Flaw::Expired, "certificate"),
        (Flaw::WrongHost, "use the host name"),
        (Flaw::SelfSigned, "--ca-file"),
    ] {
        server.present(&ours.issue(flaw).unwrap()).unwrap();
        refused(&["--ca-file", &file(&ours)], remedy);
    }
    server.present(&ours.issue(Flaw::None).unwrap()).unwrap();
    world.sync(&url, &["--ca-file", &file(&ours)]).exits(0);
    assert_eq!(world.live(), plant_files());
}

// B5: a redirect to another host gets no credentials.
#[test]
fn a_redirect_to_another_host_gets_no_token() {
    let (world, repo, safe) = (World::new(), plant(), Safe::new());
    let (server, stranger) = (HttpServer::start().unwrap(), HttpServer::start().unwrap());
    let url = server.mount("plant", &repo);
    stranger.mount("plant", &repo);
    stranger.require(Auth::Basic("x-access-token".into(), "elsewhere".into()));
    server.redirect("plant", 302, &stranger.url_at("localhost", "plant"));
    let token = safe.put("token", "canary-of-the-first-host");
    let words = world.words("sync", &url, &["--token-file", &token]);
    let run = world.stoker(words).exits(1);
    run.hides(&Canary::new(["canary-of-the-first-host"]));
    let sent = stranger.requests().iter().any(|request| request.header("authorization").is_some());
    assert!(!sent, "the stranger was told the token");
}
