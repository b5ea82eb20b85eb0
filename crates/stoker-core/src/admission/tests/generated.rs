//! What holds for any pod: injecting twice changes nothing, and the result is a valid pod.

use std::collections::BTreeSet;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use super::*;

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "data",
            "ignition-data",
            "tmp",
            "sync-repo",
            "stoker-tmp",
            "api-token",
            "agent",
            "kube-api-access-1",
            "stoker-data",
            "pod-info",
            "storage",
        ])
        .prop_map(str::to_owned),
        "[a-z]{1,8}",
    ]
}

fn path() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "/usr/local/bin/ignition/data",
            "/usr/local/bin/ignition/data/",
            "/tmp",
            "/repo",
            "/etc/stoker/pod",
            "/var/run/secrets/kubernetes.io/serviceaccount",
            "/srv/data",
        ])
        .prop_map(str::to_owned),
        "/[a-z]{1,6}(/[a-z]{1,6})?",
    ]
}

fn mount() -> impl Strategy<Value = Value> {
    (name(), path(), option::of("[a-z]{1,4}"), option::of(Just("$(SITE)/x"))).prop_map(
        |(name, path, sub_path, expression)| {
            let mut mount = json!({ "name": name, "mountPath": path });
            match (sub_path, expression) {
                (Some(sub_path), _) => mount["subPath"] = json!(sub_path),
                (None, Some(expression)) => mount["subPathExpr"] = json!(expression),
                (None, None) => {}
            }
            mount
        },
    )
}

fn container() -> impl Strategy<Value = Value> {
    let user = option::of(prop::sample::select(vec![0_i64, 1000, 2003]));
    let ports = vec(prop::sample::select(vec![8082_u16, 8083, 8084, 8088, 80]), 0..3);
    let names = prop_oneof![Just("gateway".to_owned()), Just("istio-proxy".to_owned()), name()];
    let restart = option::of(Just("Always"));
    (names, vec(mount(), 0..4), ports, user, restart).prop_map(
        |(name, mounts, ports, user, restart)| {
            let ports: Vec<Value> =
                ports.iter().map(|port| json!({ "containerPort": port })).collect();
            let mut container =
                json!({ "name": name, "image": "x:1", "volumeMounts": mounts, "ports": ports });
            if let Some(user) = user {
                container["securityContext"] = json!({ "runAsUser": user });
            }
            if let Some(restart) = restart {
                container["restartPolicy"] = json!(restart);
            }
            container
        },
    )
}

fn annotations() -> impl Strategy<Value = Value> {
    let known = prop::sample::select(Annotation::ALL.to_vec());
    let value = prop_oneof![
        Just("true".to_owned()),
        Just("plant".to_owned()),
        Just("default".to_owned()),
        Just("first".to_owned()),
        Just("data".to_owned()),
        "[0-9]{1,5}",
        any::<String>(),
    ];
    btree_map(known.prop_map(|it| it.as_str().to_owned()), value, 0..5).prop_map(|mut map| {
        map.insert(Annotation::Inject.as_str().to_owned(), "true".to_owned());
        json!(map)
    })
}

fn pod() -> impl Strategy<Value = Value> {
    let lists = (
        option::of(vec(container(), 0..4)),
        vec(container(), 1..4),
        option::of(vec(name().prop_map(|name| json!({ "name": name, "emptyDir": {} })), 0..5)),
    );
    let group = option::of(Just(2003_i64));
    let labels = option::of(btree_map("[a-z]{1,5}", "[a-z]{0,5}", 0..3));
    (annotations(), lists, group, labels).prop_map(
        |(annotations, (init, containers, volumes), group, labels)| {
            json!({
                "metadata": { "name": "g", "annotations": annotations, "labels": labels },
                "spec": {
                    "initContainers": init,
                    "containers": containers,
                    "volumes": volumes,
                    "securityContext": { "fsGroup": group },
                },
            })
        },
    )
}

fn unique(list: &Value, field: &str) -> bool {
    let values = list.as_array().into_iter().flatten().map(|it| it[field].to_string());
    let mut seen = BTreeSet::new();
    values.into_iter().all(|value| seen.insert(value))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    // D3
    #[test]
    fn injecting_twice_is_injecting_once(pod in pod()) {
        let sync = gateway_sync("plant").mapping("a", "b").token("pat").api_key("key").build();
        let world = World { syncs: vec![&sync], has_sync_profile: true, is_complete: true };
        let given_volumes = pod["spec"]["volumes"].clone();
        let once = admit_in(pod, &world, &settings(), Policy::Lenient);
        prop_assert!(!matches!(once.decision, Decision::Deny(_)));
        if matches!(once.decision, Decision::Inject(_)) {
            let twice = admit_in(once.pod.clone(), &world, &settings(), Policy::Lenient);
            prop_assert_eq!(twice.decision, Decision::Pass(Pass::AlreadyInjected));
            prop_assert_eq!(&twice.pod, &once.pod);
            prop_assert!(unique(&once.agent()["volumeMounts"], "mountPath"));
            prop_assert!(unique(&once.agent()["env"], "name"));
            // What was unique stays unique.
            let is_unique = unique(&once.pod["spec"]["volumes"], "name");
            prop_assert!(is_unique || !unique(&given_volumes, "name"));
            // Every mount of the agent has its volume, unless the pod itself names one that is
            // not there.
            for mount in once.agent()["volumeMounts"].as_array().unwrap() {
                let known = once.volume(mount["name"].as_str().unwrap()).is_some();
                prop_assert!(known || mount["mountPath"] == json!(once.env("DATA_PATH").unwrap()));
            }
        }
    }

    // D5
    #[test]
    fn any_json_is_a_pod_or_an_error(text in "\\PC*") {
        serde_json::from_str::<Pod<'_>>(&text).ok();
        serde_json::from_str::<Review<'_, Pod<'_>>>(&text).ok();
    }
}
