//! Claims about pods at their creation.

use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::world::{World, mark, policy, until};

fn value(pod: &Pod) -> Value {
    serde_json::to_value(pod).unwrap()
}

fn image(pod: &Pod) -> String {
    value(pod)["spec"]["containers"][0]["image"].as_str().unwrap().to_owned()
}

fn annotations(pairs: &[(&str, &str)]) -> Value {
    let all = pairs.iter().map(|(key, value)| ((*key).to_owned(), json!(value)));
    json!({ "metadata": { "annotations": Value::Object(all.collect()) } })
}

const REWRITTEN: &str = "registry.plant.example/dockerhub/library/nginx:1.27";

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_gets_registry_pull_secret_certificates_and_variables() {
    let mut world = World::start().await;
    let line = world.namespace(&[]).await;
    let pod = value(&world.whole_pod(&line).await);
    let app = &pod["spec"]["containers"][0];
    assert_eq!(app["image"], REWRITTEN);
    assert_eq!(pod["spec"]["imagePullSecrets"], json!([{ "name": "plant-registry" }]));
    let mounts = app["volumeMounts"].as_array().unwrap();
    let mount = mounts.iter().find(|it| it["mountPath"] == "/etc/stoker/ca").unwrap();
    assert_eq!(mount["readOnly"], true);
    let volumes = pod["spec"]["volumes"].as_array().unwrap();
    let volume = volumes.iter().find(|it| it["name"] == mount["name"]).unwrap();
    assert_eq!(volume["projected"]["sources"][0]["configMap"]["optional"], true);
    assert_eq!(app["env"][0]["value"], "/etc/stoker/ca/bundle.crt");
    assert_eq!(app["env"][1], json!({ "name": "FIPS_MODE", "value": "1" }));
    let kept = &pod["metadata"]["annotations"]["stoker.io/original-images"];
    assert_eq!(kept, "{\"app\":\"nginx:1.27\"}");
}

// K6: opt-out at each level, and the pod before its namespace.
#[tokio::test(flavor = "multi_thread")]
async fn pods_and_namespaces_opt_out_and_in() {
    let mut world = World::start().await;
    let line = world.namespace(&[]).await;
    world.whole_pod(&line).await;
    let off = annotations(&[("stoker.io/bootstrap", "disabled")]);
    let pod = world.pod(&line, "off", &off).await;
    assert_eq!((image(&pod).as_str(), mark(&pod)), ("nginx:1.27", None));
    let partly = annotations(&[("stoker.io/bootstrap-registry", "disabled")]);
    let pod = world.pod(&line, "partly", &partly).await;
    assert_eq!(image(&pod), "nginx:1.27");
    assert!(mark(&pod).is_some());
    // A namespace that is younger than the cache is read: its opt-out holds for its first pod.
    for number in 0..5 {
        let quiet = world.namespace(&[("stoker.io/bootstrap", "disabled")]).await;
        let pod = world.pod(&quiet, "first", &json!({})).await;
        assert_eq!(image(&pod), "nginx:1.27", "namespace {number}");
        let on = annotations(&[("stoker.io/bootstrap", "enabled")]);
        assert_eq!(image(&world.pod(&quiet, "on", &on).await), REWRITTEN);
    }
    // And it can opt out later, live.
    let api: Api<Namespace> = Api::all(world.client.clone());
    let patch = annotations(&[("stoker.io/bootstrap", "disabled")]);
    api.patch(&line, &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    let count = std::cell::Cell::new(0);
    until("the namespace has opted out", async || {
        count.set(count.get() + 1);
        let pod = world.pod(&line, &format!("late-{}", count.get()), &json!({})).await;
        (image(&pod) == "nginx:1.27").then_some(())
    })
    .await;
}

// K13: the first pod of a namespace refers to the pull secret, which arrives by itself.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_pod_of_a_fresh_namespace_comes_up_without_help() {
    let mut world = World::start().await;
    for _ in 0..5 {
        let line = world.namespace(&[]).await;
        let pod = world.pod(&line, "first", &json!({})).await;
        assert_eq!(image(&pod), REWRITTEN);
        let secrets = &value(&pod)["spec"]["imagePullSecrets"];
        assert_eq!(*secrets, json!([{ "name": "plant-registry" }]));
        world.copied(&line).await;
    }
}

// K14: an invalid policy is rejected, and one that slips through leaves the last good in force.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_the_policy_counts_at_once_and_an_invalid_one_never() {
    let mut world = World::start().await;
    let line = world.namespace(&[]).await;
    world.whole_pod(&line).await;
    let next = async |world: &World| {
        let name = format!("pod-{}", fastrand::u32(..));
        image(&world.pod(&line, &name, &json!({})).await)
    };
    let mut spec = policy();
    spec["registries"][0]["to"] = json!("mirror.plant.example");
    world.policy(&spec).await;
    let expected = "mirror.plant.example/library/nginx:1.27";
    until("the change counts", async || (next(&world).await == expected).then_some(())).await;
    // The schema takes it; the meaning of the two is the same.
    spec["registries"] = json!([
        { "from": "docker.io", "to": "a.plant.example" },
        { "from": "index.docker.io", "to": "b.plant.example" },
    ]);
    world.policy(&spec).await;
    let message = world.reason("Ready", "PolicyInvalid").await;
    assert!(message.contains("is mapped twice"), "{message}");
    assert!(message.contains("the last valid policy stays in force"), "{message}");
    assert_eq!(next(&world).await, expected);
    // A new process knows it as well, and the copies stay.
    world.restart();
    world.ready().await;
    until("a new process uses it", async || (next(&world).await == expected).then_some(())).await;
    world.reason("Ready", "PolicyInvalid").await;
    let secrets = world.api::<k8s_openapi::api::core::v1::Secret>(&line);
    assert!(secrets.get_opt("plant-registry").await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_policy_nothing_happens() {
    let mut world = World::bare().await;
    let line = world.namespace(&[]).await;
    let pod = world.pod(&line, "plain", &json!({})).await;
    assert_eq!((image(&pod).as_str(), mark(&pod)), ("nginx:1.27", None));
}

// K7: only what is new of the ephemeral containers changes.
#[tokio::test(flavor = "multi_thread")]
async fn ephemeral_containers_are_bootstrapped() {
    let mut world = World::start().await;
    let line = world.namespace(&[]).await;
    let pod = world.whole_pod(&line).await;
    let name = pod.metadata.name.unwrap();
    let api: Api<Pod> = world.api(&line);
    let patch =
        json!({ "spec": { "ephemeralContainers": [{ "name": "debug", "image": "busybox" }] } });
    let debugged = api
        .patch_subresource(
            "ephemeralcontainers",
            &name,
            &PatchParams::default(),
            &Patch::Strategic(&patch),
        )
        .await
        .unwrap();
    let debug = &value(&debugged)["spec"]["ephemeralContainers"][0];
    assert_eq!(debug["image"], "registry.plant.example/dockerhub/library/busybox");
    assert_eq!(debug["volumeMounts"][0]["mountPath"], "/etc/stoker/ca");
    assert_eq!(debug["env"][0]["name"], "SSL_CERT_FILE");
}

// What fails admits the pod unchanged, with a warning, an event and a count.
#[tokio::test(flavor = "multi_thread")]
async fn what_fails_admits_the_pod_unchanged_and_says_so() {
    let world = World::start().await;
    until("the policy is in force", async || {
        let policy = world.read_policy().await;
        policy.status.is_some_and(|status| !status.conditions.is_empty()).then_some(())
    })
    .await;
    let failed = "stoker_bootstrap_reviews_total{result=\"failed\"}";
    let before = world.metric(failed).await;
    // The namespace can't be read: there is none of this name.
    let unknown = format!("unknown-{}", fastrand::u32(..));
    let pod = json!({ "metadata": {}, "spec": { "containers": [{ "name": "app", "image": "nginx:1.27" }] } });
    let response = world
        .review(&json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {
                "uid": "u", "operation": "CREATE", "namespace": unknown, "object": pod,
            },
        }))
        .await;
    let response = &response["response"];
    assert_eq!((&response["allowed"], &response["patch"]), (&json!(true), &Value::Null));
    let warning = response["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("stoker: the pod is admitted without bootstrap: "), "{warning}");
    assert!(warning.contains(&unknown), "{warning}");
    assert!(world.metric(failed).await > before, "it is counted");
    let events: Api<Event> = world.api("default");
    until("there is an event", async || {
        let listed = events.list(&ListParams::default()).await.unwrap();
        let is_meant = |event: &Event| {
            event.reason.as_deref() == Some("BootstrapFailed")
                && event.note.as_ref().is_some_and(|note| note.contains(&unknown))
        };
        listed.items.iter().any(is_meant).then_some(())
    })
    .await;
}

// I2, K6: an annotation that changes while pods run changes nothing of them.
#[tokio::test(flavor = "multi_thread")]
async fn an_opt_out_does_not_change_pods_that_run() {
    let mut world = World::start().await;
    let line = world.namespace(&[]).await;
    let pod = world.whole_pod(&line).await;
    let name = pod.metadata.name.clone().unwrap();
    let off = annotations(&[("stoker.io/bootstrap", "disabled")]);
    let pods = world.api::<Pod>(&line);
    let parameters = PatchParams::default();
    let changed = pods.patch(&name, &parameters, &Patch::Merge(&off)).await.unwrap();
    assert_eq!(changed.spec, pod.spec);
    assert_eq!(mark(&changed), mark(&pod));
    // The mark goes neither with the namespace's opt-out.
    let namespaces: Api<Namespace> = Api::all(world.client.clone());
    namespaces.patch(&line, &parameters, &Patch::Merge(&off)).await.unwrap();
    let same = pods.get(&name).await.unwrap();
    assert_eq!((same.spec, mark(&pod)), (pod.spec.clone(), mark(&pod)));
}
