//! The next step after an error is one that helps: it names the flag, the field or the file to
//! mend.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Command;

use rustix::process::Signal;
use stoker_testkit::git::http::HttpServer;
use stoker_testkit::git::tls::{Authority, Flaw};
use stoker_testkit::git::{Repo, Tree};
use stoker_testkit::port::DeadPort;
use stoker_testkit::wait::eventually;

use crate::kit::background::{Heard, end};
use crate::kit::manifest::{self, gateway_sync};
use crate::kit::world::{Run, STOKER, World, plant, plant_files};

const NOWHERE: &str = "https://nowhere.invalid/a.git";

/// Claims words of the error and of its hint.
#[track_caller]
fn tells(run: &Run, words: &[&str], hints: &[&str]) {
    let (error, hint) = run.stderr.split_once("hint: ").unwrap_or_else(|| panic!("{run:?}"));
    for word in words {
        assert!(error.contains(word), "no {word:?}: {run:?}");
    }
    for word in hints {
        assert!(hint.contains(word), "no {word:?} in the hint: {run:?}");
    }
}

#[test]
fn a_plan_does_not_promise_to_make_a_directory() {
    let (world, repo) = (World::new(), plant());
    let words = world.words("plan", &repo.url(), &["--create"]);
    fs::remove_dir(world.data()).unwrap();
    let run = world.stoker(words).exits(1);
    tells(&run, &["does not exist"], &["mkdir -p "]);
    assert!(!run.stderr.contains("--create"), "{run:?}");
}

#[test]
fn what_is_to_go_where_is_asked_for_in_words_of_the_command() {
    let (world, repo) = (World::new(), plant());
    fs::create_dir(world.path("work")).unwrap();
    let run = world.stoker(["dev", "work", "--data", "data"]).exits(2);
    tells(&run, &["nothing to sync"], &["--map "]);
    assert!(!run.stderr.contains("-f "), "{run:?}");
    let yaml = format!(
        "apiVersion: stoker.io/v1alpha1\nkind: GatewaySync\nspec: {{git: {{repo: '{}', ref: main}}}}\n",
        repo.url()
    );
    world.file("sync.yaml", yaml);
    let words = ["sync", "-f", "sync.yaml", "--data", "data"];
    tells(&world.stoker(words).exits(2), &["no profiles"], &["spec.sync.profiles", "--map"]);
    world.stoker(words.iter().chain(&["--map", "projects:projects"])).exits(0);
    assert_eq!(world.live(), plant_files());
}

#[test]
fn what_a_template_misses_is_asked_for_by_name() {
    let world = World::new();
    for (map, hint) in [
        ("{{.Vars.area}}:projects", "--var area=VALUE"),
        ("p:projects/{{.GatewayName}}", "--gateway-name NAME"),
        ("p:projects/{{.CRName}}", "metadata.name"),
    ] {
        tells(&world.sync(NOWHERE, &["--map", map]).exits(2), &[map], &[hint]);
    }
}

fn key(world: &World, name: &str, words: &[&str]) -> String {
    let path = world.path(name);
    let mut command = Command::new("ssh-keygen");
    command.args(["-q", "-f"]).arg(&path).args(words);
    assert!(command.status().unwrap().success());
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_github_app_that_fails_names_its_api_and_its_key() {
    let (world, server) = (World::new(), HttpServer::start().unwrap());
    let good = key(&world, "app.pem", &["-t", "rsa", "-m", "PEM", "-N", ""]);
    let bad = world.file("bad.pem", "-----BEGIN nonsense");
    let sync = |api: &str, key: &str| {
        let app = ["--github-app-id", "1", "--github-installation-id", "2", "--github-key-file"];
        let more = [&app[..], &[key, "--github-api-url", api]].concat();
        world.sync(NOWHERE, &more)
    };
    let api = format!("http://{}", server.address());
    let bad = bad.to_str().unwrap();
    tells(&sync(&api, bad).exits(1), &[&api, bad, "not an RSA private key"], &["head -n 1 "]);
    tells(&sync(&api, &good).exits(1), &[&api, &good, "404"], &["--github-installation-id"]);
    let port = DeadPort::take().unwrap();
    let dead = format!("http://127.0.0.1:{}", port.number().unwrap());
    tells(&sync(&dead, &good).exits(1), &[&dead, &good], &[&format!("curl -I {dead}")]);
    let authority = Authority::new().unwrap();
    let tls = HttpServer::start_tls(&authority.issue(Flaw::None).unwrap()).unwrap();
    let secure = format!("https://{}", tls.address());
    tells(&sync(&secure, &good).exits(1), &[&secure, "not trusted"], &["--ca-file"]);
    let far = "http://github.example/api/v3";
    tells(&sync(far, &good).exits(2), &[far], &["--github-api-url", "--allow-insecure-http"]);
}

/// Answers whatever it is asked with this, again and again.
fn answering(status: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _read = stream.read(&mut [0; 4096]);
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).ok();
        }
    });
    format!("http://{address}")
}

#[test]
fn a_proxy_that_refuses_is_named() {
    let world = World::new();
    for (status, word) in [("407 Proxy Authentication Required", "credentials"), ("403 No", "")] {
        let proxy = answering(status);
        let run = world.sync(NOWHERE, &["--proxy", &proxy]).exits(1);
        tells(&run, &["the proxy", &proxy, word], &["--proxy"]);
    }
}

#[test]
fn a_proxy_that_is_dead_is_named() {
    let (world, port) = (World::new(), DeadPort::take().unwrap());
    let proxy = format!("http://127.0.0.1:{}", port.number().unwrap());
    let run = world.sync(NOWHERE, &["--proxy", &proxy]).exits(1);
    tells(&run, &["the proxy", &proxy], &["--proxy"]);
}

#[test]
fn a_key_with_a_passphrase_is_called_so() {
    let world = World::new();
    let key = key(&world, "id", &["-t", "ed25519", "-N", "secret"]);
    let hosts = world.file("hosts", "host ssh-ed25519 AAAA\n");
    let more = ["--ssh-key-file", &key, "--known-hosts-file", hosts.to_str().unwrap()];
    let run = world.sync("ssh://git@127.0.0.1:1/a.git", &more).exits(1);
    tells(&run, &["passphrase", &key], &["ssh-keygen -p"]);
}

#[test]
fn each_fault_of_a_certificate_has_its_own_remedy() {
    let (world, repo) = (World::new(), plant());
    let authority = Authority::new().unwrap();
    let server = HttpServer::start_tls(&authority.issue(Flaw::WrongHost).unwrap()).unwrap();
    let url = server.mount("plant", &repo);
    let file = authority.file();
    let sync = |file: &str| world.sync(&url, &["--ca-file", file]).exits(1);
    tells(&sync(file.to_str().unwrap()), &["another host"], &["host name"]);
    server.present(&authority.issue(Flaw::None).unwrap()).unwrap();
    let stranger = Authority::new().unwrap();
    let other = sync(stranger.file().to_str().unwrap());
    tells(&other, &["not trusted"], &["--ca-file"]);
    let none = world.file("none.pem", "no certificate");
    tells(&sync(none.to_str().unwrap()), &["none.pem", "no certificate in PEM form"], &["openssl"]);
    world.sync(&url, &["--ca-file", file.to_str().unwrap()]).exits(0);
}

#[test]
fn a_place_that_can_not_be_written_has_another_beside_it() {
    let (world, repo) = (World::new(), plant());
    let mut command = world.command(STOKER, world.words("sync", &repo.url(), &[]));
    command.env("HOME", "/proc/none").env_remove("XDG_CACHE_HOME");
    tells(&Run::ended(command).exits(1), &["/proc/none"], &["--store"]);
    let mut command = world.command(STOKER, ["demo"]);
    command.env("TMPDIR", world.path("absent"));
    tells(&Run::ended(command).exits(1), &["temporary directory", "absent"], &["TMPDIR="]);
}

#[test]
fn a_watcher_that_is_quiet_says_where_it_listens() {
    let (world, repo) = (World::new(), plant());
    let words = world.words("watch", &repo.url(), &["-q", "--listen", "127.0.0.1:0"]);
    let mut child = world.start(words);
    let errors = Heard::of(&mut child);
    eventually("the address", || errors.count("listening on http://127.0.0.1:") == 1);
    end(child, Signal::INT).exits(130);
}

#[test]
fn what_is_in_the_way_of_our_own_directory_is_named() {
    let (world, repo) = (World::new(), plant());
    fs::write(world.data().join(".stoker"), "mine").unwrap();
    let place = world.data().join(".stoker");
    let run = world.sync(&repo.url(), &[]).exits(1);
    tells(&run, &[".stoker"], &[&format!("ls -ld {}", place.display())]);
}

#[test]
fn a_credential_that_does_not_fit_is_named_as_it_was_given() {
    let (world, repo) = (World::new(), plant());
    let token = world.file("token", "t");
    let by_flag = world.sync(&repo.url(), &["--token-file", token.to_str().unwrap()]).exits(2);
    tells(&by_flag, &["a token"], &["leave out --token-file"]);
}

#[test]
fn a_template_that_wants_the_name_of_the_gateway_says_how_to_give_it() {
    let world = World::new();
    let (repo, _) = Repo::with(Tree::new().file("t/a", "{{ .GatewayName }}")).unwrap();
    let sync =
        "  sync: {profiles: {site: {mappings: [{source: t, destination: t, template: true}]}}}";
    let run = manifest::run(&world, &gateway_sync(&repo.url(), sync), &[]).exits(1);
    tells(&run, &["`.GatewayName` is not known here"], &["--gateway-name NAME"]);
}

#[test]
fn a_missing_command_is_one_of_those_that_are_told() {
    let world = World::new();
    let run = world.stoker(["-o", "json"]).exits(2);
    let message = run.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("completions") && !message.contains("reference"), "{message}");
}
