//! Which pods housekeeping restarts, and what a restart brings.

use k8s_openapi::api::core::v1::PodTemplateSpec;
use serde_json::json;
use stoker_api::podbootstrap::{HousekeepingMode, OnChange};

use super::{Choices, MIRROR, Namespace, Outcome, Pod, Policy, Standing, Work};
use crate::repair::{Cause, Outlook, Wait};

/// Returns why a pod is restarted; none where the policy does not ask for that. `mark` is the mark
/// that pods get now.
pub fn cause(standing: Standing, policy: &Policy, mark: &str) -> Option<Cause> {
    match (standing, policy.mode, policy.on_change) {
        (Standing::Missed, HousekeepingMode::Evict, _) => Some(Cause::BOOTSTRAP_MISSED),
        (Standing::Stale, HousekeepingMode::Report | HousekeepingMode::Evict, OnChange::Evict) => {
            Some(Cause::bootstrap_stale(mark))
        }
        _ => None,
    }
}

/// Decides what a pod would get that is made from this template now. `mark` is the mark that pods
/// get as soon as their namespace has every copy.
pub fn outlook(
    template: &PodTemplateSpec,
    namespace: Namespace<'_>,
    policy: &Policy,
    mark: &str,
) -> Outlook {
    let metadata = template.metadata.clone().unwrap_or_default();
    let text = json!({ "metadata": metadata, "spec": template.spec }).to_string();
    let Ok(pod) = serde_json::from_str::<Pod<'_>>(&text) else {
        return Outlook::Useless("the template of its workload can't be read".to_owned());
    };
    let annotations = pod.annotations();
    let choices = Choices::find(&annotations, &pod.labels(), namespace, policy);
    if annotations.contains_key(MIRROR) || choices.has_opted_out() {
        return Outlook::Useless("the template of its workload opted out".to_owned());
    }
    let work =
        Work { pod: &pod, policy, choices: &choices, namespace, outcome: Outcome::default() };
    match work.mark() {
        Some(found) if found == mark || found == policy.mark(None) => Outlook::Useful,
        // The copy of the certificates is missing or old.
        _ => Outlook::Wait(Wait::Namespace),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use stoker_api::podbootstrap::PodBootstrapSpec;

    use super::*;

    fn policy(housekeeping: &serde_json::Value) -> Policy {
        let spec: PodBootstrapSpec = serde_json::from_value(json!({
            "registries": [{ "from": "docker.io", "to": "registry.plant.example" }],
            "caBundle": { "source": { "configMap": { "namespace": "a", "name": "b" } } },
            "housekeeping": housekeeping,
        }))
        .unwrap();
        Policy::compile(&spec).unwrap()
    }

    #[test]
    fn housekeeping_restarts_what_the_policy_asks_for() {
        let word = |mode: &str, on_change: &str, standing| {
            let policy = policy(&json!({ "mode": mode, "onChange": on_change }));
            cause(standing, &policy, "new").map(|cause| cause.word)
        };
        let missed = Some("bootstrap-missed");
        let stale = Some("bootstrap-stale");
        let rows = [
            ("off", "evict", None, None),
            ("report", "report", None, None),
            ("report", "evict", None, stale),
            ("evict", "report", missed, None),
            ("evict", "evict", missed, stale),
        ];
        for (mode, on_change, of_missed, of_stale) in rows {
            assert_eq!(word(mode, on_change, Standing::Missed), of_missed, "{mode} {on_change}");
            assert_eq!(word(mode, on_change, Standing::Stale), of_stale, "{mode} {on_change}");
            assert_eq!(word(mode, on_change, Standing::Current), None);
            assert_eq!(word(mode, on_change, Standing::OptedOut), None);
        }
    }

    #[test]
    fn a_restart_waits_until_the_namespace_has_the_present_certificates() {
        let policy = policy(&json!({ "mode": "evict" }));
        let mark = policy.mark(Some("new"));
        let none = BTreeMap::new();
        let look = |template: serde_json::Value, certificates| {
            let template = serde_json::from_value(template).unwrap();
            let namespace = Namespace { name: "line", annotations: &none, certificates };
            outlook(&template, namespace, &policy, &mark)
        };
        let plain = json!({ "spec": { "containers": [{ "name": "a", "image": "nginx" }] } });
        assert_eq!(look(plain.clone(), Some("new")), Outlook::Useful);
        assert_eq!(look(plain.clone(), Some("old")), Outlook::Wait(Wait::Namespace));
        assert_eq!(look(plain, None), Outlook::Wait(Wait::Namespace));
        let windows = json!({ "spec": { "os": { "name": "windows" }, "containers": [] } });
        assert_eq!(look(windows, None), Outlook::Useful);
        let off = json!({
            "metadata": { "annotations": { "stoker.io/bootstrap": "disabled" } },
            "spec": { "containers": [] },
        });
        assert!(matches!(look(off, Some("new")), Outlook::Useless(_)));
    }
}
