//! A cluster with a policy, and an operator that follows it.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Once;
use std::time::{Duration, Instant};

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Secret};
use kube::api::{Api, DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::core::{ClusterResourceScope, NamespaceResourceScope};
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use stoker_api::{PodBootstrap, crd};
use stoker_testkit::cluster::Cluster;
use stoker_testkit::https::{Connection, trusting};
use stoker_testkit::node::succeed;
use stoker_testkit::process::{self, Guarded};
use stoker_testkit::proxy::FaultProxy;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{Mutex, MutexGuard};

const WITHIN: Duration = Duration::from_mins(3);
const INTERVAL: Duration = Duration::from_millis(20);
const CONFIGURATION: &str = "stoker-bootstrap-test";
/// The namespace of the operator and of the sources.
pub(crate) const SYSTEM: &str = "bootstrap-system";
/// Only namespaces with this label are sent to the webhook.
const LABEL: &str = "bootstrap-test";

static TURN: Mutex<()> = Mutex::const_new(());

/// A cluster with a policy, and an operator that follows it.
pub(crate) struct World {
    pub(crate) client: Client,
    webhook: u16,
    health: u16,
    metrics: u16,
    operator: Option<Guarded>,
    kubeconfig: PathBuf,
    namespaces: Vec<String>,
    _turn: MutexGuard<'static, ()>,
}

fn cluster() -> &'static Cluster {
    static INSTALLED: Once = Once::new();
    let cluster = Cluster::shared();
    INSTALLED.call_once(|| {
        let namespace = cluster.namespace();
        for definition in crd::all() {
            namespace.apply(&serde_json::to_string(&definition).unwrap());
        }
        let established = ["wait", "--for=condition=Established", "--timeout=30s", "crd"];
        let crds = ["gatewaysyncs.stoker.io", "syncprofiles.stoker.io", "podbootstraps.stoker.io"];
        succeed(cluster.kubectl().args(established).args(crds));
    });
    cluster
}

fn port() -> u16 {
    TcpListener::bind("[::]:0").unwrap().local_addr().unwrap().port()
}

/// The certificate of an authority, as PEM.
pub(crate) fn certificate(name: &str) -> String {
    let mut about = rcgen::CertificateParams::new([name.to_owned()]).unwrap();
    about.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    about.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().pem()
}

/// The content of a pull secret.
pub(crate) fn login(password: &str) -> String {
    json!({ "auths": { "registry.plant.example": { "auth": password } } }).to_string()
}

/// The policy of most claims.
pub(crate) fn policy() -> Value {
    json!({
        "registries": [{ "from": "docker.io", "to": "registry.plant.example/dockerhub" }],
        "pullSecret": { "name": "plant-registry", "sourceNamespace": SYSTEM },
        "caBundle": {
            "source": { "configMap": { "namespace": SYSTEM, "name": "plant-ca" } },
            "env": ["SSL_CERT_FILE"],
        },
        "env": [{ "name": "FIPS_MODE", "value": "1" }],
    })
}

impl World {
    /// Starts an operator with the policy and its sources.
    pub(crate) async fn start() -> Self {
        let world = Self::bare().await;
        world.pull_secret(&login("first")).await;
        world.certificates(&certificate("first.example")).await;
        world.policy(&policy()).await;
        world
    }

    /// Starts an operator without a policy.
    pub(crate) async fn bare() -> Self {
        let turn = TURN.lock().await;
        let client = cluster().client().await;
        let mut world = Self {
            client,
            webhook: port(),
            health: port(),
            metrics: port(),
            operator: None,
            kubeconfig: cluster().kubeconfig().to_owned(),
            namespaces: Vec::new(),
            _turn: turn,
        };
        world.clear().await;
        world.apply(&Namespace { metadata: named(SYSTEM), ..Namespace::default() }).await;
        world.configure_path("/bootstrap-v1-pod");
        world.restart();
        world.ready().await;
        world
    }

    async fn clear(&self) {
        let policies: Api<PodBootstrap> = Api::all(self.client.clone());
        policies.delete("default", &DeleteParams::default()).await.ok();
        let objects = [("secret", "plant-registry"), ("configmap", "plant-ca")];
        for (kind, name) in objects {
            let mut command = cluster().kubectl();
            command.args(["delete", kind, name, "--namespace", SYSTEM, "--ignore-not-found"]);
            command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        }
    }

    /// Installs the webhook configuration, as the chart does, for namespaces of these claims.
    pub(crate) fn configure_path(&self, path: &str) {
        let rule = |resource: &str, operation: &str| {
            json!({
                "apiGroups": [""], "apiVersions": ["v1"], "scope": "Namespaced",
                "resources": [resource], "operations": [operation],
            })
        };
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": { "name": CONFIGURATION },
            "webhooks": [{
                "name": "pod-bootstrap.stoker.io",
                "admissionReviewVersions": ["v1"],
                "clientConfig": {
                    "url": format!("https://127.0.0.1:{}{path}", self.webhook),
                },
                "failurePolicy": "Ignore",
                "sideEffects": "NoneOnDryRun",
                "timeoutSeconds": 1,
                "reinvocationPolicy": "IfNeeded",
                "namespaceSelector": { "matchLabels": { LABEL: "true" } },
                "rules": [rule("pods", "CREATE"), rule("pods/ephemeralcontainers", "UPDATE")],
            }],
        });
        cluster().namespace().apply(&configuration.to_string());
    }

    /// Kills the operator, if it runs, and starts it again.
    pub(crate) fn restart(&mut self) {
        self.stop();
        let mut command = process::command(env!("CARGO_BIN_EXE_stoker-operator")).unwrap();
        command.args(["--bootstrap", "--leader-elect=false", "--receiver-port=0"]);
        command.args(["--log-format=text", "--log-level=warn"]);
        command.args([
            format!("--namespace={SYSTEM}"),
            format!("--webhook-port={}", self.webhook),
            format!("--health-probe-bind-address=127.0.0.1:{}", self.health),
            format!("--metrics-bind-address=127.0.0.1:{}", self.metrics),
            format!("--webhook-configuration={CONFIGURATION}"),
            "--certificate-names=127.0.0.1".to_owned(),
        ]);
        command.env("KUBECONFIG", &self.kubeconfig).stdout(Stdio::null());
        self.operator = Some(Guarded::spawn(command).unwrap());
    }

    /// Kills the operator.
    pub(crate) fn stop(&mut self) {
        self.operator = None;
    }

    /// Puts a proxy between the operator and the API server, from its next start on.
    pub(crate) async fn proxy(&mut self) -> FaultProxy {
        let proxy = FaultProxy::start(cluster().config().await).unwrap();
        self.kubeconfig = cluster().directory().join("bootstrap-proxy.yaml");
        std::fs::write(&self.kubeconfig, proxy.kubeconfig()).unwrap();
        proxy
    }

    /// Says whether the API server serves this version of a kind.
    pub(crate) async fn serves(&self, version: &str, plural: &str) -> bool {
        let served = self.client.list_api_group_resources(version).await;
        served.is_ok_and(|it| it.resources.iter().any(|it| it.name == plural))
    }

    /// Waits until the operator is ready.
    pub(crate) async fn ready(&self) {
        until("the operator is ready", async || {
            let response = get(self.health, "/readyz").await?;
            response.starts_with("HTTP/1.1 200").then_some(())
        })
        .await;
    }

    /// Reads a metric with its labels.
    pub(crate) async fn metric(&self, name: &str) -> f64 {
        let page = get(self.metrics, "/metrics").await.unwrap();
        let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map_or(0.0, |value| value.parse().unwrap())
    }

    /// Sends a body to the webhook, as the API server does, and returns the response.
    pub(crate) async fn review(&self, body: &Value) -> Value {
        let api: Api<MutatingWebhookConfiguration> = Api::all(self.client.clone());
        let webhooks = api.get(CONFIGURATION).await.unwrap().webhooks.unwrap();
        let bundle = webhooks[0].client_config.ca_bundle.clone().unwrap().0;
        let trusted = trusting(&String::from_utf8(bundle).unwrap()).unwrap();
        let mut connection = Connection::open(self.webhook, trusted).await.unwrap();
        let answer = connection.post("/bootstrap-v1-pod", body.to_string().into()).await.unwrap();
        serde_json::from_slice(&answer.body).unwrap()
    }

    /// Makes a namespace, and waits for nothing.
    pub(crate) async fn namespace(&mut self, annotations: &[(&str, &str)]) -> String {
        let name = format!("line-{}-{}", std::process::id(), fastrand::u32(..));
        let owned = annotations.iter().map(|(key, value)| ((*key).into(), (*value).into()));
        let metadata = ObjectMeta {
            labels: Some(BTreeMap::from([(LABEL.to_owned(), "true".to_owned())])),
            annotations: Some(owned.collect()),
            ..named(&name)
        };
        self.apply(&Namespace { metadata, ..Namespace::default() }).await;
        self.namespaces.push(name.clone());
        name
    }

    /// Creates or changes an object without a namespace.
    pub(crate) async fn apply<K>(&self, object: &K)
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>
            + Clone
            + Debug
            + Serialize
            + DeserializeOwned,
    {
        let api: Api<K> = Api::all(self.client.clone());
        put(&api, object).await;
    }

    /// Returns access to objects of a namespace.
    pub(crate) fn api<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Sets the policy.
    pub(crate) async fn policy(&self, spec: &Value) {
        let object = json!({
            "apiVersion": "stoker.io/v1alpha1", "kind": "PodBootstrap",
            "metadata": { "name": "default" }, "spec": spec,
        });
        let api: Api<PodBootstrap> = Api::all(self.client.clone());
        let parameters = PatchParams::apply("test").force();
        api.patch("default", &parameters, &Patch::Apply(&object)).await.unwrap();
    }

    /// Sets the source of the pull secret.
    pub(crate) async fn pull_secret(&self, content: &str) {
        let object = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "plant-registry" },
            "type": "kubernetes.io/dockerconfigjson",
            "stringData": { ".dockerconfigjson": content },
        });
        let api = self.api::<Secret>(SYSTEM);
        let parameters = PatchParams::apply("test").force();
        api.patch("plant-registry", &parameters, &Patch::Apply(&object)).await.unwrap();
    }

    /// Sets the source of the certificates.
    pub(crate) async fn certificates(&self, pem: &str) {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "plant-ca" },
            "data": { "ca.crt": pem },
        });
        let api = self.api::<ConfigMap>(SYSTEM);
        let parameters = PatchParams::apply("test").force();
        api.patch("plant-ca", &parameters, &Patch::Apply(&object)).await.unwrap();
    }

    /// Waits until a namespace has both copies.
    pub(crate) async fn copied(&self, namespace: &str) {
        until("both copies are there", async || {
            let secret = self.api::<Secret>(namespace).get_opt("plant-registry").await.unwrap();
            let map = self.api::<ConfigMap>(namespace).get_opt("stoker-ca-bundle").await.unwrap();
            secret.and(map).map(drop)
        })
        .await;
    }

    /// Creates a pod with one container.
    pub(crate) async fn pod(&self, namespace: &str, name: &str, pod: &Value) -> Pod {
        let mut object = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name },
            "spec": {
                "containers": [{ "name": "app", "image": "nginx:1.27" }],
                "terminationGracePeriodSeconds": 0,
            },
        });
        merge(&mut object, pod);
        let pod: Pod = serde_json::from_value(object).unwrap();
        self.api(namespace).create(&PostParams::default(), &pod).await.unwrap()
    }

    /// Waits until pods of a namespace are bootstrapped with certificates, and returns one.
    pub(crate) async fn whole_pod(&self, namespace: &str) -> Pod {
        self.copied(namespace).await;
        let count = std::cell::Cell::new(0);
        until("a pod gets its certificates", async || {
            count.set(count.get() + 1);
            let pod = self.pod(namespace, &format!("whole-{}", count.get()), &json!({})).await;
            mark(&pod).is_some().then_some(pod)
        })
        .await
    }

    /// Reads the policy with its status.
    pub(crate) async fn read_policy(&self) -> PodBootstrap {
        Api::all(self.client.clone()).get("default").await.unwrap()
    }

    /// Waits for a condition's reason.
    pub(crate) async fn reason(&self, condition: &str, reason: &str) -> String {
        until(&format!("{condition} is {reason}"), async || {
            let status = self.read_policy().await.status.unwrap_or_default();
            let mut found = status.conditions.into_iter();
            found.find(|it| it.type_ == condition && it.reason == reason).map(|it| it.message)
        })
        .await
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop();
        let mut command = cluster().kubectl();
        let configuration = format!("mutatingwebhookconfiguration/{CONFIGURATION}");
        command.args(["delete", "--ignore-not-found", "podbootstrap/default", &configuration]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().ok();
        let mut command = cluster().kubectl();
        command.args(["delete", "namespace", "--wait=false"]).args(&self.namespaces);
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().ok();
    }
}

/// Has `kubectl` do something to an object that names its kind.
pub(crate) fn kubectl(arguments: &[&str], object: &Value) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(object.to_string().as_bytes()).unwrap();
    succeed(cluster().kubectl().args(arguments).arg("--filename").arg(file.path()));
}

async fn get(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut response = String::new();
    stream.read_to_string(&mut response).await.ok()?;
    Some(response)
}

/// The mark of a pod.
pub(crate) fn mark(pod: &Pod) -> Option<String> {
    let mark = pod.metadata.annotations.as_ref()?.get("stoker.io/bootstrapped")?;
    (!mark.is_empty()).then(|| mark.clone())
}

async fn put<K>(api: &Api<K>, object: &K)
where
    K: Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned,
{
    match api.create(&PostParams::default(), object).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 409 => {}
        Err(error) => panic!("{error}"),
    }
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

/// Waits until something holds.
pub(crate) async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(seen) = look().await {
            return seen;
        }
        assert!(begun.elapsed() < WITHIN, "{what}: not within {WITHIN:?}");
        tokio::time::sleep(INTERVAL).await;
    }
}
