//! The commands of the documentation that need no cluster, word for word.

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use stoker_testkit::gateway::{Gateway, Options};
use stoker_testkit::git::{Repo, Tree};
use stoker_testkit::page::{Page, Shell};

use crate::kit::world::{STOKER, World};

/// A user's machine with `stoker` on the `PATH`, a repository, and a gateway over `data`.
struct Machine {
    world: World,
    repo: Repo,
    gateway: Gateway,
}

impl Machine {
    fn new() -> Self {
        let world = World::new();
        let core = "config/resources/core/ignition/system-properties/config.json";
        let files = Tree::new()
            .file("services/site/projects/line/project.json", "{}")
            .file(core, r#"{"systemName": "", "other": 1}"#);
        let (repo, _) = Repo::with(files).unwrap();
        let gateway = Gateway::start(Options::over(world.data()).token("ci:secret")).unwrap();
        world.file("key", "ci:secret");
        let sync = format!(
            "apiVersion: stoker.io/v1alpha1\nkind: GatewaySync\nmetadata: {{name: plant}}\n\
             spec:\n  git: {{repo: '{}', ref: main}}\n  sync:\n    profiles:\n      site:\n        \
             mappings: [{{source: services/site/projects, destination: projects}}]\n",
            repo.url()
        );
        world.file("gatewaysync.yaml", sync);
        // What `stoker dev .` edits.
        let edited = world.path("services/site/projects/line");
        fs::create_dir_all(&edited).unwrap();
        fs::write(edited.join("project.json"), "{}").unwrap();
        Self { world, repo, gateway }
    }

    fn shell(&self) -> Shell {
        let programs = Path::new(STOKER).parent().unwrap().display();
        let root = self.world.root().display();
        let export = format!(
            "export PATH={programs}:$PATH HOME={root}/home XDG_CACHE_HOME={root}/cache TMPDIR={root}/tmp"
        );
        Shell::new(self.world.root()).after(&export)
    }

    fn has_project(&self) -> bool {
        self.world.data().join("projects/line/project.json").is_file()
    }
}

#[test]
fn the_commands_of_the_page_bring_files() {
    let machine = Machine::new();
    let page = Page::read("docs/cli.md")
        .with("https://host/plant.git", &machine.repo.url())
        .with("http://localhost:8088", &machine.gateway.url())
        .with("--data DIR", "--data data");
    let output = machine.shell().follow(page.section("Which files, to which place"));
    assert!(output.starts_with("synced: main at "), "{output}");
    assert!(machine.has_project(), "{output}");
}

#[test]
fn the_examples_of_the_help_work() {
    let machine = Machine::new();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let page = Page::read("docs/reference/cli.md")
        .with("https://host/plant.git", &machine.repo.url())
        .with("http://localhost:8088", &machine.gateway.url())
        .with("/usr/local/bin/ignition/data", "data")
        .with("127.0.0.1:7000", &free.to_string())
        .with("/etc/bash_completion.d/stoker", "completions");
    let shell = machine.shell();
    let follow = |command: &str| shell.follow(page.section(&format!("`stoker {command}`")));
    let planned = follow("plan");
    assert!(planned.contains("project.json"), "{planned}");
    assert!(!machine.has_project(), "a plan changes nothing");
    follow("sync");
    assert!(machine.has_project());
    follow("watch");
    follow("dev");
    let played = follow("demo");
    assert!(played.contains("both gateways run"), "{played}");
    follow("completions");
    let completions = fs::read_to_string(machine.world.path("completions")).unwrap();
    assert!(completions.contains("sync-now"), "{completions}");
}

#[test]
fn a_template_is_tried_without_a_cluster() {
    let machine = Machine::new();
    let page = Page::read("docs/guides/templates.md")
        .with("https://git.example.com/ignition.git", &machine.repo.url());
    machine.world.file("gatewaysync.yaml", &page.section("Patches").manifests[0]);
    fs::create_dir(machine.world.path("copy-of-the-data-directory")).unwrap();
    let output = machine.shell().follow(page.section("Try it without a cluster"));
    assert!(output.contains("system-properties"), "{output}");
}
