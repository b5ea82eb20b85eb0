//! Claims about what the Go operator left behind.

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::api::rbac::v1::{RoleBinding, RoleRef};
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams};
use serde_json::json;
use stoker_api::condition::{ConditionType, SyncStatus};
use stoker_api::names::{self, Annotation};
use stoker_testkit::object::{config_map, gateway_pod};

use crate::gateway::plant_in;
use crate::world::{World, eventually, is_true};

fn binding() -> RoleBinding {
    RoleBinding {
        metadata: ObjectMeta {
            name: Some(names::legacy_agent_role_binding("plant")),
            ..ObjectMeta::default()
        },
        role_ref: RoleRef {
            api_group: "rbac.authorization.k8s.io".to_owned(),
            kind: "ClusterRole".to_owned(),
            name: "stoker-agent".to_owned(),
        },
        subjects: None,
    }
}

// Agents of the Go operator keep working, are named, and lose their rights when they are gone.
#[tokio::test(flavor = "multi_thread")]
async fn agents_of_the_go_operator_count_until_their_pods_are_replaced() {
    let mut plant = plant_in(World::start().await).await;
    plant.world.create(&binding()).await;
    let commit = plant.first.as_str();
    let report = json!({ "syncStatus": "Syncing", "syncedCommit": "" }).to_string();
    let name = names::legacy_status_config_map("plant");
    plant.world.create(&config_map(&name, [("ignition-0", &*report)])).await;
    plant.world.gateway("ignition-0", "plant").await;
    // A controller that begins to lead looks for what the Go operator left.
    plant.world.restart();
    let world = &plant.world;
    let sync = world
        .until("plant", "the pod is to be restarted", |status| {
            let gateway = status.discovered_gateways.first();
            gateway.is_some_and(|gateway| gateway.restart_needed.is_some())
        })
        .await;
    let gateway = &sync.status.unwrap().discovered_gateways[0];
    assert_eq!(gateway.sync_status, Some(SyncStatus::Syncing));
    let needed = gateway.restart_needed.as_deref();
    assert_eq!(needed, Some("the pod runs the agent of the Go operator"));
    // A report wakes the GatewaySync, as those of our own agents do.
    let report = json!({ "syncStatus": "Synced", "syncedCommit": commit }).to_string();
    let patch = Patch::Merge(json!({ "data": { "ignition-0": report } }));
    let maps = world.api::<ConfigMap>();
    maps.patch(&name, &PatchParams::default(), &patch).await.unwrap();
    world.until("plant", "it is ready", |status| is_true(status, ConditionType::Ready)).await;
    let bindings = world.api::<RoleBinding>();
    assert!(bindings.get_opt("stoker-agent-plant").await.unwrap().is_some());

    let pods = world.api::<Pod>();
    pods.delete("ignition-0", &DeleteParams::default().grace_period(0)).await.unwrap();
    let new = gateway_pod("ignition-1").cr("plant").injected();
    world.pod(new.annotation(Annotation::InjectedHash, "0123").build()).await;
    eventually("the Go operator's RoleBinding is gone", || async {
        bindings.get_opt("stoker-agent-plant").await.unwrap().is_none().then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_with_another_agent_image_says_that_a_restart_is_needed() {
    let plant = plant_in(World::with(&["--default-agent-image=agent:2"]).await).await;
    let pod = gateway_pod("ignition-0").cr("plant").injected();
    plant.world.pod(pod.annotation(Annotation::InjectedHash, "0123").build()).await;
    let sync = plant.world.until("plant", "a restart is needed", |status| {
        let gateway = status.discovered_gateways.first();
        gateway.is_some_and(|gateway| gateway.restart_needed.is_some())
    });
    let status = sync.await.status.unwrap();
    let reason = status.discovered_gateways[0].restart_needed.as_deref().unwrap();
    assert_eq!(reason, "the agent has image stoker-agent:test, agent:2 is wanted");
}
