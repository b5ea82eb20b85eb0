//! The smart HTTP server serves real git, and does what forges do to their clients.

#![expect(clippy::unwrap_used, reason = "a set-up that fails is a test that fails")]

use std::process::Output;

use stoker_testkit::git::http::{Access, Auth, Credentials, HttpServer, Injection, Protocol};
use stoker_testkit::git::tls::{Authority, Flaw};
use stoker_testkit::git::{Client, Edit, RawEntry, Repo, Tree, hostile, ignition};
use stoker_testkit::process::Guarded;

fn plant() -> Repo {
    let (repo, first) = Repo::with(ignition::tree(200, 1)).unwrap();
    repo.commit(Edit::put(Tree::new().file("projects/x/project.json", "{}"))).unwrap();
    repo.commit_to("release", Tree::new().file("only", "here")).unwrap();
    repo.annotated_tag("v1.0.0", &first).unwrap();
    repo
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn refused(client: &Client, url: &str) -> String {
    let output = client.attempt(["ls-remote", url]).unwrap();
    assert!(!output.status.success(), "{url} was readable");
    stderr(&output)
}

#[test]
fn a_clone_equals_the_repository_in_both_protocols() {
    let (repo, server, client) = (plant(), HttpServer::start().unwrap(), Client::new().unwrap());
    let url = server.mount("plant", &repo);
    for (protocol, versions) in [(Protocol::V2, ["v0", "v2"]), (Protocol::V0, ["old-v0", "old-v2"])]
    {
        server.speak(protocol);
        for (version, name) in [("0", versions[0]), ("2", versions[1])] {
            let option = format!("protocol.version={version}");
            client.run(["-c", &option, "clone", "--quiet", "--mirror", &url, name]).unwrap();
            assert!(repo.equals(&client.path().join(name)).unwrap(), "{name}");
        }
    }
}

#[test]
fn the_protocol_is_the_one_that_was_chosen() {
    let (repo, server, client) = (plant(), HttpServer::start().unwrap(), Client::new().unwrap());
    let url = server.mount("plant", &repo);
    client.run(["ls-remote", &url]).unwrap();
    // Version 2 asks for capabilities, then for refs; version 0 gets the refs at once.
    assert_eq!(server.take_requests().len(), 2);
    server.speak(Protocol::V0);
    client.run(["ls-remote", &url]).unwrap();
    assert_eq!(server.take_requests().len(), 1);
}

#[test]
fn requests_are_counted_with_their_bytes_and_without_secrets() {
    let (repo, server, client) = (plant(), HttpServer::start().unwrap(), Client::new().unwrap());
    let url = server.mount("plant", &repo);
    server.require(Auth::Basic("robot".into(), "hunter2".into()));
    let url = url.replace("127.0.0.1", "robot:hunter2@127.0.0.1");
    client.mirror(&url, "copy").unwrap();

    let requests = server.requests();
    assert_eq!(requests.iter().filter(|request| request.is_discovery()).count(), 2);
    assert_eq!(requests[0].credentials, Credentials::None);
    assert_eq!((requests[0].status, requests[1].status), (401, 200));
    assert!(requests[1..].iter().all(|request| request.credentials == Credentials::Right));
    assert_eq!(requests[1].header("authorization"), Some("Basic …"));
    assert_eq!(requests[1].header("git-protocol"), Some("version=2"));
    let fetch = requests.last().unwrap();
    assert!(fetch.bytes_in > 0 && fetch.bytes_out > 10_000, "{fetch:?}");
    assert!(!format!("{requests:?}").contains("hunter2"));
}

#[test]
fn long_requests_arrive_compressed() {
    let (repo, server, client) = (plant(), HttpServer::start().unwrap(), Client::new().unwrap());
    let edits = (0..100).map(|n: u32| Edit::put(Tree::new().file("n", n.to_string())));
    let commits = repo.history("main", edits).unwrap();
    let url = server.mount("plant", &repo);
    client.run(["init", "--quiet", "--bare", "copy"]).unwrap();
    let mut fetch = client.command().unwrap();
    fetch.args(["-C", "copy", "fetch", "--quiet", "--depth=1", &url]).args(&commits);
    let output = Guarded::spawn(fetch).unwrap().output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let requests = server.requests();
    assert_eq!(requests.last().unwrap().header("content-encoding"), Some("gzip"), "{requests:?}");
}

#[test]
fn wrong_and_rotated_credentials_are_refused() {
    let (repo, server, client) = (plant(), HttpServer::start().unwrap(), Client::new().unwrap());
    let url = server.mount("plant", &repo);
    let with = |user: &str| url.replace("127.0.0.1", &format!("{user}@127.0.0.1"));
    server.require(Auth::Basic("robot".into(), "first".into()));
    client.run(["ls-remote", &with("robot:first")]).unwrap();
    server.require(Auth::Basic("robot".into(), "second".into()));
    assert!(refused(&client, &with("robot:first")).contains("Authentication failed"));
    client.run(["ls-remote", &with("robot:second")]).unwrap();
}

#[test]
fn bearer_tokens_open_the_door() {
    let (repo, server, client) = (plant(), HttpServer::start().unwrap(), Client::new().unwrap());
    let url = server.mount("plant", &repo);
    server.require(Auth::Bearer("token".into()));
    refused(&client, &url);
    client.run(["-c", "http.extraHeader=Authorization: Bearer token", "ls-remote", &url]).unwrap();
    let wrong = ["-c", "http.extraHeader=Authorization: Bearer other", "ls-remote", &url];
    assert!(!client.attempt(wrong).unwrap().status.success());
}

// B12
#[test]
fn only_a_certificate_without_a_flaw_is_accepted() {
    let (repo, authority) = (plant(), Authority::new().unwrap());
    let server = HttpServer::start_tls(&authority.issue(Flaw::None).unwrap()).unwrap();
    let url = server.mount("plant", &repo);
    let trusting = Client::new().unwrap().env("GIT_SSL_CAINFO", authority.file());
    let copy = trusting.mirror(&url, "copy").unwrap();
    assert!(repo.equals(&copy).unwrap());
    trusting.run(["ls-remote", &server.url_at("localhost", "plant")]).unwrap();

    let stranger = Client::new().unwrap();
    assert!(refused(&stranger, &url).contains("certificate"));
    for flaw in [Flaw::WrongHost, Flaw::Expired, Flaw::SelfSigned] {
        server.present(&authority.issue(flaw).unwrap()).unwrap();
        let complaint = refused(&trusting, &url);
        assert!(complaint.contains("certificate"), "{flaw:?}: {complaint}");
    }
    // The authority is replaced while the server runs.
    let next = Authority::new().unwrap();
    server.present(&next.issue(Flaw::None).unwrap()).unwrap();
    assert!(refused(&trusting, &url).contains("certificate"));
    let renewed = Client::new().unwrap().env("GIT_SSL_CAINFO", next.file());
    renewed.run(["ls-remote", &url]).unwrap();
}

// B5
#[test]
fn redirects_lead_to_the_same_or_another_host() {
    let (repo, client) = (plant(), Client::new().unwrap());
    let (server, other) = (HttpServer::start().unwrap(), HttpServer::start().unwrap());
    let new = server.mount("new", &repo);
    for status in [301, 302, 307, 308] {
        server.redirect("old", status, &new);
        client.run(["ls-remote", &server.url("old")]).unwrap();
        assert_eq!(server.take_requests()[0].status, status);
    }
    other.mount("elsewhere", &repo);
    server.redirect("old", 301, &other.url_at("localhost", "elsewhere"));
    let secret = server.url("old").replace("127.0.0.1", "robot:hunter2@127.0.0.1");
    client.run(["ls-remote", &secret]).unwrap();
    assert!(other.requests().iter().all(|request| request.credentials == Credentials::None));
    assert!(!other.requests().is_empty());
}

#[test]
fn injected_answers_reach_git_and_end() {
    let (repo, server, client) = (plant(), HttpServer::start().unwrap(), Client::new().unwrap());
    let url = server.mount("plant", &repo);
    for status in [403, 404, 429, 500, 503] {
        let canary = "<h1>canary-in-the-body</h1>";
        server.inject(Injection::status(status).times(1).html(canary));
        let complaint = refused(&client, &url);
        let named = if status == 404 { "not found".into() } else { status.to_string() };
        assert!(complaint.contains(&named), "{status}: {complaint}");
        client.run(["ls-remote", &url]).unwrap();
    }
}

#[test]
fn an_unmounted_repository_is_gone_and_comes_back() {
    let (repo, server, client) = (plant(), HttpServer::start().unwrap(), Client::new().unwrap());
    let url = server.mount("plant", &repo);
    server.unmount("plant");
    assert!(refused(&client, &url).contains("not found"));
    server.mount("plant", &repo);
    client.run(["ls-remote", &url]).unwrap();
}

#[test]
fn filters_and_wants_by_id_follow_the_repository_configuration() {
    let (repo, server, client) = (plant(), HttpServer::start().unwrap(), Client::new().unwrap());
    let fork = repo.unreachable(Tree::new().file("forked", "1")).unwrap();
    let url = server.mount("plant", &repo);
    let lean = |name: &str| {
        let clone = ["clone", "--bare", "--filter=blob:none", &url, name];
        stderr(&client.attempt(clone).unwrap())
    };
    assert!(lean("ignored").contains("filtering not recognized by server"));
    repo.config("uploadpack.allowFilter", "true").unwrap();
    assert!(!lean("lean").contains("filtering not recognized"));

    // Only version 0 asks whether an id is advertised.
    server.speak(Protocol::V0);
    let fetch = ["-C", "lean", "fetch", "--quiet", &url, fork.as_str()];
    assert!(!client.attempt(fetch).unwrap().status.success());
    repo.config("uploadpack.allowAnySHA1InWant", "true").unwrap();
    client.run(fetch).unwrap();
}

// A10
#[test]
fn hostile_trees_are_served_and_only_a_careful_client_objects() {
    let (repo, server, client) = (plant(), HttpServer::start().unwrap(), Client::new().unwrap());
    let blob = repo.blob("hostile\n").unwrap();
    let names = hostile::names();
    let entries: Vec<_> = names.iter().map(|name| RawEntry::file(&name.name, &blob)).collect();
    repo.commit_tree("hostile", &repo.raw_tree(&entries).unwrap()).unwrap();
    let url = server.mount("plant", &repo);
    let copy = client.mirror(&url, "copy").unwrap();
    assert!(repo.equals(&copy).unwrap());
    let careful = ["-c", "transfer.fsckObjects=true", "clone", "--bare", &url, "careful"];
    let said = stderr(&client.attempt(careful).unwrap());
    assert!(said.contains("fsck error in packed object"), "{said}");
}

#[test]
fn pushes_are_refused_until_they_are_allowed() {
    let (repo, server, client) = (plant(), HttpServer::start().unwrap(), Client::new().unwrap());
    let url = server.mount("plant", &repo);
    client.mirror(&url, "copy").unwrap();
    let push = ["-C", "copy", "push", "--quiet", &url, "main:refs/heads/pushed"];
    assert!(!client.attempt(push).unwrap().status.success());
    server.grant(Access::Write);
    client.run(push).unwrap();
    assert_eq!(repo.tip("pushed").unwrap(), repo.tip("main").unwrap());

    // A pack beyond git's buffer is sent in chunks, without a length.
    let (big, _) = Repo::with(Tree::new().noise("big", 1, 3 << 20)).unwrap();
    let path = big.path().to_str().unwrap();
    client.run(["-C", path, "push", "--quiet", &url, "main:refs/heads/big"]).unwrap();
    assert_eq!(repo.tip("big").unwrap(), big.tip("main").unwrap());
    assert_eq!(server.requests().last().unwrap().header("transfer-encoding"), Some("chunked"));
}

#[test]
fn a_dropped_server_answers_nobody() {
    let (repo, server, client) = (plant(), HttpServer::start().unwrap(), Client::new().unwrap());
    let url = server.mount("plant", &repo);
    client.run(["ls-remote", &url]).unwrap();
    drop(server);
    refused(&client, &url);
}
