//! The chart and this program agree: the API server accepts what the chart renders, and this program
//! accepts the flags that it sets.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use clap::Parser as _;
use serde_json::Value;
use stoker_testkit::cluster::Cluster;

use crate::args::Arguments;

const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../charts/stoker-operator");
const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// What a user may set, as `--set` takes it.
fn sets_of_values() -> Vec<String> {
    [
        "",
        "leaderElection.enabled=false",
        "replicaCount=1",
        "webhook.enabled=false",
        "webhook.port=10443",
        "webhook.namespaceSelector.requireLabel=true",
        "webhook.namespaceSelector.requireLabel=false",
        "webhookReceiver.enabled=false",
        "webhookReceiver.insecure=true",
        "webhookReceiver.hmac.secret=a",
        "webhookReceiver.hmac.secretRef.name=a,webhookReceiver.hmac.secretRef.key=b",
        "webhookReceiver.token.secret=a,webhookReceiver.hmac.secret=b",
        "webhookReceiver.ingress.enabled=true,webhookReceiver.ingress.hosts[0].host=a.example.com",
        "controller.logDevMode=true",
        "controller.extraArgs={--max-concurrent-reconciles=10,--log-level=debug}",
        "allowFileRepos=true,rbac.autoBindAgent.enabled=false",
        "metrics.enabled=false",
        "fullnameOverride=a-name-that-is-longer-than-the-forty-characters-left",
        "nameOverride=other,podLabels.team=press,podAnnotations.note=x",
        "imagePullSecrets[0].name=registry,priorityClassName=system-cluster-critical",
        "nodeSelector.disk=ssd,tolerations[0].operator=Exists",
    ]
    .into_iter()
    .map(str::to_owned)
    .chain([format!("image.digest={DIGEST},agentImage.digest={DIGEST}")])
    .collect()
}

#[test]
fn the_api_server_accepts_the_chart_and_this_program_its_flags() {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace();
    for values in sets_of_values() {
        let objects = accept(namespace.kubectl(), &render(cluster, namespace.name(), &values));
        let started: Vec<_> = objects.iter().filter_map(arguments_of).collect();
        assert_eq!(started.len(), 2, "the operator and the hook before its end: {values}");
        for arguments in started {
            let program = std::iter::once("stoker-operator".to_owned());
            if let Err(error) = Arguments::try_parse_from(program.chain(arguments)) {
                panic!("{values}: {error}");
            }
        }
    }
}

#[test]
fn a_value_that_does_not_exist_is_refused_by_name() {
    let output = template(Cluster::shared(), "plant", "webhook.separate=true").output().unwrap();
    assert!(!output.status.success());
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("separate"), "{error}");
}

#[test]
fn no_pod_of_the_chart_runs_as_root_or_writes_to_its_image() {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace();
    let label = "pod-security.kubernetes.io/enforce=restricted";
    let mut command = cluster.kubectl();
    command.args(["label", "namespace", namespace.name(), label]);
    assert!(command.stdout(Stdio::null()).status().unwrap().success());
    for object in accept(namespace.kubectl(), &render(cluster, namespace.name(), "")) {
        let Some(pod) = object.pointer("/spec/template/spec") else { continue };
        let mut manifest = serde_json::json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"}, "spec": pod,
        });
        // The account comes with the chart, and this pod is only tried.
        for name in ["serviceAccountName", "serviceAccount"] {
            manifest["spec"].as_object_mut().unwrap().remove(name);
        }
        accept(namespace.kubectl(), &manifest.to_string());
        let container = &pod["containers"][0]["securityContext"];
        assert_eq!(container["readOnlyRootFilesystem"], true);
    }
}

/// What Helm would install with these values.
fn render(cluster: &Cluster, namespace: &str, values: &str) -> String {
    let output = template(cluster, namespace, values).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{values}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

fn template(cluster: &Cluster, namespace: &str, values: &str) -> Command {
    assert!(Path::new(CHART).is_dir());
    let mut helm = cluster.helm();
    helm.args(["template", "stoker-operator", CHART, "--namespace", namespace]);
    helm.args(["--kube-version", "1.34.0"]);
    if !values.is_empty() {
        helm.args(["--set", values]);
    }
    helm
}

/// The objects as the API server would store them.
fn accept(mut kubectl: Command, manifest: &str) -> Vec<Value> {
    kubectl.args(["apply", "--dry-run=server", "--output=json", "--filename=-"]);
    kubectl.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = kubectl.spawn().unwrap();
    child.stdin.take().unwrap().write_all(manifest.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    assert!(!error.contains("would violate PodSecurity"), "{error}");
    let mut answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    match answer["items"].take() {
        Value::Array(items) => items,
        _ => vec![answer],
    }
}

/// The arguments of the program in the object's pod.
fn arguments_of(object: &Value) -> Option<Vec<String>> {
    let arguments = object.pointer("/spec/template/spec/containers/0/args")?;
    Some(serde_json::from_value(arguments.clone()).unwrap())
}
