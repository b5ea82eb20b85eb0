//! What goes wrong: each error names the thing, the reason and the next command, and applies nothing.

use std::fs;
use std::path::Path;

use stoker_testkit::git::http::{Auth, HttpServer, Injection};
use stoker_testkit::git::ssh::{Kind, SshServer};
use stoker_testkit::git::{Edit, RawEntry, Repo, Tree, hostile};
use stoker_testkit::port::DeadPort;
use stoker_testkit::tree;

use crate::front::has_every_key;
use crate::world::{Run, World, plant, plant_files, plant_tree};

/// Claims exit code, reason and words of an error, and that its hint is a thing to do.
#[track_caller]
pub(crate) fn refused(run: Run, code: i32, reason: &str, words: &[&str]) {
    let run = run.exits(code);
    let result = run.json();
    has_every_key(&result);
    let error = &result["error"];
    let text = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
    assert_eq!(text("reason"), reason, "{error:#}");
    for word in words {
        assert!(text("message").contains(word), "no {word:?} in {error:#}");
    }
    assert!(!text("hint").is_empty(), "no hint: {error:#}");
    assert_eq!(result["status"], "failed");
}

/// A sync that must fail and leave a data directory as empty as it was.
#[track_caller]
fn refuses(
    (world, url): (&World, &str),
    more: &[&str],
    (code, reason): (i32, &str),
    words: &[&str],
) {
    let mut all = vec!["-o", "json"];
    all.extend(more);
    let before = tree::Tree::read(&world.data()).unwrap().without(".stoker");
    refused(world.sync(url, &all), code, reason, words);
    assert_eq!(tree::Tree::read(&world.data()).unwrap().without(".stoker"), before);
}

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
    refuses((&world, &url), &words, (1, "AuthenticationFailed"), &[&url]);
    refuses((&world, &url), &[], (1, "AuthenticationFailed"), &[&url]);
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
        let manifest = manifest(
            &repo.url(),
            &format!("{{source: {source}, destination: projects/x, {extra}}}"),
        );
        let file = world.file("sync.yaml", manifest);
        let data = world.data();
        let words_of_run = [
            "sync",
            "-f",
            file.to_str().unwrap(),
            "--data",
            data.to_str().unwrap(),
            "--gateway-name",
            "a b",
            "-o",
            "json",
        ];
        refused(world.stoker(words_of_run), 1, "RenderFailed", words);
        assert_eq!(world.live(), tree::Tree::default());
    };
    refuses("t", "template: true", &["unknown.json", "absent"]);
    refuses("u", "template: true", &["open.json", "2"]);
    refuses("v", "template: true", &["pod.json", "PodName"]);
    refuses("w", "template: true", &["becomes.json", "line 1"]);
    refuses("x", "patches: [{file: '*.json', set: {a: '2'}}]", &["broken.json", "line 3"]);
}

/// The smallest `GatewaySync` with one mapping.
fn manifest(url: &str, mapping: &str) -> String {
    format!(
        "apiVersion: stoker.io/v1alpha1\nkind: GatewaySync\nmetadata: {{name: plant}}\n\
         spec:\n  git: {{repo: '{url}', ref: main}}\n  gateway: {{api: {{secretName: key}}}}\n\
         \x20 sync: {{profiles: {{default: {{mappings: [{mapping}]}}}}}}\n"
    )
}

#[test]
fn a_mass_deletion() {
    let (world, repo) = (World::new(), plant());
    let many = (0..60).fold(plant_tree(), |tree, number| {
        tree.file(format!("projects/many/{number}.json"), format!("{number}"))
    });
    repo.commit(many).unwrap();
    world.sync(&repo.url(), &[]).exits(0);
    repo.commit(plant_tree()).unwrap();
    refuses((&world, &repo.url()), &[], (1, "DeletionBlocked"), &["60"]);
    world.sync(&repo.url(), &["--allow-mass-delete"]).exits(0);
    assert_eq!(world.live(), plant_files());
}

#[test]
fn files_that_a_gateway_must_not_get() {
    let refuses = |tree: Tree, reason: &str, word: &str| {
        let (world, repo) = (World::new(), plant());
        repo.commit(Edit::put(tree)).unwrap();
        refuses((&world, &repo.url()), &[], (1, reason), &[word]);
    };
    refuses(
        Tree::new().lfs_pointer("projects/line/image.png", 7),
        "LfsPointer",
        "projects/line/image.png",
    );
    refuses(Tree::new().file("projects/line/a\nb", "1"), "NamesRefused", r"a\nb");
    refuses(Tree::new().file(b"projects/line/\xff", "1"), "NamesRefused", r"\377");
    let (world, repo) = (World::new(), Repo::empty().unwrap());
    for name in ["..", "../outside", "a/../../b", ".git"] {
        let blob = repo.blob("x").unwrap();
        let entry = RawEntry::file(name, &blob);
        let inner = repo.raw_tree(&[entry]).unwrap();
        let outer = repo.raw_tree(&[RawEntry::directory("projects", &inner)]).unwrap();
        repo.commit_tree("main", &outer).unwrap();
        let run = world.sync(&repo.url(), &["-o", "json"]).exits(1);
        has_every_key(&run.json());
        assert_eq!(world.live(), tree::Tree::default(), "{name}");
        assert!(!world.path("outside").exists() && !world.path("b").exists());
    }
}

// A9
#[test]
fn a_link_planted_in_the_data_directory_leads_nowhere() {
    let (world, repo) = (World::new(), plant());
    let outside = world.path("home/outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("project.json"), "mine").unwrap();
    let before = tree::Tree::read(&outside).unwrap();
    let link = |at: &str| {
        let at = world.data().join(at);
        fs::remove_dir_all(&at).ok();
        fs::remove_file(&at).ok();
        std::os::unix::fs::symlink(&outside, at).unwrap();
    };
    for (number, at) in ["projects", "projects/line", "projects/oven/project.json", ".sync-staging"]
        .into_iter()
        .enumerate()
    {
        world.sync(&repo.url(), &["-q"]);
        link(at);
        let tree = Tree::new()
            .file("projects/line/project.json", format!("{number}"))
            .file("projects/oven/project.json", format!("{number}"));
        repo.commit(Edit::put(tree)).unwrap();
        let run = world.sync(&repo.url(), &[]);
        assert!([0, 1].contains(&run.code), "{at}: {run:?}");
        assert_eq!(tree::Tree::read(&outside).unwrap(), before, "written through {at}");
        if run.code == 1 {
            assert!(run.stderr.contains("hint: "), "{at}: {run:?}");
            fs::remove_file(world.data().join(at)).unwrap();
        }
        world.sync(&repo.url(), &["-q"]).exits(0);
        assert_eq!(world.live().text("projects/line/project.json"), format!("{number}"));
        assert_eq!(tree::Tree::read(&outside).unwrap(), before, "written through {at}");
    }
}

// A10
#[test]
fn no_hostile_name_gets_out_of_the_data_directory_or_crashes_the_program() {
    let (world, repo) = (World::new(), Repo::empty().unwrap());
    let step = if crate::world::is_long() { 1 } else { 7 };
    for hostile in hostile::names().into_iter().step_by(step) {
        let blob = repo.blob("x").unwrap();
        let inner = repo.raw_tree(&[RawEntry::file(&hostile.name, &blob)]).unwrap();
        let outer = repo.raw_tree(&[RawEntry::directory("projects", &inner)]).unwrap();
        repo.commit_tree("main", &outer).unwrap();
        let run = world.sync(&repo.url(), &["-o", "json", "--allow-mass-delete"]);
        assert!([0, 1].contains(&run.code), "{}: {run:?}", hostile.why);
        has_every_key(&run.json());
        let entries = fs::read_dir(world.root()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["cache", "data", "home", "tmp"], "{}", hostile.why);
    }
}

#[test]
fn something_foreign_in_the_way() {
    let (world, repo) = (World::new(), plant());
    fs::create_dir_all(world.data().join("config/site.json/inner")).unwrap();
    fs::write(world.data().join("config/site.json/inner/x"), "mine").unwrap();
    let map = ["--map", "config/site.json:config/site.json"];
    refuses((&world, &repo.url()), &map, (1, "Conflict"), &["config/site.json"]);
    let (world, repo) = (World::new(), plant());
    fs::write(world.data().join("projects"), "mine").unwrap();
    refuses((&world, &repo.url()), &[], (1, "Conflict"), &["projects"]);
}

#[test]
fn a_data_directory_that_is_none() {
    let (world, repo) = (World::new(), plant());
    fs::remove_dir(world.data()).unwrap();
    let run = world.sync(&repo.url(), &["-o", "json"]);
    let data = world.data();
    refused(run, 1, "DataDirectoryMissing", &[data.to_str().unwrap()]);
    fs::write(world.data(), "a file").unwrap();
    refused(world.sync(&repo.url(), &["-o", "json"]), 1, "DataDirectoryUnusable", &[]);
}
