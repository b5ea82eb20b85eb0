//! What a real API server and a real kubectl make of our custom resources.
#![expect(clippy::disallowed_methods, reason = "reads the manifests from the disk")]
#![expect(clippy::unwrap_used, reason = "all of this file is test code")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Once;

use stoker_api::generated;
use stoker_testkit::cluster::Cluster;
use stoker_testkit::node::succeed;

/// The run's cluster with our CRDs in it.
fn cluster() -> &'static Cluster {
    static INSTALLED: Once = Once::new();
    let cluster = Cluster::shared();
    INSTALLED.call_once(|| {
        let namespace = cluster.namespace();
        for (name, crd) in generated::crd_yaml() {
            let output = namespace.try_apply(&crd);
            let words = String::from_utf8_lossy(&output.stderr);
            // A warning is the API server telling users that our schema is sloppy.
            assert!(output.status.success() && words.is_empty(), "{name}: {words}");
        }
        let established = ["wait", "--for=condition=Established", "--timeout=30s", "crd"];
        let crds = ["gatewaysyncs.stoker.io", "syncprofiles.stoker.io"];
        succeed(cluster.kubectl().args(established).args(crds));
    });
    cluster
}

fn manifests(kind: &str) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/manifests").join(kind);
    let entries = fs::read_dir(directory).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn every_good_manifest_is_accepted_without_a_warning() {
    let namespace = cluster().namespace();
    let good = manifests("good");
    assert!(good.len() >= 10);
    for path in good {
        let output = namespace.try_apply(&fs::read_to_string(&path).unwrap());
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && words.is_empty(), "{}: {words}", path.display());
    }
}

#[test]
fn every_bad_manifest_is_refused_by_the_api_server_with_our_message() {
    let namespace = cluster().namespace();
    let bad = manifests("bad");
    assert!(bad.len() >= 30);
    let mut surprises = Vec::new();
    for path in bad {
        let text = fs::read_to_string(&path).unwrap();
        let expected = text.lines().next().unwrap().strip_prefix("# expect: ").unwrap();
        let output = namespace.try_apply(&text);
        let words = String::from_utf8_lossy(&output.stderr);
        if output.status.success() || !words.contains(expected) {
            surprises.push(format!("{}: expected {expected:?}, got {words}", path.display()));
        }
    }
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
}

#[test]
fn kubectl_explains_a_field_in_whole_sentences() {
    let text = succeed(cluster().kubectl().args(["explain", "gatewaysync.spec.git.ref"]));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("FIELD: ref <string>"), "{text}");
    for word in ["branch", "tag", "semver:"] {
        assert!(text.contains(word), "{word:?} is not in: {text}");
    }
}

#[test]
fn kubectl_get_shows_the_columns() {
    let namespace = cluster().namespace();
    let simple = manifests("good").remove(0);
    namespace.apply(&fs::read_to_string(simple).unwrap());
    let table = succeed(namespace.kubectl().args(["get", "gs"]));
    let head: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(head, ["NAME", "REF", "GATEWAYS", "READY", "STATUS", "AGE"]);
    let wide = succeed(namespace.kubectl().args(["get", "gs", "--output=wide"]));
    for column in ["COMMIT", "PROFILES", "LAST SYNC"] {
        assert!(wide.lines().next().unwrap().contains(column), "{wide}");
    }
    let category = succeed(namespace.kubectl().args(["get", "stoker", "--output=name"]));
    assert!(category.starts_with("gatewaysync.stoker.io/"), "{category}");
    let all = succeed(namespace.kubectl().args(["get", "all", "--output=name"]));
    assert!(!all.contains("gatewaysync"), "{all}");
}
