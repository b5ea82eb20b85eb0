//! CPU and memory of the agent.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::{Value, json};
use stoker_api::gatewaysync::AgentResources;

use super::warning::Findings;

/// What a container can be given without further rules, and the least that the agent starts with.
const KNOWN: [(&str, f64, &str); 3] = [
    ("cpu", 0.01, "10m"),
    ("memory", 33_554_432.0, "32Mi"),
    ("ephemeral-storage", 67_108_864.0, "64Mi"),
];

/// Returns the container's `resources`.
///
/// A GatewaySync that says anything says it all. What would make the pod invalid, or keep the agent
/// from starting, is left out, raised or lowered.
pub(super) fn build(own: Option<&AgentResources>, findings: &mut Findings) -> Value {
    let limits = own.map(|own| limits(&own.limits, findings)).unwrap_or_default();
    let requests = own.map(|own| requests(&own.requests, &limits, findings)).unwrap_or_default();
    if limits.is_empty() && requests.is_empty() {
        return json!({
            "requests": { "cpu": "50m", "memory": "64Mi" },
            "limits": { "cpu": "1", "memory": "256Mi" },
        });
    }
    let mut resources = serde_json::Map::new();
    for (field, quantities) in [("requests", requests), ("limits", limits)] {
        if !quantities.is_empty() {
            resources.insert(field.to_owned(), json!(quantities));
        }
    }
    Value::Object(resources)
}

fn limits(own: &BTreeMap<String, Quantity>, findings: &mut Findings) -> BTreeMap<String, String> {
    let mut limits = usable("limit", own, findings);
    for (name, least, text) in KNOWN {
        let Some(limit) = limits.get_mut(name) else { continue };
        if amount(limit).is_some_and(|amount| amount < least) {
            findings.note(format!("the agent's limit of {limit} {name} is raised to {text}"));
            text.clone_into(limit);
        }
    }
    limits
}

fn requests(
    own: &BTreeMap<String, Quantity>,
    limits: &BTreeMap<String, String>,
    findings: &mut Findings,
) -> BTreeMap<String, String> {
    let mut requests = usable("request", own, findings);
    for (name, request) in &mut requests {
        let Some(limit) = limits.get(name) else { continue };
        if amount(request).zip(amount(limit)).is_some_and(|(request, limit)| request > limit) {
            findings.note(format!(
                "the agent's request of {request} {name} is lowered to its limit, {limit}"
            ));
            request.clone_from(limit);
        }
    }
    requests
}

/// Returns the quantities that every container may have.
fn usable(
    what: &str,
    own: &BTreeMap<String, Quantity>,
    findings: &mut Findings,
) -> BTreeMap<String, String> {
    let mut usable = BTreeMap::new();
    for (name, quantity) in own {
        let is_known = KNOWN.iter().any(|(known, _, _)| known == name);
        if is_known && amount(&quantity.0).is_some() {
            usable.insert(name.clone(), quantity.0.clone());
        } else {
            let text = &quantity.0;
            findings.note(format!("the agent's {what} of {text:?} {name} is left out"));
        }
    }
    usable
}

/// Returns a quantity as a number, precise enough to compare, or nothing where it is not one.
fn amount(quantity: &str) -> Option<f64> {
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
    let is_number = |text: &str| {
        let is_plain = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E');
        text.starts_with(|first: char| first.is_ascii_digit()) && text.bytes().all(is_plain)
    };
    let suffix = SUFFIXES.iter().find(|(suffix, _)| quantity.ends_with(suffix));
    let (digits, size) = match suffix {
        Some((suffix, size)) => (quantity.strip_suffix(suffix)?, *size),
        None => (quantity, 1.0),
    };
    let amount = digits.parse::<f64>().ok().filter(|_| is_number(digits))? * size;
    amount.is_finite().then_some(amount)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantities(pairs: &[(&str, &str)]) -> BTreeMap<String, Quantity> {
        let entry =
            |(name, text): &(&str, &str)| ((*name).to_owned(), Quantity((*text).to_owned()));
        pairs.iter().map(entry).collect()
    }

    fn built(requests: &[(&str, &str)], limits: &[(&str, &str)]) -> (Value, usize) {
        let own = AgentResources { requests: quantities(requests), limits: quantities(limits) };
        let mut findings = Findings::default();
        let value = build(Some(&own), &mut findings);
        (value, findings.warnings().len())
    }

    #[test]
    fn a_request_above_its_limit_is_lowered_and_said_so() {
        let requests = [("cpu", "2"), ("memory", "64Mi")];
        let limits = [("cpu", "1500m"), ("memory", "0.1Gi")];
        let expected = json!({
            "requests": { "cpu": "1500m", "memory": "64Mi" },
            "limits": { "cpu": "1500m", "memory": "0.1Gi" },
        });
        assert_eq!(built(&requests, &limits), (expected, 1));
    }

    #[test]
    fn what_a_gatewaysync_says_replaces_the_defaults_as_a_whole() {
        let expected = json!({ "limits": { "memory": "1Gi" } });
        assert_eq!(built(&[], &[("memory", "1Gi")]), (expected, 0));
    }

    #[test]
    fn what_would_make_the_pod_invalid_is_left_out() {
        for hostile in [
            ("cpu", "-1"),
            ("cpu", "inf"),
            ("cpu", "nan"),
            ("cpu", ""),
            ("cpu", "1x"),
            ("mem", "256Mi"),
            ("nvidia.com/gpu", "1"),
            ("hugepages-2Mi", "4Mi"),
            ("memory", "1e999"),
        ] {
            let defaults = build(None, &mut Findings::default());
            assert_eq!(built(&[], &[hostile]), (defaults.clone(), 1), "{hostile:?}");
            assert_eq!(built(&[hostile], &[]), (defaults, 1), "{hostile:?}");
        }
        let raised = json!({ "limits": { "memory": "32Mi" } });
        assert_eq!(built(&[], &[("memory", "1Mi")]), (raised, 1));
    }
}
