//! Claims about the receiver: who is heard, and what is written.

use std::fmt::Write as _;
use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use stoker_api::GatewaySync;
use stoker_api::names::Annotation;
use stoker_testkit::object::{GatewaySyncBuilder, gateway_sync, secret};
use tempfile::NamedTempFile;

use crate::http::{Response, post};
use crate::world::{World, until};

const PUSH: &str = r#"{"ref":"refs/heads/main","after":"b8dbb0c5","deleted":false,"repository":{"full_name":"org/plant"}}"#;

fn plant() -> GatewaySyncBuilder {
    gateway_sync("plant")
        .repo("https://git.example.com/org/plant.git")
        .git_ref("main")
        .mapping(".", "projects")
}

fn sign(key: &str, body: &[u8]) -> String {
    let mut hmac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).unwrap();
    hmac.update(body);
    let mut header = "X-Hub-Signature-256: sha256=".to_owned();
    for byte in hmac.finalize().into_bytes() {
        write!(header, "{byte:02x}").unwrap();
    }
    header
}

impl World {
    fn path(&self, name: &str) -> String {
        format!("/webhook/{}/{name}", self.namespace.name())
    }

    async fn github(&self, name: &str, key: &str, event: &str, body: &str) -> Response {
        let headers = [sign(key, body.as_bytes()), format!("X-GitHub-Event: {event}")];
        post(self.receiver, &self.path(name), &headers, body.as_bytes()).await
    }

    async fn generic(&self, name: &str, key: &str, body: &str) -> Response {
        post(self.receiver, &self.path(name), &[sign(key, body.as_bytes())], body.as_bytes()).await
    }

    async fn annotation(&self, annotation: Annotation) -> Option<String> {
        let sync = self.api::<GatewaySync>().get("plant").await.unwrap();
        sync.metadata.annotations.unwrap_or_default().remove(annotation.as_str())
    }
}

fn key_file(key: &str) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), key).unwrap();
    file
}

/// A receiver with the operator-wide secret "wide", and a GatewaySync with the secret "own".
async fn world() -> (World, NamedTempFile) {
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

// E1, E9
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
    for path in ["/", "/webhook/", "/webhook/a", "/webhook//b", "/webhook/a/b/c"] {
        let response = post(world.receiver, path, &[], b"{}").await;
        assert_eq!(response.status, 404, "{path}");
    }
}

// E4
#[tokio::test(flavor = "multi_thread")]
async fn bodies_up_to_25_mib_are_taken_and_larger_ones_refused() {
    let (world, _file) = world().await;
    let padded = |length: usize| {
        let rest = length - PUSH.len();
        format!("{{\"pad\":\"{}\",{}", "x".repeat(rest - 9), &PUSH[1..])
    };
    let largest = padded(25 * 1024 * 1024);
    assert_eq!(largest.len(), 25 * 1024 * 1024);
    assert_eq!(world.github("plant", "own", "push", &largest).await.status, 202);
    assert_eq!(world.github("plant", "own", "push", &padded(largest.len() + 1)).await.status, 413);
}

// E2
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

// E8
#[tokio::test(flavor = "multi_thread")]
async fn a_burst_is_written_once_a_second_and_the_last_one_counts() {
    let (world, _file) = world().await;
    let version =
        async || world.api::<GatewaySync>().get("plant").await.unwrap().metadata.resource_version;
    let mut writes = 0;
    let mut last = version().await;
    for number in 1..=200 {
        let body = format!(r#"{{"ref":"v{number}"}}"#);
        assert_eq!(world.generic("plant", "own", &body).await.status, 202);
        let now = version().await;
        if now != last {
            (writes, last) = (writes + 1, now);
        }
    }
    until("the last one is there", async || {
        (world.annotation(Annotation::RequestedRef).await.as_deref() == Some("v200")).then_some(())
    })
    .await;
    assert!(writes <= 20, "{writes} writes");
    tokio::time::sleep(Duration::from_millis(1200)).await;
    assert_eq!(world.annotation(Annotation::RequestedRef).await.as_deref(), Some("v200"));
}

// E3
#[tokio::test(flavor = "multi_thread")]
async fn a_replayed_request_does_not_bring_an_old_ref_back() {
    let (world, _file) = world().await;
    let release = |tag: &str, at: &str| {
        format!(
            r#"{{"action":"published","release":{{"tag_name":"{tag}","published_at":"{at}"}}}}"#
        )
    };
    let requested = async |wanted: &str| {
        until("it is requested", async || {
            let now = world.annotation(Annotation::RequestedRef).await;
            (now.as_deref() == Some(wanted)).then_some(())
        })
        .await;
    };
    let old = release("v1", "2999-01-01T10:00:00Z");
    let new = release("v2", "2999-01-01T11:00:00Z");
    assert_eq!(world.github("plant", "own", "release", &old).await.status, 202);
    requested("v1").await;
    assert_eq!(world.github("plant", "own", "release", &new).await.status, 202);
    requested("v2").await;
    assert_eq!(world.github("plant", "own", "release", &old).await.status, 202);
    until("the remote is asked", async || world.annotation(Annotation::RecheckAt).await).await;
    requested("v2").await;
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
}
