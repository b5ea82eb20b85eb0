//! Errors about mappings, templates, contents, and the directories on this machine.

use std::fs;
use std::os::unix::fs::symlink;

use stoker_testkit::git::{RawEntry, Repo, Tree, ignition};

use super::table::Table;
use crate::kit::manifest::gateway_sync;
use crate::kit::result::refused;
use crate::kit::world::{Run, STOKER, World, plant};

/// A repository that no run can reach: a run that tries has another exit code.
const NOWHERE: &str = "https://nowhere.invalid/plant.git";

#[test]
fn mappings() {
    let (world, mut table) = (World::new(), Table::new("mappings"));
    let long = format!("projects:projects/{}", "n".repeat(256));
    table.hide(&"n".repeat(256), "<256 times n>");
    for (map, vars) in [
        ("projects", ""),
        ("/etc:projects", ""),
        ("projects:/etc", ""),
        ("../x:projects", ""),
        ("projects:a/../b", ""),
        ("projects:.stoker/x", ""),
        ("projects:.sync-staging", ""),
        ("config:config/local", ""),
        ("config:config/ignition/tags/valueStore.idb", ""),
        ("config:projects/.resources", ""),
        ("config:projects/p/.git", ""),
        (&long, ""),
        ("p:{{.Nope}}", ""),
        ("{{.Vars.absent}}:projects", ""),
        ("p:projects/{{.GatewayName}}", ""),
        ("p:projects/{{.CRName}}", ""),
        ("p:projects/{{.Commit}}/{{.Nope}}", ""),
        ("p:{{if}}", ""),
        ("p:{{.Vars.to}}", "to=.stoker"),
        ("p:{{.Vars.to}}/x", "to=.sync-staging"),
        ("p:{{.Vars.to}}", "to=.."),
        ("p:{{.Vars.to}}", "to="),
        ("p:{{.Vars.to}}", "to=/etc"),
        ("{{.Vars.from}}:p", "from=../x"),
    ] {
        let vars = if vars.is_empty() { vec![] } else { vec!["--var", vars] };
        let more = [&["--map", map][..], &vars].concat();
        let title = more.join(" ").replace(&"n".repeat(256), "<256 times n>");
        table.sync(&title, &world, NOWHERE, &more);
    }
    let exclude = ["--map", "projects:projects", "--exclude", "[a"];
    table.sync("--exclude [a", &world, NOWHERE, &exclude);
    let words = ["dev", ".", "--once", "--map", "a:{{.Nope}}", "--data", "data"];
    table.words("dev with a wrong template", &world, words);
    table.words("dev without --map", &world, ["dev", ".", "--data", "data"]);
    table.matches();
    // What only the commit decides is checked when the ref is known.
    world.sync(NOWHERE, &["--map", "p:projects/{{.Commit}}"]).exits(1);
}

#[test]
fn sources() {
    let (world, mut table) = (World::new(), Table::new("sources"));
    let tree = ignition::tree(30, 11)
        .lfs_pointer("docs/one.png", 7)
        .lfs_pointer("docs/two.png", 8)
        .file("services/site/projects/a/x", "1")
        .symlink("linked", "projects");
    let (repo, _) = Repo::with(tree).unwrap();
    let url = repo.url();
    table.hide(&url, "$REPO");
    for map in [
        "absent:projects",
        "service/site/project:projects",
        "linked:projects",
        "linked/x:projects",
        "docs:docs",
        "docs/one.png:docs/",
    ] {
        table.sync(map, &world, &url, &["--map", map]);
    }
    let views = "projects/ashford-00:projects/p";
    for maps in [
        [views, "services/site/projects/a/x:projects/p"],
        ["services/site/projects/a/x:projects/p", views],
    ] {
        table.sync(&maps.join(" "), &world, &url, &["--map", maps[0], "--map", maps[1]]);
    }
    fs::create_dir(world.path("work")).unwrap();
    let words = ["dev", "work", "--once", "--map", "absent:projects", "--data", "data"];
    table.words("dev without the source", &world, words);
    for name in ["a\nb", "..", "../outside", "a/../../b", ".git"] {
        let (odd, blob) = (Repo::empty().unwrap(), repo.blob("x").unwrap());
        odd.blob("x").unwrap();
        let inner = odd.raw_tree(&[RawEntry::file(name, &blob)]).unwrap();
        let outer = odd.raw_tree(&[RawEntry::directory("projects", &inner)]).unwrap();
        odd.commit_tree("main", &outer).unwrap();
        table.sync(&format!("the name {name:?}"), &world, &odd.url(), &[]);
        assert!(!world.path("outside").exists() && !world.path("b").exists());
    }
    let (odd, _) = Repo::with(Tree::new().file(b"projects/line/\xff", "1")).unwrap();
    table.sync("a name that is not UTF-8", &world, &odd.url(), &[]);
    table.sync("a short commit", &world, &url, &["--ref", "012345"]);
    table.matches();
}

#[test]
fn templates_and_patches() {
    let (world, mut table) = (World::new(), Table::new("templates"));
    let tree = Tree::new()
        .file("t/unknown.json", "{\"a\":\"{{ .Vars.absent }}\"}")
        .file("u/open.json", "one\n{{ if }}")
        .file("v/pod.json", "{{ .PodName }}")
        .file("w/becomes.json", "{\"a\":{{ .GatewayName }}}")
        .file("x/broken.json", "{\n  \"a\": 1,\n  oops\n}");
    let (repo, _) = Repo::with(tree).unwrap();
    let yaml = |source: &str, extra: &str| {
        let mapping = format!("{{source: {source}, destination: projects/x, {extra}}}");
        let sync = format!("  sync: {{profiles: {{site: {{mappings: [{mapping}]}}}}}}");
        gateway_sync(&repo.url(), &sync)
    };
    for source in ["t", "u", "v", "w"] {
        let yaml = yaml(source, "template: true");
        table.file(source, &world, &yaml, &["--gateway-name", "a b"]);
    }
    table.file("w without a name", &world, &yaml("w", "template: true"), &[]);
    let patch = yaml("x", "patches: [{file: '*.json', set: {a: '2'}}]");
    table.file("a patch of broken JSON", &world, &patch, &[]);
    table.matches();
}

#[test]
fn directories() {
    let (world, repo, mut table) = (World::new(), plant(), Table::new("directories"));
    symlink(world.data(), world.path("link")).unwrap();
    for store in ["data", "data/objects", "data/../data/objects/deep", "link/objects", "."] {
        table.sync(&format!("--store {store}"), &world, NOWHERE, &["--store", store]);
    }
    for directory in ["data", "link", "./data/.", "absent"] {
        let words = ["dev", directory, "--once", "--map", "a:b", "--data", "data"];
        table.words(&format!("dev {directory}"), &world, words);
    }
    for directory in ["work/src", "work/data/projects"] {
        fs::create_dir_all(world.path(directory)).unwrap();
    }
    fs::write(world.path("work/src/a"), "1").unwrap();
    symlink(world.path("work/data"), world.path("linked")).unwrap();
    let dev = |directory, map, data| ["dev", directory, "--once", "--map", map, "--data", data];
    for (directory, map, data) in [
        ("work", ".:x", "work/data"),
        ("work", ".:x", "linked"),
        ("work", "data:x", "work/data"),
        (".", "work:projects", "work/data"),
        ("work/data/projects", ".:projects", "work/data"),
        ("work/data/projects", ".:.", "work/data"),
    ] {
        let title = format!("dev {directory} --map {map} --data {data}");
        table.words(&title, &world, dev(directory, map, data));
    }
    assert!(!world.path("work/data/.stoker").exists());
    // Beside what is mapped is a fine place.
    world.stoker(dev("work", "src:projects/a", "work/data")).exits(0);
    world.sync(NOWHERE, &["--store", "data-objects"]).exits(1);

    for (path, text) in [(".stoker", "mine"), ("projects", "mine")] {
        fs::write(world.data().join(path), text).unwrap();
        table.sync(&format!("a file {path} in the way"), &world, &repo.url(), &[]);
        fs::remove_file(world.data().join(path)).unwrap();
        fs::remove_dir_all(world.data().join(".stoker")).ok();
    }
    fs::create_dir_all(world.data().join("config/site.json/inner")).unwrap();
    fs::write(world.data().join("config/site.json/inner/x"), "mine").unwrap();
    let map = ["--map", "config/site.json:config/site.json"];
    table.sync("a directory in the way of a file", &world, &repo.url(), &map);
    fs::create_dir(world.path("volume")).unwrap();
    symlink("../volume", world.data().join("projects")).unwrap();
    table.sync("a link in the way", &world, &repo.url(), &[]);
    fs::remove_dir_all(world.data()).unwrap();
    table.sync("no data directory", &world, &repo.url(), &[]);
    let plan = world.words("plan", &repo.url(), &["--create"]);
    table.words("a plan without a data directory", &world, plan);
    world.file("data", "a file");
    table.sync("a file as the data directory", &world, &repo.url(), &[]);
    table.matches();
}

#[test]
fn directories_that_can_not_be_written() {
    let (world, repo, mut table) = (World::new(), plant(), Table::new("stores"));
    let words = world.words("sync", &repo.url(), &["-o", "json"]);
    let mut command = world.command(STOKER, words);
    command.env("HOME", "/proc/none").env_remove("XDG_CACHE_HOME");
    let run = Run::ended(command);
    let store = run.stderr.split("/stoker/").nth(1).and_then(|rest| rest.split('"').next());
    table.hide(store.unwrap(), "STORE");
    table.take("a store that can't be written", &world, &run);
    table.matches();
    let mut command = world.command(STOKER, ["demo", "-o", "json"]);
    command.env("TMPDIR", world.path("absent"));
    refused(Run::ended(command), 1, "DemoFailed", &["temporary directory", "absent"]);
}

// A13: the rule itself is tested in `stoker-sync`, `plan/limit.rs`; here is what a user sees of it.
#[test]
fn deletions_that_must_be_confirmed() {
    let (world, mut table) = (World::new(), Table::new("deletions"));
    let hundred = (0..100).fold(Tree::new(), |tree, n| tree.file(format!("projects/a/f{n}"), ""));
    let (repo, _) = Repo::with(hundred).unwrap();
    world.sync(&repo.url(), &[]).exits(0);
    // One file that comes does not excuse a hundred that go.
    let one = repo.rewrite("main", Tree::new().file("projects/b/one", "")).unwrap();
    table.sync("a hundred files", &world, &repo.url(), &[]);
    let plan = world.words("plan", &repo.url(), &["-o", "json"]);
    let plan = world.stoker(plan).exits(0).json();
    assert_eq!(plan["filesDeleted"], 100);
    assert_eq!(plan["warnings"][0]["code"], "DeletionBlocked");
    let sync =
        "  sync: {profiles: {site: {mappings: [{source: projects, destination: projects}]}}}";
    let yaml = gateway_sync(&repo.url(), sync);
    let confirming = |commit: &str| {
        let annotations = format!("annotations: {{stoker.io/allow-mass-delete: \"{commit}\"}}");
        yaml.replace("  name: plant\n", &format!("  name: plant\n  {annotations}\n"))
    };
    let other = confirming(&"0".repeat(40));
    table.file("confirmed for another commit", &world, &other, &[]);
    let run = crate::kit::manifest::run(&world, &confirming(one.as_str()), &["-o", "json"]);
    assert_eq!(run.exits(0).json()["filesDeleted"], 100);

    let (two, _) = Repo::with(Tree::new().file("projects/c/x", "x")).unwrap();
    table.hide(&repo.url(), "$REPO");
    table.hide(&two.url(), "$OTHER");
    table.sync("another repository", &world, &two.url(), &[]);
    let codes = |run: Run| {
        let warnings = run.exits(0).json()["warnings"].as_array().unwrap().clone();
        warnings.into_iter().map(|warning| warning["code"].clone()).collect::<Vec<_>>()
    };
    let plan = world.stoker(world.words("plan", &two.url(), &["-o", "json"]));
    assert_eq!(codes(plan), ["DeletionBlocked", "OtherSource"]);
    let sync = world.sync(&two.url(), &["-o", "json", "--allow-mass-delete"]);
    assert!(codes(sync).contains(&"OtherSource".into()));
    assert!(world.live().get("projects/c/x").is_some());
    table.matches();
}
