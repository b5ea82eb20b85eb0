//! What the successor of a pod would get.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde_json::json;

use super::Wait;
use crate::admission::{Decision, Pass, Pod, Policy, Settings, World, decide};

/// What the successor of a pod would get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outlook {
    /// What the pod lacks.
    Useful,
    /// Nothing at the moment.
    Wait(Wait),
    /// The same as the pod, or no pod at all, for this reason.
    Useless(String),
}

/// Which namespaces the webhook serves, and what it does there.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// The webhook's `namespaceSelector`; none where it is not known.
    pub selector: Option<&'a LabelSelector>,
    /// The labels of the pod's namespace.
    pub labels: &'a BTreeMap<String, String>,
    /// What happens to pods with a wrong configuration.
    pub policy: Policy,
}

/// Decides what a pod would get that is made from this template now.
pub fn outlook(
    template: &PodTemplateSpec,
    world: &World<'_>,
    settings: &Settings,
    scope: Scope<'_>,
) -> Outlook {
    if scope.selector.is_some_and(|selector| !selects(selector, scope.labels)) {
        return Outlook::Useless(
            "the webhook does not serve the namespace: label it stoker.io/injection=enabled"
                .to_owned(),
        );
    }
    let pod = json!({ "metadata": template.metadata, "spec": template.spec }).to_string();
    let Ok(view) = serde_json::from_str::<Pod<'_>>(&pod) else {
        return Outlook::Useless("the template of its workload can't be read".to_owned());
    };
    match decide(&view, world, settings, scope.policy) {
        Decision::Inject(_) => Outlook::Useful,
        Decision::Admit(warnings) => Outlook::Useless(warnings.join("; ")),
        Decision::Deny(denial) => Outlook::Useless(denial.message),
        Decision::Pass(Pass::NotAsked) => {
            Outlook::Useless("the template of its workload does not ask for an agent".to_owned())
        }
        Decision::Pass(pass) => {
            Outlook::Useless(format!("the webhook passes it: {}", pass.as_str()))
        }
    }
}

/// Says whether a selector selects an object with these labels.
pub fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    let equal = selector.match_labels.iter().flatten();
    let mut expressions = selector.match_expressions.iter().flatten();
    equal.into_iter().all(|(key, value)| labels.get(key) == Some(value))
        && expressions.all(|it| {
            let value = labels.get(&it.key);
            let is_listed =
                value.is_some_and(|value| it.values.iter().flatten().any(|one| one == value));
            match it.operator.as_str() {
                "In" => is_listed,
                "NotIn" => !is_listed,
                "Exists" => value.is_some(),
                "DoesNotExist" => value.is_none(),
                // A newer API server's word: better no eviction than one for nothing.
                _ => false,
            }
        })
}
