//! The control plane is a real one: what the operator will rely on works here.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Output};

use axum::routing::post;
use axum::{Json, Router};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::api::{Api, ListParams, ObjectMeta, PostParams};
use serde_json::{Value, json};
use stoker_testkit::cluster::{Cluster, Kind};
use stoker_testkit::node::succeed;
use stoker_testkit::wait::eventually;

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn everyone_in_a_run_gets_the_same_cluster() {
    let (first, second) = (Cluster::shared(), Cluster::connect(Kind::ControlPlane).unwrap());
    assert_eq!(first.directory(), second.directory());
}

#[test]
fn namespaces_differ_and_go_with_the_test() {
    let cluster = Cluster::shared();
    let (kept, dropped) = (cluster.namespace(), cluster.namespace());
    assert_ne!(kept.name(), dropped.name());
    let name = dropped.name().to_owned();
    drop(dropped);
    eventually("the namespace is gone", || {
        let get = cluster.kubectl().args(["get", "namespace", &name]).output().unwrap();
        words(&get).contains("NotFound")
    });
}

#[tokio::test]
async fn a_user_may_do_what_the_rules_say_and_nothing_else() {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace();
    let read = PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["configmaps".to_owned()]),
        verbs: vec!["list".to_owned()],
        ..PolicyRule::default()
    };
    let user = cluster.user(&namespace, vec![read]).await;
    let maps: Api<ConfigMap> = Api::namespaced(user.client().await, namespace.name());
    maps.list(&ListParams::default()).await.unwrap();
    let metadata = ObjectMeta { name: Some("mine".to_owned()), ..ObjectMeta::default() };
    let map = ConfigMap { metadata, ..ConfigMap::default() };
    let refused = maps.create(&PostParams::default(), &map).await.unwrap_err().to_string();
    assert!(refused.contains(user.name()) && refused.contains("cannot create"), "{refused}");
    let refused = user.kubectl().args(["get", "secrets", "-n", "default"]).output().unwrap();
    assert!(words(&refused).contains("Forbidden"), "{}", words(&refused));
}

#[test]
fn a_service_account_token_is_accepted_as_that_account() {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace();
    eventually("the default service account", || {
        let get = ["get", "serviceaccount", "default"];
        namespace.kubectl().args(get).output().unwrap().status.success()
    });
    let token = succeed(namespace.kubectl().args(["create", "token", "default"]));
    let kubeconfig = std::fs::read_to_string(cluster.kubeconfig()).unwrap();
    let server = kubeconfig.split('"').find(|word| word.starts_with("https://")).unwrap();
    let mut kubectl = Command::new(cluster.kubectl().get_program());
    kubectl.args(["--kubeconfig=/dev/null", "--server", server, "--token", token.trim()]);
    kubectl.arg("--certificate-authority").arg(cluster.directory().join("pki/ca.crt"));
    let name = "--output=jsonpath={.status.userInfo.username}";
    let who = succeed(kubectl.args(["auth", "whoami", name]));
    assert_eq!(who, format!("system:serviceaccount:{}:default", namespace.name()));
}

#[test]
fn an_approved_signing_request_becomes_a_certificate() {
    let cluster = Cluster::shared();
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::default();
    params.distinguished_name.push(rcgen::DnType::CommonName, "plant-operator");
    let request = params.serialize_request(&key).unwrap().pem().unwrap();
    let name = format!("request-{}", std::process::id());
    let manifest = json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": {"name": name},
        "spec": {
            "request": BASE64_STANDARD.encode(request),
            "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"],
        },
    });
    cluster.namespace().apply(&manifest.to_string());
    succeed(cluster.kubectl().args(["certificate", "approve", &name]));
    eventually("the certificate is issued", || {
        let path = "--output=jsonpath={.status.certificate}";
        !succeed(cluster.kubectl().args(["get", "csr", &name, path])).is_empty()
    });
    succeed(cluster.kubectl().args(["delete", "csr", &name]));
}

#[test]
fn what_is_owned_goes_with_its_owner() {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace();
    succeed(namespace.kubectl().args(["create", "configmap", "owner"]));
    let path = "--output=jsonpath={.metadata.uid}";
    let uid = succeed(namespace.kubectl().args(["get", "configmap", "owner", path]));
    let owner = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}]);
    let dependent = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "owned", "ownerReferences": owner},
    });
    namespace.apply(&dependent.to_string());
    succeed(namespace.kubectl().args(["delete", "configmap", "owner"]));
    eventually("the owned object is collected", || {
        let get = namespace.kubectl().args(["get", "configmap", "owned"]).output().unwrap();
        words(&get).contains("NotFound")
    });
}

#[test]
fn a_cel_policy_refuses_with_its_message() {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace();
    let name = format!("policy-{}", std::process::id());
    let group = "admissionregistration.k8s.io/v1";
    let selector = json!({"matchLabels": {"kubernetes.io/metadata.name": namespace.name()}});
    let policy = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": group, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name},
         "spec": {
            "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"],
                "operations": ["CREATE"], "resources": ["configmaps"]}]},
            "validations": [{"expression": "object.metadata.name != 'forbidden'",
                             "message": "choose another name"}]}},
        {"apiVersion": group, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name},
         "spec": {"policyName": name, "validationActions": ["Deny"],
                  "matchResources": {"namespaceSelector": selector}}},
    ]});
    namespace.apply(&policy.to_string());
    eventually("the policy is in force", || {
        let create = ["create", "configmap", "forbidden", "--dry-run=server"];
        words(&namespace.kubectl().args(create).output().unwrap()).contains("choose another name")
    });
    let both = "validatingadmissionpolicy,validatingadmissionpolicybinding";
    succeed(cluster.kubectl().args(["delete", both, &name]));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_admission_webhook_on_loopback_is_called() {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace();
    let (address, authority) = serve_webhook();
    let name = format!("webhook-{}", std::process::id());
    let selector = json!({"matchLabels": {"kubernetes.io/metadata.name": namespace.name()}});
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [{
            "name": "names.stoker.test", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {
                "url": format!("https://{address}/"),
                "caBundle": BASE64_STANDARD.encode(authority),
            },
            "namespaceSelector": selector,
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                       "resources": ["secrets"]}],
        }],
    });
    namespace.apply(&configuration.to_string());
    eventually("the webhook answers", || {
        let create = ["create", "secret", "generic", "any", "--dry-run=server"];
        words(&namespace.kubectl().args(create).output().unwrap()).contains("no secrets here")
    });
    succeed(cluster.kubectl().args(["delete", "validatingwebhookconfiguration", &name]));
}

/// A webhook that refuses everything, with a certificate of its own.
fn serve_webhook() -> (SocketAddr, String) {
    stoker_testkit::install_crypto_provider();
    let certified = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let (certificate, key) = (certified.cert.pem(), certified.signing_key.serialize_pem());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let (address, authority) = (listener.local_addr().unwrap(), certificate.clone());
    tokio::spawn(async move {
        let tls = axum_server::tls_rustls::RustlsConfig::from_pem(certificate.into(), key.into());
        let server = axum_server::from_tcp_rustls(listener, tls.await.unwrap()).unwrap();
        let router = Router::new().route("/", post(refuse));
        server.serve(router.into_make_service()).await.unwrap();
    });
    (address, authority)
}

async fn refuse(Json(review): Json<Value>) -> Json<Value> {
    let uid = &review["request"]["uid"];
    Json(json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "response": {"uid": uid, "allowed": false, "status": {"message": "no secrets here"}},
    }))
}

#[tokio::test]
async fn a_token_of_a_pod_ends_with_the_pod() {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace();
    eventually("the service account exists", || {
        let get = namespace.kubectl().args(["get", "serviceaccount", "default"]).output();
        get.is_ok_and(|output| output.status.success())
    });
    namespace.apply(
        "{apiVersion: v1, kind: Pod, metadata: {name: plant}, spec: {containers: [{name: main, image: none}]}}",
    );
    let token = cluster.pod_token(&namespace, "default", "plant").await;
    let client = cluster.client_with_token(&token).await;
    let maps: Api<ConfigMap> = Api::namespaced(client, namespace.name());
    let status = |error: kube::Error| match error {
        kube::Error::Api(status) => status.code,
        other => panic!("{other}"),
    };
    // Known, and without any right.
    assert_eq!(status(maps.list(&ListParams::default()).await.unwrap_err()), 403);

    succeed(namespace.kubectl().args(["delete", "pod", "plant", "--now"]));
    // The API server remembers for ten seconds that a token was good.
    let mut code = 0;
    for _ in 0..300 {
        code = status(maps.list(&ListParams::default()).await.unwrap_err());
        if code == 401 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(code, 401);
}
