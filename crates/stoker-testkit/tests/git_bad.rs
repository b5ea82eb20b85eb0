//! Every misbehaviour of the bad server is one that real git really meets.

#![expect(clippy::unwrap_used, reason = "a set-up that fails is a test that fails")]

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use stoker_testkit::git::bad::{BadServer, Fault, Lie, pack};
use stoker_testkit::git::http::Protocol;
use stoker_testkit::git::{Client, Repo, Tree};
use stoker_testkit::process::Guarded;
use stoker_testkit::wait::eventually;

fn small() -> (Arc<Repo>, BadServer) {
    let (repo, _) = Repo::with(Tree::new().file("a", "1").noise("noise", 1, 5_000)).unwrap();
    let repo = Arc::new(repo);
    let server = BadServer::start(&repo).unwrap();
    (repo, server)
}

/// A client that gives up when a second passes without a byte.
fn impatient() -> Client {
    Client::new()
        .unwrap()
        .env("GIT_HTTP_LOW_SPEED_LIMIT", "1000")
        .env("GIT_HTTP_LOW_SPEED_TIME", "1")
}

fn clone(client: &Client, server: &BadServer, name: &str) -> Result<(), String> {
    let clone = ["-c", "fetch.unpackLimit=1", "clone", "--mirror", &server.url(), name];
    let output = client.attempt(clone).unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(said) }
}

#[test]
fn a_server_that_behaves_is_an_ordinary_one() {
    let (repo, server) = small();
    let client = Client::new().unwrap();
    clone(&client, &server, "copy").unwrap();
    assert!(repo.equals(&client.path().join("copy")).unwrap());
    assert!(server.bytes_sent() > 5_000);
    assert_eq!((server.faults(), server.lies()), (0, 0));
}

// B11
#[test]
fn a_stall_is_met_at_any_byte_of_a_session() {
    let (_, server) = small();
    let client = impatient();
    server.behave();
    clone(&client, &server, "whole").unwrap();
    // Behind the pack there is nothing that git would wait for.
    let pack = server.bytes_sent() - 1_000;
    for (number, at) in [0, 1, pack / 2, pack].into_iter().enumerate() {
        server.break_wire(Fault::stall(at));
        let said = clone(&client, &server, &format!("stalled-{number}")).unwrap_err();
        assert!(said.contains("too slow") || said.contains("timed out"), "{at}: {said}");
        assert_eq!((server.bytes_sent(), server.faults()), (at, number + 1));
    }
}

#[test]
fn what_has_stalled_goes_on_when_the_server_behaves() {
    let (repo, server) = small();
    let client = Client::new().unwrap();
    server.break_wire(Fault::stall(1_000));
    let mut git = client.start(["clone", "--quiet", "--mirror", &server.url(), "copy"]).unwrap();
    eventually("the wire stalls", || server.faults() == 1);
    assert_eq!(git.try_wait().unwrap(), None);
    server.behave();
    assert!(git.wait().unwrap().success());
    assert!(repo.equals(&client.path().join("copy")).unwrap());
}

#[test]
fn a_drip_is_too_slow_for_a_client_with_a_limit() {
    let (_, server) = small();
    server.break_wire(Fault::drip(300, Duration::from_millis(200)));
    let said = clone(&impatient(), &server, "copy").unwrap_err();
    assert!(said.contains("too slow"), "{said}");
    assert!((301..400).contains(&server.bytes_sent()), "{}", server.bytes_sent());
}

#[test]
fn resets_and_early_ends_are_met_at_any_byte() {
    let (_, server) = small();
    let client = Client::new().unwrap();
    server.behave();
    clone(&client, &server, "whole").unwrap();
    let pack = server.bytes_sent() - 1_000;
    for at in (0..pack).step_by(900) {
        server.break_wire(Fault::reset(at));
        clone(&client, &server, &format!("reset-{at}")).unwrap_err();
        server.break_wire(Fault::close(at));
        clone(&client, &server, &format!("closed-{at}")).unwrap_err();
    }
    server.break_wire(Fault::reset(0));
    assert!(clone(&client, &server, "named").unwrap_err().contains("reset by peer"));
}

// B7
#[test]
fn the_tip_moves_with_every_request() {
    let (repo, server) = small();
    let client = Client::new().unwrap();
    server.tell(Lie::MovingTip);
    let seen = || {
        let list = client.run(["ls-remote", &server.url(), "refs/heads/main"]).unwrap();
        String::from_utf8(list).unwrap()
    };
    let (first, second) = (seen(), seen());
    assert_ne!(first, second);
    assert_eq!(server.lies(), server.http().requests().len());
    server.behave();
    assert!(seen().starts_with(repo.tip("main").unwrap().as_str()));
    let count = repo.git(["rev-list", "--count", "main"]).unwrap();
    assert_eq!(String::from_utf8(count).unwrap().trim(), (server.lies() + 1).to_string());
}

#[test]
fn an_advertised_commit_is_refused() {
    let (repo, server) = small();
    for protocol in [Protocol::V2, Protocol::V0] {
        server.http().speak(protocol);
        server.tell(Lie::MissingTip);
        let client = Client::new().unwrap();
        let list = client.run(["ls-remote", &server.url()]).unwrap();
        assert!(!String::from_utf8(list).unwrap().contains(repo.tip("main").unwrap().as_str()));
        let said = clone(&client, &server, "copy").unwrap_err();
        assert!(said.contains("not our ref"), "{protocol:?}: {said}");
    }
}

// B10
#[test]
fn broken_packs_are_noticed_by_git() {
    let (_, server) = small();
    let lies = [
        (Lie::WrongChecksum, ["pack is corrupted", "pack is corrupted"]),
        (Lie::TruncatedPack, ["early EOF", "early EOF"]),
        (Lie::GarbagePack, ["bad object at offset 12", "bad object at offset 12"]),
        (Lie::Pack(b"this is not a pack".to_vec()), ["pack signature mismatch", "bad pack header"]),
    ];
    for (protocol, version) in [(Protocol::V2, 0), (Protocol::V0, 1)] {
        server.http().speak(protocol);
        for (lie, complaints) in &lies {
            let complaint = complaints[version];
            server.tell(lie.clone());
            let client = Client::new().unwrap();
            let said = clone(&client, &server, "copy").unwrap_err();
            assert!(said.contains(complaint), "{protocol:?} {lie:?}: {said}");
        }
    }
    assert_eq!(server.lies(), 8);
}

// B10
#[test]
fn a_delta_bomb_is_a_small_pack_that_git_can_read() {
    let (repo, _) = Repo::with(Tree::new().file("a", "1")).unwrap();
    let bomb = pack::delta_bomb(50_000_000);
    assert!(bomb.len() < 10_000, "{}", bomb.len());
    let file = repo.path().join("bomb.pack");
    std::fs::write(&file, &bomb).unwrap();
    let path = file.to_str().unwrap();
    repo.git(["index-pack", path]).unwrap();
    let listed = String::from_utf8(repo.git(["verify-pack", "-v", path]).unwrap()).unwrap();
    let (_, id) = listed.lines().filter_map(|line| line.split_once(' ')).fold(
        (0, ""),
        |(deepest, id), (next, rest)| {
            // Behind the id: type, size, size in the pack, offset, and the depth of a delta.
            let depth = rest.split_ascii_whitespace().nth(4).and_then(|depth| depth.parse().ok());
            depth.filter(|depth| *depth > deepest).map_or((deepest, id), |depth| (depth, next))
        },
    );
    let verify = Client::new().unwrap();
    let directory = repo.path().join("objects/pack");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::rename(&file, directory.join("pack-bomb.pack")).unwrap();
    std::fs::rename(file.with_extension("idx"), directory.join("pack-bomb.idx")).unwrap();
    let size = verify.run(["-C", repo.path().to_str().unwrap(), "cat-file", "-s", id]).unwrap();
    assert_eq!(String::from_utf8(size).unwrap().trim(), "50000000");
}

// B10
#[test]
fn bombs_and_loops_are_sent_in_place_of_the_pack() {
    let (_, server) = small();
    for (bad, complaint) in [
        (pack::delta_bomb(1_000_000), "remote did not send all necessary objects"),
        (pack::delta_loop(), "unresolved deltas"),
    ] {
        server.tell(Lie::Pack(bad));
        let said = clone(&Client::new().unwrap(), &server, "copy").unwrap_err();
        assert!(said.contains(complaint), "{said}");
    }
}

#[test]
fn garbage_is_no_answer() {
    let (_, server) = small();
    server.tell(Lie::Garbage);
    let client = Client::new().unwrap();
    let output = client.attempt(["ls-remote", &server.url()]).unwrap();
    assert!(!output.status.success());
}

#[test]
fn progress_can_be_long_or_without_end() {
    let (repo, server) = small();
    let client = Client::new().unwrap();
    server.tell(Lie::Progress(Some(3_000_000)));
    clone(&client, &server, "copy").unwrap();
    assert!(repo.equals(&client.path().join("copy")).unwrap());
    assert!(server.bytes_sent() > 3_000_000);

    server.tell(Lie::Progress(None));
    // The wire is asked to tell when far more than the repository has gone over it.
    server.break_wire(Fault::stall(20_000_000));
    let mut never = client.command().unwrap();
    never.args(["clone", "--quiet", "--mirror", &server.url(), "never"]).stderr(Stdio::null());
    let mut git = Guarded::spawn(never).unwrap();
    eventually("the wire stalls", || server.faults() == 1);
    assert_eq!(git.try_wait().unwrap(), None);
}

#[test]
fn refs_can_be_many() {
    let (_, server) = small();
    for protocol in [Protocol::V2, Protocol::V0] {
        server.http().speak(protocol);
        server.tell(Lie::ManyRefs(20_000));
        let list = Client::new().unwrap().run(["ls-remote", &server.url()]).unwrap();
        let lines = String::from_utf8(list).unwrap().lines().count();
        assert_eq!(lines, 20_002, "{protocol:?}: HEAD, main and the invented ones");
    }
}
