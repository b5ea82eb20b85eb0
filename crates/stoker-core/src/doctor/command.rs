//! The commands of findings. Each can be pasted into a shell as it is.

use stoker_api::gatewaysync::ResolvedSecretRef;
use stoker_api::names::Annotation;

use super::Key;
use super::pod::{Owner, PodFacts};

/// Writes one key of a Secret from a file of the same name, and leaves its other keys.
pub(super) fn write_secret(namespace: &str, secret: &ResolvedSecretRef) -> String {
    let ResolvedSecretRef { name, key } = secret;
    format!(
        "kubectl create secret generic {name} -n {namespace} --from-file={key}=./{key} \
         --dry-run=client -o yaml | kubectl apply --server-side --force-conflicts -f -"
    )
}

/// Changes a GatewaySync.
pub(super) fn patch_sync(sync: &Key, patch: &serde_json::Value) -> String {
    let Key { namespace, name } = sync;
    format!("kubectl patch gatewaysync {name} -n {namespace} --type=merge -p {}", quote(patch))
}

/// Annotates the template that a pod comes from, or the pod where it has none.
pub(super) fn annotate_gateway(pod: &PodFacts, annotation: Annotation, value: &str) -> String {
    let namespace = &pod.namespace;
    match &pod.owner {
        Some(Owner { kind, name }) => {
            let annotations = serde_json::json!({ annotation.as_str(): value });
            let patch = serde_json::json!({"spec": {"template": {"metadata": {"annotations": annotations}}}});
            format!("kubectl patch {kind} {name} -n {namespace} --type=merge -p {}", quote(&patch))
        }
        None => {
            format!(
                "kubectl annotate pod {} -n {namespace} --overwrite {annotation}={value}",
                pod.name
            )
        }
    }
}

/// Creates a pod again.
pub(super) fn restart(pod: &PodFacts) -> String {
    let PodFacts { namespace, name, .. } = pod;
    match pod.owner {
        Some(_) => format!("kubectl delete pod {name} -n {namespace}"),
        None => {
            format!("kubectl get pod {name} -n {namespace} -o yaml | kubectl replace --force -f -")
        }
    }
}

/// Quotes JSON for a shell. No name that Kubernetes takes has a quote in it.
fn quote(json: &serde_json::Value) -> String {
    format!("'{}'", json.to_string().replace('\'', r"'\''"))
}
