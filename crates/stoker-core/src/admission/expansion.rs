//! The variables that a `subPathExpr` of the gateway's container needs in the agent's.
//!
//! Both containers must expand the expression to the same path: a wrong path would make the agent
//! write where the gateway does not look, and a missing variable would keep the pod from starting.

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

/// Returns the entries of `env` that the expression needs, in their order.
pub(super) fn needed(expression: &str, env: &[Value]) -> Result<Vec<Value>, Unresolved> {
    let mut indexes = Vec::new();
    resolve(expression, env, env.len(), &mut indexes)?;
    indexes.sort_unstable();
    indexes.dedup();
    let own = |index: &usize| Env::find(name_of(&env[*index])).is_none();
    Ok(indexes.into_iter().filter(own).map(|index| env[index].clone()).collect())
}

/// Finds what `text` refers to among the first `before` entries: Kubernetes expands only what was
/// defined earlier.
fn resolve(
    text: &str,
    env: &[Value],
    before: usize,
    indexes: &mut Vec<usize>,
) -> Result<(), Unresolved> {
    for name in references(text) {
        let unresolved = || Unresolved { name: name.to_owned() };
        let found = env[..before].iter().rposition(|entry| name_of(entry) == name);
        let index = found.ok_or_else(unresolved)?;
        if Env::find(name).is_some() && !is_ours(&env[index]) {
            return Err(unresolved());
        }
        indexes.push(index);
        if let Some(value) = env[index]["value"].as_str() {
            resolve(value, env, index, indexes)?;
        }
    }
    Ok(())
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
fn references(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            rest = after;
        } else if let Some((name, after)) = rest.strip_prefix('(').and_then(|it| it.split_once(')'))
        {
            names.push(name);
            rest = after;
        }
    }
    names
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
}
