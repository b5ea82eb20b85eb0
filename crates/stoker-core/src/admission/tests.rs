//! Claims about injection: every row of the design's table, and what must hold for any pod.

mod generated;
mod placement;

use k8s_openapi::api::core::v1 as core;
use serde_json::{Value, json};
use stoker_testkit::object::{PodBuilder, gateway_pod, gateway_sync, profile};

use super::*;

/// What happened to a pod.
struct Outcome {
    decision: Decision,
    pod: Value,
}

fn settings() -> Settings {
    Settings {
        default_image: "ghcr.io/stoker-io/stoker-agent:1.0.0".parse().unwrap(),
        allowed_repositories: Vec::new(),
        pull_secrets: Vec::new(),
    }
}

fn plant() -> GatewaySync {
    gateway_sync("plant").mapping("projects", "projects").build()
}

/// Injects with the GatewaySyncs that exist.
fn admit(pod: PodBuilder, syncs: &[GatewaySync]) -> Outcome {
    admit_with(pod.build(), syncs, &settings(), Policy::Lenient)
}

fn admit_with(
    pod: core::Pod,
    syncs: &[GatewaySync],
    settings: &Settings,
    policy: Policy,
) -> Outcome {
    let world = World { syncs: syncs.iter().collect(), has_sync_profile: true, is_complete: true };
    admit_in(serde_json::to_value(pod).unwrap(), &world, settings, policy)
}

fn admit_in(pod: Value, world: &World<'_>, settings: &Settings, policy: Policy) -> Outcome {
    let text = pod.to_string();
    let view: Pod<'_> = serde_json::from_str(&text).unwrap();
    let decision = decide(&view, world, settings, policy);
    let mut pod = pod;
    if let Decision::Inject(injection) = &decision {
        apply(&mut pod, &injection.patch);
    }
    Outcome { decision, pod }
}

fn apply(pod: &mut Value, patch: &Patch) {
    let patch: json_patch::Patch =
        serde_json::from_value(serde_json::to_value(patch).unwrap()).unwrap();
    json_patch::patch(pod, &patch).unwrap();
    // What comes out is a pod.
    serde_json::from_value::<core::Pod>(pod.clone()).unwrap();
}

impl Outcome {
    fn agent(&self) -> &Value {
        let containers = self.pod["spec"]["initContainers"].as_array().unwrap();
        containers.iter().find(|it| it["name"] == AGENT_CONTAINER).unwrap()
    }

    fn env(&self, name: &str) -> Option<&str> {
        let env = self.agent()["env"].as_array().unwrap();
        env.iter().find(|it| it["name"] == name).and_then(|it| it["value"].as_str())
    }

    fn volume(&self, name: &str) -> Option<&Value> {
        let volumes = self.pod["spec"]["volumes"].as_array().unwrap();
        volumes.iter().find(|it| it["name"] == name)
    }

    fn mount(&self, path: &str) -> Option<&Value> {
        let mounts = self.agent()["volumeMounts"].as_array().unwrap();
        mounts.iter().find(|it| it["mountPath"] == path)
    }

    fn warnings(&self) -> Vec<String> {
        match &self.decision {
            Decision::Inject(injection) => injection.warnings.clone(),
            Decision::Admit(warnings) => warnings.clone(),
            Decision::Pass(_) | Decision::Deny(_) => Vec::new(),
        }
    }
}

fn mounted_at(pod: PodBuilder, path: &str) -> PodBuilder {
    pod.gateway(|gateway| {
        path.clone_into(&mut gateway.volume_mounts.as_mut().unwrap()[0].mount_path);
    })
}

fn gateway(name: &str) -> PodBuilder {
    gateway_pod(name).fs_group(2003)
}

#[test]
fn a_pod_with_all_annotations_gets_the_agent_with_its_environment() {
    let sync = gateway_sync("plant").profile("site", profile().mapping("a", "b")).build();
    let pod = gateway("ignition-0")
        .cr("plant")
        .profile("site")
        .gateway_name("press")
        .annotation(Annotation::SyncPeriod, "60")
        .annotation(Annotation::GatewayPort, "9088")
        .annotation(Annotation::GatewayTls, "true");
    let outcome = admit(pod, &[sync]);
    assert_eq!(outcome.warnings(), Vec::<String>::new());
    for (name, value) in [
        ("CR_NAME", "plant"),
        ("GATEWAY_NAME", "press"),
        ("PROFILE", "site"),
        ("REPO_PATH", "/repo"),
        ("DATA_PATH", "/usr/local/bin/ignition/data"),
        ("GATEWAY_PORT", "9088"),
        ("GATEWAY_TLS", "true"),
        ("SYNC_PERIOD", "60"),
        ("HEALTH_PORT", "8082"),
        ("METRICS_PORT", "8083"),
    ] {
        assert_eq!(outcome.env(name), Some(value), "{name}");
    }
    let annotations = &outcome.pod["metadata"]["annotations"];
    assert_eq!(annotations["stoker.io/injected"], "true");
    assert_eq!(outcome.pod["metadata"]["labels"]["stoker.io/agent"], "true");
    assert_eq!(outcome.agent()["restartPolicy"], "Always");
}

#[test]
fn a_pod_that_does_not_ask_is_left_alone() {
    let pod = gateway("web").without_annotation(Annotation::Inject);
    assert_eq!(admit(pod, &[plant()]).decision, Decision::Pass(Pass::NotAsked));
    let pod = gateway("web").annotation(Annotation::Inject, "false");
    assert_eq!(admit(pod, &[plant()]).decision, Decision::Pass(Pass::NotAsked));
}

#[test]
fn an_injected_pod_and_a_mirror_pod_are_left_alone() {
    let outcome = admit(gateway("ignition-0").injected(), &[plant()]);
    assert_eq!(outcome.decision, Decision::Pass(Pass::AlreadyInjected));
    let mut pod = gateway("ignition-0").build();
    let annotations = pod.metadata.annotations.get_or_insert_default();
    annotations.insert(MIRROR.to_owned(), "x".to_owned());
    let outcome = admit_with(pod, &[plant()], &settings(), Policy::Strict);
    assert_eq!(outcome.decision, Decision::Pass(Pass::Mirror));
}

// D2, R12
#[test]
fn a_missing_gatewaysync_is_denied_where_strict_and_awaited_where_lenient() {
    let pod = || gateway("ignition-0").cr("other").build();
    let strict = admit_with(pod(), &[plant()], &settings(), Policy::Strict);
    let Decision::Deny(denial) = &strict.decision else { panic!("{:?}", strict.decision) };
    assert_eq!(
        denial.message,
        "stoker: GatewaySync \"other\" does not exist, there is plant: create it, or set stoker.io/cr-name"
    );
    let lenient = admit_with(pod(), &[plant()], &settings(), Policy::Lenient);
    assert_eq!(lenient.env("CR_NAME"), Some("other"));
    assert!(lenient.volume("git-credentials").is_none());
    assert_eq!(lenient.warnings().len(), 1);
}

// R12
#[test]
fn a_paused_gatewaysync_never_blocks() {
    let sync = gateway_sync("plant").mapping("a", "b").paused().build();
    let outcome = admit_with(gateway("g").build(), &[sync], &settings(), Policy::Strict);
    assert!(matches!(outcome.decision, Decision::Inject(_)), "{:?}", outcome.decision);
}

#[test]
fn an_unknown_sync_profile_is_denied_where_strict_and_warned_of_where_lenient() {
    let pod = || serde_json::to_value(gateway("g").sync_profile("area").build()).unwrap();
    let sync = plant();
    let world = World { syncs: vec![&sync], has_sync_profile: false, is_complete: true };
    let strict = admit_in(pod(), &world, &settings(), Policy::Strict);
    assert!(matches!(strict.decision, Decision::Deny(_)));
    let lenient = admit_in(pod(), &world, &settings(), Policy::Lenient);
    assert_eq!(lenient.env("SYNC_PROFILE"), Some("area"));
    assert_eq!(lenient.env("PROFILE"), None);
    assert!(lenient.warnings()[0].contains("SyncProfile \"area\" does not exist"));
}

// F03
#[test]
fn the_only_gatewaysync_is_derived_and_written_back() {
    let outcome = admit(gateway("ignition-0"), &[plant()]);
    let annotations = &outcome.pod["metadata"]["annotations"];
    assert_eq!(annotations["stoker.io/cr-name"], "plant");
    assert_eq!(annotations["stoker.io/cr-name-derived"], "true");
    assert_eq!(outcome.env("CR_NAME"), Some("plant"));
}

#[test]
fn the_gatewaysync_of_helm_test_does_not_keep_another_from_being_derived() {
    let mut check = gateway_sync("check").mapping("a", "b").build();
    check.metadata.labels = Some([("stoker.io/check".to_owned(), "true".to_owned())].into());
    let outcome = admit(gateway("ignition-0"), &[plant(), check.clone()]);
    assert_eq!(outcome.env("CR_NAME"), Some("plant"));
    let named = admit(gateway("tried").cr("check"), &[plant(), check]);
    assert_eq!(named.env("CR_NAME"), Some("check"));
}

#[test]
fn none_or_several_gatewaysyncs_admit_without_agent_and_name_the_annotation() {
    let several = [plant(), gateway_sync("other").mapping("a", "b").build()];
    for (syncs, words) in [(&several[..], "one of other, plant"), (&[], "no GatewaySync in this")] {
        let lenient = admit(gateway("g"), syncs);
        let Decision::Admit(warnings) = &lenient.decision else { panic!() };
        assert!(warnings[0].contains(words), "{warnings:?}");
        assert!(warnings[0].contains("stoker.io/cr-name"), "{warnings:?}");
        let strict = admit_with(gateway("g").build(), syncs, &settings(), Policy::Strict);
        assert!(matches!(strict.decision, Decision::Deny(_)));
    }
}

// R12
#[test]
fn an_api_server_that_does_not_answer_denies_nothing() {
    let world = World::default();
    let named = serde_json::to_value(gateway("g").cr("plant").build()).unwrap();
    let outcome = admit_in(named, &world, &settings(), Policy::Strict);
    assert_eq!(outcome.env("CR_NAME"), Some("plant"));
    let unnamed = serde_json::to_value(gateway("g").build()).unwrap();
    let outcome = admit_in(unnamed, &world, &settings(), Policy::Strict);
    assert!(matches!(outcome.decision, Decision::Admit(_)));
}

#[test]
fn credentials_are_mounted_read_only_optional_and_named_by_variables() {
    let ssh = gateway_sync("plant").mapping("a", "b").ssh_key("deploy-key", Some("hosts")).build();
    let outcome = admit(gateway("g"), &[ssh]);
    assert_eq!(
        outcome.volume("git-credentials").unwrap(),
        &json!({
            "name": "git-credentials",
            "secret": {
                "secretName": "deploy-key",
                "optional": true,
                "defaultMode": 0o400,
                "items": [{ "key": "ssh-privatekey", "path": "ssh-privatekey" }],
            },
        })
    );
    assert_eq!(outcome.env("GIT_SSH_KEY_FILE"), Some("/etc/stoker/git-credentials/ssh-privatekey"));
    assert_eq!(outcome.env("GIT_KNOWN_HOSTS_FILE"), Some("/etc/stoker/known-hosts/known_hosts"));
    assert_eq!(outcome.env("GIT_TOKEN_FILE"), None);
    assert_eq!(outcome.mount("/etc/stoker/git-credentials").unwrap()["readOnly"], true);
    let token = gateway_sync("plant").mapping("a", "b").token("pat").api_key("key").build();
    let outcome = admit(gateway("g"), &[token]);
    assert_eq!(outcome.env("GIT_TOKEN_FILE"), Some("/etc/stoker/git-credentials/token"));
    assert_eq!(outcome.env("API_KEY_FILE"), Some("/etc/stoker/api-key/apiKey"));
    let app = gateway_sync("plant").mapping("a", "b").github_app((1, 2), "app-key").build();
    let outcome = admit(gateway("g"), &[app]);
    assert_eq!(outcome.env("GIT_TOKEN_FILE"), Some("/etc/stoker/git-token/token"));
    let secret = &outcome.volume("git-token").unwrap()["secret"];
    assert_eq!(secret["secretName"], "stoker-github-token-plant");
    // The App's private key never reaches a gateway's pod.
    assert!(!outcome.pod.to_string().contains("app-key"));
}

// F01
#[test]
fn a_public_repository_has_no_credentials_volume() {
    let outcome = admit(gateway("g"), &[plant()]);
    assert!(outcome.volume("git-credentials").is_none());
    assert_eq!(outcome.env("API_KEY_FILE"), None);
    assert_eq!(outcome.volume("agent").unwrap()["secret"]["secretName"], "stoker-agent-plant");
}

#[test]
fn files_from_secrets_are_readable_with_and_without_a_group() {
    let sync = gateway_sync("plant").mapping("a", "b").token("pat").build();
    let mode = |pod: PodBuilder| {
        let outcome = admit(pod, std::slice::from_ref(&sync));
        outcome.volume("git-credentials").unwrap()["secret"]["defaultMode"].as_u64().unwrap()
    };
    let as_user = |user: i64| {
        gateway_pod("g").gateway(move |gateway| {
            gateway.security_context.get_or_insert_default().run_as_user = Some(user);
        })
    };
    assert_eq!(mode(gateway_pod("g").fs_group(2003)), 0o400);
    assert_eq!(mode(as_user(2003)), 0o444);
    assert_eq!(mode(as_user(0)), 0o400);
}

// F20, D9
#[test]
fn an_annotation_may_only_choose_a_tag_of_an_allowed_repository() {
    let image = |text: &str, settings: &Settings| {
        let pod = gateway("g").annotation(Annotation::AgentImage, text).build();
        let outcome = admit_with(pod, &[plant()], settings, Policy::Strict);
        let refused = &outcome.pod["metadata"]["annotations"]["stoker.io/agent-image-refused"];
        assert_eq!(refused == "true", !outcome.warnings().is_empty(), "{text:?}");
        (outcome.agent()["image"].as_str().unwrap().to_owned(), outcome.warnings().len())
    };
    let usual = settings();
    let own = "ghcr.io/stoker-io/stoker-agent:1.0.0".to_owned();
    assert_eq!(
        image("ghcr.io/stoker-io/stoker-agent:debug", &usual),
        ("ghcr.io/stoker-io/stoker-agent:debug".to_owned(), 0)
    );
    assert_eq!(image("evil.example.com/agent:1", &usual), (own.clone(), 1));
    assert_eq!(image("ghcr.io/stoker-io/stoker-agent-evil:1", &usual), (own.clone(), 1));
    assert_eq!(image("not an image\n", &usual), (own.clone(), 1));
    let listed =
        Settings { allowed_repositories: vec!["mirror.example.com/agent".to_owned()], ..usual };
    assert_eq!(image("ghcr.io/stoker-io/stoker-agent:debug", &listed), (own, 1));
    assert_eq!(
        image("mirror.example.com/agent:2", &listed),
        ("mirror.example.com/agent:2".to_owned(), 0)
    );
}

#[test]
fn a_gatewaysync_chooses_image_pull_policy_and_resources() {
    let sync = gateway_sync("plant").mapping("a", "b").spec(|spec| {
        let agent = json!({
            "image": { "tag": "2.0", "pullPolicy": "Always" },
            "resources": { "limits": { "memory": "512Mi" } },
        });
        spec.agent = Some(serde_json::from_value(agent).unwrap());
    });
    let outcome = admit(gateway("g"), &[sync.build()]);
    assert_eq!(outcome.agent()["image"], "ghcr.io/stoker-io/stoker-agent:2.0");
    assert_eq!(outcome.agent()["imagePullPolicy"], "Always");
    assert_eq!(outcome.agent()["resources"], json!({ "limits": { "memory": "512Mi" } }));
    let outcome = admit(gateway("g"), &[plant()]);
    assert_eq!(outcome.agent()["resources"]["limits"], json!({ "cpu": "1", "memory": "256Mi" }));
}

// R68
#[test]
fn a_pod_without_a_profile_needs_one_named_default() {
    let sync = gateway_sync("plant").profile("site", profile().mapping("a", "b")).build();
    let outcome = admit(gateway("g"), std::slice::from_ref(&sync));
    assert_eq!(outcome.env("PROFILE"), Some("default"));
    assert_eq!(
        outcome.warnings(),
        [
            "stoker: GatewaySync \"plant\" has no profile \"default\": set stoker.io/profile to one of site"
        ]
    );
    let pod = gateway("g").annotation(Annotation::ServicePath, "services/a");
    let outcome = admit(pod, &[sync]);
    assert!(outcome.warnings()[0].contains("not supported by this version"));
    assert_eq!(outcome.env("SERVICE_PATH"), Some("services/a"));
}

// D9
#[test]
fn hostile_annotations_reach_nothing() {
    let long = "x".repeat(200_000);
    for (annotation, value) in [
        (Annotation::Profile, "a\nb"),
        (Annotation::SyncProfile, "../other"),
        (Annotation::GatewayName, "x\u{0}y"),
        (Annotation::ServicePath, "../../etc"),
        (Annotation::SyncPeriod, "1e9"),
        (Annotation::GatewayPort, "99999"),
        (Annotation::GatewayTls, "maybe"),
        (Annotation::InitOrder, "last"),
        (Annotation::RefOverride, "--upload-pack=x"),
        (Annotation::CrName, "Not A Name"),
        (Annotation::GatewayName, &long),
    ] {
        let pod = gateway("g").annotation(annotation, value);
        let sync = plant();
        let outcome = admit(pod, std::slice::from_ref(&sync));
        let warnings = outcome.warnings();
        assert!(!warnings.is_empty(), "{annotation}");
        for warning in &warnings {
            assert!(warning.chars().count() < 256 && !warning.contains(char::is_control));
        }
        let spec = outcome.pod["spec"].to_string();
        assert!(!spec.contains(&value.escape_debug().to_string()), "{annotation}: {spec}");
        let pod = gateway("g").annotation(annotation, value).build();
        let strict = admit_with(pod, &[sync], &settings(), Policy::Strict);
        assert!(matches!(strict.decision, Decision::Deny(_)), "{annotation}");
    }
}

#[test]
fn values_are_not_expanded_by_kubernetes() {
    for (given, kept) in [("$(POD_UID)-x", "$$(POD_UID)-x"), ("$$(POD_UID)", "$$$$(POD_UID)")] {
        let pod = mounted_at(gateway("g"), &format!("/srv/{given}"));
        let outcome = admit(pod, &[plant()]);
        assert_eq!(outcome.env("DATA_PATH"), Some(&*format!("/srv/{kept}")));
    }
}

#[test]
fn the_hash_changes_with_secrets_and_image_and_not_with_resources() {
    let hash = |sync: GatewaySync| {
        let outcome = admit(gateway("g"), std::slice::from_ref(&sync));
        let stamped = outcome.pod["metadata"]["annotations"]["stoker.io/injected-hash"].clone();
        let text = outcome.pod.to_string();
        let view: Pod<'_> = serde_json::from_str(&text).unwrap();
        assert_eq!(
            Some(stamped.as_str().unwrap().to_owned()),
            expected_hash(&view, &sync, &settings())
        );
        stamped
    };
    let agent = |text: &str| {
        let agent = serde_json::from_str(text).unwrap();
        gateway_sync("plant").mapping("a", "b").spec(|spec| spec.agent = Some(agent)).build()
    };
    let plain = hash(plant());
    assert_eq!(plain, hash(agent(r#"{"resources":{"limits":{"memory":"1Gi"}}}"#)));
    assert_ne!(plain, hash(agent(r#"{"image":{"tag":"2"}}"#)));
    assert_ne!(plain, hash(gateway_sync("plant").mapping("a", "b").token("pat").build()));
}
