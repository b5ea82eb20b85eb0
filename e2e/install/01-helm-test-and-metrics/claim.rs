//! `helm test` finds a new installation well, and operator and agent serve every metric that alerts
//! and dashboards ask for.

use std::collections::BTreeSet;

use stoker_testkit::quickstart::{NAMESPACE, OPERATOR_NAMESPACE, POD};

const ALERTS: &str = include_str!("../../../charts/stoker-operator/files/alerts.yaml");
const BOARDS: [&str; 2] = [
    include_str!("../../../charts/stoker-operator/dashboards/stoker-fleet.json"),
    include_str!("../../../charts/stoker-operator/dashboards/stoker-gatewaysync.json"),
];

/// Served only after what they count has happened.
const SELDOM: [&str; 3] = [
    "stoker_agent_sync_skipped_total",
    "stoker_controller_github_app_token_expiry_timestamp_seconds",
    "stoker_webhook_receiver_requests_total",
];

#[test]
fn c01_helm_test_passes_and_every_metric_is_served() {
    let Some(world) = super::world() else { return };
    world.install("");
    world.start_gateway();
    world.quickstart.helm("test stoker-operator --namespace stoker-system");
    let pods = ["get", "pods", "--selector=control-plane=controller-manager", "--output=name"];
    let operators = world.operator(&pods);
    let operators = operators.lines().filter_map(|line| line.strip_prefix("pod/"));
    let operators = operators.map(|pod| (OPERATOR_NAMESPACE, pod, 8080));
    let mut served = String::new();
    for (namespace, pod, port) in operators.chain([(NAMESPACE, POD, 8083)]) {
        let path = format!("/api/v1/namespaces/{namespace}/pods/{pod}:{port}/proxy/metrics");
        served += &world.cluster(&["get", "--raw", &path]);
    }
    let known: BTreeSet<&str> = served.lines().filter_map(named).collect();
    let is_missing = |name: &&str| {
        let plain = ["_total", "_bucket"].iter().find_map(|end| name.strip_suffix(end));
        !known.contains(plain.unwrap_or(name)) && !SELDOM.contains(name)
    };
    let asked = [ALERTS, BOARDS[0], BOARDS[1]].into_iter().flat_map(metrics_of);
    let missing: BTreeSet<&str> = asked.filter(is_missing).collect();
    assert!(missing.is_empty(), "{missing:?} is in none of {known:?}");
}

/// The name in `# TYPE name kind`.
fn named(line: &str) -> Option<&str> {
    line.strip_prefix("# TYPE ")?.split(' ').next()
}

/// Names of metrics in queries.
fn metrics_of(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let words = text.split(move |character| !is_word(character));
    words.filter(|word| {
        ["stoker_agent_", "stoker_controller_", "stoker_webhook_", "stoker_receiver_"]
            .iter()
            .any(|start| word.starts_with(start))
    })
}
