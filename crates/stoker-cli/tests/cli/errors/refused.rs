//! What a user gets wrong: each error names the thing, the reason and the next command, and applies
//! nothing.

use std::path::Path;

use stoker_testkit::git::http::{Auth, HttpServer, Injection};
use stoker_testkit::git::ssh::{Kind, SshServer};
use stoker_testkit::git::{Edit, Tree};
use stoker_testkit::port::DeadPort;
use stoker_testkit::tree;

use crate::kit::manifest::{self, gateway_sync};
use crate::kit::result::{refused, refuses};
use crate::kit::world::{World, plant};

#[test]
fn a_wrong_url() {
    let (world, server) = (World::new(), HttpServer::start().unwrap());
    let url = server.url("nobody");
    refuses((&world, &url), &[], (1, "RemoteUnreachable"), &[&url, "404"]);
    let dead = DeadPort::take().unwrap();
    let url = format!("http://127.0.0.1:{}/plant.git", dead.number().unwrap());
    refuses((&world, &url), &[], (1, "RemoteUnreachable"), &[&url]);
    refuses(
        (&world, "http://no-such-host.invalid/a.git"),
        &[],
        (1, "RemoteUnreachable"),
        &["no-such-host.invalid"],
    );
    refuses(
        (&world, "file:///no/such/repo.git"),
        &[],
        (1, "RemoteUnreachable"),
        &["file:///no/such/repo.git"],
    );
    for (url, words) in [
        ("/srv/plant.git", &["--repo"] as &[&str]),
        ("ext::sh -c touch% outside", &["--repo"]),
        ("-uoutside", &[]),
        ("ssh://-oProxyCommand=touch/x", &["--repo"]),
        ("https://user:hunter2@host/a.git", &["--repo"]),
        ("ftp://host/a.git", &["--repo"]),
    ] {
        refuses((&world, url), &[], (2, "Usage"), words);
    }
    let run = world.sync("/srv/plant.git", &[]).exits(2);
    assert!(run.stderr.contains("hint: use --repo file:///srv/plant.git"), "{run:?}");
    let run = world.sync("https://user:hunter2@host/a.git", &[]).exits(2);
    assert!(!run.stderr.contains("hunter2"), "{run:?}");
}

#[test]
fn a_wrong_ref() {
    let (world, repo) = (World::new(), plant());
    let url = repo.url();
    refuses((&world, &url), &["--ref", "mian"], (1, "RefNotFound"), &["mian", &url]);
    refuses(
        (&world, &url),
        &["--ref", "refs/heads/mian"],
        (1, "RefNotFound"),
        &["refs/heads/mian"],
    );
    refuses((&world, &url), &["--ref", "semver:>=9"], (1, "RefNotFound"), &[">=9"]);
    let commit = "0123456789012345678901234567890123456789";
    refuses((&world, &url), &["--ref", commit], (1, "RefNotFound"), &[commit]);
    for text in ["--upload-pack=x", "-h", "a..b", "@{", "a\u{7}b", "semver:nonsense"] {
        refuses((&world, &url), &[&format!("--ref={text}"), "--ref", text], (2, "Usage"), &[]);
    }
    let aside = repo.unreachable(Edit::put(Tree::new().file("projects/evil", "1"))).unwrap();
    repo.config("uploadpack.allowAnySHA1InWant", "true").unwrap();
    refuses((&world, &url), &["--ref", aside.as_str()], (1, "RefNotFound"), &[aside.as_str()]);
    world.sync(&url, &["--ref", aside.as_str(), "--allow-unreachable"]).exits(0);
}

#[test]
fn a_wrong_key() {
    let (world, repo) = (World::new(), plant());
    let server = HttpServer::start().unwrap();
    let url = server.mount("plant", &repo);
    server.require(Auth::Basic("robot".into(), "right".into()));
    let token = world.file("token", "wrong");
    let token = token.to_str().unwrap();
    let words = ["--token-file", token, "--username", "robot"];
    refuses((&world, &url), &words, (1, "AuthenticationFailed"), &[&url, "401"]);
    refuses((&world, &url), &[], (1, "AuthenticationFailed"), &[&url, "401"]);
    refuses((&world, &url), &["--token-file", "absent"], (1, "SecretNotFound"), &["absent"]);
    server.require(Auth::Open);
    server.inject(Injection::status(403).html("<b>body</b>"));
    refuses((&world, &url), &words, (1, "AuthenticationFailed"), &["403"]);
    // Credentials over plain http leave this machine only on request.
    let far = "http://plant.example/a.git";
    refuses((&world, far), &words, (2, "Usage"), &[]);

    let ssh = SshServer::start().unwrap();
    let (stranger, known) = (ssh.stranger_key().unwrap(), ssh.known_hosts());
    let key = |path: &Path| path.to_str().unwrap().to_owned();
    let words = ["--ssh-key-file", &key(&stranger), "--known-hosts-file", &key(&known)];
    refuses((&world, &ssh.url(&repo)), &words, (1, "AuthenticationFailed"), &["127.0.0.1"]);
    let right = key(&ssh.user_key(Kind::Ed25519));
    let nobody = key(&ssh.empty_known_hosts().unwrap());
    let words = ["--ssh-key-file", &right, "--known-hosts-file", &nobody];
    refuses((&world, &ssh.url(&repo)), &words, (1, "AuthenticationFailed"), &[&nobody]);
    ssh.change_host_keys().unwrap();
    let words = ["--ssh-key-file", &right, "--known-hosts-file", &key(&known)];
    refuses((&world, &ssh.url(&repo)), &words, (1, "RemoteUnreachable"), &["host key"]);
    refuses((&world, &ssh.url(&repo)), &["--ssh-key-file", &right], (2, "Usage"), &["known hosts"]);
}

#[test]
fn a_wrong_mapping() {
    let (world, repo) = (World::new(), plant());
    let url = repo.url();
    refuses((&world, &url), &["--map", "absent:projects"], (1, "SourceNotFound"), &["absent"]);
    for map in [
        "projects",
        "/etc:projects",
        "projects:/etc",
        "../x:projects",
        "projects:a/../b",
        "projects:.stoker/x",
        "projects:.sync-staging",
    ] {
        refuses((&world, &url), &["--map", map], (2, "Usage"), &[]);
    }
    refuses((&world, &url), &["--map", "projects:projects", "--exclude", "[a"], (2, "Usage"), &[]);
    repo.commit(Edit::put(Tree::new().symlink("linked", "projects"))).unwrap();
    refuses((&world, &url), &["--map", "linked:projects"], (1, "MappingInvalid"), &["linked"]);
    refuses((&world, &url), &["--map", "linked/line:projects"], (1, "MappingInvalid"), &["linked"]);
}

#[test]
fn a_wrong_template_and_wrong_json() {
    let (world, repo) = (World::new(), plant());
    let tree = Tree::new()
        .file("t/unknown.json", "{\"a\":\"{{ .Vars.absent }}\"}")
        .file("u/open.json", "one\n{{ if }}")
        .file("v/pod.json", "{{ .PodName }}")
        .file("w/becomes.json", "{\"a\":{{ .GatewayName }}}")
        .file("x/broken.json", "{\n  \"a\": 1,\n  oops\n}");
    repo.commit(Edit::put(tree)).unwrap();
    let refuses = |source: &str, extra: &str, words: &[&str]| {
        let mapping = format!("{{source: {source}, destination: projects/x, {extra}}}");
        let sync = format!("  sync: {{profiles: {{site: {{mappings: [{mapping}]}}}}}}");
        let yaml = gateway_sync(&repo.url(), &sync);
        let run = manifest::run(&world, &yaml, &["--gateway-name", "a b", "-o", "json"]);
        refused(run, 1, "RenderFailed", words);
        assert_eq!(world.live(), tree::Tree::default());
    };
    refuses("t", "template: true", &["unknown.json", "absent"]);
    refuses("u", "template: true", &["open.json", "2"]);
    refuses("v", "template: true", &["pod.json", "PodName"]);
    refuses("w", "template: true", &["becomes.json", "line 1"]);
    refuses("x", "patches: [{file: '*.json', set: {a: '2'}}]", &["broken.json", "line 3"]);
}
