//! Claims about injection through the real API server.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Pod, SeccompProfile};
use kube::api::{ListParams, PostParams};
use stoker_api::names::{Annotation, TRUE};
use stoker_testkit::object::{PodBuilder, gateway_pod, gateway_sync};

use crate::world::{World, agent, until};

fn plant() -> stoker_testkit::object::GatewaySyncBuilder {
    gateway_sync("plant")
        .repo("https://git.example.com/plant.git")
        .git_ref("main")
        .mapping(".", "projects")
}

/// A gateway that the restricted Pod Security Standard admits.
fn restricted(name: &str) -> PodBuilder {
    gateway_pod(name)
        .gateway(|gateway| {
            let context = gateway.security_context.get_or_insert_default();
            context.allow_privilege_escalation = Some(false);
            context.run_as_non_root = Some(true);
            context.run_as_user = Some(2003);
            context.capabilities.get_or_insert_default().drop = Some(vec!["ALL".to_owned()]);
            context.seccomp_profile =
                Some(SeccompProfile { type_: "RuntimeDefault".to_owned(), ..Default::default() });
        })
        .fs_group(2003)
}

#[tokio::test(flavor = "multi_thread")]
async fn two_annotations_bring_the_agent_into_a_pod() {
    let world = World::start().await;
    world.sync(plant().token("pat").api_key("key")).await;
    let pod = world.pod(gateway_pod("ignition-0").seeded().cr("plant")).await.unwrap();
    let agent = agent(&pod).expect("the agent is there");
    assert_eq!(agent["restartPolicy"], "Always");
    let names: Vec<&str> =
        pod.spec.as_ref().unwrap().init_containers.iter().flatten().map(|it| &*it.name).collect();
    assert_eq!(names.last(), Some(&"stoker-agent"));
    assert_eq!(pod.metadata.labels.as_ref().unwrap()["stoker.io/agent"], TRUE);
    // The pod has a service account token, and the agent uses it.
    let mounts = agent["volumeMounts"].as_array().unwrap();
    let token =
        mounts.iter().find(|it| it["mountPath"] == "/var/run/secrets/kubernetes.io/serviceaccount");
    assert!(token.unwrap()["name"].as_str().unwrap().starts_with("kube-api-access-"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_without_token_gets_one_for_the_agent_alone() {
    let world = World::start().await;
    world.sync(plant()).await;
    let pod = gateway_pod("g").spec(|spec| spec.automount_service_account_token = Some(false));
    let pod = world.pod(pod).await.unwrap();
    let spec = pod.spec.as_ref().unwrap();
    assert!(agent(&pod).unwrap().to_string().contains("\"api-token\""));
    let gateway = serde_json::to_string(&spec.containers).unwrap();
    assert!(!gateway.contains("serviceaccount"), "{gateway}");
}

#[tokio::test(flavor = "multi_thread")]
async fn controllers_of_pods_get_injected_pods() {
    let world = World::start().await;
    world.sync(plant()).await;
    for kind in ["StatefulSet", "Deployment", "DaemonSet"] {
        let name = kind.to_lowercase();
        let pod = gateway_pod("x").build();
        let workload = serde_json::json!({
            "apiVersion": "apps/v1",
            "kind": kind,
            "metadata": { "name": name },
            "spec": {
                "selector": { "matchLabels": { "app": name } },
                "template": {
                    "metadata": { "labels": { "app": name }, "annotations": pod.metadata.annotations },
                    "spec": pod.spec,
                },
            },
        });
        world.namespace.apply(&workload.to_string());
    }
    // Without a node a DaemonSet has no pods.
    for name in ["statefulset", "deployment"] {
        let labelled = ListParams::default().labels(&format!("app={name}"));
        let pod = until("its pod exists", async || {
            world.api::<Pod>().list(&labelled).await.unwrap().items.pop()
        })
        .await;
        assert!(agent(&pod).is_some(), "{name}");
        assert_eq!(pod.metadata.annotations.unwrap()[Annotation::CrName.as_str()], "plant");
    }
}

// S1
#[tokio::test(flavor = "multi_thread")]
async fn a_gatewaysync_and_its_pod_may_arrive_together() {
    let world = World::start().await;
    for number in 0..10 {
        let name = format!("plant-{number}");
        let sync = plant().build();
        let sync = stoker_api::GatewaySync::new(&name, sync.spec);
        world.create(&sync).await.unwrap();
        let pod = world.pod(gateway_pod(&format!("g-{number}")).cr(&name).fs_group(1)).await;
        let pod = pod.unwrap();
        // It was not taken for one that is yet to come: its hash is that of an existing one.
        let agent = agent(&pod).unwrap().to_string();
        assert!(agent.contains(&name));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn warnings_are_seen_by_kubectl() {
    let world = World::start().await;
    world.sync(plant()).await;
    let pod = gateway_pod("g").profile("nowhere").fs_group(1).build();
    let output = world.namespace.try_apply(
        &serde_json::to_string(&serde_json::json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": pod.metadata, "spec": pod.spec,
        }))
        .unwrap(),
    );
    let shown = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{shown}");
    assert!(
        shown.contains("Warning: stoker: GatewaySync \"plant\" has no profile \"nowhere\": set stoker.io/profile to one of default"),
        "{shown}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_strict_namespace_denies_what_is_wrong_and_nothing_else() {
    let world = World::start().await;
    world.sync(plant()).await;
    world.label("stoker.io/injection-policy=strict");
    let denied = until("the policy counts", async || {
        let created = world.pod(gateway_pod("g").cr("other").fs_group(1)).await;
        if created.is_ok() {
            let delete = kube::api::DeleteParams::default().grace_period(0);
            world.api::<Pod>().delete("g", &delete).await.unwrap();
        }
        created.err()
    })
    .await;
    assert!(denied.to_string().contains("GatewaySync \"other\" does not exist, there is plant"));
    until("an event tells of it", async || {
        let events = world.api::<k8s_openapi::api::events::v1::Event>();
        let listed = events.list(&ListParams::default()).await.unwrap();
        listed.items.into_iter().find(|it| it.reason.as_deref() == Some("InjectionDenied"))
    })
    .await;
    world.pod(gateway_pod("fine").cr("plant").fs_group(1)).await.unwrap();
    world.pod(gateway_pod("plain").without_annotation(Annotation::Inject)).await.unwrap();
}

// D8
#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_is_denied_without_an_event() {
    let world = World::with(&["--injection-policy=strict".to_owned()]).await;
    world.sync(plant()).await;
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    let tried = gateway_pod("g").cr("tried").fs_group(1).build();
    world.api::<Pod>().create(&dry_run, &tried).await.unwrap_err();
    world.pod(gateway_pod("g").cr("other").fs_group(1)).await.unwrap_err();
    // Events are written in the order of denials.
    let denied = until("an event tells of the pod that was not a dry run", async || {
        let events = world.api::<k8s_openapi::api::events::v1::Event>();
        let events = events.list(&ListParams::default()).await.unwrap().items;
        let denied =
            events.into_iter().filter(|it| it.reason.as_deref() == Some("InjectionDenied"));
        let denied: Vec<_> = denied.filter_map(|it| it.regarding?.name).collect();
        (!denied.is_empty()).then_some(denied)
    })
    .await;
    assert_eq!(denied, ["other"]);
}

// D4
#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_enforces_the_restricted_standard_accepts_the_agent() {
    let world = World::start().await;
    world.sync(plant().token("pat")).await;
    world.label("pod-security.kubernetes.io/enforce=restricted");
    let pod = world.pod(restricted("g")).await.unwrap();
    assert!(agent(&pod).is_some());
}

// D4
#[tokio::test(flavor = "multi_thread")]
async fn odd_pods_are_valid_with_the_agent() {
    let world = World::start().await;
    world.sync(plant()).await;
    let generated = gateway_pod("x").fs_group(1).build();
    let mut generated = generated;
    generated.metadata.name = None;
    generated.metadata.generate_name = Some("generated-".to_owned());
    assert!(agent(&world.create(&generated).await.unwrap()).is_some());
    let host = gateway_pod("host").spec(|spec| spec.host_network = Some(true));
    assert!(agent(&world.pod(host).await.unwrap()).is_some());
    let job = gateway_pod("job").spec(|spec| spec.restart_policy = Some("Never".to_owned()));
    assert!(agent(&world.pod(job).await.unwrap()).is_some());
    let bare = gateway_pod("bare").spec(|spec| {
        spec.volumes = None;
        spec.containers[0].volume_mounts = None;
    });
    assert!(agent(&world.pod(bare).await.unwrap()).is_some());
    let windows = gateway_pod("windows").spec(|spec| {
        spec.os = Some(k8s_openapi::api::core::v1::PodOS { name: "windows".to_owned() });
    });
    assert!(agent(&world.pod(windows).await.unwrap()).is_none());
}

// D1
#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_is_down_keeps_no_pod_from_being_created() {
    let mut world = World::start().await;
    world.sync(plant()).await;
    world.stop();
    let begun = Instant::now();
    let pod = world.pod(gateway_pod("g")).await.unwrap();
    assert!(begun.elapsed() < Duration::from_millis(3500), "{:?}", begun.elapsed());
    assert!(agent(&pod).is_none());
    world.restart();
    world.ready().await;
    assert!(agent(&world.pod(gateway_pod("again")).await.unwrap()).is_some());
}
