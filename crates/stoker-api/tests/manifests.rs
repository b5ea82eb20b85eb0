//! Ten good manifests and many bad ones, judged offline; the cluster tests apply the same files.
#![expect(clippy::disallowed_methods, reason = "reads the manifests from the disk")]
#![expect(clippy::unwrap_used, reason = "all of this file is test code")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use stoker_api::validation::{Violation, validate};

#[test]
fn every_good_manifest_is_accepted() {
    let good = manifests("good");
    assert!(good.len() >= 10, "{} good manifests", good.len());
    for path in good {
        assert_eq!(judge(&path), Vec::new(), "{}", path.display());
    }
}

#[test]
fn every_bad_manifest_is_refused_with_the_message_it_expects() {
    let bad = manifests("bad");
    assert!(bad.len() >= 30, "{} bad manifests", bad.len());
    for path in bad {
        let text = fs::read_to_string(&path).unwrap();
        let first = text.lines().next().unwrap();
        let expected =
            first.strip_prefix("# expect: ").expect("the first line says what to expect");
        let violations = judge(&path);
        let told = violations.iter().any(|violation| violation.to_string().contains(expected));
        assert!(told, "{}: expected {expected:?}, got {violations:#?}", path.display());
    }
}

#[test]
fn good_manifests_read_and_print_without_loss() {
    for path in manifests("good") {
        let value = read(&path);
        let printed = match value["kind"].as_str().unwrap() {
            "GatewaySync" => round_trip::<stoker_api::GatewaySync>(&value),
            _ => round_trip::<stoker_api::SyncProfile>(&value),
        };
        assert_eq!(printed["spec"], value["spec"], "{}", path.display());
    }
}

fn round_trip<T: serde::Serialize + serde::de::DeserializeOwned>(value: &Value) -> Value {
    let object: T = serde_json::from_value(value.clone()).unwrap();
    serde_json::to_value(object).unwrap()
}

fn judge(path: &Path) -> Vec<Violation> {
    validate(&read(path)).unwrap()
}

fn read(path: &Path) -> Value {
    serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn manifests(kind: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/manifests").join(kind);
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}
