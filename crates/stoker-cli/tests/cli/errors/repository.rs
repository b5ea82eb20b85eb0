//! Errors about the repository: its URL, the server, the ref and the credentials.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use stoker_testkit::git::http::{Auth, HttpServer, Injection};
use stoker_testkit::git::ssh::{Kind, SshServer};
use stoker_testkit::git::tls::{Authority, Flaw};
use stoker_testkit::git::{Edit, Repo, Tree};
use stoker_testkit::port::DeadPort;

use super::table::Table;
use crate::kit::result::refused;
use crate::kit::world::{World, plant, plant_files};

const NOWHERE: &str = "https://nowhere.invalid/a.git";

#[test]
fn urls() {
    let (world, mut table) = (World::new(), Table::new("urls"));
    for url in [
        "/srv/plant.git",
        "ext::sh -c touch% outside",
        "-uoutside",
        "ssh://-oProxyCommand=touch/x",
        "https://user:hunter2@host/a.git",
        "ftp://host/a.git",
        "https://host:99999/x",
        "file://repo",
        "file:///no/such/repo.git",
    ] {
        let title = url.replace("hunter2", "PASSWORD");
        table.sync(&title, &world, url, &[]);
    }
    let proxy = ["--proxy", "http://u:hunter2@h"];
    table.sync("a proxy with a password", &world, "https://host/a.git", &proxy);
    table.matches();
}

#[test]
fn a_path_that_is_given_as_a_url_has_a_hint_with_the_right_url() {
    let (world, repo) = (World::new(), plant());
    std::os::unix::fs::symlink(repo.path(), world.path("sp \u{fc}%41.git")).unwrap();
    let run = world.sync("./sp \u{fc}%41.git", &[]).exits(2);
    let hint = run.stderr.split("hint: use --repo ").nth(1).unwrap().trim();
    assert!(hint.ends_with("/sp%20%C3%BC%2541.git"), "{hint}");
    world.sync(hint, &[]).exits(0);
    assert_eq!(world.live(), plant_files());
}

/// Gives every request this response.
fn responding(status: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _read = stream.read(&mut [0; 4096]);
            let response = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            stream.write_all(response.as_bytes()).ok();
        }
    });
    format!("http://{address}")
}

#[test]
fn servers_and_proxies() {
    let (world, repo, mut table) = (World::new(), plant(), Table::new("servers"));
    let (server, dead) = (HttpServer::start().unwrap(), DeadPort::take().unwrap());
    let dead = format!("http://127.0.0.1:{}", dead.number().unwrap());
    table.hide(&server.address(), "SERVER");
    table.hide(&dead, "http://DEAD");
    table.sync("no such repository", &world, &server.url("nobody"), &[]);
    table.sync("nothing listens", &world, &format!("{dead}/plant.git"), &[]);
    let url = server.mount("plant", &repo);
    let tls = url.replace("http://", "https://");
    table.sync("a server without TLS", &world, &tls, &[]);
    server.inject(Injection::status(200).times(9).html("<html>please log in</html>"));
    table.sync("a login page", &world, &url, &[]);
    for status in ["407 Proxy Authentication Required", "403 No"] {
        let proxy = responding(status);
        table.hide(&proxy, "http://PROXY");
        table.sync(&format!("a proxy with {status}"), &world, NOWHERE, &["--proxy", &proxy]);
    }
    table.sync("a dead proxy", &world, NOWHERE, &["--proxy", &dead]);

    let authority = Authority::new().unwrap();
    let server = HttpServer::start_tls(&authority.issue(Flaw::WrongHost).unwrap()).unwrap();
    table.hide(&server.address(), "TLS");
    let (url, trusted) = (server.mount("plant", &repo), authority.file());
    let trusted = ["--ca-file", trusted.to_str().unwrap()];
    table.sync("a certificate for another host", &world, &url, &trusted);
    server.present(&authority.issue(Flaw::None).unwrap()).unwrap();
    let stranger = Authority::new().unwrap();
    let other = stranger.file();
    table.sync("another CA", &world, &url, &["--ca-file", other.to_str().unwrap()]);
    let none = world.file("none.pem", "no certificate");
    table.sync("a CA file without PEM", &world, &url, &["--ca-file", none.to_str().unwrap()]);
    world.sync(&url, &trusted).exits(0);
    table.matches();
}

#[test]
fn a_host_without_an_address_is_named() {
    let world = World::new();
    let host = "no-such-host.invalid";
    let url = format!("http://{host}/a.git");
    refused(world.sync(&url, &["-o", "json"]), 1, "RemoteUnreachable", &[host]);
}

#[test]
fn refs() {
    let (world, repo, mut table) = (World::new(), plant(), Table::new("refs"));
    let url = repo.url();
    table.hide(&url, "$REPO");
    let unknown = "0123456789012345678901234567890123456789";
    for text in ["mian", "refs/heads/mian", "semver:>=9", unknown] {
        table.sync(text, &world, &url, &["--ref", text]);
    }
    for text in ["--upload-pack=x", "-h", "a..b", "@{", "a\u{7}b", "semver:nonsense"] {
        let flag = format!("--ref={text}");
        table.sync(&text.escape_default().to_string(), &world, &url, &[&flag]);
    }
    let (blob, tree) = (repo.blob("x").unwrap(), repo.raw_tree(&[]).unwrap());
    repo.tag("on-file", &blob).unwrap();
    repo.tag("on-tree", &tree).unwrap();
    repo.annotated_tag("annotated", &blob).unwrap();
    for tag in ["on-file", "on-tree", "annotated"] {
        table.sync(tag, &world, &url, &["--ref", tag]);
    }
    let aside = repo.unreachable(Edit::put(Tree::new().file("projects/evil", "1"))).unwrap();
    repo.config("uploadpack.allowAnySHA1InWant", "true").unwrap();
    table.hide(&aside, "UNREACHABLE");
    table.sync("a commit that no ref reaches", &world, &url, &["--ref", aside.as_str()]);
    for (title, id) in [("no such object", unknown), ("an object of another kind", blob.as_str())] {
        table.sync(title, &world, &url, &["--ref", id, "--allow-unreachable"]);
    }
    let empty = Repo::empty().unwrap();
    table.hide(&empty.url(), "$EMPTY");
    table.sync("an empty repository", &world, &empty.url(), &[]);
    table.matches();
    world.sync(&url, &["--ref", aside.as_str(), "--allow-unreachable"]).exits(0);
    world.sync(&url, &[]).exits(0);
}

fn key(world: &World, name: &str, words: &[&str]) -> String {
    let path = world.path(name);
    let mut command = Command::new("ssh-keygen");
    command.args(["-q", "-f"]).arg(&path).args(words);
    assert!(command.status().unwrap().success());
    path.to_str().unwrap().to_owned()
}

fn text(path: impl AsRef<Path>) -> String {
    path.as_ref().to_str().unwrap().to_owned()
}

#[test]
fn tokens() {
    let (world, repo, mut table) = (World::new(), plant(), Table::new("tokens"));
    let server = HttpServer::start().unwrap();
    table.hide(&server.address(), "SERVER");
    table.hide(&repo.url(), "$REPO");
    let url = server.mount("plant", &repo);
    server.require(Auth::Basic("robot".into(), "right".into()));
    let token = text(world.file("token", "wrong"));
    let words = ["--token-file", &token, "--username", "robot"];
    table.sync("a wrong token", &world, &url, &words);
    table.sync("no token", &world, &url, &[]);
    table.sync("a file that does not exist", &world, &url, &["--token-file", "absent"]);
    server.require(Auth::Open);
    server.inject(Injection::status(403).html("<b>body</b>"));
    table.sync("403", &world, &url, &words);
    table.sync("plain http to another machine", &world, "http://plant.example/a.git", &words);
    table.sync("a token for a file URL", &world, &repo.url(), &["--token-file", &token]);
    let both = ["--ssh-key-file", "key", "--token-file", "token"];
    table.sync("a token and an SSH key", &world, NOWHERE, &both);
    for name in ["robot\npassword=x", "robot:x", "ro\u{7}bot", ""] {
        let title = format!("the user name {name:?}");
        table.sync(&title, &world, NOWHERE, &["--token-file", &token, "--username", name]);
    }
    table.matches();
}

#[test]
fn ssh_keys() {
    let (world, repo, mut table) = (World::new(), plant(), Table::new("ssh-keys"));
    let server = SshServer::start().unwrap();
    let url = server.url(&repo);
    let (stranger, known) = (text(server.stranger_key().unwrap()), text(server.known_hosts()));
    let (right, empty) =
        (text(server.user_key(Kind::Ed25519)), text(server.empty_known_hosts().unwrap()));
    for (value, placeholder) in [
        (&url, "$SSH"),
        (&stranger, "OTHER-KEY"),
        (&empty, "EMPTY"),
        (&known, "KNOWN"),
        (&right, "KEY"),
    ] {
        table.hide(value, placeholder);
    }
    let flags = |key, hosts| ["--ssh-key-file", key, "--known-hosts-file", hosts];
    table.sync("a key that the server does not know", &world, &url, &flags(&stranger, &known));
    table.sync("a host key that is not known", &world, &url, &flags(&right, &empty));
    table.sync("no known hosts", &world, &url, &["--ssh-key-file", &right]);
    table.sync("no key", &world, "ssh://git@host/a.git", &[]);
    let locked = key(&world, "id", &["-t", "ed25519", "-N", "secret"]);
    let hosts = text(world.file("hosts", "host ssh-ed25519 AAAA\n"));
    let title = "a key with a passphrase";
    table.sync(title, &world, "ssh://git@127.0.0.1:1/a.git", &flags(&locked, &hosts));
    server.change_host_keys().unwrap();
    table.sync("a host key that has changed", &world, &url, &flags(&right, &known));
    table.matches();
}

#[test]
fn github_apps() {
    let (world, mut table) = (World::new(), Table::new("github-apps"));
    let server = HttpServer::start().unwrap();
    let good = key(&world, "app.pem", &["-t", "rsa", "-m", "PEM", "-N", ""]);
    let bad = text(world.file("bad.pem", "-----BEGIN nonsense"));
    let port = DeadPort::take().unwrap();
    let dead = format!("127.0.0.1:{}", port.number().unwrap());
    let authority = Authority::new().unwrap();
    let tls = HttpServer::start_tls(&authority.issue(Flaw::None).unwrap()).unwrap();
    table.hide(&server.address(), "API");
    table.hide(&dead, "DEAD");
    table.hide(&tls.address(), "TLS");
    let app = ["--github-app-id", "1", "--github-installation-id", "2", "--github-key-file"];
    for (title, api, key) in [
        ("a key that is not one", format!("http://{}", server.address()), &bad),
        ("404", format!("http://{}", server.address()), &good),
        ("nothing listens", format!("http://{dead}"), &good),
        ("an unknown CA", format!("https://{}", tls.address()), &good),
        ("plain http to another machine", "http://github.example/api/v3".to_owned(), &good),
    ] {
        let more = [&app[..], &[key, "--github-api-url", &api]].concat();
        table.sync(title, &world, NOWHERE, &more);
    }
    table.matches();
}
