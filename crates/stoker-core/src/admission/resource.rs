//! CPU and memory of the agent.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::{Value, json};
use stoker_api::gatewaysync::AgentResources;

use super::warning::Findings;

/// Returns the container's `resources`.
///
/// A GatewaySync that says anything says it all. A request above its limit would make the pod
/// invalid, so it is lowered to the limit.
pub(super) fn build(own: Option<&AgentResources>, findings: &mut Findings) -> Value {
    let own = own.filter(|own| !own.requests.is_empty() || !own.limits.is_empty());
    let Some(own) = own else {
        return json!({
            "requests": { "cpu": "50m", "memory": "64Mi" },
            "limits": { "cpu": "1", "memory": "256Mi" },
        });
    };
    let mut requests = own.requests.clone();
    for (name, request) in &mut requests {
        let Some(limit) = own.limits.get(name) else { continue };
        if amount(request).zip(amount(limit)).is_some_and(|(request, limit)| request > limit) {
            findings.note(format!(
                "the agent's request of {} {name} is lowered to its limit, {}",
                request.0, limit.0
            ));
            request.clone_from(limit);
        }
    }
    let mut resources = serde_json::Map::new();
    for (field, quantities) in [("requests", &requests), ("limits", &own.limits)] {
        if !quantities.is_empty() {
            resources.insert(field.to_owned(), to_value(quantities));
        }
    }
    Value::Object(resources)
}

fn to_value(quantities: &BTreeMap<String, Quantity>) -> Value {
    quantities.iter().map(|(name, quantity)| (name.clone(), json!(quantity.0))).collect()
}

/// Returns a quantity as a number, precise enough to compare.
fn amount(quantity: &Quantity) -> Option<f64> {
    const SUFFIXES: [(&str, f64); 15] = [
        ("Ki", 1024.0),
        ("Mi", 1_048_576.0),
        ("Gi", 1_073_741_824.0),
        ("Ti", 1_099_511_627_776.0),
        ("Pi", 1_125_899_906_842_624.0),
        ("Ei", 1_152_921_504_606_846_976.0),
        ("n", 1e-9),
        ("u", 1e-6),
        ("m", 1e-3),
        ("k", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
        ("P", 1e15),
        ("E", 1e18),
    ];
    let text = quantity.0.trim();
    let suffixed = SUFFIXES.iter().find_map(|(suffix, size)| {
        text.strip_suffix(suffix)?.parse::<f64>().ok().map(|number| number * size)
    });
    suffixed.or_else(|| text.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantities(pairs: &[(&str, &str)]) -> BTreeMap<String, Quantity> {
        pairs
            .iter()
            .map(|(name, text)| ((*name).to_owned(), Quantity((*text).to_owned())))
            .collect()
    }

    #[test]
    fn a_request_above_its_limit_is_lowered_and_said_so() {
        let own = AgentResources {
            requests: quantities(&[("cpu", "2"), ("memory", "64Mi")]),
            limits: quantities(&[("cpu", "1500m"), ("memory", "0.1Gi")]),
        };
        let mut findings = Findings::default();
        let built = build(Some(&own), &mut findings);
        assert_eq!(
            built,
            json!({
                "requests": { "cpu": "1500m", "memory": "64Mi" },
                "limits": { "cpu": "1500m", "memory": "0.1Gi" },
            })
        );
        assert_eq!(findings.warnings().len(), 1);
    }

    #[test]
    fn what_a_gatewaysync_says_replaces_the_defaults_as_a_whole() {
        let own = AgentResources {
            limits: quantities(&[("memory", "1Gi")]),
            ..AgentResources::default()
        };
        let built = build(Some(&own), &mut Findings::default());
        assert_eq!(built, json!({ "limits": { "memory": "1Gi" } }));
    }
}
