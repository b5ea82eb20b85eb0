//! Bodies that reach the admission webhook, and annotations of pods.

use serde_json::{Value, json};
use stoker_api::GatewaySync;
use stoker_api::names::{AGENT_CONTAINER, Annotation, TRUE};
use stoker_core::admission::{
    Decision, Pass, Peek, Pod, Policy, Review, Settings, World, asks, decide, validate_profile,
    validate_sync,
};

/// What the API server takes of a warning.
const LONGEST: usize = 256;

/// Any body of `POST /mutate-v1-pod` and `POST /validate-stoker`.
pub(crate) fn review(input: &[u8]) {
    if let Ok(review) = serde_json::from_slice::<Review<'_, Value>>(input) {
        let object = review.request.object.unwrap_or_default();
        if let Ok(sync) = serde_json::from_value(object.clone()) {
            validate_sync(&sync);
        }
        if let Ok(profile) = serde_json::from_value(object) {
            validate_profile(&profile);
        }
    }
    let Ok(review) = serde_json::from_slice::<Review<'_, Peek<'_>>>(input) else { return };
    let is_asked = review.request.object.as_ref().is_some_and(asks);
    if let Ok(review) = serde_json::from_slice::<Review<'_, Pod<'_>>>(input) {
        let pod = review.request.object.unwrap_or_default();
        let passed = decide(&pod, &World::default(), &settings(), Policy::Strict);
        assert_eq!(passed == Decision::Pass(Pass::NotAsked), !is_asked, "both parses agree");
        let Ok(body) = serde_json::from_slice::<Value>(input) else { return };
        let object = &body["request"]["object"];
        if !object.is_null() {
            inject(object);
        }
    }
}

/// A usual pod; the values of its annotations are separated by zero bytes.
pub(crate) fn annotations(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let values = Annotation::ALL.iter().zip(text.split('\0'));
    let given = values.filter(|(_, value)| !value.is_empty());
    let mut annotations: serde_json::Map<String, Value> =
        given.map(|(name, value)| (name.as_str().to_owned(), json!(value))).collect();
    annotations.insert(Annotation::Inject.as_str().to_owned(), json!(TRUE));
    let pod = json!({
        "metadata": { "name": "ignition-0", "annotations": annotations },
        "spec": {
            "containers": [{
                "name": "gateway",
                "volumeMounts": [{ "name": "data", "mountPath": "/usr/local/bin/ignition/data" }],
            }],
            "volumes": [{ "name": "data", "emptyDir": {} }],
        },
    });
    inject(&pod);
}

/// Injects, and checks what holds for every pod: lenient denies nothing, a second time changes
/// nothing, warnings fit, and no value of the agent is expanded.
fn inject(pod: &Value) {
    let sync = plant();
    let world = World { syncs: vec![&sync], has_sync_profile: true, is_complete: true };
    let before = pod.to_string();
    let Ok(view) = serde_json::from_str::<Pod<'_>>(&before) else { return };
    drop(decide(&view, &world, &settings(), Policy::Strict));
    let injection = match decide(&view, &world, &settings(), Policy::Lenient) {
        Decision::Pass(_) => return,
        Decision::Deny(denial) => panic!("lenient denies nothing: {denial:?}"),
        Decision::Admit(warnings) => return check_warnings(&warnings),
        Decision::Inject(injection) => injection,
    };
    check_warnings(&injection.warnings);
    let patch = serde_json::to_value(&injection.patch).expect("a patch is plain values");
    let patch: json_patch::Patch = serde_json::from_value(patch).expect("it is a JSON patch");
    let mut after = pod.clone();
    json_patch::patch(&mut after, &patch).expect("the patch fits the pod that it was made for");
    let text = after.to_string();
    let again = serde_json::from_str::<Pod<'_>>(&text).expect("what comes out is a pod");
    let again = decide(&again, &world, &settings(), Policy::Strict);
    assert_eq!(again, Decision::Pass(Pass::AlreadyInjected));
    check_agent(&after);
}

pub(crate) fn check_warnings(warnings: &[String]) {
    for warning in warnings {
        assert!(warning.chars().count() < LONGEST, "{warning:?} is too long");
        assert!(!warning.contains(char::is_control), "{warning:?} has control characters");
    }
}

fn check_agent(pod: &Value) {
    let containers = pod["spec"]["initContainers"].as_array().into_iter().flatten();
    let agents: Vec<&Value> = containers.filter(|it| it["name"] == AGENT_CONTAINER).collect();
    let [agent] = agents[..] else { panic!("one agent, not {}", agents.len()) };
    let image = agent["image"].as_str().expect("the agent has an image");
    let repository = settings().default_image.to_string();
    let repository = repository.rsplit_once(':').map_or("", |(repository, _)| repository);
    let rest = image.strip_prefix(repository).unwrap_or_default();
    assert!(rest.starts_with([':', '@']), "{image:?} is of another repository");
    for variable in agent["env"].as_array().into_iter().flatten() {
        let is_own = variable["name"] == "GATEWAY_NAME" || variable["name"] == "CR_NAME";
        let value = variable["value"].as_str().unwrap_or_default();
        assert!(!is_own || !value.replace("$$", "").contains("$("), "{value:?} is expanded");
    }
}

fn settings() -> Settings {
    let image = "ghcr.io/stoker-io/stoker-agent:1.0.0".parse();
    Settings {
        default_image: image.expect("it is an image"),
        allowed_repositories: Vec::new(),
        pull_secrets: vec!["registry".to_owned()],
    }
}

fn plant() -> GatewaySync {
    let sync = json!({
        "apiVersion": "stoker.io/v1alpha1",
        "kind": "GatewaySync",
        "metadata": { "name": "plant", "namespace": "line" },
        "spec": {
            "git": {
                "repo": "https://git.example.com/plant.git",
                "ref": "main",
                "auth": { "token": { "secretRef": { "name": "pat" } } },
            },
            "sync": { "profiles": { "default": {
                "mappings": [{ "source": "projects", "destination": "projects" }],
            } } },
        },
    });
    serde_json::from_value(sync).expect("it is a GatewaySync")
}
