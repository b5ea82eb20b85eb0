//! The pages about installations: the chart's README, upgrades, pod bootstrap, removal, air gap.

use std::fs;

use stoker_testkit::images;
use stoker_testkit::node::succeed;
use stoker_testkit::page::{Page, Shell};
use stoker_testkit::quickstart::{CLUSTER_KINDS, OPERATOR};
use stoker_testkit::wait::eventually;

use crate::{Guide, README, World};

/// A pod of others, which names a public image.
const NGINX: &str = "{apiVersion: v1, kind: Pod, metadata: {name: press-0, namespace: line-1}, \
                     spec: {containers: [{name: app, image: 'nginx:1.27'}]}}";

#[test]
fn c02_an_installation_is_made_upgraded_and_removed_as_the_pages_say() {
    let Some(world) = super::world() else { return };
    let shell = world.shell("installation");
    let mut readme = Guide::open(&shell, README);
    let mut install = Guide::open(&shell, "docs/install.md");
    install.follow("Is it well");
    install.follow("Upgrade");
    readme.follow("Upgrade");
    world.kubectl("create namespace line-1");
    bootstrap(&world, &shell);
    remove(&world, &shell);
    several_operators(&world, &shell);
    air_gap(&world, &shell);
    readme.follow("Uninstall");
}

fn bootstrap(world: &World, shell: &Shell) {
    let mut page = Guide::open(shell, "docs/bootstrap.md");
    page.follow("Switch it on");
    fs::write(
        shell.directory().join("config.json"),
        r#"{"auths": {"registry.plant.example": {"auth": "YTpi"}}}"#,
    )
    .unwrap();
    let certificate = rcgen::generate_simple_self_signed(["plant.example".to_owned()]).unwrap();
    fs::write(shell.directory().join("ca.crt"), certificate.cert.pem()).unwrap();
    page.follow("A policy");
    world.apply(&page.page.section("A policy").manifests[0]);
    let copies = "get secret/plant-registry configmap/stoker-ca-bundle --namespace line-1 \
                  --ignore-not-found --output=name";
    eventually("the namespace has its copies", || world.kubectl(copies).lines().count() == 2);
    // Its image can't be pulled here.
    let image = "--output=jsonpath={.spec.containers[0].image}";
    let get = format!("get pod press-0 --namespace line-1 {image}");
    eventually("a pod is adapted", || {
        world.kubectl("delete pod press-0 --namespace line-1 --ignore-not-found --now");
        world.apply(NGINX);
        world.kubectl(&get) == "registry.plant.example/dockerhub/library/nginx:1.27"
    });
    let said = shell.follow(Page::read("docs/reference/cli.md").section("`stoker bootstrap`"));
    assert!(said.contains("line-1/press-0"), "{said}");
    world.kubectl("delete pod press-0 --namespace line-1 --now");
    page.follow("Switch it off");
    assert_eq!(world.kubectl(copies), "", "the copies are gone");
}

fn remove(world: &World, shell: &Shell) {
    let mut page = Guide::open(shell, "docs/guides/removing.md");
    let press = include_str!("../01-a-gateway-in-service/press.yaml");
    let press = press.split("---\n").last().unwrap();
    world.apply(&press.replace("REPOSITORY", world.quickstart.url()));
    let left = "get gatewaysync press --namespace line-1 --ignore-not-found \
                --output=jsonpath={.metadata.finalizers}";
    eventually("the operator holds it", || world.kubectl(left).contains("stoker.io"));
    let of_operator = "--namespace stoker-system --selector control-plane=controller-manager";
    world.kubectl(&format!("scale deployment {of_operator} --replicas=0"));
    world.kubectl(&format!("wait pods {of_operator} --for=delete --timeout=60s"));
    world.kubectl("delete gatewaysync press --namespace line-1 --wait=false");
    page.follow("A GatewaySync whose deletion does not end");
    assert_eq!(world.kubectl(left), "", "it is gone");
    world.kubectl("delete namespace line-1 --timeout=60s");

    page.follow("Everything");
    let of_the_cluster = format!("get crds,namespaces,{CLUSTER_KINDS} --output=name");
    let left = world.kubectl(&of_the_cluster);
    let ours: Vec<&str> = left.lines().filter(|name| name.contains("stoker")).collect();
    assert!(ours.is_empty(), "{ours:?}");
}

fn several_operators(world: &World, shell: &Shell) {
    Guide::open(shell, "docs/guides/sizing.md").follow("Several operators");
    let leases = "get leases --namespace stoker-system --output=name";
    eventually("each part has its Lease", || {
        let leases = world.kubectl(leases);
        ["-0-of-2", "-1-of-2"].iter().all(|part| leases.contains(part))
    });
    let gone = shell.run("helm uninstall stoker-1 stoker-0 --namespace stoker-system --wait");
    assert_eq!(gone.code, 0, "{}", gone.output);
}

fn air_gap(world: &World, shell: &Shell) {
    let mut page = Guide::open(shell, "docs/guides/air-gap.md");
    let values = &page.page.section("Air gap").manifests[0];
    fs::write(shell.directory().join("values.yaml"), values).unwrap();
    let images = images::load(world.node());
    for image in [&images.operator, &images.agent] {
        let (_, name) = image.rsplit_once('/').unwrap();
        world.node().tag(image, &format!("registry.plant.local/stoker/{name}"));
    }
    let package = shell.run("helm package charts/stoker-operator");
    assert_eq!(package.code, 0, "{}", package.output);
    page.follow("Air gap");
    let image = "--output=jsonpath={.items[*].spec.containers[*].image}";
    let image = world.kubectl(&format!("get pods --namespace stoker-system {image}"));
    assert!(image.starts_with("registry.plant.local/stoker/stoker-operator:"), "{image}");
    let agent = succeed(world.node().cluster().kubectl().args([
        "get",
        &format!("deployment/{OPERATOR}"),
        "--namespace=stoker-system",
        "--output=yaml",
    ]));
    assert!(agent.contains("registry.plant.local/stoker/stoker-agent:"), "{agent}");
}
