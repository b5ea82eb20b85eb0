//! A pod that is created as a dry run, to see whether the webhook is reached.

use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use stoker_api::names::{AGENT_CONTAINER, Annotation, TRUE};

/// Returns a gateway's pod that names this GatewaySync and that a restricted namespace admits.
#[must_use]
pub fn trial_pod(sync: &str) -> Pod {
    let pod = json!({
        "metadata": {
            "generateName": "stoker-trial-",
            "annotations": {
                (Annotation::Inject.as_str()): TRUE,
                (Annotation::CrName.as_str()): sync,
            },
        },
        "spec": {
            "securityContext": {
                "runAsNonRoot": true,
                "runAsUser": 2003,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [{
                "name": "gateway",
                "image": "gateway.invalid/trial",
                "securityContext": {
                    "allowPrivilegeEscalation": false,
                    "capabilities": {"drop": ["ALL"]},
                },
                "volumeMounts": [{"name": "data", "mountPath": "/usr/local/bin/ignition/data"}],
            }],
            "volumes": [{"name": "data", "emptyDir": {}}],
        },
    });
    serde_json::from_value(pod).expect("a pod of our own")
}

/// Says whether a pod has the agent.
#[must_use]
pub fn has_agent(pod: &Pod) -> bool {
    let containers = pod.spec.iter().flat_map(|spec| spec.init_containers.iter().flatten());
    containers.into_iter().any(|container| container.name == AGENT_CONTAINER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pod_asks_for_an_agent_and_has_none() {
        let pod = trial_pod("plant");
        let annotations = pod.metadata.annotations.as_ref().unwrap();
        assert_eq!(annotations[Annotation::CrName.as_str()], "plant");
        assert!(!has_agent(&pod));
    }
}
