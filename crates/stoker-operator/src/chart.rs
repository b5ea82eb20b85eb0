//! The chart and this program agree: the API server accepts what the chart renders, and this program
//! accepts the flags that it sets.

mod alert;
mod metric;
mod right;
mod value;

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use clap::Parser as _;
use serde_json::Value;
use stoker_testkit::cluster::Cluster;
use stoker_testkit::node::succeed;

use crate::args::Arguments;

const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../charts/stoker-operator");

// R70, R71, R72: each set of values renders objects that the API server takes, and flags that this
// program takes.
#[test]
fn the_api_server_accepts_the_chart_and_this_program_its_flags() {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace();
    let sets = value::sets(namespace.name());
    assert!(sets.len() >= 30, "the matrix has {} sets", sets.len());
    for values in sets {
        let rendered = render(cluster, namespace.name(), &values);
        let objects = accept(cluster, &rendered, &values);
        let started: Vec<_> = objects.iter().filter_map(arguments_of).collect();
        assert!(started.len() >= 3, "the operator and its hooks: {values}");
        for arguments in started {
            let program = std::iter::once("stoker-operator".to_owned());
            if let Err(error) = Arguments::try_parse_from(program.chain(arguments)) {
                panic!("{values}: {error}");
            }
        }
    }
}

// K12: the manifest and the decision record agree about what happens when the webhook is away.
#[test]
fn pods_are_created_without_the_bootstrap_webhook() {
    let record = include_str!("../../../docs/decisions/0024-podbootstrap-is-a-kind-of-its-own.md");
    assert!(record.contains("`failurePolicy: Ignore`, with a timeout of one second"));
    let cluster = Cluster::shared();
    let namespace = cluster.namespace();
    let values = "bootstrap.enabled=true";
    let rendered = render(cluster, namespace.name(), values);
    let objects = accept(cluster, &rendered, values);
    let configurations = objects.iter().filter(|it| it["kind"] == "MutatingWebhookConfiguration");
    let webhooks = configurations.flat_map(|it| it["webhooks"].as_array().into_iter().flatten());
    let bootstrap: Vec<_> = webhooks.filter(|it| it["name"] == "pod-bootstrap.stoker.io").collect();
    let [webhook] = bootstrap[..] else { panic!("one webhook, not {}", bootstrap.len()) };
    assert_eq!(webhook["failurePolicy"], "Ignore");
    assert_eq!(webhook["timeoutSeconds"], 1);
    assert_eq!(webhook["reinvocationPolicy"], "IfNeeded");
}

// Rights are given by name: without them a shard would never lead.
#[test]
fn the_chart_grants_and_checks_the_lease_that_the_operator_seeks() {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace();
    for values in ["", "shard=1/3"] {
        let objects = accept(cluster, &render(cluster, namespace.name(), values), values);
        let started: Vec<_> = objects.iter().filter_map(arguments_of).collect();
        let is_operator = |it: &&Vec<String>| it.iter().any(|flag| flag.starts_with("--leader"));
        let operator = started.iter().find(is_operator).unwrap().clone();
        let program = std::iter::once("stoker-operator".to_owned());
        let lease = Arguments::try_parse_from(program.chain(operator)).unwrap().lease();
        let named: Vec<_> =
            started.iter().flatten().filter(|it| it.starts_with("--lease=")).collect();
        assert_eq!(named, vec![&format!("--lease={lease}"); 2], "check and release");
        let rules = objects.iter().flat_map(|it| it["rules"].as_array().into_iter().flatten());
        let leases = rules.filter(|it| it["resources"] == serde_json::json!(["leases"]));
        let granted: Vec<_> = leases.filter_map(|it| it["resourceNames"].as_array()).collect();
        assert_eq!(granted, vec![&vec![Value::from(lease)]; 3], "operator, check and release");
    }
}

#[test]
fn helm_finds_nothing_wrong_with_the_chart() {
    succeed(Cluster::shared().helm().args(["lint", "--strict", CHART]));
}

#[test]
fn values_that_can_not_work_are_refused_with_the_value_and_the_remedy() {
    let table = [
        ("webhook.seperate=true", "seperate"),
        ("bootstrap.enabled=true,webhook.enabled=false", "bootstrap.enabled needs webhook.enabled"),
        ("bootstrap.enabled=true,watchNamespaces={a}", "can't be combined with watchNamespaces"),
        ("webhook.failurePolicy=Fail", "failurePolicy"),
        ("image.digest=latest", "digest"),
        ("repair=null", "--reset-then-reuse-values"),
        ("certManager.issuerRef.kind=Issuer", "certManager.issuerRef needs a name"),
        (
            "webhook.separate=true,webhook.enabled=false,webhookReceiver.enabled=false",
            "webhook.separate needs webhook.enabled",
        ),
    ];
    for (values, expected) in table {
        let output = template(Cluster::shared(), "plant", values).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{values}");
        assert!(error.contains(expected), "{values}: {error}");
    }
}

// R66: the agent is a native sidecar.
#[test]
fn a_cluster_without_native_sidecars_is_refused() {
    for (version, is_taken) in [("1.28.0", false), ("1.30.0", true)] {
        let mut command = template(Cluster::shared(), "plant", "");
        let output = command.args(["--kube-version", version]).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), is_taken, "{version}: {error}");
        assert!(is_taken || error.contains("kubeVersion: >=1.30"), "{error}");
    }
}

#[test]
fn no_pod_of_the_chart_runs_as_root_or_writes_to_its_image() {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace();
    let label = "pod-security.kubernetes.io/enforce=restricted";
    let mut command = cluster.kubectl();
    command.args(["label", "namespace", namespace.name(), label]);
    assert!(command.stdout(Stdio::null()).status().unwrap().success());
    let rendered = render(cluster, namespace.name(), "webhook.separate=true,crds.upgrade=true");
    let mut pods = 0;
    for object in accept(cluster, &rendered, "restricted") {
        let Some(pod) = pod_of(&object) else { continue };
        let mut manifest = serde_json::json!({
            "apiVersion": "v1", "kind": "Pod", "spec": pod,
            "metadata": {"name": "probe", "namespace": namespace.name()},
        });
        // The account comes with the chart, and this pod is only tried.
        for name in ["serviceAccountName", "serviceAccount"] {
            manifest["spec"].as_object_mut().unwrap().remove(name);
        }
        accept(cluster, &manifest.to_string(), "restricted");
        let container = &pod["containers"][0]["securityContext"];
        assert_eq!(container["readOnlyRootFilesystem"], true);
        pods += 1;
    }
    assert_eq!(pods, 5, "controller, webhook, and the hooks crds, release and check");
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
fn accept(cluster: &Cluster, manifest: &str, values: &str) -> Vec<Value> {
    value::install_kinds(cluster);
    // What is tried in a namespace needs one that exists.
    for namespace in manifest.split("\n---").filter(|it| it.contains("\nkind: Namespace\n")) {
        apply(cluster, &[], namespace, values);
    }
    let output = apply(cluster, &["--dry-run=server", "--output=json"], manifest, values);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!error.contains("would violate PodSecurity"), "{values}: {error}");
    let mut answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    match answer["items"].take() {
        Value::Array(items) => items,
        _ => vec![answer],
    }
}

fn apply(cluster: &Cluster, flags: &[&str], manifest: &str, values: &str) -> Output {
    let mut kubectl = cluster.kubectl();
    kubectl.args(["apply", "--filename=-"]).args(flags);
    kubectl.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = kubectl.spawn().unwrap();
    child.stdin.take().unwrap().write_all(manifest.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{values}: {error}");
    output
}

/// The pod of an object that runs one.
fn pod_of(object: &Value) -> Option<&Value> {
    match object["kind"].as_str()? {
        "Pod" => object.get("spec"),
        _ => object.pointer("/spec/template/spec"),
    }
}

/// The arguments of the program in the object's pod.
fn arguments_of(object: &Value) -> Option<Vec<String>> {
    let arguments = pod_of(object)?.pointer("/containers/0/args")?;
    Some(serde_json::from_value(arguments.clone()).unwrap())
}
