//! Claims about large bodies, slow senders and bursts.

use std::net::Ipv4Addr;
use std::process::Stdio;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{WatchEvent, WatchParams};
use rustix::process::{Resource, Rlimit};
use stoker_api::GatewaySync;
use stoker_api::names::{self, Annotation};
use stoker_testkit::git::http::HttpServer;
use stoker_testkit::git::{Oid, Repo, Tree};
use stoker_testkit::process::{self, Guarded};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::http::send;
use crate::receiver::{PUSH, plant, sign, world};
use crate::world::{World, cluster, until};

const MIB: usize = 1024 * 1024;
const LARGEST: usize = 25 * MIB;
/// What the receiver may take for itself, whatever is sent.
const GROWTH_KIB: u64 = 16 * 1024;

impl World {
    /// The head of a signed push, up to the headers that say how long the body is.
    fn head(&self, body: &[u8], rest: &str) -> String {
        let (path, signature) = (self.path("plant"), sign("own", body));
        format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-GitHub-Event: push\r\n\
             {signature}\r\n{rest}\r\n\r\n"
        )
    }
}

fn padded(length: usize) -> Vec<u8> {
    let pad = "x".repeat(length - PUSH.len() - 9);
    let body = format!("{{\"pad\":\"{pad}\",{}", &PUSH[1..]).into_bytes();
    assert_eq!(body.len(), length);
    body
}

fn chunked(body: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(body.len() + body.len() / 1024);
    for chunk in body.chunks(64 * 1024) {
        encoded.extend(format!("{:x}\r\n", chunk.len()).as_bytes());
        encoded.extend(chunk);
        encoded.extend(b"\r\n");
    }
    encoded.extend(b"0\r\n\r\n");
    encoded
}

// E4
#[tokio::test(flavor = "multi_thread")]
async fn bodies_up_to_25_mib_are_taken_in_little_memory_and_larger_ones_refused() {
    let (world, _file) = world().await;
    let before = world.peak_memory();
    let body = padded(LARGEST);
    let length = |length: usize| format!("Content-Length: {length}");
    let post =
        async |head: String, body: &[u8]| send(world.receiver, &head, body).await.unwrap().status;
    assert_eq!(post(world.head(&body, &length(LARGEST)), &body).await, 202);
    let encoded = "Transfer-Encoding: chunked";
    assert_eq!(post(world.head(&body, encoded), &chunked(&body)).await, 202);
    let larger = padded(LARGEST + 1);
    assert_eq!(post(world.head(&larger, encoded), &chunked(&larger)).await, 413);
    // Refused by its length alone: no body is sent.
    let expects = format!("Expect: 100-continue\r\n{}", length(LARGEST + 1));
    assert_eq!(post(world.head(b"", &expects), b"").await, 413);
    // Nothing is unpacked, so a small body can't become a large one.
    let zipped = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    let head = world.head(&zipped, &format!("Content-Encoding: gzip\r\n{}", length(10)));
    assert_eq!(post(head, &zipped).await, 400);
    let grown = world.peak_memory() - before;
    assert!(grown < GROWTH_KIB, "{grown} KiB");
}

// E6
#[tokio::test(flavor = "multi_thread")]
async fn slow_senders_do_not_keep_others_out() {
    let (world, _file) = world().await;
    let before = world.peak_memory();
    let body = padded(MIB);
    let head = world.head(&body, &format!("Content-Length: {MIB}"));
    let mut slow = Vec::new();
    for number in 0..600 {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, world.receiver)).await.unwrap();
        let sent = match number % 3 {
            0 => &b""[..],
            1 => &head.as_bytes()[..40],
            _ => head.as_bytes(),
        };
        stream.write_all(sent).await.unwrap();
        if number % 3 == 2 {
            stream.write_all(&body[..4096]).await.unwrap();
        }
        slow.push(stream);
    }
    assert_eq!(world.github("plant", "own", "push", PUSH).await.status, 202);
    assert!(world.is_ready().await);
    let grown = world.peak_memory() - before;
    assert!(grown < 2 * GROWTH_KIB, "{grown} KiB");
    // That each meets its deadline is a claim of the server's own tests.
    drop(slow);
}

// E6
#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_idle_connections_leave_health_and_admission_alone() {
    // The operator inherits it.
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    rustix::process::setrlimit(Resource::Nofile, raised).unwrap();
    let (world, _file) = world().await;
    let before = world.peak_memory();
    // More than it holds. The kernel's queue takes a part of the rest, and drops the others.
    let address = (Ipv4Addr::LOCALHOST, world.receiver);
    let connect = || tokio::time::timeout(Duration::from_secs(3), TcpStream::connect(address));
    let attempts = futures::future::join_all((0..10_000).map(|_| connect())).await;
    let idle: Vec<_> = attempts.into_iter().flatten().flatten().collect();
    assert!(idle.len() > 2048, "{} connections", idle.len());
    assert!(world.is_ready().await);
    let mut curl = tokio::process::Command::new("curl");
    curl.args(["--silent", "--insecure", "--output", "/dev/null", "--write-out", "%{http_code}"]);
    curl.args(["--data", "{}", &format!("https://127.0.0.1:{}/mutate-v1-pod", world.webhook)]);
    let answer = curl.output().await.unwrap().stdout;
    assert_ne!(String::from_utf8_lossy(&answer), "000", "the admission webhook answers");
    let grown = world.peak_memory() - before;
    assert!(grown < 3 * GROWTH_KIB, "{grown} KiB");
    // That each is closed after its deadline is a claim of the server's own tests.
    drop(idle);
    assert_eq!(world.github("plant", "own", "push", PUSH).await.status, 202);
}

// E6
#[tokio::test(flavor = "multi_thread")]
async fn pipelined_requests_are_answered_in_their_order() {
    let (world, _file) = world().await;
    let body = PUSH.as_bytes();
    let one = world.head(body, &format!("Content-Length: {}", body.len()));
    let good = one.replace("Connection: close\r\n", "") + PUSH;
    let bad = good.replace("sha256=", "sha256=0");
    let requests = format!("{good}{bad}{good}{one}{PUSH}");
    let answer = send(world.receiver, &requests, b"").await.unwrap();
    let all = format!("{}\r\n\r\n{}", answer.head, answer.body.to_lowercase());
    let codes: Vec<&str> = all.split("http/1.1 ").skip(1).map(|it| &it[..3]).collect();
    assert_eq!(codes, ["202", "401", "202", "202"], "{all}");
}

// E8
#[tokio::test(flavor = "multi_thread")]
async fn a_burst_is_written_once_a_second_and_the_last_request_counts() {
    let (mut world, _file) = world().await;
    let syncs = world.api::<GatewaySync>();
    let version = syncs.get("plant").await.unwrap().metadata.resource_version.unwrap();
    let watch = WatchParams::default().fields("metadata.name=plant");
    let mut changes = Box::pin(syncs.watch_metadata(&watch, &version).await.unwrap());
    let begun = Instant::now();
    for _ in 0..1000 {
        assert_eq!(world.github("plant", "own", "push", PUSH).await.status, 202);
    }
    let bodies: Vec<String> = (1..=20).map(|number| format!(r#"{{"ref":"v{number}"}}"#)).collect();
    let requests = bodies.iter().map(|body| world.generic("plant", "own", body));
    for response in futures::future::join_all(requests).await {
        assert_eq!(response.status, 202, "{}", response.body);
    }
    let last = world.generic("plant", "own", r#"{"ref":"last"}"#).await;
    assert_eq!(last.status, 202);
    // A request is written when it is accepted, whatever happens to the process then.
    world.stop();
    assert_eq!(world.annotation(Annotation::RequestedRef).await.as_deref(), Some("last"));
    let mut writes = 0;
    loop {
        let change = changes.next().await.unwrap().unwrap();
        let WatchEvent::Modified(object) = change else { panic!("{change:?}") };
        writes += 1;
        let annotations = object.metadata.annotations.unwrap_or_default();
        if annotations.get(Annotation::RequestedRef.as_str()).is_some_and(|it| it == "last") {
            break;
        }
    }
    // Besides one per second, the first of all is written at once.
    let most = begun.elapsed().as_secs() + 2;
    assert!(writes <= most, "{writes} writes in {:?}", begun.elapsed());
}

// E8
#[tokio::test(flavor = "multi_thread")]
async fn after_a_thousand_pushes_to_one_branch_the_last_commit_is_announced() {
    let version = |number: usize| Tree::new().file("projects/p/x", number.to_string());
    let (repo, first) = Repo::with(version(0)).unwrap();
    let mut commits: Vec<Oid> =
        (1..10).map(|number| repo.commit(version(number)).unwrap()).collect();
    let last = repo.commit(version(10)).unwrap();
    repo.set_branch("main", &first).unwrap();
    let server = HttpServer::start().unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "own").unwrap();
    let world = World::with(&[format!("--receiver-hmac-file={}", file.path().display())]).await;
    // Without polling nothing but the events makes the controller ask.
    let sync = plant().repo(&server.mount("org/plant", &repo)).without_polling();
    world.sync(sync).await;
    let _controller = world.controller();
    until("the first commit is announced", async || world.is_announced(&first).await).await;
    commits.push(first);
    for number in 0..1000 {
        let commit = if number == 999 { &last } else { &commits[number % commits.len()] };
        repo.set_branch("main", commit).unwrap();
        assert_eq!(world.github("plant", "own", "push", PUSH).await.status, 202);
    }
    until("the last commit is announced", async || world.is_announced(&last).await).await;
}

impl World {
    /// Starts a controller beside the receiver.
    fn controller(&self) -> Guarded {
        let name = self.namespace.name();
        let mut command = process::command(env!("CARGO_BIN_EXE_stoker-operator")).unwrap();
        command.args(["--mode=controller", "--leader-elect=false", "--log-format=text"]);
        command.args(["--metrics-bind-address=0", "--health-probe-bind-address=0"]);
        command.args(["--log-level=warn", "--allow-loopback-git"]);
        command.args([format!("--namespace={name}"), format!("--watch-namespaces={name}")]);
        command.env("KUBECONFIG", cluster().kubeconfig()).stdout(Stdio::null());
        Guarded::spawn(command).unwrap()
    }

    /// Says whether agents are told to have a commit.
    async fn is_announced(&self, commit: &Oid) -> Option<()> {
        let name = names::metadata_config_map("plant");
        let published = self.api::<ConfigMap>().get_opt(&name).await.unwrap()?;
        let data = published.data.unwrap_or_default();
        (data.get("commit").map(String::as_str) == Some(commit.as_ref())).then_some(())
    }
}

// E8
#[tokio::test(flavor = "multi_thread")]
async fn a_promised_event_is_written_before_the_process_ends() {
    let (mut world, _file) = world().await;
    // The first opens the second in which the others are only promised.
    let mut last = jiff::Timestamp::now();
    for _ in 0..5 {
        last = jiff::Timestamp::now();
        assert_eq!(world.github("plant", "own", "push", PUSH).await.status, 202);
    }
    world.terminate();
    let at = world.annotation(Annotation::RecheckAt).await.unwrap();
    assert!(at.parse::<jiff::Timestamp>().unwrap() >= last, "{at}, {last}");
}
