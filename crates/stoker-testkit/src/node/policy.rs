//! `NetworkPolicies`, enforced on the node by nftables rules that are derived from them.
//!
//! Only what is there at the moment counts: the policies of one namespace and the pods in it. What
//! the node itself sends is policed, too, because the API server runs there; the kubelet's probes
//! are let through, as every implementation does.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{Node, succeed};

const TABLE: &str = "inet stoker-policies";

/// `NetworkPolicies` hold until this value is dropped.
#[derive(Debug)]
#[must_use = "the policies hold only as long as this value lives"]
pub struct Enforced<'a> {
    node: &'a Node,
}

impl Node {
    /// Enforces the `NetworkPolicies` of a namespace for the pods that are in it now.
    ///
    /// # Panics
    /// When the rules can't be loaded, or a policy selects peers by namespace.
    pub fn enforce_policies(&self, namespace: &str) -> Enforced<'_> {
        let list = |kind: &str| -> Vec<Value> {
            let mut get = self.cluster.kubectl();
            get.args(["get", kind, "--namespace", namespace, "--output=json"]);
            let mut found: Value = serde_json::from_str(&succeed(&mut get)).expect("JSON");
            serde_json::from_value(found["items"].take()).expect("a list")
        };
        let rules = ruleset(&list("networkpolicies"), &list("pods"));
        let mut nft = Command::new("nft");
        nft.args(["--file", "-"]);
        let mut nft = self.inside(&nft);
        let mut child = nft.stdin(Stdio::piped()).spawn().expect("nft is on this machine");
        let mut input = child.stdin.take().expect("it is piped");
        input.write_all(rules.as_bytes()).expect("nft reads its input");
        drop(input);
        assert!(child.wait().expect("nft ends").success(), "nft refused:\n{rules}");
        Enforced { node: self }
    }
}

impl Drop for Enforced<'_> {
    fn drop(&mut self) {
        let mut nft = Command::new("nft");
        nft.args(["delete", "table"]).args(TABLE.split(' '));
        self.node.inside(&nft).status().ok();
    }
}

/// One of the two things that a policy is about.
#[derive(Debug, Clone, Copy)]
struct Direction {
    name: &'static str,
    key: &'static str,
    peers: &'static str,
    /// The pod's address, and its peer's.
    own: &'static str,
    other: &'static str,
}

const DIRECTIONS: [Direction; 2] = [
    Direction { name: "Ingress", key: "ingress", peers: "from", own: "daddr", other: "saddr" },
    Direction { name: "Egress", key: "egress", peers: "to", own: "saddr", other: "daddr" },
];

/// What nftables is to enforce.
fn ruleset(policies: &[Value], pods: &[Value]) -> String {
    let (mut chains, mut jumps, mut probes) = (String::new(), String::new(), String::new());
    for (number, pod) in pods.iter().enumerate() {
        let Some(address) = address(pod) else { continue };
        for port in probe_ports(pod) {
            line(&mut probes, &format!("ip daddr {address} tcp dport {port} accept"));
        }
        for direction in DIRECTIONS {
            let Direction { name, key, peers, own, other } = direction;
            let applies = |policy: &&Value| {
                let types = policy["spec"]["policyTypes"].as_array();
                types.is_some_and(|types| types.iter().any(|it| it == name))
                    && selects(&policy["spec"]["podSelector"], pod)
            };
            let mut holding = policies.iter().filter(applies).peekable();
            if holding.peek().is_none() {
                continue;
            }
            let chain = format!("{key}-{number}");
            writeln!(chains, "  chain {chain} {{").expect("a string takes any text");
            for rule in holding.flat_map(|policy| items(&policy["spec"][key])) {
                for peer in allowed_peers(&rule[peers], pods, other) {
                    for port in allowed_ports(&rule["ports"]) {
                        line(&mut chains, &format!("{peer}{port}return"));
                    }
                }
            }
            line(&mut chains, "drop");
            chains.push_str("  }\n");
            line(&mut jumps, &format!("ip {own} {address} jump {chain}"));
        }
    }
    let hook = |name: &str, before: &str| {
        format!(
            "  chain {name} {{\n    type filter hook {name} priority 0\n    \
             ct state established,related accept\n{before}{jumps}  }}\n"
        )
    };
    let hooks = hook("forward", "") + &hook("input", "") + &hook("output", &probes);
    format!("table {TABLE} {{\n{chains}{hooks}}}\n")
}

fn line(text: &mut String, words: &str) {
    writeln!(text, "    {words}").expect("a string takes any text");
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn address(pod: &Value) -> Option<&str> {
    pod["status"]["podIP"].as_str()
}

fn selects(selector: &Value, pod: &Value) -> bool {
    assert!(selector["matchExpressions"].is_null(), "only labels are known here");
    let labels = selector["matchLabels"].as_object();
    labels.is_none_or(|labels| {
        labels.iter().all(|(key, value)| pod["metadata"]["labels"][key] == *value)
    })
}

/// The start of a rule for each peer; one without a condition where all may connect.
fn allowed_peers(peers: &Value, pods: &[Value], side: &str) -> Vec<String> {
    if peers.is_null() {
        return vec![String::new()];
    }
    let matching = |peer: &Value| -> Vec<String> {
        assert!(peer["namespaceSelector"].is_null(), "only pods of the same namespace are known");
        if let Some(range) = peer["ipBlock"]["cidr"].as_str() {
            return vec![format!("ip {side} {range} ")];
        }
        let selected = pods.iter().filter(|pod| selects(&peer["podSelector"], pod));
        selected.filter_map(address).map(|it| format!("ip {side} {it} ")).collect()
    };
    items(peers).flat_map(matching).collect()
}

fn allowed_ports(ports: &Value) -> Vec<String> {
    if ports.is_null() {
        return vec![String::new()];
    }
    let condition = |port: &Value| {
        let protocol = port["protocol"].as_str().unwrap_or("TCP").to_lowercase();
        format!("{protocol} dport {} ", port["port"])
    };
    items(ports).map(condition).collect()
}

/// The ports that the kubelet asks, as numbers.
fn probe_ports(pod: &Value) -> Vec<u64> {
    let mut found = Vec::new();
    for container in items(&pod["spec"]["containers"]) {
        let probes = ["startupProbe", "livenessProbe", "readinessProbe"];
        for port in probes.map(|probe| &container[probe]["httpGet"]["port"]) {
            let named = items(&container["ports"]).find(|it| it["name"] == *port);
            let number = named.map_or(port, |it| &it["containerPort"]);
            found.extend(number.as_u64());
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_no_policy_allows_is_dropped_for_the_pods_that_a_policy_selects() {
        let pod = |name: &str, address: &str| {
            let health = json!({"name": "health", "containerPort": 8081});
            let probe = json!({"httpGet": {"port": "health"}});
            json!({
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"ports": [health], "livenessProbe": probe}]},
                "status": {"podIP": address},
            })
        };
        let policy = json!({"spec": {
            "podSelector": {"matchLabels": {"app": "a"}},
            "policyTypes": ["Ingress"],
            "ingress": [
                {"ports": [{"port": 9443, "protocol": "TCP"}]},
                {"from": [{"podSelector": {"matchLabels": {"app": "b"}}}]},
            ],
        }});
        let rules = ruleset(&[policy], &[pod("a", "10.0.0.1"), pod("b", "10.0.0.2")]);
        let chain = "  chain ingress-0 {\n    tcp dport 9443 return\n    \
                     ip saddr 10.0.0.2 return\n    drop\n  }\n";
        assert!(rules.contains(chain), "{rules}");
        assert!(rules.contains("    ip daddr 10.0.0.1 jump ingress-0\n"), "{rules}");
        assert!(rules.contains("    ip daddr 10.0.0.1 tcp dport 8081 accept\n"), "{rules}");
        assert!(!rules.contains("egress") && !rules.contains("ingress-1"), "{rules}");
    }
}
