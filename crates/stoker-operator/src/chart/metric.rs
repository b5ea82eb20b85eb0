//! Alerts and dashboards ask only for metrics that exist.

use std::collections::BTreeSet;
use std::fs;

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::Value;

use super::CHART;
use crate::{admission, certificate, controller, receiver};

/// Names of metrics in a query.
fn metrics_of(query: &str) -> impl Iterator<Item = &str> {
    let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
    query.split(move |character| !is_word(character)).filter(|word| word.starts_with("stoker_"))
}

// A claim in e2e/install sees the agent's metrics, too, in running pods.
#[test]
fn what_alerts_and_dashboards_ask_of_the_operator_is_registered() {
    let mut registry = Registry::default();
    controller::Metrics::register(&mut registry).observe_sample();
    admission::Metrics::register(&mut registry);
    receiver::Metrics::register(&mut registry);
    certificate::Metrics::register(&mut registry);
    let mut served = String::new();
    encode(&mut served, &registry).unwrap();
    // A family without a series is not served, so the registry itself is asked, too.
    let known = format!("{registry:?}");
    let is_known = |name: &str| {
        let plain = ["_total", "_bucket"].iter().find_map(|end| name.strip_suffix(end));
        let name = plain.unwrap_or(name);
        if served.contains(&format!("# TYPE {name} ")) {
            return true;
        }
        let name =
            ["stoker_controller_", "stoker_webhook_"].iter().find_map(|it| name.strip_prefix(it));
        name.is_some_and(|name| known.contains(&format!("name: {name:?}")))
    };
    let mut asked = BTreeSet::new();
    let alerts = fs::read_to_string(format!("{CHART}/files/alerts.yaml")).unwrap();
    asked.extend(metrics_of(&alerts).map(str::to_owned));
    for name in ["stoker-fleet", "stoker-gatewaysync"] {
        let board = fs::read_to_string(format!("{CHART}/dashboards/{name}.json")).unwrap();
        let board: Value = serde_json::from_str(&board).unwrap();
        for panel in board["panels"].as_array().unwrap() {
            for target in panel["targets"].as_array().into_iter().flatten() {
                asked.extend(metrics_of(target["expr"].as_str().unwrap()).map(str::to_owned));
            }
        }
    }
    assert!(asked.len() > 20, "{asked:?}");
    let unknown: Vec<_> =
        asked.iter().filter(|name| !name.starts_with("stoker_agent_") && !is_known(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?} is not registered");
}
