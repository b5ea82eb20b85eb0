//! A credential of each kind, and all places where it could show: it shows in none (F1, F2, B12).

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::post;
use stoker_testkit::gateway::{Fault as GatewayFault, Gateway, Options, Ugly};
use stoker_testkit::git::bad::{BadServer, Fault};
use stoker_testkit::git::http::{Auth, HttpServer, Injection};
use stoker_testkit::git::ssh::{Kind, SshServer};
use stoker_testkit::leak::{Canary, Safe, Watch};
use stoker_testkit::process::{self, Guarded};

use crate::kit::manifest::{PROJECTS, gateway_sync};
use crate::kit::world::{World, guarded, plant, plant_files};

/// Every way to ask for more or less output.
const VOLUMES: [&[&str]; 6] = [&["-q"], &[], &["-v"], &["-vv"], &["-o", "json"], &["-o", "yaml"]];

/// Bytes that break URLs, quoting, headers and config files.
const HOSTILE: &str = "canary@7f:3a/b%81#e\"x'\\ é&?ü=end";

/// Runs with each of [`VOLUMES`] and checks everything that is printed.
fn at_every_volume(world: &World, url: &str, more: &[&str], canary: &Canary, code: i32) {
    for volume in VOLUMES {
        let words: Vec<&str> = more.iter().chain(volume).copied().collect();
        world.sync(url, &words).exits(code).hides(canary);
    }
}

fn watch(world: &World, canary: &Canary) -> Watch {
    Watch::start(canary, world.root().to_str().unwrap(), world.root())
}

// F1, F30
#[test]
fn a_token_with_hostile_characters_works_and_is_seen_nowhere() {
    let (world, safe) = (World::new(), Safe::new());
    let bad = BadServer::start(&Arc::new(plant())).unwrap();
    bad.http().require(Auth::Basic("robot".into(), HOSTILE.into()));
    let canary = Canary::new([HOSTILE]);
    let token = safe.put("token", &format!("{HOSTILE}\n"));
    let more = ["--token-file", &token, "--username", "robot"];
    let watch = watch(&world, &canary);
    // A slow server, so that there is something to watch.
    bad.break_wire(Fault::drip(0, Duration::from_micros(300)));
    world.sync(&bad.url(), &more).exits(0).hides(&canary);
    bad.behave();
    assert_eq!(world.live(), plant_files());
    at_every_volume(&world, &bad.url(), &more, &canary, 0);
    bad.http().require(Auth::Basic("robot".into(), "rotated".into()));
    at_every_volume(&world, &bad.url(), &more, &canary, 1);
    bad.http().inject(Injection::status(500).html(format!("<p>{HOSTILE}</p>")));
    at_every_volume(&world, &bad.url(), &more, &canary, 1);
    watch.ends_without_a_leak(&["git"]);
}

#[test]
fn a_token_in_a_document_is_seen_nowhere() {
    let (world, repo, safe) = (World::new(), plant(), Safe::new());
    let server = HttpServer::start().unwrap();
    let url = server.mount("plant", &repo);
    let token = "canary-in-yaml-51c0ffee";
    server.require(Auth::Basic("x-access-token".into(), token.into()));
    let canary = Canary::new([token]);
    let auth = "    allowInsecureHTTP: true\n    auth: {token: {secretRef: {name: git}}}\n";
    let secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: git}\n";
    let yaml = gateway_sync(&url, PROJECTS) + auth + secret;
    let yaml = format!("{yaml}stringData: {{token: {token}}}\n");
    // Each a mistake next to a secret, or with one in it.
    let mistakes = [
        format!("{yaml}  oops: [\n"),
        yaml.replace("stringData: {token", "stringData: {token: x, token"),
        yaml.replace("stringData: {token: ", "stringData: {token: *"),
        yaml.replace("stringData: {token: ", "stringData: {token: !!int "),
        yaml.replace("stringData", "data"),
        yaml.replace(&url, &format!("https://robot:{token}@host/a.git")),
        yaml.replace("ref: main", &format!("ref: main\n    proxy: http://robot:{token}@host:1")),
        yaml.replace("ref: main", &format!("ref: main\n    token: {token}")),
        yaml.replace("{secretRef: {name: git}}", token),
    ];
    let good = safe.put("sync.yaml", &yaml);
    let data = world.data();
    let sync = |file: &str, volume: &[&str]| {
        let words = ["sync", "-f", file, "--data", data.to_str().unwrap()];
        world.stoker(words.iter().chain(volume))
    };
    let watch = watch(&world, &canary);
    for volume in VOLUMES {
        sync(&good, volume).exits(0).hides(&canary);
    }
    for mistake in &mistakes {
        let broken = safe.put("broken.yaml", mistake);
        sync(&broken, &["-vv"]).exits(2).hides(&canary);
        sync(&broken, &["-o", "json"]).exits(2).hides(&canary);
    }
    server.require(Auth::Bearer("other".into()));
    for volume in VOLUMES {
        sync(&good, volume).exits(1).hides(&canary);
    }
    watch.ends_without_a_leak(&["git"]);
}

#[test]
fn an_ssh_key_is_seen_nowhere() {
    let (world, repo) = (World::new(), plant());
    let server = SshServer::start().unwrap();
    let key = server.user_key(Kind::Rsa);
    let canary = Canary::of_key(&key);
    let (key, known) = (key.to_str().unwrap(), server.known_hosts());
    let more = ["--ssh-key-file", key, "--known-hosts-file", known.to_str().unwrap()];
    let watch = watch(&world, &canary);
    at_every_volume(&world, &server.url(&repo), &more, &canary, 0);
    assert_eq!(world.live(), plant_files());
    server.change_host_keys().unwrap();
    at_every_volume(&world, &server.url(&repo), &more, &canary, 1);
    at_every_volume(&world, "ssh://git@127.0.0.1:1/a.git", &more, &canary, 1);
    watch.ends_without_a_leak(&["git", "ssh"]);
}

/// A forge's API that grants one token, and says more than it should when it refuses.
fn api(token: &'static str, status: StatusCode) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    let body = format!("{{\"token\":\"{token}\",\"expires_at\":\"2099-01-01T00:00:00Z\"}}");
    let answer = post(move || async move { (status, body) });
    let router = Router::new().route("/api/v3/app/installations/678/access_tokens", answer);
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            axum::serve(listener, router).await.unwrap();
        });
    });
    address
}

pub(crate) fn rsa_key(path: &Path) {
    let mut keygen = process::command("ssh-keygen").unwrap();
    keygen.args(["-q", "-t", "rsa", "-b", "2048", "-m", "PEM", "-N", "", "-f"]).arg(path);
    assert!(Guarded::spawn(keygen).unwrap().wait().unwrap().success());
}

#[test]
fn the_key_of_a_github_app_and_its_token_are_seen_nowhere() {
    const TOKEN: &str = "ghs_canary7f3ab81e0042";
    let (world, repo, safe) = (World::new(), plant(), Safe::new());
    let (server, url) = guarded(&repo, TOKEN);
    let key = safe.path("app.pem");
    rsa_key(&key);
    let canary = Canary::of_key(&key).and(Canary::new([TOKEN]));
    let words = |api: SocketAddr| {
        let (api, key) = (format!("http://{api}/api/v3"), key.display().to_string());
        let words = [
            "--github-app-id",
            "12",
            "--github-installation-id",
            "678",
            "--github-api-url",
            &api,
            "--github-key-file",
            &key,
        ];
        words.map(ToOwned::to_owned)
    };
    let watch = watch(&world, &canary);
    let granted = words(api(TOKEN, StatusCode::CREATED));
    let granted: Vec<&str> = granted.iter().map(String::as_str).collect();
    at_every_volume(&world, &url, &granted, &canary, 0);
    assert_eq!(world.live(), plant_files());
    server.inject(Injection::status(503));
    at_every_volume(&world, &url, &granted, &canary, 1);
    let refused = words(api(TOKEN, StatusCode::UNAUTHORIZED));
    let refused: Vec<&str> = refused.iter().map(String::as_str).collect();
    at_every_volume(&world, &url, &refused, &canary, 1);
    watch.ends_without_a_leak(&["git"]);
}

#[test]
fn the_key_of_a_gateway_is_seen_nowhere() {
    let (world, repo, safe) = (World::new(), plant(), Safe::new());
    let secret = "canary-of-the-gateway-9d21";
    let pair = format!("sync:{secret}");
    let gateway = Gateway::start(Options::over(world.data()).token(&pair)).unwrap();
    let (key, url) = (safe.put("key", &format!("{pair}\n")), gateway.url());
    let canary = Canary::new([secret]);
    let more = ["--gateway", &url, "--api-key-file", &key];
    let watch = watch(&world, &canary);
    world.sync(&repo.url(), &more).exits(0).hides(&canary);
    let more = [&more[..], &["--gateway-timeout", "1s"]].concat();
    assert_eq!(world.live(), plant_files());
    for ugly in
        [Ugly::Status(401), Ugly::Status(500), Ugly::Html, Ugly::Body("text/plain", pair.clone())]
    {
        gateway.heal();
        gateway.fail(GatewayFault::new(ugly).on("/data/api/v1"));
        let file = world.data().join("projects/oven/project.json");
        // Drift makes work, and work makes it talk to the gateway.
        for volume in VOLUMES {
            fs::write(&file, "changed by hand").unwrap();
            let words: Vec<&str> = more.iter().chain(volume).copied().collect();
            let run = world.sync(&repo.url(), &words);
            assert!([0, 1].contains(&run.code), "{run:?}");
            run.hides(&canary);
        }
    }
    watch.ends_without_a_leak(&["git"]);
}

#[test]
fn a_token_passes_a_proxy_unseen_and_a_password_in_a_proxy_url_is_refused_unsaid() {
    let (world, repo, safe) = (World::new(), plant(), Safe::new());
    // A proxy gets the same requests with the whole URL in them, and the server takes them.
    let proxy = HttpServer::start().unwrap();
    proxy.mount("plant", &repo);
    proxy.require(Auth::Basic("x-access-token".into(), HOSTILE.into()));
    let canary = Canary::new([HOSTILE]);
    let (token, address) = (safe.put("token", HOSTILE), format!("http://{}", proxy.address()));
    let more = ["--token-file", &token, "--proxy", &address, "--allow-insecure-http"];
    let watch = watch(&world, &canary);
    at_every_volume(&world, "http://plant.invalid/plant.git", &more, &canary, 0);
    assert_eq!(world.live(), plant_files());
    watch.ends_without_a_leak(&["git"]);
    let with_password = "http://user:hunter2-canary@proxy.invalid:3128";
    let canary = Canary::new(["hunter2-canary"]);
    let proxy = ["--proxy", with_password];
    at_every_volume(&world, "https://plant.invalid/a.git", &proxy, &canary, 2);
    at_every_volume(&world, "https://user:hunter2-canary@plant.invalid/a.git", &[], &canary, 2);
}

#[test]
fn what_a_credential_file_holds_is_never_shown() {
    let (world, repo) = (World::new(), plant());
    let (_server, url) = guarded(&repo, "right");
    let canary = Canary::new(["canary-of-the-token-file"]);
    for content in [
        "canary-of-the-token-file",
        "canary-of-the-token-file\nand more\n",
        "\u{1b}canary-of-the-token-file",
        "-----BEGIN canary-of-the-token-file",
    ] {
        let file = world.file("token", content);
        let file = file.to_str().unwrap();
        for flags in [
            &["--token-file", file] as &[&str],
            &["--token-file", file, "--ca-file", file],
            &["--ssh-key-file", file, "--known-hosts-file", file],
            &["--github-app-id", "1", "--github-installation-id", "1", "--github-key-file", file],
            &["--gateway", "http://127.0.0.1:1", "--api-key-file", file],
        ] {
            for volume in ["-q", "-v", "-vv", "-ojson"] {
                let more: Vec<&str> = flags.iter().copied().chain([volume]).collect();
                let run = world.sync(&url, &more);
                assert!([1, 2].contains(&run.code), "{flags:?}: {run:?}");
                run.hides(&canary);
            }
        }
    }
}
