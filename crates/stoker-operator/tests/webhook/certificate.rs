//! Claims about the webhook's certificate and the CA in its configuration.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::body::Bytes;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::Value;
use stoker_testkit::https::{Connection, trusting};
use stoker_testkit::object::{gateway_pod, gateway_sync};

use crate::world::{Parts, World, agent, cluster, until};

pub(crate) fn bundle(configuration: &Value) -> String {
    let encoded = configuration["webhooks"][0]["clientConfig"]["caBundle"].as_str();
    String::from_utf8(STANDARD.decode(encoded.unwrap_or_default()).unwrap()).unwrap()
}

async fn injects(world: &World, name: &str) -> bool {
    agent(&world.pod(gateway_pod(name)).await.unwrap()).is_some()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reverted_configuration_is_written_again() {
    let world = World::start().await;
    world.sync(gateway_sync("plant").mapping(".", "projects")).await;
    let before = bundle(&world.webhook_configuration());
    assert!(before.starts_with("-----BEGIN CERTIFICATE-----"));
    world.reconfigure(
        &serde_json::json!([{ "op": "remove", "path": "/webhooks/0/clientConfig/caBundle" }]),
    );
    until("the CA is back", async || {
        (bundle(&world.webhook_configuration()) == before).then_some(())
    })
    .await;
    assert!(injects(&world, "g").await);
}

// R73: an operator that says that it is ready is reached, with a CA that was written just before.
#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_is_created_when_the_webhook_is_first_ready_gets_an_agent() {
    for number in 0..5 {
        let mut world = World::prepare(Parts::All, &[]).await;
        world.sync(gateway_sync("plant").mapping(".", "projects")).await;
        world.restart();
        world.ready().await;
        assert!(injects(&world, "first").await, "{number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_validating_webhook_denies_what_the_schema_lets_through() {
    let world = World::start().await;
    let name = world.configuration();
    let configuration = serde_json::json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": name },
        "webhooks": [{
            "name": "validate.stoker.io",
            "admissionReviewVersions": ["v1"],
            "clientConfig": {
                "url": format!("https://127.0.0.1:{}/validate-stoker", world.webhook),
                "caBundle": world.webhook_configuration()["webhooks"][0]["clientConfig"]["caBundle"],
            },
            "failurePolicy": "Ignore",
            "sideEffects": "None",
            "timeoutSeconds": 2,
            "namespaceSelector": {
                "matchLabels": { "kubernetes.io/metadata.name": world.namespace.name() },
            },
            "rules": [{
                "apiGroups": ["stoker.io"],
                "apiVersions": ["v1alpha1"],
                "operations": ["CREATE", "UPDATE"],
                "resources": ["gatewaysyncs", "syncprofiles"],
            }],
        }],
    });
    world.namespace.apply(&configuration.to_string());
    let broken = gateway_sync("broken").mapping("{{if}}", "projects").build();
    let denied = until("the webhook is heard", async || {
        let created = world.create(&broken).await;
        if created.is_ok() {
            let syncs = world.api::<stoker_api::GatewaySync>();
            syncs.delete("broken", &DeleteParams::default()).await.unwrap();
        }
        created.err()
    })
    .await;
    let mut command = cluster().kubectl();
    command.args(["delete", "validatingwebhookconfiguration", &name]);
    stoker_testkit::node::succeed(&mut command);
    assert!(denied.to_string().contains("mappings[0].source"), "{denied}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_secret_is_made_again_and_no_pod_is_missed() {
    let world = World::start().await;
    world.sync(gateway_sync("plant").mapping(".", "projects")).await;
    let secrets = world.api::<Secret>();
    let first = secrets.get("stoker-webhook-tls").await.unwrap();
    secrets.delete("stoker-webhook-tls", &DeleteParams::default()).await.unwrap();
    let second = until("there is another", async || {
        secrets.get_opt("stoker-webhook-tls").await.unwrap().filter(|it| it.data != first.data)
    })
    .await;
    let authority = |secret: &Secret| {
        String::from_utf8(secret.data.as_ref().unwrap()["ca.crt"].0.clone()).unwrap()
    };
    let both = until("both CAs are trusted", async || {
        let trusted = bundle(&world.webhook_configuration());
        trusted.contains(&authority(&second)).then_some(trusted)
    })
    .await;
    assert!(both.contains(&authority(&first)));
    // Until the new pair is served, and when it is.
    for number in 0..26 {
        assert!(injects(&world, &format!("g-{number}")).await, "{number}");
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    }
}

// D7: every request of a client that trusts what the configuration trusts is answered, through
// twenty rotations of the pair.
#[tokio::test(flavor = "multi_thread")]
async fn no_request_fails_while_the_certificate_is_rotated_twenty_times() {
    const ROTATIONS: usize = 20;
    let mut world = World::prepare(Parts::All, &[]).await;
    world.sync(gateway_sync("plant").mapping(".", "projects")).await;
    world.restart();
    world.ready().await;
    let body = Bytes::from(crate::body::review(world.namespace.name()).to_string());
    let trusted = trusting(&bundle(&world.webhook_configuration())).unwrap();
    let port = world.webhook;
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let client = |requests: usize| {
        let (body, trusted, stopped) = (body.clone(), Arc::clone(&trusted), stopped.clone());
        tokio::spawn(async move {
            let mut answered = 0;
            while !*stopped.borrow() {
                let mut connection = Connection::open(port, Arc::clone(&trusted)).await.unwrap();
                for _ in 0..requests {
                    let answer = connection.post("/mutate-v1-pod", body.clone()).await.unwrap();
                    assert_eq!(answer.status, 200);
                    answered += 1;
                }
            }
            answered
        })
    };
    // One that handshakes for every request, and one that keeps its connection for a while.
    let clients = [client(1), client(50)];
    let secrets = world.api::<Secret>();
    let pair = async || secrets.get("stoker-webhook-tls").await.unwrap().data.unwrap();
    for _ in 0..ROTATIONS {
        let before = pair().await["tls.crt"].clone();
        let aged = serde_json::json!({ "stringData": { "tls-made": "2020-01-01T00:00:00Z" } });
        let patch = Patch::Merge(aged);
        secrets.patch("stoker-webhook-tls", &PatchParams::default(), &patch).await.unwrap();
        until("there is another pair", async || (pair().await["tls.crt"] != before).then_some(()))
            .await;
    }
    stop.send(true).unwrap();
    for client in clients {
        assert!(client.await.unwrap() >= ROTATIONS);
    }
}
