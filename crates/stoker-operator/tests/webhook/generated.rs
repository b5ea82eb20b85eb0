//! Generated pods, as odd as valid pods can be, through the real API server.

use fastrand::Rng;
use k8s_openapi::api::core::v1::Pod;
use kube::api::PostParams;
use serde_json::{Value, json};
use stoker_api::names::Annotation;
use stoker_testkit::object::gateway_sync;

use crate::world::{World, agent};

/// Pods; each is sent three times.
const COUNT: usize = 60;

/// What the containers of one pod share.
struct Shared {
    volumes: Vec<&'static str>,
    /// Ports that no container has yet.
    ports: Vec<u16>,
    is_root_allowed: bool,
}

/// Makes a container.
fn container(name: &str, restart: Option<&str>, shared: &mut Shared, random: &mut Rng) -> Value {
    let paths = ["/usr/local/bin/ignition/data", "/data", "/srv", "/etc/stoker", "/var/lib/x/"];
    let mut mounts = Vec::new();
    for path in paths {
        if random.u8(0..3) != 0 {
            continue;
        }
        let volume = random.choice(&shared.volumes).unwrap();
        let mut mount = json!({ "name": volume, "mountPath": path });
        match random.u8(0..4) {
            0 => mount["subPath"] = json!("site/a"),
            1 => mount["subPathExpr"] = json!("$(SITE)/$(POD_NAME)"),
            _ => {}
        }
        mounts.push(mount);
    }
    let taken = random.usize(0..2).min(shared.ports.len());
    let own: Vec<Value> =
        shared.ports.drain(..taken).map(|port| json!({ "containerPort": port })).collect();
    let mut container = json!({
        "name": name,
        "image": "x:1",
        "volumeMounts": mounts,
        "ports": own,
        "env": [
            { "name": "SITE", "value": "press-$$(X)" },
            { "name": "POD_NAME", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } },
        ],
    });
    if random.bool() {
        let user = if shared.is_root_allowed && random.bool() { 0 } else { 2003 };
        container["securityContext"] = json!({ "runAsUser": user, "runAsGroup": 2003 });
    }
    if let Some(restart) = restart {
        container["restartPolicy"] = json!(restart);
    }
    container
}

/// Makes a pod that is valid, and asks for an agent.
fn pod(random: &mut Rng, number: usize) -> Value {
    let names =
        ["data", "ignition-data", "tmp", "sync-repo", "agent", "api-token", "pod-info", "x"];
    let mut volumes: Vec<&str> = names.into_iter().filter(|_| random.bool()).collect();
    if volumes.is_empty() {
        volumes.push("data");
    }
    let mut ports = vec![8082, 8083, 8084, 8085, 8088, 80, 443];
    random.shuffle(&mut ports);
    let mut shared = Shared { volumes, ports, is_root_allowed: random.bool() };
    let init = [("seed", None), ("istio-proxy", Some("Always")), ("linkerd-proxy", None)];
    let init: Vec<(&str, Option<&str>)> = init.into_iter().filter(|_| random.bool()).collect();
    let init: Vec<Value> = init
        .into_iter()
        .map(|(name, restart)| container(name, restart, &mut shared, random))
        .collect();
    let mut containers = vec![container("gateway", None, &mut shared, random)];
    if random.bool() {
        containers.insert(random.usize(0..2), container("helper", None, &mut shared, random));
    }
    let values = ["plant", "first", "data", "x", "60", "true", "a b\nc", "$(POD_UID)", "../x", ""];
    let mut annotations = serde_json::Map::new();
    for name in Annotation::ALL {
        if random.u8(0..4) == 0 {
            annotations.insert(name.as_str().to_owned(), json!(random.choice(values).unwrap()));
        }
    }
    annotations.insert(Annotation::Inject.as_str().to_owned(), json!("true"));
    let is_on_host = random.u8(0..5) == 0;
    let mut spec = json!({
        "initContainers": init,
        "containers": containers,
        "volumes": shared.volumes.iter().map(|it| json!({ "name": it, "emptyDir": {} })).collect::<Vec<_>>(),
        "hostNetwork": is_on_host,
        "automountServiceAccountToken": random.bool(),
        "imagePullSecrets": [{ "name": "registry" }],
    });
    if random.bool() {
        spec["securityContext"] = json!({ "fsGroup": 2003, "runAsUser": 2003 });
    }
    let labels =
        if random.bool() { json!({ "app.kubernetes.io/name": "press" }) } else { json!({}) };
    json!({
        "metadata": { "name": format!("g-{number}"), "annotations": annotations, "labels": labels },
        "spec": spec,
    })
}

// D3: the API server accepts what comes out, and a second time changes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn generated_pods_are_valid_with_the_agent_and_injected_once() {
    let world = World::with(&["--agent-pull-secret=registry,other".to_owned()]).await;
    world.sync(gateway_sync("plant").mapping(".", "projects").token("pat").api_key("key")).await;
    let pods = world.api::<Pod>();
    let parameters = PostParams { dry_run: true, ..PostParams::default() };
    let mut random = Rng::with_seed(20_261_116);
    let mut injected = 0;
    for number in 0..COUNT {
        let given = pod(&mut random, number);
        let mut plain = given.clone();
        plain["metadata"]["annotations"][Annotation::Inject.as_str()] = json!("false");
        let create = async |pod: &Value| {
            pods.create(&parameters, &serde_json::from_value::<Pod>(pod.clone()).unwrap()).await
        };
        create(&plain).await.unwrap_or_else(|error| panic!("{error}: {plain:#}"));
        let once = create(&given).await.unwrap_or_else(|error| panic!("{error}: {given:#}"));
        injected += usize::from(agent(&once).is_some());
        let mut again = once.clone();
        again.metadata.uid = None;
        again.metadata.creation_timestamp = None;
        let twice = pods.create(&parameters, &again).await.unwrap();
        assert_eq!(twice.spec, once.spec);
        assert_eq!(twice.metadata.annotations, once.metadata.annotations);
    }
    assert!(injected > COUNT / 2, "{injected} of {COUNT}");
}
