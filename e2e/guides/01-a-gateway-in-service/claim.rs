//! The runbook, and the commands of `stoker` for clusters, on a gateway that is in service.

use std::fs;

use stoker_testkit::git::{Edit, Tree};
use stoker_testkit::page::{Page, Shell};
use stoker_testkit::wait::eventually;

use crate::{Guide, World};

/// The gateway of the quickstart, with the names of the pages and a volume of its own.
const GATEWAY: &str = include_str!("../../../docs/quickstart/gateway.yaml");

#[test]
fn c01_every_command_of_the_runbook_does_what_it_says() {
    let Some(world) = super::world() else { return };
    let shell = world.shell("service");
    start(&world);

    let mut conditions = Guide::open(&shell, "docs/reference/conditions.md");
    conditions.follow("Conditions and reasons");
    reference(&world, &shell);
    Guide::open(&shell, "docs/cli.md").follow("In a cluster");
    runbook(&world, &shell);

    world.kubectl("delete namespace line-1 --timeout=90s");
    world.kubectl("delete persistentvolume/line-1 storageclass/line-1");
}

/// Starts the press and waits until it is synced.
fn start(world: &World) {
    let data = world.node().cluster().directory().join("guides/press");
    fs::remove_dir_all(&data).ok(); // of an earlier run, if any
    fs::create_dir_all(&data).unwrap();
    let objects = include_str!("press.yaml").replace("REPOSITORY", world.quickstart.url());
    world.apply(&objects.replace("DIRECTORY", data.to_str().unwrap()));
    let gateway = GATEWAY.replace("ignition-gateway", "press").replace(": plant", ": press");
    let volume = "persistentVolumeClaim: {claimName: data-press-0}";
    assert!(gateway.contains("emptyDir: {}"), "the page's gateway has the volume that we replace");
    let mut kubectl = world.node().cluster().kubectl();
    kubectl.args(["--namespace", "line-1"]);
    stoker_e2e::apply(kubectl, &gateway.replace("emptyDir: {}", volume));
    world.kubectl("rollout status statefulset/press --namespace line-1 --timeout=90s");
    wait_ready(world);
}

fn wait_ready(world: &World) {
    world.kubectl("wait gatewaysync/press --namespace line-1 --for=condition=Ready --timeout=90s");
}

/// What stands behind the last sync.
fn synced_commit(world: &World) -> String {
    let path = "--output=jsonpath={.status.lastSyncCommit}";
    world.kubectl(&format!("get gatewaysync press --namespace line-1 {path}"))
}

fn reference(world: &World, shell: &Shell) {
    let mut page = Guide::open(shell, "docs/reference/cli.md");
    let status = page.follow("`stoker status`");
    assert!(status.matches("press").count() >= 2, "{status}");
    page.follow("`stoker doctor`");
    assert!(shell.directory().join("support.tar").is_file(), "the archive for support");
    page.follow("`stoker sync-now`");
    page.follow("`stoker pause`");
    page.follow("`stoker resume`");
    wait_ready(world);
    let rendered = page.follow("`stoker render`");
    assert!(rendered.contains("stoker-agent"), "{rendered}");
    let logs = page.follow("`stoker logs`");
    assert!(logs.contains("press-0"), "{logs}");
}

fn runbook(world: &World, shell: &Shell) {
    let repo = world.quickstart.repo();
    let all_but_press = Edit::put(Tree::new()).and_remove("projects/press");
    let commit_of = |name| String::from_utf8(repo.git(["rev-parse", name]).unwrap()).unwrap();
    let (first, last) = (commit_of("v2.0.3"), commit_of("main"));
    let commit = repo.unreachable(all_but_press).unwrap().to_string();
    // What the pages before requested.
    world.kubectl("annotate gatewaysync press --namespace line-1 stoker.io/requested-ref-");
    world.kubectl("wait gatewaysync/press --namespace line-1 --for=jsonpath={.status.lastSyncRef}=main --timeout=60s");
    let mut page = Guide::open(shell, "docs/guides/runbook.md")
        .with("8d1c8b69c3fce7bea45c73efd06983e3c419a92f", &commit);
    page.follow("Runbook");
    page.follow("Emergency stop");
    wait_ready(world);
    let back = page.follow("Going back to the last good commit");
    assert!(back.contains(&first[..7]), "{back}");
    eventually("the branch counts again", || synced_commit(world) == last.trim_end());

    world.kubectl("label namespace line-1 stoker.io/injection-");
    world.kubectl("delete pod press-0 --namespace line-1 --timeout=60s");
    eventually("the status says that the agent is missing", || {
        let status = "--output=jsonpath={.status.discoveredGateways[*].syncStatus}";
        world.kubectl(&format!("get gatewaysync press --namespace line-1 {status}"))
            == "MissingSidecar"
    });
    world.kubectl("wait pod/press-0 --namespace line-1 --for=condition=Ready --timeout=90s");
    shell.follow(Page::read("docs/guides/removing.md").section("The files on a gateway"));
    page.follow("A pod without an agent");
    eventually("the pod has an agent", || {
        let names = "--output=jsonpath={.spec.initContainers[*].name}";
        let get = format!("get pod press-0 --namespace line-1 --ignore-not-found {names}");
        world.kubectl(&get).contains("stoker-agent")
    });
    world.kubectl("wait pod/press-0 --namespace line-1 --for=condition=Ready --timeout=90s");
    wait_ready(world);

    repo.git(["update-ref", "refs/heads/main", &commit]).unwrap();
    let blocked = "--for=condition=DeletionBlocked --timeout=60s";
    world.kubectl(&format!("wait gatewaysync/press --namespace line-1 {blocked}"));
    page.follow("A blocked deletion");
    eventually("the commit is applied", || synced_commit(world) == commit);
    wait_ready(world);

    page.follow("A full volume");
    fs::write(shell.directory().join("token"), "secret").unwrap();
    page.follow("Rotating a key");
    page.follow("The operator is away");
    let logs = page.follow("What the agents say");
    assert!(logs.contains("press-0"), "{logs}");
}
