//! Smart HTTP: credentials, certificates, redirects, old servers, servers in trouble.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::thread;

use stoker_api::chain::Chain;
use stoker_api::condition::Reason;
use stoker_api::remedy::Remedy;
use stoker_git::diagnosis::{Fault, Flaw as Told};
use stoker_git::{Access, Auth, Error};
use stoker_testkit::git::http::{
    Auth as Wanted, Credentials, HttpServer, Injection, Protocol, Request,
};
use stoker_testkit::git::tls::{Authority, Flaw};
use stoker_testkit::git::{Edit, Oid, Repo, Tree};
use stoker_testkit::leak::Canary;

use crate::world::{Place, files, hides, public};

struct World {
    repo: Repo,
    commit: Oid,
    server: HttpServer,
    place: Place,
}

fn world() -> World {
    let (repo, _) = Repo::with(Tree::new().file("a", "old")).unwrap();
    let commit = repo.commit(Edit::put(Tree::new().file("a", "a").file("d/b", "b"))).unwrap();
    World { repo, commit, server: HttpServer::start().unwrap(), place: Place::new() }
}

impl World {
    fn token_file(&self, token: &str) -> PathBuf {
        let file = self.place.root.path().join("token");
        fs::write(&file, token).unwrap();
        file
    }

    fn with_token(&self, url: &str, token: &str) -> Access {
        let auth = Auth::Token { file: self.token_file(token), username: "robot".to_owned() };
        Access { auth, ..public(url) }
    }
}

fn fault(error: &Error) -> &Fault {
    error.fault().unwrap_or_else(|| panic!("{error:?}"))
}

// F2: whatever a password holds, it arrives as it is.
#[test]
fn tokens_of_any_letters_open_the_door() {
    let world = world();
    let url = world.server.mount("plant", &world.repo);
    for token in ["plain", "p@:/%#\"'\\ $`&", "пароль-ß-密", "-n", " lead and trail "] {
        world.server.require(Wanted::Basic("robot".into(), token.into()));
        let access = world.with_token(&url, &format!("{token}\n"));
        world.place.resolve(&access, "main").unwrap_or_else(|e| panic!("{token}: {e:?}"));
        let mut source = world.place.commit(&access, &world.commit).unwrap();
        assert_eq!(files(&mut source).len(), 2, "{token}");
    }
}

#[test]
fn missing_and_wrong_credentials_are_reported() {
    let world = world();
    let url = world.server.mount("plant", &world.repo);
    world.server.require(Wanted::Basic("robot".into(), "right".into()));
    let token = "canary-7f3a-token-b81e";
    let error = world.place.resolve(&world.with_token(&url, token), "main").unwrap_err();
    hides(&error, &Canary::new([token]));
    assert!(matches!(fault(&error), Fault::Authentication { .. }), "{error:?}");
    assert_eq!(error.reason(), Reason::AuthenticationFailed);
    assert!(matches!(error.remedy(), Some(Remedy::Step(step)) if step.contains("git ls-remote")));
    let error = world.place.resolve(&public(&url), "main").unwrap_err();
    assert!(matches!(fault(&error), Fault::CredentialsNeeded { .. }), "{error:?}");
    assert_eq!(error.reason(), Reason::AuthenticationFailed);
    assert_eq!(error.remedy(), Some(Remedy::GiveCredential));
}

// B13: the file is read each time, and once more after a refusal.
#[test]
fn a_rotated_token_counts_at_once() {
    let world = world();
    let url = world.server.mount("plant", &world.repo);
    let access = world.with_token(&url, "first");
    for token in ["first", "second"] {
        world.server.require(Wanted::Basic("robot".into(), token.into()));
        world.token_file(token);
        world.place.resolve(&access, "main").unwrap();
    }
}

#[test]
fn a_refused_token_is_not_tried_again_and_again() {
    let world = world();
    let url = world.server.mount("plant", &world.repo);
    world.server.require(Wanted::Basic("robot".into(), "right".into()));
    world.place.resolve(&world.with_token(&url, "wrong"), "main").unwrap_err();
    let wrong = |request: &&_| matches!(request, Credentials::Wrong);
    let tries: Vec<_> = world.server.requests().into_iter().map(|r| r.credentials).collect();
    assert_eq!(tries.iter().filter(wrong).count(), 1, "{tries:?}");
}

#[test]
fn a_token_file_that_is_absent_empty_or_torn_is_named() {
    let world = world();
    let url = world.server.mount("plant", &world.repo);
    let access = world.with_token(&url, "two\nlines\n");
    let file = world.place.root.path().join("token");
    let told = |error: &Error| Chain(error).to_string();
    let error = world.place.resolve(&access, "main").unwrap_err();
    assert!(told(&error).contains("more than one line"), "{}", told(&error));
    assert!(!told(&error).contains("two"));
    fs::write(&file, "\n").unwrap();
    let error = world.place.resolve(&access, "main").unwrap_err();
    assert!(told(&error).ends_with("is empty"), "{}", told(&error));
    fs::remove_file(&file).unwrap();
    let error = world.place.resolve(&access, "main").unwrap_err();
    assert_eq!(error.reason(), Reason::SecretNotFound);
    assert!(told(&error).contains(&file.display().to_string()));
    assert!(world.server.requests().is_empty());
}

// B12: the private CA is trusted, and no other.
#[test]
fn certificates_are_verified() {
    let (repo, _) = Repo::with(Tree::new().file("a", "a")).unwrap();
    let authority = Authority::new().unwrap();
    let server = HttpServer::start_tls(&authority.issue(Flaw::None).unwrap()).unwrap();
    let url = server.mount("plant", &repo);
    let place = Place::new();
    let trusting = Access { ca_file: Some(authority.file()), ..public(&url) };
    place.resolve(&trusting, "main").unwrap();
    let error = place.resolve(&public(&url), "main").unwrap_err();
    assert!(matches!(fault(&error), Fault::Tls { .. }), "{error:?}");
    assert_eq!(error.remedy(), Some(Remedy::GiveCa));
    for flaw in [Flaw::WrongHost, Flaw::Expired, Flaw::SelfSigned] {
        server.present(&authority.issue(flaw).unwrap()).unwrap();
        let error = place.resolve(&trusting, "main").unwrap_err();
        assert!(matches!(fault(&error), Fault::Tls { .. }), "{flaw:?}: {error:?}");
        // GnuTLS does not say that a certificate is out of date.
        let is_told = matches!(fault(&error), Fault::Tls { flaw: Told::OtherHost, .. });
        assert_eq!(is_told, matches!(flaw, Flaw::WrongHost), "{flaw:?}: {error:?}");
    }
    server.present(&authority.issue(Flaw::None).unwrap()).unwrap();
    place.resolve(&trusting, "main").unwrap();
}

// B5: a renamed repository is followed on its own host, and no credential leaves that host.
#[test]
fn redirects_are_followed_on_the_same_host_only() {
    let world = world();
    let target = world.server.mount("new", &world.repo);
    world.server.redirect("old", 301, &target);
    let old = world.server.url("old");
    world.place.resolve(&public(&old), "main").unwrap();
    world.place.commit(&public(&old), &world.commit).unwrap();

    let elsewhere = HttpServer::start().unwrap();
    let foreign = elsewhere.mount("new", &world.repo);
    elsewhere.require(Wanted::Basic("robot".into(), "secret".into()));
    world.server.redirect("away", 302, &foreign);
    let access = world.with_token(&world.server.url("away"), "secret");
    let error = world.place.resolve(&access, "main").unwrap_err();
    assert!(matches!(fault(&error), Fault::Redirected { .. }), "{error:?}");
    let told: Vec<_> = elsewhere.requests().into_iter().map(|r| r.credentials).collect();
    assert!(told.iter().all(|credentials| *credentials == Credentials::None), "{told:?}");
    elsewhere.require(Wanted::Open);
    let error = world.place.resolve(&access, "main").unwrap_err();
    assert!(matches!(fault(&error), Fault::Redirected { .. }), "{error:?}");
    let other = Place::new();
    let error = other.commit(&access, &world.commit).unwrap_err();
    assert!(matches!(fault(&error), Fault::Redirected { .. }), "{error:?}");
}

/// Ties git to the server's address, as the controller does when it has checked it.
fn checked(access: Access) -> Access {
    Access { addresses: vec![Ipv4Addr::LOCALHOST.into()], ..access }
}

// F4: an address that was not checked gets no request, whatever the server says.
#[test]
fn checked_git_is_sent_to_no_other_host() {
    let world = world();
    let elsewhere = HttpServer::start().unwrap();
    elsewhere.mount("plant", &world.repo);
    let token = "canary-4c1d-token-90ee";
    let port = elsewhere.address().port();
    for host in ["127.0.0.1", "localhost"] {
        world.server.redirect("away", 302, &elsewhere.url_at(host, "plant"));
        let access = checked(world.with_token(&world.server.url("away"), token));
        for error in [
            world.place.resolve(&access, "main").unwrap_err(),
            Place::new().commit(&access, &world.commit).unwrap_err(),
        ] {
            hides(&error, &Canary::new([token]));
            let told = Chain(&error).to_string();
            assert!(matches!(fault(&error), Fault::Redirected { .. }), "{error:?}");
            assert!(told.contains(access.url.as_str()), "{told}");
            assert!(told.contains(&format!("http://{host}:{port}")), "{told}");
        }
    }
    assert_eq!(elsewhere.requests().len(), 0);
}

// B5: the redirects of a renamed repository, of `/plant` to `/plant.git`, and of both in turn.
#[test]
fn checked_git_follows_redirects_on_the_same_host() {
    let world = world();
    let target = world.server.mount("new", &world.repo);
    world.server.require(Wanted::Basic("robot".into(), "secret".into()));
    world.server.redirect("old", 301, &target);
    world.server.redirect("older", 308, "/old.git");
    for name in ["old", "older"] {
        let access = checked(world.with_token(&world.server.url(name), "secret"));
        world.place.resolve(&access, "main").unwrap();
        let mut source = Place::new().commit(&access, &world.commit).unwrap();
        assert_eq!(files(&mut source).len(), 2);
        // The history is fetched for a commit that is no tip.
        let first = world.repo.git(["rev-parse", "--short=8", "main~1"]).unwrap();
        let first = String::from_utf8(first).unwrap();
        Place::new().resolve(&access, first.trim()).unwrap();
    }
}

#[test]
fn checked_git_follows_no_redirect_for_ever() {
    let world = world();
    world.server.redirect("a", 302, &world.server.url("b"));
    world.server.redirect("b", 302, &world.server.url("a"));
    let error = world.place.resolve(&checked(public(&world.server.url("a"))), "main").unwrap_err();
    assert_eq!(fault(&error), &Fault::Server { status: 302 });
    assert!(world.server.requests().len() <= 12, "{:?}", world.server.requests());
    // A login page is no repository.
    world.server.redirect("a", 302, &format!("http://{}/login?from=", world.server.address()));
    let error = world.place.resolve(&checked(public(&world.server.url("a"))), "main").unwrap_err();
    assert_eq!(fault(&error), &Fault::NotGit);
}

/// One port that serves HTTP and HTTPS, so that only the scheme differs.
fn both(plain: SocketAddr, tls: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = move |client: TcpStream| -> io::Result<()> {
        let mut first = [0];
        client.peek(&mut first)?;
        // Every TLS connection begins with this byte, and no HTTP request does.
        let server = TcpStream::connect(if first == [22] { tls } else { plain })?;
        let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
        thread::spawn(move || io::copy(&mut from, &mut to).and(to.shutdown(Shutdown::Write)));
        io::copy(&mut &server, &mut &client)?;
        client.shutdown(Shutdown::Write)
    };
    thread::spawn(move || {
        for client in listener.incoming() {
            // Whoever hangs up has had enough.
            thread::spawn(move || serve(client.unwrap()).unwrap_or_default());
        }
    });
    address
}

// A server that redirects from http to https is common; the other way round is an attack.
#[test]
fn git_is_sent_from_http_to_https_and_never_back() {
    let world = world();
    let authority = Authority::new().unwrap();
    let secure = HttpServer::start_tls(&authority.issue(Flaw::None).unwrap()).unwrap();
    let address = both(world.server.address(), secure.address());
    for server in [&world.server, &secure] {
        server.mount("new", &world.repo);
    }
    world.server.redirect("old", 301, &format!("https://{address}/new.git"));
    secure.redirect("old", 301, &format!("http://{address}/new.git"));
    let at = |scheme: &str| Access {
        ca_file: Some(authority.file()),
        ..public(&format!("{scheme}://{address}/old.git"))
    };
    for access in [at("http"), checked(at("http"))] {
        world.place.resolve(&access, "main").unwrap();
        let mut source = Place::new().commit(&access, &world.commit).unwrap();
        assert_eq!(files(&mut source).len(), 2);
    }
    let plain = |request: &Request| request.path.starts_with("/new.git");
    for access in [at("https"), checked(at("https"))] {
        world.place.resolve(&access, "main").unwrap_err();
    }
    assert!(!world.server.requests().iter().any(plain));
}

#[test]
fn a_status_is_reported_and_a_body_never() {
    let world = world();
    let url = world.server.mount("plant", &world.repo);
    let cases = [
        (401, Reason::AuthenticationFailed),
        (403, Reason::AuthenticationFailed),
        (404, Reason::RemoteUnreachable),
        (429, Reason::RemoteUnreachable),
        (500, Reason::RemoteUnreachable),
        (503, Reason::RemoteUnreachable),
    ];
    for (status, reason) in cases {
        world.server.clear_injections();
        world.server.inject(Injection::status(status).html("<b>body-canary</b>"));
        let error = world.place.resolve(&public(&url), "main").unwrap_err();
        assert_eq!(error.reason(), reason, "{status}");
        let told = format!("{} {error:?} {:?}", Chain(&error), error.remedy());
        assert!(!told.contains("canary"), "{told}");
        assert!(told.contains(&status.to_string()) || status == 401, "{told}");
    }
    world.server.clear_injections();
    world.server.inject(Injection::status(200).html("<b>body-canary</b>"));
    let error = world.place.resolve(&public(&url), "main").unwrap_err();
    let told = format!("{} {error:?}", Chain(&error));
    assert!(!told.contains("canary"), "{told}");
}

// Servers of the first protocol give out tips by id, and nothing else.
#[test]
fn old_servers_serve_tips_and_older_commits_alike() {
    for filter in ["true", "false"] {
        let world = world();
        world.repo.config("uploadpack.allowFilter", filter).unwrap();
        world.server.speak(Protocol::V0);
        let access = public(&world.server.mount("plant", &world.repo));
        let mut source = world.place.commit(&access, &world.commit).unwrap();
        assert_eq!(files(&mut source).len(), 2);
        drop(source);
        let first = world.repo.git(["rev-parse", "main~1"]).unwrap();
        let first = Oid::parse(&String::from_utf8(first).unwrap()).unwrap();
        for expected in [&[][..], &["dir"], &[""]] {
            let place = Place::new();
            let mut source = place.commit_expecting(&access, &first, expected).unwrap();
            assert_eq!(files(&mut source), [("a".to_owned(), "old".to_owned())]);
        }
    }
}

// P21: pull requests are the bulk of what a forge advertises, and Stoker does not request them.
#[test]
fn a_listing_asks_for_no_more_than_it_needs() {
    let world = world();
    for number in 0..200 {
        world.repo.set_ref(&format!("refs/pull/{number}/head"), &world.commit).unwrap();
    }
    let url = world.server.mount("plant", &world.repo);
    world.place.resolve(&public(&url), "main").unwrap();
    let bytes: u64 = world.server.take_requests().iter().map(|request| request.bytes_out).sum();
    assert!(bytes < 1000, "{bytes}");
}

// B5: an emptied, renamed or deleted repository is reported, and no file is deleted.
#[test]
fn a_repository_that_is_deleted_is_reported_and_its_store_stays() {
    let world = world();
    let url = world.server.mount("plant", &world.repo);
    let access = public(&url);
    let mut source = world.place.commit(&access, &world.commit).unwrap();
    assert_eq!(files(&mut source).len(), 2);
    drop(source);
    world.server.unmount("plant");
    let error = world.place.resolve(&access, "main").unwrap_err();
    assert!(matches!(fault(&error), Fault::NotFound { .. }), "{error:?}");
    let mut source = world.place.commit(&access, &world.commit).unwrap();
    assert_eq!(files(&mut source).len(), 2);
}
