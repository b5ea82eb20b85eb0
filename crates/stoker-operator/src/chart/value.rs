//! What a user may set, and the kinds of others that some values need.

use std::io::Write as _;
use std::process::Stdio;
use std::sync::Once;

use stoker_testkit::cluster::Cluster;

const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Kinds of cert-manager and of the Prometheus operator. Only their names count here.
const FOREIGN: [(&str, &str, &str); 5] = [
    ("cert-manager.io", "Certificate", "certificates"),
    ("cert-manager.io", "Issuer", "issuers"),
    ("monitoring.coreos.com", "PodMonitor", "podmonitors"),
    ("monitoring.coreos.com", "PrometheusRule", "prometheusrules"),
    ("monitoring.coreos.com", "ServiceMonitor", "servicemonitors"),
];

/// Sets of values, as `--set` takes them.
const SETS: &[&str] = &[
    "",
    "leaderElection.enabled=false",
    "replicaCount=1",
    "replicaCount=0",
    "webhook.enabled=false",
    "webhook.enabled=false,webhookReceiver.enabled=false",
    "webhook.port=10443",
    "webhook.namespaceSelector.requireLabel=true",
    "webhook.namespaceSelector.requireLabel=false",
    "webhook.separate=true",
    "webhook.separate=true,webhook.replicas=1,webhook.resources.limits.memory=64Mi",
    "webhook.separate=true,webhook.enabled=false",
    "webhook.injectionPolicy=strict,webhook.allowedAgentImages={a.example.com/agent,b/agent}",
    "webhookReceiver.enabled=false",
    "webhookReceiver.insecure=true",
    "webhookReceiver.rateLimit=5,webhookReceiver.trustedProxies={10.0.0.0/8},webhookReceiver.tls.secretName=receiver-tls",
    "webhookReceiver.hmac.secret=a",
    "webhookReceiver.hmac.secretRef.name=a,webhookReceiver.hmac.secretRef.key=b",
    "webhookReceiver.token.secret=a,webhookReceiver.hmac.secret=b",
    "webhookReceiver.ingress.enabled=true,webhookReceiver.ingress.hosts[0].host=a.example.com",
    "certManager.enabled=true",
    "certManager.enabled=true,certManager.issuerRef.kind=ClusterIssuer,certManager.issuerRef.name=a",
    "certManager.enabled=true,webhook.separate=true",
    "watchLabelSelector=team=press",
    "shard=1/2",
    "maxConcurrentReconciles=20,git.denyCidrs={10.0.0.0/8,fd00::/8}",
    "defaults.polling.interval=2m,defaults.logLevel=debug",
    "repair.mode=off",
    "repair.mode=evict,repair.perMinute=1",
    "rbac.goAgentRole=false",
    "rbac.secretAccess=get",
    "controller.logDevMode=true",
    "controller.extraArgs={--max-concurrent-reconciles=10,--log-level=debug}",
    "allowFileRepos=true,rbac.autoBindAgent.enabled=false",
    "metrics.enabled=false",
    "metrics.service.type=NodePort,metrics.service.port=9090",
    "serviceMonitor.enabled=true,serviceMonitor.interval=15s,serviceMonitor.labels.team=a",
    "podMonitor.enabled=true,podMonitor.scrapeTimeout=5s",
    "prometheusRule.enabled=true,prometheusRule.labels.team=a",
    "grafanaDashboard.enabled=true,grafanaDashboard.annotations.folder=plants",
    "networkPolicy.enabled=true",
    "networkPolicy.enabled=true,networkPolicy.apiServer.cidrs={10.0.0.1/32},git.egressPorts={443}",
    "networkPolicy.enabled=true,webhook.enabled=false,webhookReceiver.enabled=false",
    "bootstrap.enabled=true",
    "bootstrap.enabled=true,bootstrap.includeKubeSystem=true,webhook.separate=true",
    "crds.upgrade=false",
    "fullnameOverride=a-name-that-is-longer-than-the-forty-six-characters-left",
    "nameOverride=other,podLabels.team=press,podAnnotations.note=x",
    "imagePullSecrets[0].name=registry,priorityClassName=system-cluster-critical",
    "agentImage.pullSecrets[0].name=a,agentImage.pullSecrets[1].name=b",
    "nodeSelector.disk=ssd,tolerations[0].operator=Exists",
    "topologySpreadConstraints[0].maxSkew=1,topologySpreadConstraints[0].topologyKey=zone,topologySpreadConstraints[0].whenUnsatisfiable=ScheduleAnyway",
    "extraVolumes[0].name=a,extraVolumes[0].emptyDir.medium=Memory,extraVolumeMounts[0].name=a,extraVolumeMounts[0].mountPath=/a",
    "extraObjects[0].apiVersion=v1,extraObjects[0].kind=ConfigMap,extraObjects[0].metadata.name=a",
];

/// Returns all sets of values. Some name a namespace, which has to exist.
pub(super) fn sets(namespace: &str) -> Vec<String> {
    let with_names = [
        format!("image.digest={DIGEST},agentImage.digest={DIGEST}"),
        format!("webhook.namespaces={{{namespace},plant-b}}"),
        format!("watchNamespaces={{{namespace}}}"),
        format!("watchNamespaces={{{namespace}}},webhook.separate=true,repair.mode=evict"),
    ];
    SETS.iter().map(|set| (*set).to_owned()).chain(with_names).collect()
}

/// Makes our kinds and those of others known to the API server, once.
pub(super) fn install_kinds(cluster: &Cluster) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| apply_kinds(cluster));
}

fn apply_kinds(cluster: &Cluster) {
    let definition = |(group, kind, plural): (&str, &str, &str)| {
        let schema = r#"{"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}"#;
        let singular = kind.to_lowercase();
        format!(
            r#"{{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {{"name": "{plural}.{group}"}},
            "spec": {{"group": "{group}", "scope": "Namespaced",
            "names": {{"kind": "{kind}", "plural": "{plural}", "singular": "{singular}"}},
            "versions": [{{"name": "v1", "served": true, "storage": true, "schema": {schema}}}]}}}}"#
        )
    };
    let ours = stoker_api::crd::all().into_iter().map(|it| serde_json::to_string(&it).unwrap());
    let mut kubectl = cluster.kubectl();
    kubectl.args(["apply", "--server-side", "--force-conflicts", "--filename=-"]);
    let mut child =
        kubectl.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("kubectl is there");
    let mut input = child.stdin.take().unwrap();
    for text in FOREIGN.map(definition).into_iter().chain(ours) {
        writeln!(input, "---\n{text}").unwrap();
    }
    drop(input);
    assert!(child.wait().unwrap().success());
    let mut wait = cluster.kubectl();
    wait.args(["wait", "--for=condition=Established", "--timeout=30s", "crd", "--all"]);
    stoker_testkit::node::succeed(&mut wait);
}
