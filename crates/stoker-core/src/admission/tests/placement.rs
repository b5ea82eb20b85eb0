//! Claims about where the agent goes, what it mounts and who it runs as.

use super::*;

fn init(name: &str, volume: Option<&str>, restart: Option<&str>) -> core::Container {
    core::Container {
        name: name.to_owned(),
        restart_policy: restart.map(str::to_owned),
        volume_mounts: volume.map(|volume| {
            vec![core::VolumeMount {
                name: volume.to_owned(),
                mount_path: "/data".to_owned(),
                ..core::VolumeMount::default()
            }]
        }),
        ..core::Container::default()
    }
}

fn order(outcome: &Outcome) -> Vec<&str> {
    let containers = outcome.pod["spec"]["initContainers"].as_array().unwrap();
    containers.iter().map(|it| it["name"].as_str().unwrap()).collect()
}

fn mount_at(pod: PodBuilder, volume: &str, path: &str) -> PodBuilder {
    let (volume, path) = (volume.to_owned(), path.to_owned());
    let named = volume.clone();
    pod.gateway(move |gateway| {
        gateway.volume_mounts = Some(vec![core::VolumeMount {
            name: volume,
            mount_path: path,
            ..core::VolumeMount::default()
        }]);
    })
    .spec(move |spec| {
        spec.volumes = Some(vec![core::Volume { name: named, ..core::Volume::default() }]);
    })
}

// R2
#[test]
fn the_agent_comes_after_init_containers_with_the_data_and_after_meshes() {
    let pod = || {
        gateway("g")
            .init_container(init("permissions", None, None))
            .init_container(init("seed", Some("data"), None))
            .init_container(init("istio-proxy", None, Some("Always")))
            .init_container(init("last", None, None))
    };
    let outcome = admit(pod(), &[plant()]);
    assert_eq!(order(&outcome), ["permissions", "seed", "istio-proxy", "stoker-agent", "last"]);
    let outcome = admit(pod().annotation(Annotation::InitOrder, "first"), &[plant()]);
    assert_eq!(order(&outcome)[0], "stoker-agent");
    // An init container of the same name that ends is not a mesh's sidecar.
    let outcome = admit(gateway("g").init_container(init("istio-proxy", None, None)), &[plant()]);
    assert_eq!(order(&outcome), ["stoker-agent", "istio-proxy"]);
    let outcome = admit(gateway("g").seeded(), &[plant()]);
    assert_eq!(order(&outcome).last(), Some(&"stoker-agent"));
}

// R64
#[test]
fn the_data_volume_is_found_by_annotation_path_and_name() {
    let ignition = "/usr/local/bin/ignition/data";
    for (volume, path, annotation) in [
        ("storage", "/usr/local/bin/ignition/data/", None),
        ("ignition-data", "/srv/data", None),
        ("data", "/srv/data", None),
        ("odd", "/srv/odd", Some("odd")),
    ] {
        let mut pod = mount_at(gateway("g"), volume, path);
        if let Some(name) = annotation {
            pod = pod.annotation(Annotation::DataVolume, name);
        }
        let outcome = admit(pod, &[plant()]);
        assert_eq!(outcome.warnings(), Vec::<String>::new(), "{volume}");
        assert_eq!(outcome.env("DATA_PATH"), Some(path));
        assert_eq!(outcome.mount(path).unwrap()["name"], volume);
    }
    let outcome = admit(mount_at(gateway("g"), "odd", "/srv/odd"), &[plant()]);
    assert!(outcome.warnings()[0].contains("not a gateway"), "{:?}", outcome.warnings());
    assert_eq!(outcome.mount(ignition).unwrap()["name"], "stoker-data");
    let pod = mount_at(gateway("g"), "odd", "/srv/odd").build();
    let strict = admit_with(pod, &[plant()], &settings(), Policy::Strict);
    assert!(matches!(strict.decision, Decision::Deny(_)));
}

#[test]
fn sub_paths_are_kept_with_the_variables_that_they_need() {
    let pod = gateway("g").gateway(|gateway| {
        let mount = &mut gateway.volume_mounts.as_mut().unwrap()[0];
        mount.sub_path_expr = Some("$(SITE)/data".to_owned());
        gateway.env = Some(vec![
            core::EnvVar {
                name: "SITE".to_owned(),
                value: Some("a".to_owned()),
                ..Default::default()
            },
            core::EnvVar { name: "OTHER".to_owned(), ..Default::default() },
        ]);
    });
    let outcome = admit(pod, &[plant()]);
    let data = outcome.mount("/usr/local/bin/ignition/data").unwrap();
    assert_eq!(data["subPathExpr"], "$(SITE)/data");
    assert_eq!(outcome.env("SITE"), Some("a"));
    assert_eq!(outcome.env("OTHER"), None);
    // A variable that the agent can't have would keep the pod from starting.
    let pod = gateway("g").gateway(|gateway| {
        gateway.volume_mounts.as_mut().unwrap()[0].sub_path_expr = Some("$(SITE)".to_owned());
    });
    let outcome = admit(pod, &[plant()]);
    let Decision::Admit(warnings) = &outcome.decision else { panic!("{:?}", outcome.decision) };
    assert!(warnings[0].contains("\"SITE\""), "{warnings:?}");
    let pod = gateway("g").gateway(|gateway| {
        gateway.volume_mounts.as_mut().unwrap()[0].sub_path = Some("site".to_owned());
    });
    let outcome = admit(pod, &[plant()]);
    assert_eq!(outcome.mount("/usr/local/bin/ignition/data").unwrap()["subPath"], "site");
}

#[test]
fn a_data_volume_at_one_of_our_paths_admits_without_agent() {
    let outcome = admit(mount_at(gateway("g"), "data", "/repo"), &[plant()]);
    assert!(matches!(outcome.decision, Decision::Admit(_)));
}

// D3
#[test]
fn names_and_ports_that_are_taken_are_replaced() {
    let pod = gateway("g")
        .spec(|spec| {
            for name in ["tmp", "sync-repo", "stoker-sync-repo"] {
                let volume = core::Volume { name: name.to_owned(), ..core::Volume::default() };
                spec.volumes.as_mut().unwrap().push(volume);
            }
        })
        .gateway(|gateway| {
            let port =
                |number| core::ContainerPort { container_port: number, ..Default::default() };
            gateway.ports = Some(vec![port(8082), port(8083), port(8085)]);
        });
    let outcome = admit(pod, &[plant()]);
    assert_eq!(outcome.mount("/tmp").unwrap()["name"], "stoker-tmp");
    assert_eq!(outcome.mount("/repo").unwrap()["name"], "stoker-sync-repo-2");
    assert_eq!(outcome.env("HEALTH_PORT"), Some("8084"));
    assert_eq!(outcome.env("METRICS_PORT"), Some("8086"));
    assert_eq!(outcome.agent()["startupProbe"]["httpGet"]["port"], 8084);
}

#[test]
fn agents_in_the_network_of_a_node_have_ports_of_their_own_and_reserve_none() {
    let on_host = |name: &str| {
        let pod = gateway(name).spec(|spec| spec.host_network = Some(true));
        admit(pod, &[plant()])
    };
    let (one, other) = (on_host("ignition-0"), on_host("ignition-1"));
    assert_ne!(one.env("HEALTH_PORT"), other.env("HEALTH_PORT"));
    assert_ne!(one.env("HEALTH_PORT"), Some("8082"));
    assert_eq!(one.agent()["ports"], json!([]));
}

// R65
#[test]
fn the_agent_runs_as_the_gateways_user_under_the_restricted_standard() {
    let pod = gateway_pod("g").gateway(|gateway| {
        let context = gateway.security_context.get_or_insert_default();
        context.run_as_user = Some(2003);
        context.run_as_group = Some(2003);
    });
    let outcome = admit(pod, &[plant()]);
    assert_eq!(
        outcome.agent()["securityContext"],
        json!({
            "allowPrivilegeEscalation": false,
            "capabilities": { "drop": ["ALL"] },
            "readOnlyRootFilesystem": true,
            "runAsNonRoot": true,
            "runAsUser": 2003,
            "runAsGroup": 2003,
            "seccompProfile": { "type": "RuntimeDefault" },
        })
    );
    let outcome = admit(gateway("g"), &[plant()]);
    assert_eq!(outcome.agent()["securityContext"]["runAsUser"], Value::Null);
    let outcome = admit(gateway_pod("g"), &[plant()]);
    assert!(outcome.warnings()[0].contains("runAsUser"), "{:?}", outcome.warnings());
}

#[test]
fn the_token_of_the_pod_is_shared_and_a_pod_without_one_gets_one_for_the_agent() {
    let outcome = admit(gateway("g"), &[plant()]);
    let path = "/var/run/secrets/kubernetes.io/serviceaccount";
    assert_eq!(outcome.mount(path).unwrap()["name"], "api-token");
    assert!(outcome.volume("api-token").unwrap()["projected"].is_object());
    let pod = gateway("g")
        .spec(|spec| {
            let name = "kube-api-access-x7k2p".to_owned();
            spec.volumes.as_mut().unwrap().push(core::Volume { name, ..core::Volume::default() });
        })
        .gateway(|gateway| {
            gateway.volume_mounts.as_mut().unwrap().push(core::VolumeMount {
                name: "kube-api-access-x7k2p".to_owned(),
                mount_path: "/var/run/secrets/kubernetes.io/serviceaccount".to_owned(),
                ..core::VolumeMount::default()
            });
        });
    let outcome = admit(pod, &[plant()]);
    assert_eq!(outcome.mount(path).unwrap()["name"], "kube-api-access-x7k2p");
    assert!(outcome.volume("api-token").is_none());
}

#[test]
fn pods_for_windows_are_admitted_without_agent() {
    let pod = gateway("g").spec(|spec| {
        spec.os = Some(core::PodOS { name: "windows".to_owned() });
    });
    assert!(matches!(admit(pod, &[plant()]).decision, Decision::Admit(_)));
}

#[test]
fn local_volumes_of_ours_do_not_keep_a_pod_on_its_node() {
    let key = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes";
    let outcome = admit(gateway("g"), &[plant()]);
    assert_eq!(outcome.pod["metadata"]["annotations"][key], "sync-repo,tmp");
    let mut pod = gateway("g").build();
    pod.metadata.annotations.as_mut().unwrap().insert(key.to_owned(), "cache, tmp".to_owned());
    let outcome = admit_with(pod, &[plant()], &settings(), Policy::Lenient);
    assert_eq!(outcome.pod["metadata"]["annotations"][key], "cache,tmp,sync-repo");
}

// R67
#[test]
fn pull_secrets_are_added_once() {
    let settings = Settings { pull_secrets: vec!["registry".to_owned()], ..settings() };
    let pod = gateway("g").build();
    let outcome = admit_with(pod, &[plant()], &settings, Policy::Lenient);
    assert_eq!(outcome.pod["spec"]["imagePullSecrets"], json!([{ "name": "registry" }]));
    let pod = gateway("g").spec(|spec| {
        let secret = core::LocalObjectReference { name: "registry".to_owned() };
        spec.image_pull_secrets = Some(vec![secret]);
    });
    let outcome = admit_with(pod.build(), &[plant()], &settings, Policy::Lenient);
    assert_eq!(outcome.pod["spec"]["imagePullSecrets"], json!([{ "name": "registry" }]));
}

// The controller recognises its own work: a pod is restarted for a change, and never for none.
#[test]
fn an_injected_pod_has_the_hash_that_it_would_get_again() {
    let expression = |gateway: &mut core::Container| {
        gateway.volume_mounts.as_mut().unwrap()[0].sub_path = Some("press".to_owned());
    };
    for (name, pod) in [
        ("usual", gateway("g")),
        ("path below the volume", gateway("g").gateway(expression)),
        (
            "named volume",
            mount_at(gateway("g"), "odd", "/srv/odd").annotation(Annotation::DataVolume, "odd"),
        ),
        ("not a gateway", mount_at(gateway("g"), "odd", "/srv/odd")),
    ] {
        let outcome = admit(pod, &[plant()]);
        let text = outcome.pod.to_string();
        let injected: Pod<'_> = serde_json::from_str(&text).unwrap();
        let placement = Placement::of(&injected).unwrap();
        let expected = placement.expected(None, &plant(), &settings()).unwrap();
        let stamped = injected.annotation(Annotation::InjectedHash.as_str());
        assert_eq!(stamped, Some(&*expected.hash), "{name}");
        assert_eq!(injected.agent_image(), Some(&*expected.image), "{name}");
        assert_eq!(injected.lacks_gateway(), name == "not a gateway");
    }
}
