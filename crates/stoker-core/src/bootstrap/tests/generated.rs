//! What must hold for any pod.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

fn image() -> impl Strategy<Value = String> {
    let known = select(vec![
        "nginx",
        "library/nginx:1",
        "ghcr.io/acme/app@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "registry.plant.example/dockerhub/a/b",
        "registry.plant.example/acme/app:1",
        "localhost:5000/x",
        "Not:an/image",
        "",
    ]);
    prop_oneof![known.prop_map(str::to_owned), "[a-z./:@-]{0,24}"]
}

fn container(name: String) -> impl Strategy<Value = Value> {
    let env = vec(select(vec!["SSL_CERT_FILE", "FIPS_MODE", "OTHER"]), 0..3);
    let mounts =
        vec(select(vec!["/etc", "/etc/stoker/ca", "/etc/stoker/ca/x", "/data", "/"]), 0..2);
    (image(), env, mounts).prop_map(move |(image, env, mounts)| {
        let env: Vec<Value> = env.iter().map(|it| json!({ "name": it, "value": "own" })).collect();
        let mount = |path: &&str| json!({ "name": "data", "mountPath": path });
        let mounts: Vec<Value> = mounts.iter().map(mount).collect();
        json!({ "name": name, "image": image, "env": env, "volumeMounts": mounts })
    })
}

fn containers(prefix: &'static str) -> impl Strategy<Value = Vec<Value>> {
    (0..4_usize).prop_flat_map(move |count| {
        (0..count).map(|number| container(format!("{prefix}-{number}"))).collect::<Vec<_>>()
    })
}

fn annotation() -> impl Strategy<Value = Option<&'static str>> {
    option::of(select(vec!["enabled", "disabled", "true", ""]))
}

fn any_pod() -> impl Strategy<Value = Value> {
    let names = ["bootstrap", "bootstrap-registry", "bootstrap-pull-secret", "bootstrap-ca-bundle"];
    let annotations = names.map(|_| annotation());
    let volume = select(vec!["data", "stoker-ca-bundle", "stoker-ca-bundle-2"]);
    (containers("init"), containers("app"), annotations, vec(volume, 0..3), any::<bool>()).prop_map(
        move |(init, apps, values, volumes, is_bare)| {
            let mut pod = pod(&json!({ "initContainers": init, "containers": apps }));
            let given = names
                .iter()
                .zip(values)
                .filter_map(|(name, value)| Some((format!("stoker.io/{name}"), json!(value?))));
            if !is_bare {
                pod["metadata"]["annotations"] = Value::Object(given.collect());
                let volume = |name: &&str| json!({ "name": name, "emptyDir": {} });
                pod["spec"]["volumes"] = volumes.iter().map(volume).collect();
            }
            pod
        },
    )
}

proptest! {
    // I1: what was bootstrapped once is not changed again, also after another webhook added a
    // container.
    #[test]
    fn bootstrap_is_idempotent(pod in any_pod(), has_ca in any::<bool>(), added in container("late".into())) {
        let annotations = BTreeMap::new();
        let certificates = has_ca.then_some(HASH);
        let namespace = Namespace { name: NAMESPACE, annotations: &annotations, certificates };
        let policy = policy();
        let (once, _) = admit_in(&pod, namespace, &policy);
        let (twice, again) = admit_in(&once, namespace, &policy);
        prop_assert_eq!(&again.patch.0, &vec![]);
        prop_assert_eq!(&twice, &once);
        // The other webhook before ours, and the other way round.
        let with = |pod: &Value| {
            let mut pod = pod.clone();
            pod["spec"]["containers"].as_array_mut().unwrap().push(added.clone());
            pod
        };
        let (before, _) = admit_in(&with(&pod), namespace, &policy);
        let (after, _) = admit_in(&with(&once), namespace, &policy);
        let late = |pod: &Value| pod["spec"]["containers"].as_array().unwrap().last().cloned();
        prop_assert_eq!(late(&before), late(&after));
        prop_assert_eq!(&before["spec"]["imagePullSecrets"], &after["spec"]["imagePullSecrets"]);
    }

    #[test]
    fn nothing_that_the_pod_has_is_lost(pod in any_pod()) {
        let (after, outcome) = admit(&pod);
        for operation in &outcome.patch.0 {
            let is_image = operation.path.ends_with("/image");
            let is_own = operation.path.contains("/annotations/stoker.io~1");
            let before = pod.pointer(&operation.path).filter(|it| **it != json!([]));
            prop_assert!(is_image || is_own || before.is_none_or(|it| *it == json!({})), "{}", operation.path);
        }
        for list in ["initContainers", "containers"] {
            let (old, new) = (&pod["spec"][list], &after["spec"][list]);
            prop_assert_eq!(old.as_array().unwrap().len(), new.as_array().unwrap().len());
        }
    }

    #[test]
    fn any_text_in_annotations_and_images_is_survived(
        image in "\\PC{0,60}",
        value in "\\PC{0,60}",
        originals in "\\PC{0,60}",
    ) {
        let mut pod = plain();
        pod["spec"]["containers"][0]["image"] = json!(image);
        pod["metadata"]["annotations"] = json!({
            "stoker.io/bootstrap": value,
            "stoker.io/original-images": originals,
            "stoker.io/bootstrapped": value,
        });
        let (once, _) = admit(&pod);
        prop_assert_eq!(&admit(&once).0, &once);
    }
}
