//! Claims about the receiver: who is heard, and what is written.

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit as _, Mac as _};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::ListParams;
use rustls::pki_types::CertificateDer;
use serde_json::json;
use sha2::Sha256;
use stoker_api::GatewaySync;
use stoker_api::names::Annotation;
use stoker_testkit::object::{GatewaySyncBuilder, gateway_sync, secret};
use stoker_testkit::proxy::FaultProxy;
use tempfile::NamedTempFile;
use tokio::net::TcpStream;

use crate::http::{Response, post};
use crate::world::{Parts, World, cluster, until};

pub(crate) const PUSH: &str = r#"{"ref":"refs/heads/main","after":"b8dbb0c5","deleted":false,"repository":{"full_name":"org/plant"}}"#;

pub(crate) fn plant() -> GatewaySyncBuilder {
    gateway_sync("plant")
        .repo("https://git.example.com/org/plant.git")
        .git_ref("main")
        .mapping(".", "projects")
}

pub(crate) fn sign(key: &str, body: &[u8]) -> String {
    let mut hmac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).unwrap();
    hmac.update(body);
    let mut header = "X-Hub-Signature-256: sha256=".to_owned();
    for byte in hmac.finalize().into_bytes() {
        write!(header, "{byte:02x}").unwrap();
    }
    header
}

impl World {
    pub(crate) fn path(&self, name: &str) -> String {
        format!("/webhook/{}/{name}", self.namespace.name())
    }

    pub(crate) async fn github(&self, name: &str, key: &str, event: &str, body: &str) -> Response {
        let headers = [sign(key, body.as_bytes()), format!("X-GitHub-Event: {event}")];
        post(self.receiver, &self.path(name), &headers, body.as_bytes()).await
    }

    pub(crate) async fn generic(&self, name: &str, key: &str, body: &str) -> Response {
        post(self.receiver, &self.path(name), &[sign(key, body.as_bytes())], body.as_bytes()).await
    }

    pub(crate) async fn annotation(&self, annotation: Annotation) -> Option<String> {
        let sync = self.api::<GatewaySync>().get("plant").await.unwrap();
        sync.metadata.annotations.unwrap_or_default().remove(annotation.as_str())
    }
}

pub(crate) fn key_file(key: &str) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), key).unwrap();
    file
}

/// A receiver with the operator-wide secret "wide", and a GatewaySync with the secret "own".
pub(crate) async fn world() -> (World, NamedTempFile) {
    let file = key_file("wide\n");
    let world = World::with(&[format!("--receiver-hmac-file={}", file.path().display())]).await;
    world.create(&secret("push", [("hmac-key", "own")])).await.unwrap();
    world.sync(plant().webhook("push")).await;
    until("the secret is known", async || {
        let response = world.generic("plant", "own", r#"{"ref":"main"}"#).await;
        (response.status == 202).then_some(())
    })
    .await;
    (world, file)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_makes_the_controller_ask_and_a_release_requests_its_tag() {
    let (world, _file) = world().await;
    let pushed = world.github("plant", "own", "push", PUSH).await;
    assert_eq!((pushed.status, pushed.body.trim()), (202, r#"{"accepted":true,"ref":"main"}"#));
    until("it is written", async || {
        (world.annotation(Annotation::RecheckBy).await.as_deref() == Some("github")).then_some(())
    })
    .await;
    assert_eq!(world.annotation(Annotation::RequestedRef).await, None);
    let release = r#"{"action":"published","release":{"tag_name":"v2","draft":false,"prerelease":false},"repository":{"full_name":"org/plant"}}"#;
    assert_eq!(world.github("plant", "wide", "release", release).await.status, 202);
    until("it is written", async || {
        (world.annotation(Annotation::RequestedRef).await.as_deref() == Some("v2")).then_some(())
    })
    .await;
    assert_eq!(world.annotation(Annotation::RequestedFor).await.as_deref(), Some("main"));
    assert_eq!(world.annotation(Annotation::RequestedBy).await.as_deref(), Some("github"));
}

// E1, E9, R62
#[tokio::test(flavor = "multi_thread")]
async fn strangers_hear_the_same_whether_a_gatewaysync_exists_or_not() {
    let (world, _file) = world().await;
    let body = br#"{"ref":"v9"}"#;
    let mut answers = Vec::new();
    for name in ["plant", "unknown", "%2e%2e", "UPPER", &"x".repeat(200)] {
        for headers in
            [vec![], vec![sign("wrong", body)], vec!["Authorization: Bearer own2".to_owned()]]
        {
            let response = post(world.receiver, &world.path(name), &headers, body).await;
            answers.push((response.status, response.body));
        }
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(answers[0].0, 401);
    assert_eq!(world.annotation(Annotation::RequestedRef).await, None);
    // The administrator's secret opens every path, and so learns what does not exist.
    assert_eq!(world.generic("unknown", "wide", r#"{"ref":"v9"}"#).await.status, 404);
    assert_eq!(world.generic("plant", "wide", r#"{"ref":"main"}"#).await.status, 202);
    // Nobody else's secret does.
    world.create(&secret("other", [("hmac-key", "theirs")])).await.unwrap();
    world.create(&GatewaySync::new("other", plant().webhook("other").build().spec)).await.unwrap();
    until("the other secret is known", async || {
        (world.generic("other", "theirs", r#"{"ref":"main"}"#).await.status == 202).then_some(())
    })
    .await;
    assert_eq!(world.generic("plant", "theirs", r#"{"ref":"main"}"#).await.status, 401);
}

// E7, E9
#[tokio::test(flavor = "multi_thread")]
async fn what_asks_for_nothing_is_200_and_what_is_not_understood_400() {
    let (world, _file) = world().await;
    let other_branch = PUSH.replace("main", "dev");
    for (event, body) in [("ping", r#"{"zen":"x"}"#), ("push", &*other_branch)] {
        let response = world.github("plant", "own", event, body).await;
        assert_eq!(response.status, 200, "{event}");
        assert!(response.body.starts_with(r#"{"accepted":false,"reason":""#), "{}", response.body);
    }
    for body in ["", "payload=%7B%7D", r#"{"hello":"world"}"#, "{"] {
        assert_eq!(world.generic("plant", "own", body).await.status, 400, "{body}");
    }
    let path = world.path("plant");
    assert_eq!(crate::http::get(world.receiver, &path).await.unwrap().status, 405);
    let long = format!("/webhook/a/{}", "x".repeat(8192));
    for path in ["/", "/webhook/", "/webhook/a", "/webhook//b", "/webhook/a/b/c", &long] {
        let response = post(world.receiver, path, &[], b"{}").await;
        assert_eq!(response.status, 404, "{path}");
    }
}

// E8
#[tokio::test(flavor = "multi_thread")]
async fn while_the_api_server_is_away_a_sender_is_told_to_try_again() {
    let proxy = FaultProxy::start(cluster().config().await).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("config");
    std::fs::write(&kubeconfig, proxy.kubeconfig()).unwrap();
    let file = key_file("wide");
    let flags = [format!("--receiver-hmac-file={}", file.path().display())];
    let world = World::through(&kubeconfig, &flags).await;
    world.sync(plant()).await;
    let ask = async || world.generic("plant", "wide", r#"{"ref":"v2"}"#).await;
    until("it is known", async || (ask().await.status == 202).then_some(())).await;
    let outage = proxy.outage();
    let away = world.generic("plant", "wide", r#"{"ref":"v3"}"#).await;
    assert_eq!(away.status, 503, "{}", away.body);
    assert!(away.head.contains("retry-after: "), "{}", away.head);
    // Strangers hear what they always hear: nothing is looked up for them.
    assert_eq!(world.generic("plant", "wrong", r#"{"ref":"v3"}"#).await.status, 401);
    drop(outage);
    until("the API server is back", async || {
        let again = world.generic("plant", "wide", r#"{"ref":"v3"}"#).await;
        (again.status == 202).then_some(())
    })
    .await;
    assert_eq!(world.annotation(Annotation::RequestedRef).await.as_deref(), Some("v3"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gatewaysync_that_takes_no_push_events_is_404_to_those_who_know_the_secret() {
    let (world, _file) = world().await;
    let off = json!({"spec": {"webhook": {"enabled": false}}});
    let patch = kube::api::Patch::Merge(&off);
    world
        .api::<GatewaySync>()
        .patch("plant", &kube::api::PatchParams::default(), &patch)
        .await
        .unwrap();
    until("it is off", async || {
        let response = world.generic("plant", "own", r#"{"ref":"main"}"#).await;
        (response.status == 404).then_some(())
    })
    .await;
    assert_eq!(world.generic("plant", "wrong", r#"{"ref":"main"}"#).await.status, 401);
}

// E2, R60
#[tokio::test(flavor = "multi_thread")]
async fn without_any_secret_the_receiver_refuses_unless_it_is_open() {
    let closed = World::start().await;
    closed.sync(plant()).await;
    let body = br#"{"ref":"main"}"#;
    let response = post(closed.receiver, &closed.path("plant"), &[], body).await;
    assert_eq!(response.status, 403);
    let open = World::with(&["--receiver-insecure".to_owned()]).await;
    open.sync(plant()).await;
    until("it is taken", async || {
        let response = post(open.receiver, &open.path("plant"), &[], body).await;
        (response.status == 202).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_authentications_are_limited_and_good_ones_are_not() {
    let file = key_file("wide");
    let flags = [
        format!("--receiver-hmac-file={}", file.path().display()),
        "--receiver-rate-limit=5".to_owned(),
    ];
    let world = World::with(&flags).await;
    world.sync(plant()).await;
    until("it is known", async || {
        (world.generic("plant", "wide", r#"{"ref":"main"}"#).await.status == 202).then_some(())
    })
    .await;
    let mut codes = Vec::new();
    for _ in 0..7 {
        codes.push(world.generic("plant", "wrong", r#"{"ref":"main"}"#).await.status);
    }
    assert_eq!(codes, [401, 401, 401, 401, 401, 429, 429]);
    let refused = world.generic("plant", "wrong", "{}").await;
    assert!(refused.head.contains("retry-after: "), "{}", refused.head);
    assert_eq!(world.generic("plant", "wide", r#"{"ref":"main"}"#).await.status, 202);
}

// E3, R61
#[tokio::test(flavor = "multi_thread")]
async fn a_replayed_request_does_not_bring_an_old_ref_back() {
    let (world, _file) = world().await;
    let now = jiff::Timestamp::now();
    let release = |tag: &str, minutes_ago: i64| {
        let at = now - jiff::SignedDuration::from_mins(minutes_ago);
        format!(
            r#"{{"action":"published","release":{{"tag_name":"{tag}","published_at":"{at}"}}}}"#
        )
    };
    let requested = async || world.annotation(Annotation::RequestedRef).await.unwrap_or_default();
    let (old, new) = (release("v1", 20), release("v2", 10));
    // 202 means that the ref is written.
    assert_eq!(world.github("plant", "own", "release", &old).await.status, 202);
    assert_eq!(requested().await, "v1");
    assert_eq!(world.github("plant", "own", "release", &new).await.status, 202);
    assert_eq!(requested().await, "v2");
    let asked = world.annotation(Annotation::RecheckAt).await;
    assert_eq!(world.github("plant", "own", "release", &old).await.status, 202);
    until("the remote is asked", async || {
        (world.annotation(Annotation::RecheckAt).await != asked).then_some(())
    })
    .await;
    // Never seen, and older than the request in force.
    let late = world.github("plant", "own", "release", &release("v3", 15)).await;
    assert_eq!(late.status, 200, "{}", late.body);
    assert_eq!(requested().await, "v2");
}

// F34
#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_secret_opens_nothing_and_a_new_one_counts_without_a_restart() {
    let (world, _file) = world().await;
    let secrets = world.api::<k8s_openapi::api::core::v1::Secret>();
    secrets.delete("push", &kube::api::DeleteParams::default()).await.unwrap();
    until("the secret is revoked", async || {
        let response = world.generic("plant", "own", r#"{"ref":"main"}"#).await;
        (response.status == 401).then_some(())
    })
    .await;
    world.create(&secret("push", [("hmac-key", "new")])).await.unwrap();
    until("the new secret counts", async || {
        let response = world.generic("plant", "new", r#"{"ref":"main"}"#).await;
        (response.status == 202).then_some(())
    })
    .await;
    // Rotation: the next secret and the previous one count at the same time.
    world.create(&secret("next", [("hmac-key", "newer")])).await.unwrap();
    let rotated = json!({"spec": {"webhook": {
        "secretRef": {"name": "next"}, "previousSecretRef": {"name": "push"},
    }}});
    let syncs = world.api::<GatewaySync>();
    let parameters = kube::api::PatchParams::default();
    syncs.patch("plant", &parameters, &kube::api::Patch::Merge(&rotated)).await.unwrap();
    until("the next secret counts", async || {
        let response = world.generic("plant", "newer", r#"{"ref":"main"}"#).await;
        (response.status == 202).then_some(())
    })
    .await;
    assert_eq!(world.generic("plant", "new", r#"{"ref":"main"}"#).await.status, 202);
    let done = json!({"spec": {"webhook": {"previousSecretRef": null}}});
    syncs.patch("plant", &parameters, &kube::api::Patch::Merge(&done)).await.unwrap();
    until("the previous secret is out", async || {
        let response = world.generic("plant", "new", r#"{"ref":"main"}"#).await;
        (response.status == 401).then_some(())
    })
    .await;
}

/// Puts a new certificate into a directory, and returns it.
pub(crate) fn renew(directory: &std::path::Path) -> CertificateDer<'static> {
    let pair = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    for (name, text) in
        [("tls.key", pair.signing_key.serialize_pem()), ("tls.crt", pair.cert.pem())]
    {
        let next = directory.join("next");
        std::fs::write(&next, text).unwrap();
        std::fs::rename(next, directory.join(name)).unwrap();
    }
    pair.cert.into()
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_is_served_and_a_renewed_certificate_without_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    renew(directory.path());
    let file = key_file("wide");
    let world = World::with(&[
        format!("--receiver-hmac-file={}", file.path().display()),
        format!("--receiver-tls-dir={}", directory.path().display()),
    ])
    .await;
    for _ in 0..2 {
        until("the certificate of the directory is served", async || {
            let mut curl = tokio::process::Command::new("curl");
            curl.args(["--silent", "--output", "/dev/null", "--write-out", "%{http_code}"]);
            curl.arg("--cacert").arg(directory.path().join("tls.crt"));
            curl.args(["--data", "{}"]);
            curl.arg(format!("https://127.0.0.1:{}{}", world.receiver, world.path("plant")));
            let output = curl.output().await.unwrap();
            (output.stdout == b"401").then_some(())
        })
        .await;
        renew(directory.path());
    }
}

// F28: also one that does not lead takes push events, and what it takes is written.
#[tokio::test(flavor = "multi_thread")]
async fn every_replica_takes_push_events() {
    let file = key_file("wide");
    let flag = format!("--receiver-hmac-file={}", file.path().display());
    let world = World::prepare(Parts::All, &[flag]).await;
    world.sync(plant()).await;
    let replicas = [world.replica(), world.replica()];
    for (number, (_, port)) in replicas.iter().enumerate() {
        let body = format!(r#"{{"ref":"v{number}"}}"#);
        let headers = [sign("wide", body.as_bytes())];
        until("the replica takes it", async || {
            TcpStream::connect(("127.0.0.1", *port)).await.ok()?;
            let response = post(*port, &world.path("plant"), &headers, body.as_bytes()).await;
            (response.status == 202).then_some(())
        })
        .await;
        until("it is written", async || {
            let requested = world.annotation(Annotation::RequestedRef).await?;
            (requested == format!("v{number}")).then_some(())
        })
        .await;
    }
    let leases = world.api::<Lease>().list(&ListParams::default()).await.unwrap();
    let is_led = |lease: &Lease| lease.spec.as_ref().is_some_and(|it| it.holder_identity.is_some());
    assert!(leases.iter().any(is_led), "one of them leads: {leases:?}");
}
