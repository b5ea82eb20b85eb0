//! The variables that a `subPathExpr` of the gateway's container needs in the agent's.
//!
//! Both containers must expand the expression to the same path: a wrong path would make the agent
//! write where the gateway does not look, and a missing variable would keep the pod from starting.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use stoker_api::contract::env::Env;

/// A variable that can't be carried over, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unresolved {
    pub(super) name: String,
}

/// Returns the variables of the agent that have the value of a field of the pod.
pub(super) const DOWNWARD: [(Env, &str); 4] = [
    (Env::PodName, "metadata.name"),
    (Env::PodNamespace, "metadata.namespace"),
    (Env::PodUid, "metadata.uid"),
    (Env::CrNamespace, "metadata.namespace"),
];

/// References that are followed. A pod with more could keep the webhook busy for long.
const MOST: usize = 200;

/// Returns the entries of `env` that the expression needs, in their order.
pub(super) fn needed(expression: &str, env: &[Value]) -> Result<Vec<Value>, Unresolved> {
    let mut indexes = BTreeSet::new();
    let mut followed = 0;
    // What is still to be resolved, and before which entry: Kubernetes expands only what was
    // defined earlier. A list, because a pod can have chains that are longer than a stack.
    let mut waiting = vec![(expression, env.len())];
    while let Some((text, before)) = waiting.pop() {
        for name in references(text) {
            let unresolved = || Unresolved { name: name.to_owned() };
            followed += 1;
            let index = env[..before]
                .iter()
                .rposition(|entry| name_of(entry) == name)
                .filter(|_| followed <= MOST)
                .ok_or_else(unresolved)?;
            if Env::find(name).is_some() && !is_ours(&env[index]) {
                return Err(unresolved());
            }
            if indexes.insert(index)
                && let Some(value) = env[index]["value"].as_str()
            {
                waiting.push((value, index));
            }
        }
    }
    let own = |index: &usize| Env::find(name_of(&env[*index])).is_none();
    Ok(indexes.into_iter().filter(own).map(|index| env[index].clone()).collect())
}

/// Says whether a variable with a name of ours also has our value.
fn is_ours(entry: &Value) -> bool {
    let field = &entry["valueFrom"]["fieldRef"]["fieldPath"];
    DOWNWARD.iter().any(|(name, path)| name.as_str() == name_of(entry) && *field == json!(path))
}

fn name_of(entry: &Value) -> &str {
    entry["name"].as_str().unwrap_or_default()
}

/// Returns the names in `$(NAME)`; `$$(NAME)` is text.
fn references(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        while let Some(at) = rest.find('$') {
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix('$') {
                rest = after;
            } else if let Some((name, after)) =
                rest.strip_prefix('(').and_then(|it| it.split_once(')'))
            {
                rest = after;
                return Some(name);
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(name: &str, value: &str) -> Value {
        json!({ "name": name, "value": value })
    }

    #[test]
    fn variables_are_carried_over_with_those_that_they_refer_to() {
        let env = [value("SITE", "a"), value("OTHER", "x"), value("DIR", "$(SITE)-data$$(OTHER)")];
        assert_eq!(needed("$(DIR)/x", &env), Ok(vec![env[0].clone(), env[2].clone()]));
        assert_eq!(needed("plain", &env), Ok(vec![]));
    }

    #[test]
    fn what_is_not_defined_before_or_has_another_value_can_not_be_carried_over() {
        let env = [value("DIR", "$(SITE)"), value("SITE", "a"), value("POD_NAME", "mine")];
        for (expression, name) in
            [("$(DIR)", "SITE"), ("$(NONE)", "NONE"), ("$(POD_NAME)", "POD_NAME")]
        {
            assert_eq!(needed(expression, &env), Err(Unresolved { name: name.to_owned() }));
        }
        let field = json!({
            "name": "POD_NAME",
            "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } },
        });
        assert_eq!(needed("$(POD_NAME)", &[field]), Ok(vec![]));
    }

    // D5
    #[test]
    fn variables_that_refer_to_many_others_take_little_time_and_no_stack() {
        let name = |number: usize| format!("V{number}");
        let twice = |number: usize| match number {
            0 => value("V0", "x"),
            _ => value(&name(number), &format!("$(V{0})$(V{0})", number - 1)),
        };
        let doubling: Vec<Value> = (0..64).map(twice).collect();
        assert_eq!(needed("$(V63)", &doubling).map(|it| it.len()), Ok(64));
        let chain: Vec<Value> = (0..100_000).map(twice).collect();
        assert!(needed("$(V99999)", &chain).is_err());
    }
}
