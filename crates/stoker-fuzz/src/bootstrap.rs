//! Bodies that reach the bootstrap webhook, annotations of pods, and references to images.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use stoker_api::names::Annotation;
use stoker_core::admission::Review;
use stoker_core::bootstrap::{Namespace, Part, Pod, Policy, decide};
use stoker_text::image::ImageRef;

use crate::admission::check_warnings;

const NAMES: [Annotation; 7] = [
    Annotation::Bootstrap,
    Annotation::BootstrapRegistry,
    Annotation::BootstrapPullSecret,
    Annotation::BootstrapCaBundle,
    Annotation::BootstrapEnv,
    Annotation::Bootstrapped,
    Annotation::OriginalImages,
];

/// Any text as the reference of an image.
pub(crate) fn image(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    if let Ok(parsed) = ImageRef::parse(&text) {
        assert_eq!(parsed.to_string(), text, "nothing is lost");
        let whole = parsed.name() + &parsed.suffix();
        let completed = ImageRef::parse(&whole).expect("the completed name is a reference");
        assert_eq!(completed.name(), parsed.name(), "to complete twice changes nothing");
        assert_eq!(completed.tag(), parsed.tag());
        assert_eq!(completed.digest(), parsed.digest());
    }
    let containers = json!([{ "name": "app", "image": text }]);
    bootstrap(&json!({ "metadata": {}, "spec": { "containers": containers } }));
}

/// A usual pod. Zero bytes separate the values of its annotations, its image and a mount.
pub(crate) fn annotations(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let mut values = text.split('\0');
    let given = NAMES.iter().zip(values.by_ref().take(NAMES.len()));
    let given = given.filter(|(_, value)| !value.is_empty());
    let annotations: serde_json::Map<String, Value> =
        given.map(|(name, value)| (name.as_str().to_owned(), json!(value))).collect();
    let image = values.next().unwrap_or("nginx:1.27");
    let mount = values.next().unwrap_or("/data");
    bootstrap(&json!({
        "metadata": { "name": "press-0", "annotations": annotations },
        "spec": {
            "containers": [{
                "name": "app",
                "image": image,
                "volumeMounts": [{ "name": "data", "mountPath": mount }],
            }],
            "volumes": [{ "name": "data", "emptyDir": {} }],
        },
    }));
}

/// Any body of `POST /bootstrap-v1-pod`.
pub(crate) fn review(input: &[u8]) {
    if serde_json::from_slice::<Review<'_, Pod<'_>>>(input).is_err() {
        return;
    }
    let Ok(body) = serde_json::from_slice::<Value>(input) else { return };
    bootstrap(&body["request"]["object"]);
}

/// Adapts a pod, and checks what holds for every pod: the patch fits, a second time changes
/// nothing, warnings fit, and an image that was a reference still is one.
fn bootstrap(pod: &Value) {
    let before = pod.to_string();
    let Ok(view) = serde_json::from_str::<Pod<'_>>(&before) else { return };
    let (policy, none) = (policy(), BTreeMap::new());
    for certificates in [None, Some("0123456789ab")] {
        let namespace = Namespace { name: "line-1", annotations: &none, certificates };
        check_warnings(&decide(&view, Part::Ephemeral { known: &[] }, namespace, &policy).warnings);
        let outcome = decide(&view, Part::Whole, namespace, &policy);
        check_warnings(&outcome.warnings);
        let patch = serde_json::to_value(&outcome.patch).expect("a patch is plain values");
        let patch: json_patch::Patch = serde_json::from_value(patch).expect("it is a JSON patch");
        let mut after = pod.clone();
        json_patch::patch(&mut after, &patch).expect("the patch fits the pod");
        check_images(pod, &after);
        let text = after.to_string();
        let again = serde_json::from_str::<Pod<'_>>(&text).expect("what comes out is a pod");
        let again = decide(&again, Part::Whole, namespace, &policy);
        assert!(again.patch.0.is_empty(), "a second time changes nothing: {:?}", again.patch);
    }
}

fn check_images(before: &Value, after: &Value) {
    for list in ["initContainers", "containers"] {
        let containers = |pod: &Value| pod["spec"][list].as_array().cloned().unwrap_or_default();
        for (before, after) in containers(before).iter().zip(containers(after)) {
            let image = |container: &Value| container["image"].as_str().map(str::to_owned);
            let (Some(before), Some(after)) = (image(before), image(&after)) else { continue };
            let Ok(parsed) = ImageRef::parse(&before) else {
                assert_eq!(before, after, "what is not a reference is left alone");
                continue;
            };
            let rewritten = ImageRef::parse(&after).expect("a rewritten image is a reference");
            assert_eq!(rewritten.suffix(), parsed.suffix(), "tag and digest survive");
        }
    }
}

fn policy() -> Policy {
    let spec = json!({
        "registries": [
            { "from": "docker.io", "to": "registry.plant.example/dockerhub" },
            { "from": "ghcr.io/acme", "to": "registry.plant.example/acme" },
        ],
        "pullSecret": { "name": "plant-registry", "sourceNamespace": "stoker-system" },
        "caBundle": {
            "source": { "configMap": { "namespace": "stoker-system", "name": "plant-ca" } },
            "env": ["SSL_CERT_FILE"],
        },
        "env": [{ "name": "FIPS_MODE", "value": "1" }],
    });
    let spec = serde_json::from_value(spec).expect("it is a PodBootstrap");
    Policy::compile(&spec).expect("the policy is valid")
}
