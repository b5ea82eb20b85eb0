//! The rights that the chart grants, as a file that is reviewed.

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;
use stoker_testkit::cluster::Cluster;

use super::{CHART, accept, render};

/// Values that change rights.
const CASES: [(&str, &str); 6] = [
    ("defaults", ""),
    ("one namespace", "watchNamespaces={NAMESPACE}"),
    ("Secrets by name", "rbac.secretAccess=get"),
    ("evicts, binds nothing", "repair.mode=evict,rbac.autoBindAgent.enabled=false"),
    ("a separate webhook", "webhook.separate=true,certManager.enabled=true"),
    ("bootstrap", "bootstrap.enabled=true,webhook.separate=true"),
];

// F6: a change of rights is a change of this file, and so is seen in review.
#[test]
fn rights_are_those_of_the_reviewed_file() {
    let cluster = Cluster::shared();
    super::value::install_kinds(cluster);
    let namespace = cluster.namespace();
    let mut text = String::from(
        "# The rights that the chart grants. Written by a test: STOKER_BLESS=1 writes it again.\n",
    );
    for (title, values) in CASES {
        let values = values.replace("NAMESPACE", namespace.name());
        let rendered = render(cluster, namespace.name(), &values);
        let objects = accept(cluster, &rendered, &values);
        let lines = objects.iter().flat_map(rules).collect::<Vec<_>>();
        writeln!(text, "\n## {title}\n").unwrap();
        for line in lines {
            writeln!(text, "{}", line.replace(namespace.name(), "NAMESPACE")).unwrap();
        }
    }
    let path = format!("{CHART}/files/rights.txt");
    if std::env::var_os("STOKER_BLESS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let reviewed = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, reviewed, "rights changed: review them and run the test with STOKER_BLESS=1");
}

// F6: Secrets are written only where a Role allows it.
#[test]
fn no_right_over_the_whole_cluster_writes_secrets_or_escalates() {
    let cluster = Cluster::shared();
    super::value::install_kinds(cluster);
    let namespace = cluster.namespace();
    let objects = accept(cluster, &render(cluster, namespace.name(), ""), "");
    let bound: Vec<_> = objects.iter().filter(|it| it["kind"] == "ClusterRoleBinding").collect();
    assert!(!bound.is_empty());
    for role in objects.iter().filter(|it| it["kind"] == "ClusterRole") {
        let name = &role["metadata"]["name"];
        if !bound.iter().any(|binding| binding["roleRef"]["name"] == *name) {
            continue;
        }
        for rule in role["rules"].as_array().unwrap() {
            let has = |key: &str, word: &str| {
                rule[key].as_array().is_some_and(|words| words.iter().any(|it| it == word))
            };
            assert!(
                !has("verbs", "*") && !has("resources", "*") && !has("apiGroups", "*"),
                "{rule}"
            );
            assert!(!has("verbs", "escalate") && !has("verbs", "impersonate"), "{rule}");
            let writes = ["create", "update", "patch", "delete"].iter().any(|it| has("verbs", it));
            assert!(!(has("resources", "secrets") && writes), "{name}: {rule}");
        }
    }
}

/// One line per rule.
fn rules(object: &Value) -> Vec<String> {
    let kind = object["kind"].as_str().unwrap_or_default();
    if !matches!(kind, "Role" | "ClusterRole") {
        return Vec::new();
    }
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let words = |value: &Value| {
        let words = value.as_array().into_iter().flatten().filter_map(Value::as_str);
        words.map(|word| if word.is_empty() { "core" } else { word }).collect::<Vec<_>>().join(",")
    };
    let line = |rule: &Value| {
        let names = words(&rule["resourceNames"]);
        let names = if names.is_empty() { names } else { format!(" named {names}") };
        let (groups, resources) = (words(&rule["apiGroups"]), words(&rule["resources"]));
        format!("{kind} {name}: {} {groups}/{resources}{names}", words(&rule["verbs"]))
    };
    object["rules"].as_array().into_iter().flatten().map(line).collect()
}
