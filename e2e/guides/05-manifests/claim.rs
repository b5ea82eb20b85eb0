//! The API server takes every manifest of the documentation, and the chart all values.

use std::collections::BTreeSet;

use stoker_testkit::page::{Section, pages};

use crate::{World, list};

/// Kinds of others that the pages use: group, version, kind, plural.
const KINDS: [[&str; 4]; 4] = [
    ["argoproj.io", "v1alpha1", "Application", "applications"],
    ["external-secrets.io", "v1", "ExternalSecret", "externalsecrets"],
    ["notification.toolkit.fluxcd.io", "v1beta3", "Alert", "alerts"],
    ["notification.toolkit.fluxcd.io", "v1beta3", "Provider", "providers"],
];

#[test]
fn c05_every_manifest_of_the_pages_is_accepted() {
    let Some(world) = super::world() else { return };
    for kind in KINDS {
        world.apply(&definition(kind));
        let [group, _, _, plural] = kind;
        world.kubectl(&format!("wait crd/{plural}.{group} --for=condition=Established"));
    }
    let mut count = 0;
    let mut namespaces = BTreeSet::new();
    for page in pages() {
        for section in &page.sections {
            let place = (&*page.path, &*section.title);
            if list::VALUES.contains(&place) {
                values(&world, section);
            } else if !list::PARTS.iter().any(|(path, title, _)| (*path, *title) == place) {
                count += section.manifests.len();
                namespaces.extend(accept(&world, &place, section));
            }
        }
    }
    assert!(count > 10, "only {count} manifests were found");
    for namespace in namespaces {
        world.kubectl(&format!("delete namespace {namespace} --wait=false"));
    }
    for [group, _, _, plural] in KINDS {
        world.kubectl(&format!("delete crd {plural}.{group}"));
    }
}

/// A definition that takes any fields.
fn definition([group, version, kind, plural]: [&str; 4]) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n\
         metadata: {{name: {plural}.{group}}}\n\
         spec:\n  group: {group}\n  scope: Namespaced\n  names: {{kind: {kind}, plural: {plural}}}\n  \
         versions:\n    - name: {version}\n      served: true\n      storage: true\n      \
         schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}\n"
    )
}

/// Creates the manifests of a section as a dry run. Returns the namespaces that were made for it.
fn accept(world: &World, place: &(&str, &str), section: &Section) -> Vec<String> {
    let mut made = Vec::new();
    for manifest in &section.manifests {
        for namespace in manifest.lines().filter_map(|line| line.strip_prefix("  namespace: ")) {
            let find = format!("get namespace {namespace} --ignore-not-found");
            if world.kubectl(&find).is_empty() {
                world.kubectl(&format!("create namespace {namespace}"));
                made.push(namespace.to_owned());
            }
        }
        let mut kubectl = world.node().cluster().kubectl();
        kubectl.args(["apply", "--dry-run=server", "--filename=-"]);
        let output = stoker_e2e::piped(&mut kubectl, manifest);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{place:?}: {error}\n{manifest}");
    }
    made
}

/// Renders the chart with the values of a section.
fn values(world: &World, section: &Section) {
    for values in &section.manifests {
        let mut helm = world.node().cluster().helm();
        helm.args(["template", "stoker-operator", "--values=-"]);
        helm.arg(stoker_testkit::page::root().join("charts/stoker-operator"));
        let output = stoker_e2e::piped(&mut helm, values);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {error}", section.title);
    }
}
