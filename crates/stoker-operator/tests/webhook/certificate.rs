//! Claims about the webhook's certificate and the CA in its configuration.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::Secret;
use kube::api::DeleteParams;
use serde_json::Value;
use stoker_testkit::object::{gateway_pod, gateway_sync};

use crate::world::{World, agent, cluster, until};

fn bundle(configuration: &Value) -> String {
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
    let remove = r#"[{"op":"remove","path":"/webhooks/0/clientConfig/caBundle"}]"#;
    let mut command = cluster().kubectl();
    command.args(["patch", "mutatingwebhookconfiguration", &world.configuration()]);
    command.args(["--type=json", "--patch", remove]);
    stoker_testkit::node::succeed(&mut command);
    until("the CA is back", async || {
        (bundle(&world.webhook_configuration()) == before).then_some(())
    })
    .await;
    assert!(injects(&world, "g").await);
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
