//! Claims about bootstrap: the rules of the policy, and what must hold for any pod.

mod copies;
mod generated;
mod images;

use serde_json::{Value, json};
use stoker_api::podbootstrap::PodBootstrapSpec;

use super::*;

const NAMESPACE: &str = "line-1";
const HASH: &str = "aaaa";

fn spec() -> Value {
    json!({
        "registries": [
            { "from": "docker.io", "to": "registry.plant.example/dockerhub" },
            { "from": "ghcr.io/acme", "to": "registry.plant.example/acme" },
        ],
        "pullSecret": { "name": "plant-registry", "sourceNamespace": "stoker-system" },
        "caBundle": {
            "source": { "configMap": { "namespace": "stoker-system", "name": "plant-ca" } },
            "env": ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"],
        },
        "env": [{ "name": "FIPS_MODE", "value": "1" }],
    })
}

fn compile(spec: &Value) -> Result<Policy, Vec<Problem>> {
    let spec: PodBootstrapSpec = serde_json::from_value(spec.clone()).unwrap();
    Policy::compile(&spec)
}

fn policy() -> Policy {
    compile(&spec()).unwrap()
}

fn annotated(annotations: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned =
        annotations.iter().map(|(key, value)| (format!("stoker.io/{key}"), (*value).into()));
    owned.collect()
}

fn pod(spec: &Value) -> Value {
    json!({ "metadata": { "name": "press" }, "spec": spec })
}

fn plain() -> Value {
    pod(&json!({ "containers": [{ "name": "app", "image": "nginx:1.27" }] }))
}

fn admit_in(pod: &Value, namespace: Namespace<'_>, policy: &Policy) -> (Value, Outcome) {
    let text = pod.to_string();
    let view: Pod<'_> = serde_json::from_str(&text).unwrap();
    let outcome = decide(&view, Part::Whole, namespace, policy);
    (patched(pod, &outcome), outcome)
}

fn patched(pod: &Value, outcome: &Outcome) -> Value {
    let mut pod = pod.clone();
    let patch = serde_json::to_value(&outcome.patch).unwrap();
    json_patch::patch(&mut pod, &serde_json::from_value::<json_patch::Patch>(patch).unwrap())
        .unwrap();
    pod
}

fn admit(pod: &Value) -> (Value, Outcome) {
    let annotations = BTreeMap::new();
    let namespace =
        Namespace { name: NAMESPACE, annotations: &annotations, certificates: Some(HASH) };
    admit_in(pod, namespace, &policy())
}

#[test]
fn a_plain_pod_gets_everything() {
    let (pod, outcome) = admit(&plain());
    let container = &pod["spec"]["containers"][0];
    assert_eq!(container["image"], "registry.plant.example/dockerhub/library/nginx:1.27");
    assert_eq!(pod["spec"]["imagePullSecrets"], json!([{ "name": "plant-registry" }]));
    assert_eq!(
        container["volumeMounts"],
        json!([{ "name": "stoker-ca-bundle", "mountPath": "/etc/stoker/ca", "readOnly": true }])
    );
    assert_eq!(
        container["env"],
        json!([
            { "name": "SSL_CERT_FILE", "value": "/etc/stoker/ca/bundle.crt" },
            { "name": "NODE_EXTRA_CA_CERTS", "value": "/etc/stoker/ca/ca.crt" },
            { "name": "FIPS_MODE", "value": "1" },
        ])
    );
    let volume = &pod["spec"]["volumes"][0]["projected"]["sources"][0]["configMap"];
    assert_eq!((&volume["name"], &volume["optional"]), (&json!("stoker-ca-bundle"), &json!(true)));
    let annotations = &pod["metadata"]["annotations"];
    assert_eq!(annotations["stoker.io/bootstrapped"], policy().mark(Some(HASH)));
    assert_eq!(annotations["stoker.io/original-images"], "{\"app\":\"nginx:1.27\"}");
    assert_eq!(outcome.warnings, Vec::<String>::new());
}

// K7: init containers, native sidecars and ephemeral containers are treated like containers.
#[test]
fn every_kind_of_container_is_bootstrapped() {
    let mut all = plain();
    all["spec"]["initContainers"] = json!([
        { "name": "first", "image": "busybox" },
        { "name": "sidecar", "image": "ghcr.io/acme/proxy:2", "restartPolicy": "Always" },
    ]);
    let (mut pod, _) = admit(&all);
    for (container, image) in [
        ("initContainers/0", "registry.plant.example/dockerhub/library/busybox"),
        ("initContainers/1", "registry.plant.example/acme/proxy:2"),
        ("containers/0", "registry.plant.example/dockerhub/library/nginx:1.27"),
    ] {
        let container = pod.pointer(&format!("/spec/{container}")).unwrap();
        assert_eq!(container["image"], image);
        assert_eq!(container["volumeMounts"][0]["mountPath"], "/etc/stoker/ca");
        assert_eq!(container["env"][2]["name"], "FIPS_MODE");
    }
    // A person adds a debug container to the pod, twice.
    let debug = |name: &str| json!({ "name": name, "image": "busybox:1" });
    pod["spec"]["ephemeralContainers"] = json!([debug("old"), debug("new")]);
    let text = pod.to_string();
    let view: Pod<'_> = serde_json::from_str(&text).unwrap();
    let annotations = BTreeMap::new();
    let namespace =
        Namespace { name: NAMESPACE, annotations: &annotations, certificates: Some(HASH) };
    let outcome = decide(&view, Part::Ephemeral { known: &["old"] }, namespace, &policy());
    for operation in &outcome.patch.0 {
        assert!(operation.path.starts_with("/spec/ephemeralContainers/1/"), "{}", operation.path);
    }
    let debugged = &patched(&pod, &outcome)["spec"]["ephemeralContainers"];
    assert_eq!(debugged[0], debug("old"));
    assert_eq!(debugged[1]["image"], "registry.plant.example/dockerhub/library/busybox:1");
    assert_eq!(debugged[1]["volumeMounts"][0]["name"], "stoker-ca-bundle");
    assert_eq!(debugged[1]["env"][0]["name"], "SSL_CERT_FILE");
}

#[test]
fn an_ephemeral_container_gets_no_volume_that_the_pod_lacks() {
    let mut pod = plain();
    pod["spec"]["ephemeralContainers"] = json!([{ "name": "debug", "image": "busybox" }]);
    let text = pod.to_string();
    let view: Pod<'_> = serde_json::from_str(&text).unwrap();
    let annotations = BTreeMap::new();
    let namespace =
        Namespace { name: NAMESPACE, annotations: &annotations, certificates: Some(HASH) };
    let outcome = decide(&view, Part::Ephemeral { known: &[] }, namespace, &policy());
    let paths: Vec<&str> = outcome.patch.0.iter().map(|it| &*it.path).collect();
    assert_eq!(paths, ["/spec/ephemeralContainers/0/image", "/spec/ephemeralContainers/0/env"]);
    assert_eq!(outcome.patch.0[1].value, json!([{ "name": "FIPS_MODE", "value": "1" }]));
}

type Annotations<'a> = &'a [(&'a str, &'a str)];

// K6, I2: pod before namespace before policy, and the specific annotation before the general one.
#[test]
fn the_first_finding_decides_for_every_manipulation() {
    let enabled = |pod: &[(&str, &str)], space: &[(&str, &str)], policy: &Policy| {
        let (pod, space) = (annotated(pod), annotated(space));
        let namespace = Namespace { name: NAMESPACE, annotations: &space, certificates: None };
        let choices = Choices::find(&pod, &BTreeMap::new(), namespace, policy);
        Manipulation::ALL.map(|it| choices.is_enabled(it))
    };
    let mut excluding = spec();
    excluding["exclude"] = json!({ "namespaces": [NAMESPACE] });
    let (usual, excluding) = (policy(), compile(&excluding).unwrap());
    let (on, off) = ([true; 4], [false; 4]);
    let general = |value| [("bootstrap", value)];
    let table: &[(Annotations<'_>, Annotations<'_>, &Policy, [bool; 4])] = &[
        (&[], &[], &usual, on),
        (&[], &[], &excluding, off),
        (&general("disabled"), &[], &usual, off),
        (&general("disabled"), &general("enabled"), &usual, off),
        (&general("enabled"), &general("disabled"), &usual, on),
        (&general("enabled"), &[], &excluding, on),
        (&[], &general("disabled"), &usual, off),
        (&[], &general("enabled"), &excluding, on),
        // Any other value counts as absent.
        (&general("false"), &general("disabled"), &usual, off),
        (&general("Enabled"), &[], &usual, on),
        (&general(""), &[], &excluding, off),
    ];
    for (pod, space, policy, expected) in table {
        assert_eq!(enabled(pod, space, policy), *expected, "{pod:?} {space:?}");
    }
    for (index, manipulation) in Manipulation::ALL.into_iter().enumerate() {
        let name = manipulation.annotation().as_str().trim_start_matches("stoker.io/");
        let one = |value| [(name, value)];
        let except = |rest: bool| {
            let mut all = [rest; 4];
            all[index] = !rest;
            all
        };
        let both = |own, all| [(name, own), ("bootstrap", all)];
        assert_eq!(enabled(&one("disabled"), &[], &usual), except(true));
        assert_eq!(enabled(&one("disabled"), &one("enabled"), &usual), except(true));
        assert_eq!(enabled(&one("enabled"), &one("disabled"), &usual), on);
        assert_eq!(enabled(&[], &one("disabled"), &usual), except(true));
        assert_eq!(enabled(&both("enabled", "disabled"), &[], &usual), except(false));
        assert_eq!(enabled(&[], &both("disabled", "enabled"), &excluding), except(true));
        // The general annotation of the pod goes before the specific one of the namespace.
        assert_eq!(enabled(&general("enabled"), &one("disabled"), &usual), on);
    }
}

#[test]
fn an_unknown_value_is_ignored_with_a_warning_that_names_it() {
    let mut pod = plain();
    pod["metadata"]["annotations"] = json!({ "stoker.io/bootstrap-env": "false" });
    let space = annotated(&[("bootstrap", "no")]);
    let namespace = Namespace { name: NAMESPACE, annotations: &space, certificates: Some(HASH) };
    let (pod, outcome) = admit_in(&pod, namespace, &policy());
    assert_eq!(pod["spec"]["containers"][0]["env"][2]["name"], "FIPS_MODE");
    assert_eq!(
        outcome.warnings,
        [
            "stoker.io/bootstrap-env of the pod is ignored: \"false\" is neither \"enabled\" nor \"disabled\"",
            "stoker.io/bootstrap of namespace \"line-1\" is ignored: \"no\" is neither \"enabled\" nor \"disabled\"",
        ]
    );
}

#[test]
fn pods_that_opted_out_and_mirror_pods_stay_as_they_are() {
    for (key, value, pass) in [
        ("stoker.io/bootstrap", "disabled", Pass::OptedOut),
        ("kubernetes.io/config.mirror", "0123", Pass::Mirror),
    ] {
        let mut pod = plain();
        pod["metadata"]["annotations"] = json!({ key: value });
        let (after, outcome) = admit(&pod);
        assert_eq!((&after, outcome.pass), (&pod, Some(pass)));
    }
    let mut excluding = spec();
    excluding["exclude"] = json!({ "podSelector": { "matchLabels": { "app": "cni" } } });
    let mut pod = plain();
    pod["metadata"]["labels"] = json!({ "app": "cni" });
    let annotations = BTreeMap::new();
    let namespace = Namespace { name: NAMESPACE, annotations: &annotations, certificates: None };
    let (after, outcome) = admit_in(&pod, namespace, &compile(&excluding).unwrap());
    assert_eq!((after, outcome.pass), (pod, Some(Pass::OptedOut)));
}

#[test]
fn an_empty_selector_excludes_nothing() {
    let mut empty = spec();
    empty["exclude"] = json!({ "podSelector": {} });
    assert!(!compile(&empty).unwrap().excludes_pod(&BTreeMap::new()));
}

#[test]
fn what_a_container_has_is_never_replaced() {
    let (pod, outcome) = admit(&pod(&json!({
        "volumes": [{ "name": "stoker-ca-bundle", "emptyDir": {} }],
        "imagePullSecrets": [{ "name": "own" }],
        "containers": [
            {
                "name": "app",
                "image": "nginx",
                "env": [{ "name": "SSL_CERT_FILE", "value": "/own" }, { "name": "FIPS_MODE" }],
                "volumeMounts": [{ "name": "stoker-ca-bundle", "mountPath": "/data" }],
            },
            {
                "name": "covered",
                "image": "nginx",
                "volumeMounts": [{ "name": "stoker-ca-bundle", "mountPath": "/etc/stoker" }],
            },
        ],
    })));
    let app = &pod["spec"]["containers"][0];
    assert_eq!(app["env"][0]["value"], "/own");
    assert_eq!(app["env"].as_array().unwrap().len(), 3);
    assert_eq!(app["env"][2]["name"], "NODE_EXTRA_CA_CERTS");
    assert_eq!(
        app["volumeMounts"][1],
        json!({ "name": "stoker-ca-bundle-2", "mountPath": "/etc/stoker/ca", "readOnly": true })
    );
    assert_eq!(pod["spec"]["volumes"][1]["name"], "stoker-ca-bundle-2");
    assert_eq!(
        pod["spec"]["imagePullSecrets"],
        json!([{ "name": "own" }, { "name": "plant-registry" }])
    );
    // A mount above ours would hide it, or keep the container from starting.
    let covered = &pod["spec"]["containers"][1];
    assert_eq!(covered["volumeMounts"].as_array().unwrap().len(), 1);
    assert_eq!(covered["env"], json!([{ "name": "FIPS_MODE", "value": "1" }]));
    assert!(outcome.warnings[0].contains("it mounts \"/etc/stoker\""), "{:?}", outcome.warnings);
}

#[test]
fn the_pull_secret_is_for_pods_that_pull_from_a_mapped_registry() {
    let secrets = |image: &str| {
        let pod = pod(&json!({ "containers": [{ "name": "app", "image": image }] }));
        admit(&pod).0["spec"]["imagePullSecrets"].clone()
    };
    let given = json!([{ "name": "plant-registry" }]);
    assert_eq!(secrets("nginx"), given);
    assert_eq!(secrets("registry.plant.example/own/app:1"), given, "it was there before");
    assert_eq!(secrets("quay.io/acme/app"), Value::Null);
    assert_eq!(secrets("not an image"), Value::Null);
}

#[test]
fn windows_pods_get_no_certificates_and_are_marked_all_the_same() {
    for windows in [
        json!({ "os": { "name": "windows" } }),
        json!({ "nodeSelector": { "kubernetes.io/os": "windows" } }),
    ] {
        let mut pod = plain();
        pod["spec"].as_object_mut().unwrap().extend(windows.as_object().unwrap().clone());
        let (pod, _) = admit(&pod);
        assert_eq!(pod["spec"]["volumes"], Value::Null);
        assert_eq!(standing(&pod, &policy()), Standing::Current);
    }
}

#[test]
fn a_pod_without_the_certificates_counts_as_missed() {
    let annotations = BTreeMap::new();
    let namespace = Namespace { name: NAMESPACE, annotations: &annotations, certificates: None };
    let (pod, outcome) = admit_in(&plain(), namespace, &policy());
    let image = &pod["spec"]["containers"][0]["image"];
    assert_eq!(*image, "registry.plant.example/dockerhub/library/nginx:1.27");
    assert_eq!(pod["spec"]["volumes"], Value::Null);
    assert!(outcome.warnings[0].contains("has no copy of them yet"), "{:?}", outcome.warnings);
    assert_eq!(standing(&pod, &policy()), Standing::Missed);
    // Not even if its manifest was copied from a pod that had them.
    let (copied, _) = admit_in(&admit(&plain()).0, namespace, &policy());
    assert_eq!(standing(&copied, &policy()), Standing::Missed);
}

fn standing(pod: &Value, policy: &Policy) -> Standing {
    let annotations = serde_json::from_value(pod["metadata"]["annotations"].clone());
    let (annotations, none) = (annotations.unwrap_or_default(), BTreeMap::new());
    let namespace = Namespace { name: NAMESPACE, annotations: &none, certificates: None };
    judge(&annotations, &none, namespace, policy, &policy.mark(Some(HASH)))
}

#[test]
fn the_mark_follows_what_the_policy_does_and_nothing_else() {
    let (marked, _) = admit(&plain());
    assert_eq!(standing(&plain(), &policy()), Standing::Missed);
    assert_eq!(standing(&marked, &policy()), Standing::Current);
    let changed = |field: &str, value: Value| {
        let mut spec = spec();
        spec[field] = value;
        standing(&marked, &compile(&spec).unwrap())
    };
    assert_eq!(changed("housekeeping", json!({ "mode": "off" })), Standing::Current);
    assert_eq!(changed("exclude", json!({ "namespaces": ["other"] })), Standing::Current);
    assert_eq!(changed("exclude", json!({ "namespaces": [NAMESPACE] })), Standing::OptedOut);
    assert_eq!(changed("env", json!([])), Standing::Stale);
    assert_eq!(changed("registries", json!([])), Standing::Stale);
    // K11: pods with older certificates are stale.
    assert_ne!(policy().mark(Some("bbbb")), policy().mark(Some(HASH)));
    // An annotation that the pod got later changes nothing that was done.
    let mut flipped = marked.clone();
    flipped["metadata"]["annotations"]["stoker.io/bootstrap-ca-bundle"] = json!("disabled");
    assert_eq!(standing(&flipped, &policy()), Standing::Current);
}

// K14: what is wrong with a policy is said with the field and the remedy.
#[test]
fn policies_that_can_not_work_are_refused() {
    let registries = |pairs: &[(&str, &str)]| {
        let all = pairs.iter().map(|(from, to)| json!({ "from": from, "to": to }));
        json!({ "registries": all.collect::<Vec<_>>() })
    };
    let selector = |operator: &str, values: Value| {
        let expression = json!({ "key": "app", "operator": operator, "values": values });
        json!({ "exclude": { "podSelector": { "matchExpressions": [expression] } } })
    };
    let table = [
        (registries(&[("docker", "r.example")]), "spec.registries[0].from: \"docker\" is not"),
        (registries(&[("docker.io", "r.example/x:1")]), "spec.registries[0].to:"),
        (registries(&[("docker.io", "https://r.example")]), "remove scheme, tag and digest"),
        (
            registries(&[("docker.io", "r.example/a"), ("index.docker.io", "r.example/b")]),
            "spec.registries[1].from: \"docker.io\" is mapped twice",
        ),
        (
            registries(&[("docker.io", "r.example/a"), ("r.example/a/b", "q.example")]),
            "could be rewritten twice",
        ),
        (
            registries(&[("docker.io", "ghcr.io/mirror"), ("ghcr.io", "q.example")]),
            "could be rewritten twice",
        ),
        (selector("In", json!([])), "In and NotIn need values"),
        (selector("Exists", json!(["x"])), "take no values"),
        (selector("Like", json!(["x"])), "\"Like\" is none of In"),
    ];
    for (spec, expected) in table {
        let problems = compile(&spec).unwrap_err();
        let text: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert!(text.join("\n").contains(expected), "{expected:?} not in {text:?}");
    }
    assert!(compile(&json!({})).is_ok());
}

#[test]
fn a_dollar_in_a_variable_reaches_the_program() {
    let policy = compile(&json!({ "env": [{ "name": "A", "value": "$(HOME)$x" }] })).unwrap();
    assert_eq!(policy.env[0].value, "$$(HOME)$x");
}
