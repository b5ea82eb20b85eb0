//! The pages that say what a change would do: several sites, and migrating.

use std::fs;

use stoker_testkit::git::http::{Auth, HttpServer};
use stoker_testkit::git::ssh::{Kind, SshServer};
use stoker_testkit::page::{Page, Shell};

use crate::{Guide, World};

const GATEWAY: &str = include_str!("../../../docs/quickstart/gateway.yaml");
const GIT_SYNC: &str = include_str!("../../migrate/01-from-git-sync/gateway.yaml");

#[test]
fn c04_the_pages_show_what_a_change_would_do() {
    let Some(world) = super::world() else { return };
    let shell = world.shell("change");
    several_sites(&world, &shell);
    migrate(&world, &shell);
    world.kubectl("delete namespace plants site1 --timeout=90s");
}

fn several_sites(world: &World, shell: &Shell) {
    let mut page = Guide::open(shell, "docs/guides/several-sites.md")
        .with("https://git.example.com/ignition.git", world.quickstart.url());
    world.kubectl("create namespace plants");
    world.apply(&page.page.section("Several sites from one repository").manifests[0]);
    let gateway = GATEWAY.replace("ignition-gateway", "press").replace(
        "stoker.io/cr-name: plant",
        "stoker.io/cr-name: plants\n        stoker.io/profile: north",
    );
    apply_without_pods(world, "plants", &gateway);
    let rendered = page.follow("Several sites from one repository");
    assert!(rendered.contains("sites/north/projects"), "{rendered}");
    assert!(!rendered.contains("sites/south/projects"), "{rendered}");
}

fn migrate(world: &World, shell: &Shell) {
    let repo = world.quickstart.repo();
    let ssh = SshServer::start().unwrap();
    let server = HttpServer::start().unwrap();
    let url = server.mount("plant", repo);
    server.require(Auth::Basic("x-access-token".into(), "secret".into()));
    let file = |name: &str| shell.directory().join(name);
    fs::copy(ssh.user_key(Kind::Ed25519), file("id")).unwrap();
    fs::copy(ssh.known_hosts(), file("kh")).unwrap();
    fs::write(file("token"), "secret").unwrap();
    let old = include_str!("ignitionsync.yaml").replace("REPOSITORY", &url);
    fs::write(file("ignitionsync.yaml"), old).unwrap();
    fs::write(file("statefulsets.yaml"), include_str!("statefulsets.yaml")).unwrap();
    let site = file("copy-of-the-data-directory/projects/site");
    fs::create_dir_all(&site).unwrap();
    fs::write(site.join("project.json"), r#"{"title": "Site"}"#).unwrap();
    let area = file("copy/projects/area1");
    fs::create_dir_all(&area).unwrap();
    fs::write(area.join("project.json"), r#"{"title": "Area 1"}"#).unwrap();
    world.kubectl("create namespace site1");
    apply_without_pods(world, "site1", &GIT_SYNC.replace("REPOSITORY", &ssh.url(repo)));

    let mut page = Guide::open(shell, "docs/guides/migrating.md");
    let said = page.follow("From git-sync");
    assert!(said.contains("next: kubectl patch statefulset site"), "{said}");
    let written = fs::read_to_string(file("gatewaysync.yaml")).unwrap();
    assert!(written.contains("services/site/projects"), "{written}");
    page.follow("From IgnitionSync");
    let written = fs::read_to_string(file("gatewaysync.yaml")).unwrap();
    assert!(written.contains("services/area1/projects"), "{written}");
    let said = page.follow("From the Go operator");
    assert!(said.contains("kind: GatewaySync"), "{said}");
    page.follow("Proving that nothing changes");
    shell.follow(Page::read("docs/reference/cli.md").section("`stoker migrate`"));
}

/// Applies objects whose workload stays without pods.
fn apply_without_pods(world: &World, namespace: &str, manifest: &str) {
    let mut kubectl = world.node().cluster().kubectl();
    kubectl.args(["--namespace", namespace]);
    let manifest = manifest.replace("  serviceName:", "  replicas: 0\n  serviceName:");
    assert!(manifest.contains("replicas: 0"), "a StatefulSet");
    stoker_e2e::apply(kubectl, &manifest);
}
